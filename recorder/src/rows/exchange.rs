//! Rows of `exchanges`: both answers decoded, compared, and laid out.

use std::collections::BTreeMap;

use divergence::{Answer, Decoded, Divergence, Rules, Side};
use exchange::{Body, Exchange, HttpVersion, Leg, Pairs};

use super::{Origin, Rows, int};
use crate::Settings;

/// Room for each kept string of a text output, in bytes, on average.
const BYTES_PER_TEXT: usize = 8;

/// Both answers of an exchange, and how they differ.
pub(crate) struct Judged {
    /// The primary's outputs, or why there are none.
    primary: Result<Decoded, String>,
    /// The shadow's.
    shadow: Result<Decoded, String>,
    divergence: Divergence,
}

impl Judged {
    /// Both answers, where both were decoded.
    pub(crate) fn outputs(&self) -> Option<(&Decoded, &Decoded)> {
        self.primary.as_ref().ok().zip(self.shadow.as_ref().ok())
    }
}

/// Decodes and compares the answers.
pub(crate) fn judge(exchange: &Exchange, settings: &Settings) -> Judged {
    let outputs = |leg: &Leg| {
        if !leg.outcome.is_answer() {
            return Err(leg.outcome.to_string());
        }
        let status = leg.status.ok_or("answered without a status")?;
        let answer = Answer {
            truncated: leg.body.truncated,
            trailers: &leg.trailers,
            ..Answer::new(&exchange.request.path, status, &leg.headers, &leg.body.bytes)
        };
        divergence::decode(&answer, &settings.rules).map_err(|reason| reason.to_string())
    };
    let (primary, shadow) = (outputs(&exchange.primary), outputs(&exchange.shadow));
    let divergence = divergence::compare(side(&primary), side(&shadow), &settings.rules);
    let request = &exchange.request;
    // Only a request whose answers would be told apart as text needs to be read.
    let drawn = divergence.serious && divergence::samples(&request.headers, &request.body.bytes);
    Judged { primary, shadow, divergence: if drawn { divergence.of_sampled() } else { divergence } }
}

fn side(outputs: &Result<Decoded, String>) -> Side<'_> {
    match outputs {
        Ok(decoded) => Side::Outputs(decoded),
        Err(reason) => Side::Absent(reason),
    }
}

/// Appends the row of an exchange.
pub(crate) fn put_exchange(
    rows: &mut Rows,
    origin: Origin<'_>,
    exchange: &Exchange,
    judged: &Judged,
    settings: &Settings,
) {
    let Judged { primary, shadow, divergence } = judged;
    let keep = settings.bodies.keeps(divergence.class);
    put_head(rows, origin, exchange, judged, keep);
    for (prefix, leg, outputs, degenerate) in [
        ("primary_", &exchange.primary, primary, &divergence.primary_degenerate),
        ("shadow_", &exchange.shadow, shadow, &divergence.shadow_degenerate),
    ] {
        put_leg(rows, prefix, leg, keep);
        put_outputs(rows, prefix, outputs, degenerate, settings);
    }
    put_divergence(rows, divergence);
}

fn put_head(rows: &mut Rows, origin: Origin<'_>, exchange: &Exchange, judged: &Judged, keep: bool) {
    let request = &exchange.request;
    let answers = [&judged.primary, &judged.shadow];
    let protocol =
        answers.iter().find_map(|answer| answer.as_ref().ok()).map(|answer| answer.protocol.as_str());
    let named = answers.iter().find_map(|answer| answer.as_ref().ok()?.model.as_deref());
    let model = named
        .map(str::to_owned)
        .or_else(|| divergence::requested_model(&request.path, &request.headers, &request.body.bytes));
    rows.put("exchange_id", exchange.id.to_string().as_str());
    rows.put("request_id", request.id.as_ref());
    rows.put("trace_id", request.trace_id.as_ref());
    rows.put("run", &exchange.run);
    rows.put("proxy", &exchange.proxy);
    rows.put("sequence", int(exchange.sequence));
    rows.put("topic", origin.topic);
    rows.put("partition", origin.partition);
    rows.put("offset", origin.offset);
    rows.put("received_at", request.received_at_us);
    rows.put("method", &request.method);
    rows.put("path", &request.path);
    rows.put("query", request.query.as_ref());
    rows.put("route", &request.route);
    rows.put("model", model.as_ref());
    rows.put("protocol", protocol.unwrap_or("unknown"));
    rows.put("client_connection", int(request.client_connection));
    rows.put("request_headers", array(&request.headers).as_str());
    rows.put("request_body", kept(&request.body, keep));
    rows.put("request_bytes", int(request.body.length));
    rows.put("request_digest", request.body.digest_hex().as_ref());
    rows.put("shadow_target", &exchange.shadow_target);
    rows.put("shadow_role", exchange.shadow_role.as_str());
}

fn put_leg(rows: &mut Rows, prefix: &str, leg: &Leg, keep: bool) {
    rows.put_in(prefix, "node", &leg.node);
    rows.put_in(prefix, "labels", object(&leg.labels).as_str());
    rows.put_in(prefix, "status", leg.status);
    rows.put_in(prefix, "grpc_status", leg.grpc_status);
    rows.put_in(prefix, "http_version", leg.http_version.map(HttpVersion::as_str));
    rows.put_in(prefix, "outcome", leg.outcome.as_str());
    rows.put_in(prefix, "reason", &leg.reason);
    rows.put_in(prefix, "queued_us", leg.queued_us);
    rows.put_in(prefix, "first_byte_us", leg.first_byte_us);
    rows.put_in(prefix, "latency_us", leg.latency_us);
    rows.put_in(prefix, "inflight", leg.inflight);
    rows.put_in(prefix, "inflight_total", leg.inflight_total);
    rows.put_in(prefix, "inflight_peak", leg.inflight_peak);
    rows.put_in(prefix, "rate_1s", leg.rate_1s);
    rows.put_in(prefix, "rate_10s", leg.rate_10s);
    rows.put_in(prefix, "reported_load", leg.reported_load.as_ref());
    rows.put_in(prefix, "reported_queue_us", leg.reported_queue_us);
    rows.put_in(prefix, "reported_utilization", leg.reported_utilization);
    rows.put_in(prefix, "connection", leg.connection.as_ref());
    rows.put_in(prefix, "reused", leg.reused);
    rows.put_in(prefix, "stream", leg.stream.map(int));
    rows.put_in(prefix, "attempts", leg.attempts);
    rows.put_in(prefix, "headers", array(&leg.headers).as_str());
    rows.put_in(prefix, "trailers", array(&leg.trailers).as_str());
    rows.put_in(prefix, "body", kept(&leg.body, keep));
    rows.put_in(prefix, "body_bytes", int(leg.body.length));
    rows.put_in(prefix, "body_digest", leg.body.digest_hex().as_ref());
    rows.put_in(prefix, "body_truncated", leg.body.truncated);
}

fn put_outputs(
    rows: &mut Rows,
    prefix: &str,
    outputs: &Result<Decoded, String>,
    degenerate: &str,
    settings: &Settings,
) {
    let (cap, rules) = (settings.values_cap, &settings.rules);
    let decoded = outputs.as_ref().ok();
    let all = decoded.map_or(&[][..], |decoded| &decoded.outputs);
    let column = |text: fn(&divergence::Output) -> String| all.iter().map(text).collect::<Vec<_>>();
    let values: Vec<f64> = all.iter().flat_map(|output| output.values.iter().copied()).take(cap).collect();
    let total: usize = all.iter().map(|output| output.values.len()).sum();
    let first = |wanted: fn(&divergence::Output) -> bool| {
        all.iter().filter(|output| wanted(output)).find_map(|output| output.values.first().copied())
    };
    let score = first(|output| output.dtype.is_float()).or_else(|| first(|_| true));
    rows.put_in(prefix, "model_version", decoded.and_then(|decoded| decoded.model_version.as_ref()));
    rows.put_in(prefix, "output_names", &column(|output| output.name.clone())[..]);
    rows.put_in(prefix, "output_dtypes", &column(|output| output.dtype.as_str().to_owned())[..]);
    rows.put_in(prefix, "output_shapes", &column(shape)[..]);
    rows.put_in(prefix, "values", &values[..]);
    rows.put_in(prefix, "values_total", int(total as u64));
    rows.put_in(prefix, "score", score);
    rows.put_in(prefix, "text", texts(all, cap).as_ref());
    rows.put_in(prefix, "degenerate", degenerate);
    rows.put_in(prefix, "undecodable", outputs.as_ref().err());
    put_statistics(rows, prefix, decoded, rules);
}

fn put_statistics(rows: &mut Rows, prefix: &str, decoded: Option<&Decoded>, rules: &Rules) {
    let statistics = decoded.map(|decoded| divergence::statistics(decoded, rules));
    let statistics = statistics.as_ref();
    rows.put_in(prefix, "nan_count", statistics.map(|found| int(found.nan)));
    rows.put_in(prefix, "inf_count", statistics.map(|found| int(found.infinite)));
    rows.put_in(prefix, "zero_count", statistics.map(|found| int(found.zero)));
    rows.put_in(prefix, "value_min", statistics.and_then(|found| found.min));
    rows.put_in(prefix, "value_max", statistics.and_then(|found| found.max));
    rows.put_in(prefix, "value_mean", statistics.and_then(|found| found.mean));
    rows.put_in(prefix, "value_l2", statistics.and_then(|found| found.l2));
    rows.put_in(prefix, "argmax", statistics.and_then(|found| found.argmax).map(int));
    let signature = decoded.and_then(|decoded| divergence::signature(decoded, rules));
    let hash = signature.as_ref().map(|signature| format!("{:032x}", signature.hash));
    rows.put_in(prefix, "signature", hash.as_ref());
    rows.put_in(
        prefix,
        "projections",
        signature.as_ref().map_or(&[][..], |signature| &signature.projections),
    );
    rows.put_in(prefix, "blocks", signature.as_ref().map_or(&[][..], |signature| &signature.blocks));
}

fn put_divergence(rows: &mut Rows, divergence: &Divergence) {
    rows.put("class", divergence.class.as_str());
    rows.put("class_detail", &divergence.detail);
    rows.put("serious", divergence.serious);
    rows.put("bit_equal", divergence.bit_equal);
    rows.put("tolerance_units", divergence.tolerance_units);
    rows.put("max_absolute", divergence.max_absolute);
    rows.put("max_relative", divergence.max_relative);
    rows.put("symmetric_relative", divergence.symmetric_relative);
    rows.put("log10_ratio", divergence.log10_ratio);
    rows.put("fraction_beyond", divergence.fraction_beyond);
    rows.put("cosine", divergence.cosine);
    rows.put("sign_change", divergence.sign_change);
    rows.put("argmax_flip", divergence.argmax_flip);
    rows.put("argmax_near_tie", divergence.argmax_near_tie);
    rows.put("ulp_max", divergence.ulp_max);
    rows.put("worst_output", divergence.worst_output.as_ref());
    rows.put("worst_index", divergence.worst_index.map(int));
    rows.put("worst_row", divergence.worst_row.map(int));
    let measures = &divergence.measures;
    rows.put("mean_absolute", measures.mean_absolute);
    rows.put("rmse", measures.rmse);
    rows.put("l2_relative", measures.l2_relative);
    rows.put("norm_ratio", measures.norm_ratio);
    rows.put("top_k_overlap", measures.top_k_overlap);
    rows.put("kendall_tau", measures.kendall_tau);
    rows.put("rank_biased_overlap", measures.rank_biased_overlap);
    rows.put("rank_cost", measures.rank_cost);
    rows.put("jensen_shannon", measures.jensen_shannon);
    rows.put("total_variation", measures.total_variation);
    rows.put("first_difference", measures.first_difference.map(int));
    rows.put("common_prefix", measures.common_prefix);
    rows.put("edit_distance", measures.edit_distance);
    rows.put("rouge_l", measures.rouge_l);
    rows.put("logprob_gap", measures.logprob_gap);
    rows.put("detection_f1", measures.detection_f1);
    rows.put("mean_iou", measures.mean_iou);
    rows.put("json_differences", measures.json_differences.map(int));
}

fn kept(body: &Body, keep: bool) -> Option<&[u8]> {
    (keep && !body.bytes.is_empty()).then_some(&body.bytes[..])
}

fn shape(output: &divergence::Output) -> String {
    output.shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

/// The strings of all text outputs as a JSON array: at most `cap` strings and `cap` × [`BYTES_PER_TEXT`] bytes of them.
fn texts(outputs: &[divergence::Output], cap: usize) -> Option<String> {
    let mut room = cap.saturating_mul(BYTES_PER_TEXT);
    let mut kept = Vec::new();
    let mut strings = outputs.iter().flat_map(|output| &output.text).peekable();
    strings.peek()?;
    for text in strings.take(cap) {
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let cut = &text[..end];
        kept.push(cut);
        room -= cut.len();
        if cut.len() < text.len() {
            break;
        }
    }
    Some(json(&kept))
}

fn array(pairs: &Pairs) -> String {
    json(pairs)
}

/// Keys sorted; of a name that is there twice, the last value.
fn object(pairs: &Pairs) -> String {
    json(&pairs.iter().map(|(name, value)| (name, value)).collect::<BTreeMap<_, _>>())
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("text has a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_the_cap_between_characters() {
        let output = |text: &[&str]| divergence::Output {
            text: text.iter().map(|text| (*text).to_owned()).collect(),
            ..divergence::Output::new("t", divergence::DType::Bytes, vec![])
        };
        assert_eq!(texts(&[output(&[])], 9), None);
        assert_eq!(texts(&[output(&["a"]), output(&["b\""])], 9).unwrap(), r#"["a","b\""]"#);
        assert_eq!(texts(&[output(&["a", "b", "c"])], 2).unwrap(), r#"["a","b"]"#);
        assert_eq!(texts(&[output(&["1234567é", "next"])], 1).unwrap(), r#"["1234567"]"#);
    }

    #[test]
    fn labels_are_an_object_with_sorted_keys_and_headers_keep_their_order() {
        let pairs =
            vec![("b".to_owned(), "1".to_owned()), ("a".into(), "2".into()), ("b".into(), "3".into())];
        assert_eq!(object(&pairs), r#"{"a":"2","b":"3"}"#);
        assert_eq!(array(&pairs), r#"[["b","1"],["a","2"],["b","3"]]"#);
    }
}
