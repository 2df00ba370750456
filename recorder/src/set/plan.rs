//! Where to go on, from the names of the files alone.

use super::FileName;
use crate::RecordError;

/// The first offset that comes after all files of one partition's `exchanges`; `None` when there are none.
///
/// # Errors
/// When two files cover the same offset: rows would count twice.
pub(super) fn next_offset(mut names: Vec<FileName>) -> Result<Option<i64>, RecordError> {
    names.sort_unstable_by_key(|name| (name.first, name.last));
    if let Some((a, b)) = names.iter().zip(names.iter().skip(1)).find(|(a, b)| b.first <= a.last) {
        return Err(RecordError::Overlap { first: a.to_string(), second: b.to_string() });
    }
    Ok(names.last().map(|name| name.last.saturating_add(1)))
}

/// Whether a `ledger` or `dead_letters` file belongs to a range whose `exchanges` file, the commit marker, never came.
pub(super) fn is_orphan(name: &FileName, next: Option<i64>) -> bool {
    next.is_none_or(|next| name.last >= next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(first: i64, last: i64) -> FileName {
        FileName { topic: "t".into(), partition: 0, first, last }
    }

    #[test]
    fn it_goes_on_after_the_last_file_whatever_their_order() {
        assert_eq!(next_offset(vec![]).unwrap(), None);
        assert_eq!(next_offset(vec![name(10, 19), name(0, 9), name(25, 30)]).unwrap(), Some(31));
        assert_eq!(next_offset(vec![name(0, i64::MAX)]).unwrap(), Some(i64::MAX));
    }

    #[test]
    fn files_that_overlap_are_refused_by_name() {
        for (a, b) in [((0, 9), (9, 12)), ((0, 9), (0, 9)), ((0, 20), (5, 6))] {
            let error = next_offset(vec![name(b.0, b.1), name(a.0, a.1)]).unwrap_err();
            assert!(error.to_string().contains(&name(a.0, a.1).to_string()), "{error}");
        }
    }

    #[test]
    fn only_files_beyond_the_last_marker_are_orphans() {
        for (range, next, orphan) in [
            ((0, 9), None, true),
            ((0, 9), Some(10), false),
            ((10, 12), Some(10), true),
            ((5, 12), Some(10), true),
        ] {
            assert_eq!(is_orphan(&name(range.0, range.1), next), orphan, "{range:?} {next:?}");
        }
    }
}
