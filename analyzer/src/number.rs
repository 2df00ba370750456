//! Floating-point numbers in serial forms that know no infinity: JSON would turn it into null, which means unknown.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Number(f64),
    Name(String),
}

/// NaN is written as infinite too: both are beyond every tolerance.
pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    let form = value.map(|value| match value {
        _ if value.is_finite() => Form::Number(value),
        _ if value == f64::NEG_INFINITY => Form::Name("-inf".into()),
        _ => Form::Name("inf".into()),
    });
    form.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::<Form>::deserialize(deserializer)?.map(|form| match form {
        Form::Number(value) => value,
        Form::Name(name) if name == "-inf" => f64::NEG_INFINITY,
        Form::Name(_) => f64::INFINITY,
    }))
}
