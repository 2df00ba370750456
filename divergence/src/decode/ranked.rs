//! Rows of labelled scores, such as the best classes of each input.

use super::MAX_VALUES;
use super::fault::Undecodable;
use crate::{DType, Kind, Output, Printed};

/// Rows under construction.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    rows: Vec<Vec<(String, f64)>>,
    count: usize,
    printed: Option<Printed>,
}

impl Ranked {
    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a score to the last row.
    pub(super) fn add(
        &mut self,
        label: String,
        score: f64,
        printed: Option<Printed>,
    ) -> Result<(), Undecodable> {
        self.count += 1;
        if self.count > MAX_VALUES {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
        }
        if let Some(printed) = printed {
            self.printed = Some(self.printed.unwrap_or_default().or(printed));
        }
        if let Some(row) = self.rows.last_mut() {
            row.push((label, score));
        }
        Ok(())
    }

    /// The output, of shape `[rows, k]`; a row of fewer than `k` is filled with −∞ under an empty key.
    pub(super) fn output(self, name: impl Into<String>, dtype: DType) -> Result<Output, Undecodable> {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if self.rows.len().saturating_mul(width) > MAX_VALUES {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
        }
        let mut output = Output::new(name, dtype, vec![self.rows.len() as u64, width as u64]);
        (output.kind, output.printed) = (Kind::Ranking, self.printed);
        for row in self.rows {
            let filling = std::iter::repeat_n((String::new(), f64::NEG_INFINITY), width - row.len());
            for (label, score) in row.into_iter().chain(filling) {
                output.keys.push(label);
                output.values.push(score);
            }
        }
        Ok(output)
    }
}
