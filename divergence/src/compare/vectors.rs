//! Embeddings: their direction and their length count, not their elements.

use super::elements::{Elements, lower, raise};
use super::structure::Pair;
use crate::Rules;
use crate::metric::direction::direction;

/// Measures the vectors along the last dimension. Tolerance units of a vector are the larger of (1 − cosine) and |norm ratio − 1| over
/// what the rules allow of each; all its elements are beyond tolerance or none is. A vector that is zero or not finite on one side is
/// infinitely far, on both sides it agrees as its elements do.
pub(super) fn measure(pair: &Pair<'_>, rules: &Rules) -> Elements {
    let mut elements = Elements::of(&Pair { ranked: false, threshold: None, ..pair.clone() });
    let count = pair.primary.values.len();
    let last = pair.primary.shape.last().and_then(|last| usize::try_from(*last).ok()).unwrap_or(0);
    let width = if last == 0 || !count.is_multiple_of(last) { count.max(1) } else { last };
    let vectors = pair.primary.values.chunks(width).zip(pair.shadow.values.chunks(width));
    (elements.beyond, elements.finite_beyond, elements.worst, elements.finite_worst) = (0, 0, None, 0.0);
    (elements.sign_change, elements.log10_ratio, elements.ratio_beyond) = (None, None, 0.0);
    (elements.cosine, elements.cosine_beyond) = (None, None);
    for (number, (p, s)) in vectors.enumerate() {
        let found = direction(p, s);
        let finite = p.iter().chain(s).all(|value| value.is_finite());
        let units = match (found.cosine, found.norm_ratio) {
            // NaN on both sides agrees, as everywhere.
            _ if p.iter().zip(s).all(|(p, s)| p == s || (p.is_nan() && s.is_nan())) => 0.0,
            (Some(cosine), Some(ratio)) if finite => {
                let turned = (1.0 - cosine) / (1.0 - rules.embedding_cosine);
                turned.max((ratio - 1.0).abs() / rules.embedding_norm)
            }
            _ => f64::INFINITY,
        };
        if let Some(cosine) = found.cosine {
            lower(&mut elements.cosine, cosine);
        }
        if let Some(ratio) = found.norm_ratio.filter(|ratio| *ratio > 0.0) {
            raise(&mut elements.log10_ratio, ratio.log10().abs());
        }
        let at = number * width;
        if elements.worst.is_none_or(|(worst, _)| units > worst) {
            elements.worst = Some((units, at));
        }
        if units > 1.0 {
            elements.beyond += p.len();
            elements.finite_beyond += p.iter().zip(s).filter(|(p, s)| p.is_finite() && s.is_finite()).count();
            if let Some(cosine) =
                found.cosine.filter(|cosine| elements.cosine_beyond.is_none_or(|known| *cosine < known.0))
            {
                elements.cosine_beyond = Some((cosine, at));
            }
            if let Some(ratio) = found.norm_ratio.filter(|ratio| *ratio > 0.0) {
                elements.ratio_beyond = elements.ratio_beyond.max(ratio.log10().abs());
            }
        }
        if finite {
            elements.finite_worst = elements.finite_worst.max(units);
        }
    }
    elements
}
