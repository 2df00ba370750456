//! Detections: boxes, scores and classes of several outputs, matched by overlap.

use xxhash_rust::xxh3::xxh3_64;

use super::structure::{Pair, matched};
use crate::decode::{shape_text, shortened};
use crate::metric::decision::Flip;
use crate::metric::detection::{Detection, Matched, match_boxes};
use crate::{BoxFormat, Decoded, DetectionRule, Output, Rules, Tolerance};

/// The detections of both answers, image by image.
pub(super) struct Detections<'r> {
    pub(super) rule: &'r DetectionRule,
    pub(super) tolerance: Tolerance,
    /// Boxes and scores as both answers list them: not paired.
    pub(super) listed: Vec<Pair<'static>>,
    images: Vec<(Vec<Detection>, Vec<Detection>)>,
}

/// Overlap of matched boxes below which they are beyond tolerance.
pub(super) const AGREE: f64 = 0.9;

impl<'r> Detections<'r> {
    /// Takes the outputs of a rule out of both answers; `None` when neither has them.
    ///
    /// # Errors
    /// When a side lacks one, or they do not fit together; as a detail.
    pub(super) fn take(
        rule: &'r DetectionRule,
        primary: &Decoded,
        shadow: &Decoded,
        rules: &Rules,
    ) -> Result<Option<Self>, String> {
        if !rules.compares(&rule.boxes) {
            return Ok(None);
        }
        let (one, other) = match (of(rule, primary)?, of(rule, shadow)?) {
            (None, None) => return Ok(None),
            (Some(one), Some(other)) => (one, other),
            (Some(_), None) => return Err(format!("missing:{}", shortened(&rule.boxes))),
            (None, Some(_)) => return Err(format!("extra:{}", shortened(&rule.boxes))),
        };
        if one.len() != other.len() {
            return Err(format!("shape:{} {}/{} images", shortened(&rule.boxes), one.len(), other.len()));
        }
        let scores = primary.outputs.iter().find(|output| output.name == rule.scores);
        let declared = primary.protocol.declares_types() && shadow.protocol.declares_types();
        let tolerance =
            scores.map_or(Tolerance::EXACT, |output| rules.tolerance(&output.name, output.dtype, declared));
        let listed = [&rule.scores, &rule.boxes].into_iter().filter_map(|name| {
            let output =
                |answer: &'_ Decoded| answer.outputs.iter().find(|output| output.name == *name).cloned();
            let (one, other) = (output(primary)?, output(shadow)?);
            // Paired with itself for what the rules say about it: the other side may list fewer or more.
            let pair = matched(&one, &one, declared, rules).ok()?;
            Some(Pair { ranked: false, ..pair.with(one.clone(), other) })
        });
        let listed = listed.collect();
        Ok(Some(Self { rule, tolerance, listed, images: one.into_iter().zip(other).collect() }))
    }

    /// The scores of the boxes of an image that have a partner.
    pub(super) fn scores(&self, image: usize, matched: &Matched) -> Option<Pair<'static>> {
        self.paired(&matched.scores).map(|pair| Pair { at_row: Some(image as u64), ..pair })
    }

    /// The same of all images together.
    pub(super) fn all_scores(&self) -> Option<Pair<'static>> {
        let found = self.matches(self.rule.iou);
        self.paired(&found.into_iter().flat_map(|matched| matched.scores).collect::<Vec<_>>())
    }

    /// Scores of both sides as one row; `None` of none.
    fn paired(&self, scores: &[(f64, f64)]) -> Option<Pair<'static>> {
        let pair = self.listed.first().filter(|_| !scores.is_empty())?;
        let (one, other): (Vec<f64>, Vec<f64>) = scores.iter().copied().unzip();
        let row = |values: Vec<f64>| {
            let shape = vec![values.len() as u64];
            Output { values, ..Output::new(pair.primary.name.clone(), pair.dtype, shape) }
        };
        Some(Pair { at_row: None, ..pair.with(row(one), row(other)) })
    }

    /// The match of each image at an overlap.
    pub(super) fn matches(&self, least: f64) -> Vec<Matched> {
        self.images.iter().map(|(p, s)| match_boxes(p, s, least)).collect()
    }

    /// Number of boxes of each side in an image.
    pub(super) fn counts(&self, image: usize) -> (usize, usize) {
        self.images.get(image).map_or((0, 0), |(p, s)| (p.len(), s.len()))
    }

    /// Whether a box of an image has no partner; a near tie where every such box scores within tolerance of the edge of what is listed:
    /// the rule's threshold, or without one the lowest score that both sides list. A box that is broken on the primary (not finite, or
    /// nothing but zeros) is a sign of its own and has no partner to lose.
    pub(super) fn moved(&self, image: usize) -> Option<Flip> {
        let (p, s) = self.images.get(image)?;
        let whole: Vec<Detection> = p.iter().filter(|found| !is_broken(found)).copied().collect();
        let broken = p.len() - whole.len();
        let all = match_boxes(&whole, s, self.rule.iou);
        if all.missing == 0 && all.extra <= broken {
            return None;
        }
        let listed = || all.scores.iter().flat_map(|(p, s)| [*p, *s]).reduce(f64::min);
        let Some(edge) = self.rule.threshold.or_else(listed) else { return Some(Flip::Real) };
        let width = 2.0 * self.tolerance.around(edge);
        // What scores away from the edge must have its partner.
        let away = |boxes: &[Detection]| -> Vec<Detection> {
            boxes.iter().filter(|found| (found.score - edge).abs() > width).copied().collect()
        };
        let missing = match_boxes(&away(&whole), s, self.rule.iou).missing;
        let extra = match_boxes(&away(s), &whole, self.rule.iou).missing;
        Some(if missing == 0 && extra <= broken { Flip::NearTie } else { Flip::Real })
    }

    /// Whether both sides have the very same boxes, in any order.
    pub(super) fn is_same(&self) -> bool {
        self.images.iter().all(|(p, s)| {
            let found = match_boxes(p, s, 1.0);
            found.missing + found.extra == 0 && found.max_score_difference.unwrap_or(0.0) == 0.0
        })
    }
}

fn is_broken(found: &Detection) -> bool {
    let finite = found.score.is_finite() && found.corners.iter().all(|corner| corner.is_finite());
    !finite || found.corners == [0.0; 4]
}

/// The detections of one answer, image by image; `None` when it has none of the outputs.
fn of(rule: &DetectionRule, answer: &Decoded) -> Result<Option<Vec<Vec<Detection>>>, String> {
    let named = |name: &str| answer.outputs.iter().find(|output| output.name == name);
    let classes = rule.classes.as_deref();
    let boxes = match (named(&rule.boxes), named(&rule.scores), classes.map(named)) {
        (None, None, None | Some(None)) => return Ok(None),
        (Some(boxes), Some(_), None | Some(Some(_))) => boxes,
        (boxes, scores, _) => {
            let lacking = match (boxes, scores) {
                (None, _) => &rule.boxes,
                (_, None) => &rule.scores,
                _ => rule.classes.as_ref().unwrap_or(&rule.boxes),
            };
            return Err(format!("missing:{} beside its detections", shortened(lacking)));
        }
    };
    let scores = named(&rule.scores).map_or(&[][..], |output| &output.values);
    let classes: Vec<i64> = classes.and_then(named).map(class_codes).unwrap_or_else(|| vec![0; scores.len()]);
    let wrong = || format!("shape:{} {}", shortened(&rule.boxes), shape_text(&boxes.shape));
    let count = boxes.values.len() / 4;
    if !boxes.values.len().is_multiple_of(4) || scores.len() != count || classes.len() != count {
        return Err(wrong());
    }
    let images = match boxes.shape[..] {
        [images, _, _] => usize::try_from(images).map_err(|_| wrong())?,
        _ => 1,
    };
    let per_image = if images == 0 || count == 0 { 1 } else { count / images };
    let found =
        boxes.values.chunks_exact(4).zip(scores.iter().zip(&classes)).map(|(corners, (score, class))| {
            let corners = in_corners([corners[0], corners[1], corners[2], corners[3]], rule.format);
            Detection { corners, score: *score, class: *class }
        });
    let found: Vec<Detection> = found.collect();
    let mut by_image: Vec<Vec<Detection>> = found.chunks(per_image.max(1)).map(<[_]>::to_vec).collect();
    by_image.resize(images, Vec::new());
    Ok(Some(by_image))
}

/// Classes as numbers: floats by their bits, texts by their hash.
fn class_codes(output: &Output) -> Vec<i64> {
    let text = output.text.iter().map(|text| xxh3_64(text.as_bytes()).cast_signed());
    let code = |value: &f64| if value.fract() == 0.0 { *value as i64 } else { value.to_bits().cast_signed() };
    output.values.iter().map(code).chain(text).collect()
}

fn in_corners([a, b, c, d]: [f64; 4], format: BoxFormat) -> [f64; 4] {
    match format {
        BoxFormat::Corners => [a, b, c, d],
        BoxFormat::Size => [a, b, a + c, b + d],
        BoxFormat::Center => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
    }
}
