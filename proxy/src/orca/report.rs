//! ORCA load reports in their four forms: text, JSON, base64 protobuf behind a prefix, and `-bin`.
//!
//! Refused as a whole, as Envoy does: a report in more than one form, a metric that comes twice, a name or a value that is
//! empty, a value that is no number, NaN or infinite. A metric of an unknown name is passed over.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use prost::Message;

/// gRPC leaves the padding out of `-bin` values and takes it in (PROTOCOL-HTTP2, "Custom-Metadata").
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Most metrics of one report that are looked at.
const METRICS: usize = 1000;

/// The report headers of one head.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    plain: Vec<&'a str>,
    json: Vec<&'a str>,
    binary: Vec<&'a str>,
}

/// The part of `xds.data.orca.v3.OrcaLoadReport` that is used.
#[derive(Clone, PartialEq, Message)]
struct OrcaLoadReport {
    #[prost(double, optional, tag = "1")]
    cpu_utilization: Option<f64>,
    #[prost(double, optional, tag = "9")]
    application_utilization: Option<f64>,
}

#[derive(Debug, Default, serde::Deserialize)]
struct Json {
    #[serde(default, alias = "cpuUtilization")]
    cpu_utilization: Option<f64>,
    #[serde(default, alias = "applicationUtilization")]
    application_utilization: Option<f64>,
}

/// The two utilizations of a report, application first.
type Utilizations = (Option<f64>, Option<f64>);

impl<'a> Found<'a> {
    /// Keeps `value` when `name` is that of a report.
    pub(super) fn take(&mut self, name: &str, value: &'a str) {
        match name {
            "endpoint-load-metrics" => self.plain.push(value),
            "endpoint-load-metrics-json" => self.json.push(value),
            "endpoint-load-metrics-bin" => self.binary.push(value),
            _ => {}
        }
    }

    /// The text of the report, and the utilization where the report is sound.
    pub(super) fn read(self) -> (Option<String>, Option<f64>) {
        let all: Vec<&str> = self.plain.iter().chain(&self.json).chain(&self.binary).copied().collect();
        if all.is_empty() {
            return (None, None);
        }
        let read = match (&self.plain[..], &self.json[..], &self.binary[..]) {
            ([first, ..], [], []) => match prefixed(first) {
                (Some(Form::Json), value) => single(&self.plain).and(json(value)),
                (Some(Form::Binary), value) => single(&self.plain).and(binary(value)),
                (Some(Form::Text), _) | (None, _) => text(&self.plain),
            },
            ([], [value], []) => json(value),
            ([], [], [value]) => binary(value),
            _ => None,
        };
        let utilization = read.and_then(|(application, cpu)| {
            let told = |value: Option<f64>| value.filter(|value| value.is_finite() && *value >= 0.0);
            let (application, cpu) = (told(application), told(cpu));
            application.filter(|value| *value > 0.0).or(cpu).or(application)
        });
        (Some(all.join(", ")), utilization)
    }
}

enum Form {
    Text,
    Json,
    Binary,
}

/// The form that a value says it has, and the rest of it.
fn prefixed(value: &str) -> (Option<Form>, &str) {
    let value = value.trim();
    let Some((word, rest)) = value.split_once(' ') else { return (None, value) };
    let form = match word {
        _ if word.eq_ignore_ascii_case("text") => Form::Text,
        _ if word.eq_ignore_ascii_case("json") => Form::Json,
        _ if word.eq_ignore_ascii_case("bin") => Form::Binary,
        _ => return (None, value),
    };
    (Some(form), rest.trim())
}

fn single(values: &[&str]) -> Option<()> {
    (values.len() == 1).then_some(())
}

/// `NAME=VALUE, …`, or with a colon; one header or several.
fn text(values: &[&str]) -> Option<Utilizations> {
    let (mut application, mut cpu) = (None, None);
    let mut names = BTreeSet::new();
    let values = values.iter().map(|value| match prefixed(value) {
        (Some(Form::Text), rest) => Some(rest),
        (None, value) => Some(value),
        (Some(Form::Json | Form::Binary), _) => None,
    });
    for value in values {
        for metric in value?.split(',').map(str::trim).filter(|metric| !metric.is_empty()) {
            let (name, value) = metric.split_once(['=', ':'])?;
            let (name, value) = (name.trim(), number(value.trim())?);
            if name.is_empty() || names.len() == METRICS || !names.insert(name) {
                return None;
            }
            match name {
                "application_utilization" => application = Some(value),
                "cpu_utilization" => cpu = Some(value),
                _ => {}
            }
        }
    }
    Some((application, cpu))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The names of the fields as in the `.proto` file or in the JSON mapping of protobuf.
fn json(text: &str) -> Option<Utilizations> {
    let report: Json = serde_json::from_str(text).ok()?;
    Some((report.application_utilization, report.cpu_utilization))
}

fn binary(text: &str) -> Option<Utilizations> {
    let bytes = BASE64.decode(text.trim()).ok()?;
    let report = OrcaLoadReport::decode(&bytes[..]).ok()?;
    let sound = |value: Option<f64>| value.is_none_or(f64::is_finite);
    (sound(report.application_utilization) && sound(report.cpu_utilization))
        .then_some((report.application_utilization, report.cpu_utilization))
}
