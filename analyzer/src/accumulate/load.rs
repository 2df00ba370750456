//! Quantised integers: exact while small, then to a fixed number of leading bits.

/// Lower end of the bucket of `value`: exact up to `2^exact_bits − 1`, above that with `bits` leading bits kept, a relative
/// width of `2^(1−bits)`.
pub(crate) fn quantise(value: u64, exact_bits: u32, bits: u32) -> u64 {
    match value.checked_ilog2() {
        Some(top) if top >= exact_bits => {
            let shift = top + 1 - bits;
            (value >> shift) << shift
        }
        _ => value,
    }
}

/// Buckets of in-flight counts: exact to 255, then 3 % wide.
pub(crate) fn inflight(value: u32) -> u32 {
    // At most the value itself, so it fits.
    quantise(u64::from(value), 8, 6) as u32
}

/// Buckets of latencies in µs: exact to 255, then 0.8 % wide.
pub(crate) fn latency(value: u64) -> u64 {
    quantise(value, 8, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact_and_large_ones_close() {
        assert_eq!([0, 1, 7, 255].map(inflight), [0, 1, 7, 255]);
        assert_eq!([256, 263, 264, 1000].map(inflight), [256, 256, 264, 992]);
        for value in (0..5_000_000).step_by(977) {
            let bucket = latency(value);
            assert!(bucket <= value && value - bucket <= value / 128);
        }
        assert_eq!(inflight(u32::MAX), 0xFC00_0000);
    }
}
