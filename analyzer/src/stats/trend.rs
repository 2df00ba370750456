//! Trend of a rate over ordered levels: W. G. Cochran, Biometrics 10 (1954); P. Armitage, Biometrics 11 (1955); over strata:
//! N. Mantel, J. Amer. Statist. Assoc. 58 (1963).

use super::Share;

/// One level: its score (for example the mean load) and its events among trials.
pub type Level = (f64, Share);

/// Sum of the deviations of the score-weighted events from their expectation, its binomial variance, and the trials.
struct Moments {
    deviation: f64,
    variance: f64,
    trials: f64,
}

/// Cochran–Armitage z in its binomial form, `T = Σ w (d − n p)`, `V = p(1−p) [Σ w² n − (Σ w n)² / N]`. Positive when the
/// rate rises with the score. `None` when it is undefined: no events, only events, or one level.
#[must_use]
pub fn cochran_armitage(levels: &[Level]) -> Option<f64> {
    let moments = binomial(levels)?;
    Some(moments.deviation / moments.variance.sqrt())
}

/// Mantel's extension: z of the trend within strata, `Σ (T − E) / √ΣV` with hypergeometric variances. Differences between
/// strata do not count as trend. Strata that say nothing are passed over; `None` when all do.
#[must_use]
pub fn stratified(strata: &[Vec<Level>]) -> Option<f64> {
    let (mut deviation, mut variance) = (0.0, 0.0);
    for moments in strata.iter().filter_map(|levels| binomial(levels)) {
        let n = moments.trials;
        deviation += moments.deviation;
        variance += moments.variance * n / (n - 1.0);
    }
    (variance > 0.0).then(|| deviation / variance.sqrt())
}

fn binomial(levels: &[Level]) -> Option<Moments> {
    let all: Share = levels.iter().map(|(_, share)| *share).sum();
    let rate = all.rate()?;
    let trials = all.trials as f64;
    // Scores are centred first: the same statistic, without the cancellation of large squares.
    let mean = levels.iter().map(|(score, share)| score * share.trials as f64).sum::<f64>() / trials;
    let (mut deviation, mut squares) = (0.0, 0.0);
    for (score, share) in levels {
        let centred = score - mean;
        deviation += centred * (share.events as f64 - share.trials as f64 * rate);
        squares += centred * centred * share.trials as f64;
    }
    let variance = rate * (1.0 - rate) * squares;
    (variance > 0.0).then_some(Moments { deviation, variance, trials })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{close, normal};

    fn levels(scores: &[f64], events: &[u64], trials: &[u64]) -> Vec<Level> {
        let shares = events.iter().zip(trials).map(|(&events, &trials)| Share { events, trials });
        scores.iter().copied().zip(shares).collect()
    }

    #[test]
    fn trends_have_their_reference_values() {
        let scores: Vec<f64> = (0..10).map(f64::from).collect();
        let deciles = levels(&scores, &[0, 1, 0, 2, 1, 3, 4, 9, 15, 22], &[1000; 10]);
        close(cochran_armitage(&deciles).unwrap(), 8.069_977_2, 8);
        let four = levels(&scores[..4], &[2, 3, 5, 10], &[50; 4]);
        let z = cochran_armitage(&four).unwrap();
        close(z, 2.740_640_64, 9);
        close(2.0 * normal::upper_tail(z), 0.006_131_95, 6);
        let doubled = levels(&[1.0, 2.0, 4.0, 8.0], &[2, 3, 5, 10], &[50; 4]);
        close(cochran_armitage(&doubled).unwrap(), 2.901_274_08, 9);
    }

    #[test]
    fn a_stratified_trend_has_its_reference_value() {
        let scores = [0.0, 1.0, 2.0];
        let strata = [levels(&scores, &[1, 4, 12], &[300; 3]), levels(&scores, &[0, 2, 9], &[200, 250, 150])];
        let z = stratified(&strata).unwrap();
        close(z, 5.019_284_98, 9);
        close(2.0 * normal::upper_tail(z), 5.1864e-7, 5);
    }

    #[test]
    fn two_levels_equal_the_cochran_mantel_haenszel_test() {
        let scores = [0.0, 1.0];
        let strata = [levels(&scores, &[1, 12], &[300; 2]), levels(&scores, &[0, 9], &[200, 150])];
        close(stratified(&strata).unwrap().powi(2), 21.217_846_62, 9);
    }

    #[test]
    fn differences_between_strata_are_no_trend() {
        // A node that is always wrong and sees only high load, beside one that is never wrong and sees only low load.
        let strata = [levels(&[9.0], &[100], &[100]), levels(&[1.0], &[0], &[100])];
        assert_eq!(stratified(&strata), None);
    }

    #[test]
    fn no_events_have_no_trend() {
        assert_eq!(cochran_armitage(&levels(&[0.0, 1.0], &[0, 0], &[5, 5])), None);
        assert_eq!(cochran_armitage(&levels(&[1.0], &[2], &[5])), None);
        assert_eq!(cochran_armitage(&[]), None);
    }
}
