//! The click ranker: gradient-boosted trees with the weights in `model/ranker.json`, which `model/train.py` writes.
//!
//! It computes probabilities and says what a usual input looks like; it knows no protocol and has no faults.

use std::sync::LazyLock;

use serde::Deserialize;

/// Number of features of one row.
pub const FEATURES: usize = 8;

/// One row of features, in the order of [`Ranker::features`].
pub type Row = [f32; FEATURES];

/// A description of a model that cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not JSON, or not of this form.
    #[error("the model is not readable: {0}; write it again with train.py")]
    Json(#[from] serde_json::Error),
    /// The model takes another number of features than this code.
    #[error("the model has {found} features, expected {FEATURES}")]
    Features {
        /// Number of features in the file.
        found: usize,
    },
    /// A feature without two or more quantiles in ascending order.
    #[error("feature {name} needs two or more ascending quantiles")]
    Quantiles {
        /// Name of the feature.
        name: String,
    },
    /// A tree whose lists differ in length, or whose nodes point backwards or out of the tree.
    #[error("tree {tree}, node {node}: not a tree")]
    Tree {
        /// Number of the tree, from 0.
        tree: usize,
        /// Number of the node, from 0.
        node: usize,
    },
}

/// A named input of the model and the values it takes in training.
#[derive(Debug, Clone, Deserialize)]
pub struct Feature {
    /// Name, such as `ad_click_rate`.
    pub name: String,
    /// Whether only whole numbers occur.
    pub integer: bool,
    /// Quantiles of the training data at evenly spaced shares from 0 to 1, ascending.
    pub quantiles: Vec<f32>,
}

impl Feature {
    /// The value below which a share `u` (0 to 1) of the training data lies, between quantiles by a straight line.
    #[must_use]
    pub fn value_at(&self, u: f64) -> f32 {
        let last = self.quantiles.len().saturating_sub(1);
        let position = u.clamp(0.0, 1.0) * last as f64;
        let below = (position.floor() as usize).min(last.saturating_sub(1));
        let (Some(&low), Some(&high)) = (self.quantiles.get(below), self.quantiles.get(below + 1)) else {
            return 0.0;
        };
        let value = f64::from(low) + (position - below as f64) * (f64::from(high) - f64::from(low));
        if self.integer { value.round() as f32 } else { value as f32 }
    }
}

/// One tree as parallel lists, one entry per node; node 0 is the root. Feature -1 marks a leaf.
#[derive(Debug, Clone, Deserialize)]
struct Tree {
    feature: Vec<i32>,
    threshold: Vec<f32>,
    left: Vec<usize>,
    right: Vec<usize>,
    value: Vec<f64>,
}

impl Tree {
    /// Children come after their parent, so a walk from the root always ends.
    fn check(&self, tree: usize) -> Result<(), ModelError> {
        let nodes = self.feature.len();
        let lengths = [self.threshold.len(), self.left.len(), self.right.len(), self.value.len()];
        if nodes == 0 || lengths.iter().any(|&length| length != nodes) {
            return Err(ModelError::Tree { tree, node: 0 });
        }
        for node in 0..nodes {
            let feature = self.feature[node];
            let child_ok = |child: usize| child > node && child < nodes;
            let inner_ok = usize::try_from(feature).is_ok_and(|f| f < FEATURES)
                && child_ok(self.left[node])
                && child_ok(self.right[node]);
            if feature != -1 && !inner_ok {
                return Err(ModelError::Tree { tree, node });
            }
        }
        Ok(())
    }

    fn value(&self, row: &Row) -> f64 {
        let mut node = 0;
        while let Ok(feature) = usize::try_from(self.feature[node]) {
            let left = row[feature] <= self.threshold[node];
            node = if left { self.left[node] } else { self.right[node] };
        }
        self.value[node]
    }
}

/// The ranker: the probability that an impression is clicked.
#[derive(Debug, Clone, Deserialize)]
pub struct Ranker {
    name: String,
    version: String,
    features: Vec<Feature>,
    threshold: f64,
    bias: f64,
    learning_rate: f64,
    trees: Vec<Tree>,
}

static SHIPPED: LazyLock<Ranker> = LazyLock::new(|| {
    Ranker::from_json(include_str!("../model/ranker.json")).expect("the embedded model is checked by a test")
});

impl Ranker {
    /// The model that comes with this crate.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Reads a model as `train.py` writes it.
    ///
    /// # Errors
    /// When the text is not such a model, or a tree in it could not be walked.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        let ranker: Self = serde_json::from_str(text)?;
        if ranker.features.len() != FEATURES {
            return Err(ModelError::Features { found: ranker.features.len() });
        }
        for feature in &ranker.features {
            if feature.quantiles.len() < 2 || !feature.quantiles.is_sorted() {
                return Err(ModelError::Quantiles { name: feature.name.clone() });
            }
        }
        for (number, tree) in ranker.trees.iter().enumerate() {
            tree.check(number)?;
        }
        Ok(ranker)
    }

    /// Name under which the model is served.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Version under which the model is served.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The inputs, in the order of a row.
    #[must_use]
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Probability in (0, 1): logistic of the bias and the shrunken sum of the trees (Friedman 2001, "Greedy function
    /// approximation: a gradient boosting machine", two-class logistic).
    #[must_use]
    pub fn probability(&self, row: &Row) -> f64 {
        let sum: f64 = self.trees.iter().map(|tree| tree.value(row)).sum();
        1.0 / (1.0 + (-(self.bias + self.learning_rate * sum)).exp())
    }

    /// The decision a score leads to: 1 from the threshold on, else 0.
    #[must_use]
    pub fn label(&self, score: f32) -> i64 {
        i64::from(f64::from(score) >= self.threshold)
    }
}

#[cfg(test)]
mod tests;
