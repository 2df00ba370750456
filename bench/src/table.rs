//! Rounds of all entries, their medians and ratios, as Markdown.

use crate::entry::Entry;

/// One round of one entry.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// CPU seconds of the proxy's own processes per 100,000 requests.
    pub(crate) cpu_per_100k: f64,
    /// Resident memory before the load, at most under it, and after it, MB.
    pub(crate) rss_mb: [f64; 3],
    pub(crate) descriptors: usize,
    /// Requests that arrived at the candidate, of those that arrived at the primary.
    pub(crate) mirrored: f64,
    pub(crate) errors: u64,
}

/// All rounds of an entry.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) entry: Entry,
    pub(crate) rounds: Vec<Round>,
}

/// The middle of some values; the upper one of the two middle ones where they are even in number. 0 of none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

impl Line {
    pub(crate) fn median(&self, value: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(value))
    }

    /// Median of the ratios within each round: what slows the machine for a while slows both.
    fn ratio(&self, base: &Self, value: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().zip(&base.rounds).map(|(ours, theirs)| value(ours) / value(theirs)))
    }
}

/// Prints the lines.
pub(crate) fn print(lines: &[Line]) {
    println!(
        "| entry | req/s | x nginx-mirror | x envoy-mirror | p50 ms | p99 ms | CPU s/100k (least) | x nginx-plain | x nginx-mirror | x envoy-mirror | x floor | RSS MB before>peak>after | descriptors | mirrored | errors |"
    );
    println!("|{}", "---|".repeat(15));
    for line in lines {
        let by = |base: Entry, value: fn(&Round) -> f64| {
            let base = lines.iter().find(|other| other.entry == base);
            base.map_or_else(|| "-".into(), |base| format!("{:.2}", line.ratio(base, value)))
        };
        let floor = if line.entry.mirrors() { Entry::FloorMirror } else { Entry::FloorPlain };
        let (rate, cpu) = (|round: &Round| round.per_second, |round: &Round| round.cpu_per_100k);
        let least = line.rounds.iter().map(cpu).fold(f64::INFINITY, f64::min);
        let rss: Vec<String> =
            (0..3).map(|at| format!("{:.0}", line.median(|round| round.rss_mb[at]))).collect();
        println!(
            "| {} | {:.0} | {} | {} | {:.2} | {:.2} | {:.2} ({least:.2}) | {} | {} | {} | {} | {} | {:.0} | {:.3} | {} |",
            line.entry.name(),
            line.median(rate),
            by(Entry::NginxMirror, rate),
            by(Entry::EnvoyMirror, rate),
            line.median(|round| round.p50_ms),
            line.median(|round| round.p99_ms),
            line.median(cpu),
            by(Entry::NginxPlain, cpu),
            by(Entry::NginxMirror, cpu),
            by(Entry::EnvoyMirror, cpu),
            by(floor, cpu),
            rss.join(">"),
            line.median(|round| round.descriptors as f64),
            line.median(|round| round.mirrored),
            line.rounds.iter().map(|round| round.errors).sum::<u64>(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_ratios_of_each_round() {
        let line = |values: [f64; 3]| Line {
            entry: Entry::Direct,
            rounds: values.map(|per_second| Round { per_second, ..Round::default() }).to_vec(),
        };
        let ratio = line([2.0, 9.0, 3.0]).ratio(&line([1.0, 3.0, 1.0]), |round| round.per_second);
        assert!((ratio - 3.0).abs() < 1e-9);
        assert!(median(std::iter::empty()).abs() < 1e-9);
    }
}
