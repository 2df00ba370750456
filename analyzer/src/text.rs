//! Numbers as people read them.

/// A rate as a percentage with three significant digits; `–` when there is none.
pub(crate) fn percent(rate: Option<f64>) -> String {
    match rate {
        None => "–".into(),
        Some(0.0) => "0 %".into(),
        Some(rate) if rate >= 0.9995 => "100 %".into(),
        Some(rate) => format!("{} %", significant(rate * 100.0)),
    }
}

/// A chosen share, without needless zeros: 95 %, 0.1 %.
pub(crate) fn threshold(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Three significant digits, without an exponent between 1e-4 and 1e6.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return if value < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let size = value.abs();
    match size {
        0.0 => "0".into(),
        _ if !(1e-4..1e6).contains(&size) => format!("{value:.1e}"),
        _ => {
            let decimals = (2 - size.log10().floor() as i32).max(0);
            format!("{value:.*}", decimals as usize)
        }
    }
}

/// A p- or q-value with its name: `p = 0.034`.
pub(crate) fn named_probability(name: &str, p: f64) -> String {
    let text = probability(p);
    if text.starts_with('<') {
        format!("{name} {}", text.replacen('<', "< ", 1))
    } else {
        format!("{name} = {text}")
    }
}

/// A p- or q-value.
pub(crate) fn probability(p: f64) -> String {
    if p < 1e-300 {
        "<1e-300".into()
    } else if p < 1e-3 {
        format!("{p:.1e}")
    } else {
        format!("{p:.3}")
    }
}

/// A count with thin groups: 12,345.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A latency in the unit that suits it.
pub(crate) fn latency(us: Option<u64>) -> String {
    match us {
        None => "–".into(),
        Some(us) if us < 1000 => format!("{us} µs"),
        Some(us) if us < 1_000_000 => format!("{} ms", significant(us as f64 / 1e3)),
        Some(us) => format!("{} s", significant(us as f64 / 1e6)),
    }
}

/// An inclusive range of in-flight counts.
pub(crate) fn range(from: u32, to: u32) -> String {
    if from == to { from.to_string() } else { format!("{from}–{to}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0.95, 0.001, 1e-4, 0.05].map(threshold), ["95 %", "0.1 %", "0.01 %", "5 %"]);
        assert_eq!([Some(0.12345), Some(0.0), Some(1.0), None].map(percent), ["12.3 %", "0 %", "100 %", "–"]);
        assert_eq!(
            [0.000_4, 3.0, 1234.5, 1e-9, 2e7].map(significant),
            ["0.000400", "3.00", "1234", "1.0e-9", "2.0e7"]
        );
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(significant), ["inf", "-inf"]);
        assert_eq!([7, 999, 1000, 1_234_567].map(count), ["7", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [Some(5), Some(1500), Some(2_000_000), None].map(latency),
            ["5 µs", "1.50 ms", "2.00 s", "–"]
        );
        assert_eq!([0.5, 0.0].map(|p| named_probability("q", p)), ["q = 0.500", "q < 1e-300"]);
        assert_eq!([0.5, 1e-4, 0.0].map(probability), ["0.500", "1.0e-4", "<1e-300"]);
        assert_eq!([range(3, 3), range(3, 5)], ["3", "3–5"]);
    }
}
