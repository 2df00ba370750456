//! Results as JSON and as lines of text: one tree of values, whose numbers may be infinite.

use serde::Serialize;
use serde_json::{Map, Value};

/// The value as JSON: numbers that JSON cannot hold are the texts `inf`, `-inf` and `nan`; what is absent is left out.
///
/// # Errors
/// Never for the types of this program: TOML, through which it goes, has all of their kinds of value.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<Value> {
    Ok(converted(toml::Value::try_from(value)?))
}

fn converted(value: toml::Value) -> Value {
    match value {
        toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
            Some(number) => Value::Number(number),
            None => Value::String(if number.is_nan() { "nan".into() } else { number.to_string() }),
        },
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(value) => value.into(),
        toml::Value::String(text) => text.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(converted).collect(),
        toml::Value::Table(fields) => {
            fields.into_iter().map(|(name, value)| (name, converted(value))).collect::<Map<_, _>>().into()
        }
    }
}

/// One line for each value within, its path before it, two columns.
pub(crate) fn lines(value: &Value, indent: usize) -> String {
    let mut rows = Vec::new();
    flatten(value, String::new(), &mut rows);
    let width = rows.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
    rows.into_iter().map(|(path, text)| format!("{:indent$}{path:width$}  {text}\n", "")).collect()
}

fn flatten(value: &Value, path: String, rows: &mut Vec<(String, String)>) {
    let below = |step: &str| if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(value, below(name), rows)),
        Value::Array(items) if items.iter().any(|item| item.is_object()) => {
            items.iter().enumerate().for_each(|(index, item)| flatten(item, below(&index.to_string()), rows));
        }
        Value::Array(items) => rows.push((path, items.iter().map(leaf).collect::<Vec<_>>().join(", "))),
        value => rows.push((path, leaf(value))),
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(value) if number.is_f64() => short(value),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Text from a server as it may go to a terminal: control characters, which could be commands to it, are written out. Line ends and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Six significant digits, as `%g` of C writes them.
pub(crate) fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    let plain = rounded == 0.0 || (1e-4..1e9).contains(&rounded.abs());
    if plain { rounded.to_string() } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_sends_is_no_command_to_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\u{9b}\nc\t"), "a\\u{1b}[31mb\\u{7}\\u{9b}\nc\t");
    }

    #[derive(Serialize)]
    struct Sample {
        far: f64,
        none: Option<f64>,
        list: Vec<f64>,
        inner: Vec<Inner>,
    }

    #[derive(Serialize)]
    struct Inner {
        count: u64,
    }

    #[test]
    fn infinity_is_told_and_nothing_is_left_out() {
        let inner = vec![Inner { count: 3 }];
        let sample = Sample { far: f64::INFINITY, none: None, list: vec![0.1, f64::NAN], inner };
        let value = json(&sample).unwrap();
        assert_eq!(value.to_string(), r#"{"far":"inf","inner":[{"count":3}],"list":[0.1,"nan"]}"#);
        assert_eq!(lines(&value, 2), "  far            inf\n  inner.0.count  3\n  list           0.1, nan\n");
    }

    #[test]
    fn numbers_have_six_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0 / 3.0, "0.333333"),
            (1234567.0, "1234570"),
            (-0.5, "-0.5"),
            (1.23456789e-7, "1.23457e-7"),
            (3e20, "3e20"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
