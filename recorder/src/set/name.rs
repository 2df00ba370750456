//! Names of the files of the set.

use std::fmt;

/// What the name of a file says: `TOPIC-PARTITION-FIRST-LAST.parquet`, the partition with five digits, the offsets with
/// twenty, so that names sort by offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileName {
    /// Kafka topic; may hold dashes and dots.
    pub(crate) topic: String,
    /// Kafka partition.
    pub(crate) partition: i32,
    /// First offset that the file covers.
    pub(crate) first: i64,
    /// Last offset that the file covers.
    pub(crate) last: i64,
}

impl FileName {
    /// The parts of a name; `None` when the name is not of this form.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".parquet")?.rsplitn(4, '-');
        let (last, first, partition, topic) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let parsed = Self {
            topic: topic.to_owned(),
            partition: digits(partition, 5)?,
            first: digits(first, 20)?,
            last: digits(last, 20)?,
        };
        (!topic.is_empty() && parsed.first <= parsed.last).then_some(parsed)
    }
}

fn digits<T: std::str::FromStr>(text: &str, least: usize) -> Option<T> {
    let all_digits = text.len() >= least && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, partition, first, last } = self;
        write!(f, "{topic}-{partition:05}-{first:020}-{last:020}.parquet")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_parts() {
        for topic in ["t", "local-demo", "a.b-c_d", "t-00001-00000000000000000001", "-"] {
            for (partition, first, last) in [(0, 0, 0), (99_999, 7, 8), (1_000_000, 0, i64::MAX)] {
                let name = FileName { topic: topic.into(), partition, first, last };
                assert_eq!(FileName::parse(&name.to_string()), Some(name));
            }
        }
    }

    #[test]
    fn names_sort_by_offset() {
        let name = |first, last| FileName { topic: "t".into(), partition: 3, first, last }.to_string();
        assert_eq!(name(9, 10), "t-00003-00000000000000000009-00000000000000000010.parquet");
        assert!(name(9, 10) < name(11, 200) && name(11, 200) < name(201, 202));
    }

    #[test]
    fn other_names_are_not_ours() {
        let last = "00000000000000000009";
        for name in [
            "",
            "part-0.parquet",
            &format!("t-00000-{last}-{last}.parquet.tmp"),
            &format!("t-0-{last}-{last}.parquet"),
            &format!("-00000-{last}-{last}.parquet"),
            &format!("t-00000-{last}-00000000000000000001.parquet"),
            &format!("t-00000-{last}-+0000000000000000010.parquet"),
            &format!("t-00000-{last}-99999999999999999999.parquet"),
        ] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }
}
