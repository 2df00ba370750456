//! Joining the metrics of all outputs into one divergence.

use super::Divergence;
use super::degenerate::{self, Sign, Signs};
use super::detections::{AGREE, Detections};
use super::elements::{Elements, lower, raise};
use super::generation::{self, Generation};
use super::kernel;
use super::ranking::{self, Ranked};
use super::structure::Pair;
use super::totals::{Gross, Move, Place, Totals};
use super::vectors;
use crate::metric::decision::Flip;
use crate::metric::{direction, error, probability};
use crate::{Class, Kind, Rules};

/// Measures all pairs of outputs and names the class.
pub(super) fn judge(pairs: &[Pair<'_>], detections: &[Detections<'_>], rules: &Rules) -> Divergence {
    // Beside scores, a changed label would drown them: it differs infinitely, and has its own class.
    let floating = pairs.iter().any(|pair| pair.dtype.is_float()) || !detections.is_empty();
    let mut judge = Judge {
        rules,
        floating,
        divergence: Divergence::of(Class::BitEqual, String::new(), false),
        totals: Totals::default(),
    };
    for pair in pairs {
        match pair.kind {
            Kind::Ranking if !pair.primary.keys.is_empty() => judge.ranking(pair),
            Kind::Embedding if pair.dtype.is_float() => judge.elements(pair, vectors::measure(pair, rules)),
            Kind::Reason if !same_bits(pair) => judge.word(pair),
            Kind::Count if !same_bits(pair) => (judge.totals.counts, judge.totals.differs) = (true, true),
            Kind::Reason | Kind::Count => {}
            _ if generation::is_part(pair) => {}
            _ => judge.elements(pair, Elements::of(pair)),
        }
    }
    for generation in generation::generations(pairs) {
        judge.generation(&generation);
    }
    for found in detections {
        judge.detections(found);
    }
    judge.finish()
}

struct Judge<'r> {
    rules: &'r Rules,
    floating: bool,
    divergence: Divergence,
    totals: Totals,
}

impl Judge<'_> {
    /// Judges elements that are paired by position.
    fn elements(&mut self, pair: &Pair<'_>, elements: Elements) {
        if pair.dtype.is_float() || !self.floating {
            self.record(pair, &elements);
        }
        let totals = &mut self.totals;
        totals.count += elements.count;
        totals.beyond += elements.beyond;
        totals.differs |= !same_bits(pair);
        let silent = self.signs(pair, &elements);
        self.measures(pair, &elements);
        let place =
            |index: usize| move || Place { output: pair.primary.name.clone(), index, row: pair.row(index) };
        // One that is not finite in places is something to judge by in the others.
        let partial = matches!(silent, Some(Sign::Nan | Sign::Infinite | Sign::Null));
        let silent = matches!(silent, Some(Sign::AllZero | Sign::Empty));
        let (beyond, units) = if partial {
            (elements.finite_beyond, elements.finite_worst)
        } else {
            (elements.beyond, elements.worst.map_or(0.0, |(units, _)| units))
        };
        let totals = &mut self.totals;
        if pair.dtype.is_float() {
            totals.gross(gross(pair, &elements, units, self.rules).filter(|_| !silent));
            totals.ranked |= elements.moves.ranked;
            for (what, found) in [
                (Move::Top, elements.moves.real),
                (Move::NearTop, elements.moves.near_tie),
                (Move::Order, elements.moves.rank),
                (Move::Crossed, elements.moves.crossed.filter(|_| !silent)),
                (Move::NearCrossed, elements.moves.crossed_near),
            ] {
                if let Some(index) = found {
                    totals.moved(what, place(index));
                }
            }
        } else if beyond > 0 {
            totals.moved(Move::Label, place(elements.worst.map_or(0, |(_, index)| index)));
        } else if let Some(index) =
            first_difference(&pair.primary.text, &pair.shadow.text).filter(|_| !silent)
        {
            totals.moved(Move::Text, place(index));
        }
    }

    /// Notes the signs of degeneration of both sides; the one that only the primary shows.
    fn signs(&mut self, pair: &Pair<'_>, elements: &Elements) -> Option<Sign> {
        let signs = Signs::of(pair, elements);
        self.totals.one_sided = self.totals.one_sided.or(signs.one_sided);
        self.totals.signs[0].extend(signs.primary);
        self.totals.signs[1].extend(signs.shadow);
        signs.one_sided.primary
    }

    /// Raises the metrics to those of one output.
    fn record(&mut self, pair: &Pair<'_>, elements: &Elements) {
        let divergence = &mut self.divergence;
        if let Some((units, index)) = elements.worst {
            if units > divergence.tolerance_units.unwrap_or(0.0) {
                divergence.worst_output = Some(pair.primary.name.clone());
                divergence.worst_index = Some(index as u64);
                divergence.worst_row = pair.row(index);
            }
            raise(&mut divergence.tolerance_units, units);
        }
        for (slot, value) in [
            (&mut divergence.max_absolute, elements.max_absolute),
            (&mut divergence.max_relative, elements.max_relative),
            (&mut divergence.symmetric_relative, elements.symmetric_relative),
            (&mut divergence.log10_ratio, elements.log10_ratio),
        ] {
            if let Some(value) = value {
                raise(slot, value);
            }
        }
    }

    /// Raises the measures of floating outputs.
    fn measures(&mut self, pair: &Pair<'_>, elements: &Elements) {
        let divergence = &mut self.divergence;
        if let Some(changed) = elements.sign_change {
            divergence.sign_change = Some(divergence.sign_change.unwrap_or(false) || changed);
        }
        divergence.ulp_max = divergence.ulp_max.max(elements.ulp_max);
        if let Some(cosine) = elements.cosine {
            lower(&mut divergence.cosine, cosine);
        }
        if !pair.dtype.is_float() || elements.finite == 0 {
            return;
        }
        let (sums, measures) = (&elements.sums, &mut divergence.measures);
        let finite = elements.finite as f64;
        raise(&mut measures.mean_absolute, sums.absolute / finite);
        let (p, s) = (&pair.primary.values, &pair.shadow.values);
        let (rmse, l2, ratio) = if sums.is_finite() {
            let norm = (sums.pp > 0.0).then(|| sums.pp.sqrt());
            let of = |square: f64| norm.map(|norm| square.sqrt() / norm);
            (Some((sums.squares / finite).sqrt()), of(sums.squares), of(sums.cc))
        } else {
            let direction = direction::direction(p, s);
            (error::rmse(p, s), direction.l2_relative, direction.norm_ratio)
        };
        for (slot, value) in [(&mut measures.rmse, rmse), (&mut measures.l2_relative, l2)] {
            if let Some(value) = value {
                raise(slot, value);
            }
        }
        if let Some(ratio) = ratio {
            measures.norm(ratio);
        }
        if pair.ranked && pair.kind != Kind::Embedding {
            ranking::rows(pair, self.rules, measures, pair.kind == Kind::Ranking);
        }
        if pair.rule.probabilities == Some(true) {
            let width = pair.primary.shape.last().map_or(0, |last| *last as usize).max(1);
            for distances in
                p.chunks(width).zip(s.chunks(width)).filter_map(|(p, s)| probability::distances(p, s))
            {
                raise(&mut measures.jensen_shannon, distances.jensen_shannon);
                raise(&mut measures.total_variation, distances.total_variation);
            }
        }
    }

    /// Judges scores that are paired by what they belong to.
    fn ranking(&mut self, pair: &Pair<'_>) {
        let ranked = Ranked::of(pair, self.rules, &mut self.divergence.measures);
        let at = ranked.membership.map_or(0, |(_, at)| at);
        let place = || Place { output: pair.primary.name.clone(), index: at, row: pair.at_row };
        let totals = &mut self.totals;
        let moved = ranked.membership.is_some() || ranked.reordered;
        totals.differs |= moved;
        if ranked.top_lost || ranked.top_moved {
            totals.ranked = true;
            totals.moved(Move::Top, place);
        } else if ranked.membership.is_some_and(|(flip, _)| flip == Flip::Real) {
            totals.moved(Move::Members, place);
        } else if ranked.reordered {
            totals.moved(Move::Order, place);
        }
        if ranked.shared.primary.values.is_empty()
            && !pair.primary.keys.is_empty()
            && !pair.shadow.keys.is_empty()
        {
            // Nothing in common: there is nothing to compare one by one, and nothing degenerate in that.
            return;
        }
        if pair.primary.values.is_empty() && pair.shadow.values.is_empty() {
            return;
        }
        if pair.shadow.values.is_empty() || pair.primary.values.is_empty() {
            let _ = self.signs(pair, &Elements::default());
            return;
        }
        self.elements(&ranked.shared, Elements::of(&ranked.shared));
    }

    /// Judges a word out of a fixed set.
    fn word(&mut self, pair: &Pair<'_>) {
        self.totals.differs = true;
        let index = first_difference(&pair.primary.text, &pair.shadow.text).unwrap_or(0);
        let place = || Place { output: pair.primary.name.clone(), index, row: None };
        self.totals.moved(Move::Reason, place);
    }

    /// Judges generated text.
    fn generation(&mut self, generation: &Generation<'_>) {
        let found = generation.difference();
        for pair in generation.texts.iter().copied().chain(generation.tokens) {
            let _ =
                self.signs(pair, &Elements { beyond: usize::from(found.is_some()), ..Elements::default() });
            self.totals.differs |= !same_bits(pair);
        }
        if let Some(pair) = generation.logprobs {
            let cut = generation::beginning(pair, generation.common(found.as_ref()));
            self.elements(&cut, Elements::of(&cut));
            self.totals.differs |= !same_bits(pair);
        }
        let Some(pair) = generation.named() else { return };
        let measures = &mut self.divergence.measures;
        let sequences = found
            .as_ref()
            .map_or_else(|| crate::metric::text::sequences::<u8>(&[], &[]), |found| found.sequences);
        lower(&mut measures.common_prefix, sequences.common_prefix);
        if let Some(distance) = sequences.edit_distance {
            raise(&mut measures.edit_distance, distance);
        }
        if let Some(rouge) = sequences.rouge_l {
            lower(&mut measures.rouge_l, rouge);
        }
        let Some(found) = found else { return };
        let index = found.sequences.first_difference.unwrap_or(0);
        measures.first_difference =
            measures.first_difference.map_or(Some(index as u64), |known| Some(known.min(index as u64)));
        if let Some(parting) = found.parting {
            raise(&mut measures.logprob_gap, parting.gap);
        }
        let near = found.parting.is_some_and(|parting| parting.is_near_tie(self.rules.near_tie_nats));
        let what = match (found.is_tokens, near) {
            (true, true) => Move::NearToken,
            (true, false) => Move::Token,
            (false, _) => Move::Text,
        };
        if found.truncated {
            let name = crate::decode::shortened(&pair.primary.name);
            self.totals.truncated.get_or_insert(format!("truncated:{name} at {index}"));
        }
        self.totals.moved(what, || Place { output: pair.primary.name.clone(), index, row: None });
    }

    /// Judges boxes.
    fn detections(&mut self, found: &Detections<'_>) {
        self.totals.differs |= !found.is_same();
        for (image, matched) in found.matches(found.rule.iou).iter().enumerate() {
            let measures = &mut self.divergence.measures;
            lower(&mut measures.detection_f1, matched.f1);
            if let Some(overlap) = matched.mean_iou {
                lower(&mut measures.mean_iou, overlap);
            }
            let place = || Place { output: found.rule.boxes.clone(), index: image, row: Some(image as u64) };
            match found.counts(image) {
                (0, 0) => {}
                (_, 0) => self.totals.one_sided.shadow = self.totals.one_sided.shadow.or(Some(Sign::Empty)),
                (0, _) => self.totals.one_sided.primary = self.totals.one_sided.primary.or(Some(Sign::Empty)),
                _ => match found.moved(image) {
                    Some(Flip::Real) => self.totals.moved(Move::Detections, place),
                    Some(Flip::NearTie) => self.totals.moved(Move::NearDetections, place),
                    None => {}
                },
            }
            let apart = matched.min_iou.map_or(0.0, |overlap| (1.0 - overlap) / (1.0 - AGREE));
            let divergence = &mut self.divergence;
            if apart > divergence.tolerance_units.unwrap_or(0.0) {
                let Place { output, index, row } = place();
                (divergence.worst_output, divergence.worst_index) = (Some(output), Some(index as u64));
                divergence.worst_row = row;
            }
            raise(&mut divergence.tolerance_units, apart);
            self.totals.beyond += usize::from(apart > 1.0);
            if let Some(scores) = found.scores(image, matched) {
                self.elements(&scores, Elements::of(&scores));
            }
        }
        let differs = usize::from(!found.is_same());
        for pair in &found.listed {
            let _ = self.signs(pair, &Elements { beyond: differs, ..Elements::default() });
        }
    }

    fn finish(mut self) -> Divergence {
        let (class, detail, place) = self.totals.class();
        let divergence = &mut self.divergence;
        if let Some(place) = place {
            divergence.worst_output = Some(place.output.clone());
            (divergence.worst_index, divergence.worst_row) = (Some(place.index as u64), place.row);
        } else if let (None, Some(place)) = (&divergence.worst_output, self.totals.moves.get(&Move::Text)) {
            divergence.worst_output = Some(place.output.clone());
            divergence.worst_index = Some(place.index as u64);
        }
        let totals = &self.totals;
        divergence.primary_degenerate = degenerate::listed(&totals.signs[0]);
        divergence.shadow_degenerate = degenerate::listed(&totals.signs[1]);
        divergence.bit_equal = Some(!totals.differs);
        divergence.fraction_beyond = (totals.count > 0).then(|| totals.beyond as f64 / totals.count as f64);
        (divergence.argmax_flip, divergence.argmax_near_tie) = totals.argmax();
        divergence.serious = match class {
            Class::Structure | Class::Gross => true,
            Class::Degenerate => totals.one_sided.shadow.is_some(),
            Class::Flip => detail.starts_with("real"),
            _ => false,
        };
        (divergence.class, divergence.detail) = (class, detail);
        self.divergence
    }
}

/// Why a floating output is gross. A ratio or direction counts only where something is beyond tolerance: among values that are
/// all noise, both mean nothing.
fn gross(pair: &Pair<'_>, elements: &Elements, units: f64, rules: &Rules) -> Option<Gross> {
    let far = units >= rules.gross_tolerance_units;
    if pair.kind == Kind::Logprobs {
        // They are logarithms: their ratios mean nothing.
        return far.then_some(Gross::Tolerance);
    }
    if elements.ratio_beyond >= rules.gross_log10_ratio {
        Some(Gross::Ratio)
    } else if far {
        Some(Gross::Tolerance)
    } else if elements.cosine_beyond.is_some_and(|(cosine, _)| cosine < rules.gross_cosine) {
        Some(Gross::Cosine)
    } else {
        elements.sign_change.unwrap_or(false).then_some(Gross::Sign)
    }
}

/// Whether values, text, keys and nulls are the same, bit for bit. NaN counts by its bits, -0 is not 0.
fn same_bits(pair: &Pair<'_>) -> bool {
    let (p, s) = (&pair.primary, &pair.shadow);
    p.nulls == s.nulls
        && p.text == s.text
        && p.keys == s.keys
        && p.exact == s.exact
        && kernel::same_bits(&p.values, &s.values)
}

fn first_difference(one: &[String], other: &[String]) -> Option<usize> {
    one.iter().zip(other).position(|(one, other)| one != other)
}
