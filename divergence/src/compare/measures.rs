//! Measures of special kinds of outputs: orders, distributions, texts, boxes.

use super::elements::lower;

/// Measures that only some outputs define; the worst over all of them, `None` where nothing defines them.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Measures {
    /// Mean |S − P| of the output in which it is largest.
    pub mean_absolute: Option<f64>,
    /// Largest root of the mean (S − P)² of an output.
    pub rmse: Option<f64>,
    /// Largest |S − P| / |P| of an output in the Euclidean norm.
    pub l2_relative: Option<f64>,
    /// |S| / |P| of the output in which it is furthest from 1.
    pub norm_ratio: Option<f64>,
    /// Smallest share of the primary's best `top_k` that the shadow has too.
    pub top_k_overlap: Option<f64>,
    /// Smallest Kendall tau-b of a row.
    pub kendall_tau: Option<f64>,
    /// Smallest rank-biased overlap of a ranking.
    pub rank_biased_overlap: Option<f64>,
    /// Largest sum of |P_i − P_j| over pairs that changed places in a row.
    pub rank_cost: Option<f64>,
    /// Largest Jensen–Shannon divergence of two rows of probabilities, in bits.
    pub jensen_shannon: Option<f64>,
    /// Largest total variation of two rows of probabilities.
    pub total_variation: Option<f64>,
    /// Index of the first token (or word) that differs.
    pub first_difference: Option<u64>,
    /// Smallest common beginning of two texts, as a share.
    pub common_prefix: Option<f64>,
    /// Largest edit distance of two texts, as a share of the longer.
    pub edit_distance: Option<f64>,
    /// Smallest ROUGE-L of two texts.
    pub rouge_l: Option<f64>,
    /// Largest gap at the first token that differs, in nats.
    pub logprob_gap: Option<f64>,
    /// Smallest F1 of two sets of detections.
    pub detection_f1: Option<f64>,
    /// Smallest mean overlap of matched detections.
    pub mean_iou: Option<f64>,
    /// Number of differences of two JSON trees.
    pub json_differences: Option<u64>,
}

impl Measures {
    pub(super) fn lower_overlap(&mut self, share: f64) {
        lower(&mut self.top_k_overlap, share);
    }

    /// Puts the ratio that is further from 1 (as a factor) into the slot.
    pub(super) fn norm(&mut self, ratio: f64) {
        let far = |ratio: f64| if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY };
        if self.norm_ratio.is_none_or(|known| far(ratio) > far(known)) {
            self.norm_ratio = Some(ratio);
        }
    }
}
