//! Waiting on conditions.

use std::time::{Duration, Instant};

/// How long anything may take before the test fails; generous, for machines under load.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Asks `probe` again and again until it gives a value.
///
/// # Panics
/// With `what` when [`DEADLINE`] passes first.
pub fn until<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    within(DEADLINE, probe).unwrap_or_else(|| panic!("waited {} s in vain: {what}", DEADLINE.as_secs()))
}

/// Asks `probe` again and again until it gives a value, or `limit` passes.
pub fn within<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let from = Instant::now();
    loop {
        let value = probe();
        if value.is_some() || from.elapsed() >= limit {
            return value;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until `holds` is true.
///
/// # Panics
/// With `what` when [`DEADLINE`] passes first.
pub fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}
