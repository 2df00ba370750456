//! Masks and pictures as arrays.

use super::finite;

/// |A ∩ B| / |A ∪ B| of the elements at or above `threshold`; 1 when both masks are empty. NaN is in no mask.
#[must_use]
pub fn mask_iou(p: &[f64], c: &[f64], threshold: f64) -> f64 {
    let (mut both, mut any) = (0_usize, 0_usize);
    for (p, c) in p.iter().zip(c) {
        let (p, c) = (*p >= threshold, *c >= threshold);
        both += usize::from(p && c);
        any += usize::from(p || c);
    }
    if any == 0 { 1.0 } else { both as f64 / any as f64 }
}

/// Peak signal-to-noise ratio 10·log10(peak² / mean (C − P)²) in decibels. `None` for identical pictures, whose noise is nothing, for
/// no elements, and for a peak that is not above 0.
#[must_use]
pub fn psnr(p: &[f64], c: &[f64], peak: f64) -> Option<f64> {
    let error = super::error::rmse(p, c)?;
    (error > 0.0 && peak > 0.0 && peak.is_finite()).then(|| 20.0 * (peak / error).log10())
}

/// The peak of a picture: 1 for values within [0, 1], 255 within [0, 255], else the largest magnitude of P. `None` for no finite value.
#[must_use]
pub fn peak(p: &[f64]) -> Option<f64> {
    let (low, high) = finite(p, p)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (p, _)| (low.min(p), high.max(p)));
    match (low, high) {
        (low, high) if low > high => None,
        (low, high) if low >= 0.0 && high <= 1.0 => Some(1.0),
        (low, high) if low >= 0.0 && high <= 255.0 => Some(255.0),
        (low, high) => Some(high.abs().max(low.abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::close;

    #[test]
    fn the_ratio_is_that_of_the_formula() {
        let p = [0.0, 50.0, 100.0, 150.0, 200.0, 255.0];
        let c = [0.0, 52.0, 99.0, 150.0, 190.0, 255.0];
        assert_eq!(peak(&p), Some(255.0));
        assert!(close(psnr(&p, &c, 255.0), 35.700_423_121_816_16));
        assert_eq!((psnr(&p, &p, 255.0), psnr(&[], &[], 1.0), psnr(&p, &c, 0.0)), (None, None, None));
    }

    #[test]
    fn the_peak_follows_the_values() {
        assert_eq!(
            (peak(&[0.0, 0.5]), peak(&[-2.0, 1.0]), peak(&[0.0, 300.0])),
            (Some(1.0), Some(2.0), Some(300.0))
        );
        assert_eq!((peak(&[]), peak(&[f64::NAN])), (None, None));
    }

    #[test]
    fn empty_masks_are_alike() {
        assert_eq!(mask_iou(&[0.0, 0.1], &[0.2, f64::NAN], 0.5), 1.0);
        assert_eq!(mask_iou(&[1.0, 1.0, 0.0], &[1.0, 0.0, 0.0], 0.5), 0.5);
        assert_eq!(mask_iou(&[1.0], &[0.0], 0.5), 0.0);
    }
}
