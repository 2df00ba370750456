use ::exchange::columns::{DEAD_LETTERS, EXCHANGES, LEDGER, RULES_KEY};
use ::exchange::{Exchange, Item, Ledger, LedgerItem, Leg, Outcome};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};

use super::*;
use crate::fixture::{AT_US, answer, exchange, leg};
use crate::{Bodies, Settings};

const ORIGIN: Origin<'static> = Origin { topic: "t", partition: 2, offset: 40 };

fn batch(exchange: &Exchange, settings: &Settings) -> RecordBatch {
    let mut rows = Rows::new(EXCHANGES, &[(RULES_KEY, "hash")]);
    put_exchange(&mut rows, ORIGIN, exchange, &judge(exchange, settings), settings);
    assert_eq!(rows.len(), 1);
    assert!(rows.bytes() > 100);
    let batch = rows.take().unwrap();
    assert_eq!((rows.len(), rows.bytes()), (0, 0));
    batch
}

fn text(batch: &RecordBatch, name: &str) -> Option<String> {
    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
    column.is_valid(0).then(|| column.value(0).to_owned())
}

fn int64(batch: &RecordBatch, name: &str) -> i64 {
    batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(0)
}

fn int32(batch: &RecordBatch, name: &str) -> i32 {
    batch.column_by_name(name).unwrap().as_primitive::<Int32Type>().value(0)
}

fn float64(batch: &RecordBatch, name: &str) -> f64 {
    batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().value(0)
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<String> {
    let list = batch.column_by_name(name).unwrap().as_list::<i32>().value(0);
    list.as_string::<i32>().iter().map(|item| item.unwrap().to_owned()).collect()
}

fn floats(batch: &RecordBatch, name: &str) -> Vec<f64> {
    let list = batch.column_by_name(name).unwrap().as_list::<i32>().value(0);
    list.as_primitive::<Float64Type>().values().to_vec()
}

fn is_null(batch: &RecordBatch, name: &str) -> bool {
    batch.column_by_name(name).unwrap().is_null(0)
}

#[test]
fn an_exchange_fills_its_row() {
    let batch = batch(&exchange(7), &Settings::new("out"));
    assert_eq!(batch.schema().metadata()[RULES_KEY], "hash");
    for (name, value) in [
        ("exchange_id", "00000000-0000-0000-0000-000000000007"),
        ("request_id", "req-1"),
        ("topic", "t"),
        ("path", "/v2/models/ranker/infer"),
        ("model", "ranker"),
        ("protocol", "v2_json"),
        ("request_headers", r#"[["accept","*/*"]]"#),
        ("shadow_role", "candidate"),
        ("primary_labels", r#"{"gpu":"T4"}"#),
        ("primary_outcome", "answered"),
        ("primary_model_version", "3"),
        ("shadow_headers", r#"[["content-type","application/json"]]"#),
        ("class", "BIT_EQUAL"),
    ] {
        assert_eq!(text(&batch, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!((int64(&batch, "sequence"), int32(&batch, "partition"), int64(&batch, "offset")), (7, 2, 40));
    let received = batch.column_by_name("received_at").unwrap().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(received.value(0), AT_US + 7);
    assert_eq!((int32(&batch, "shadow_status"), int32(&batch, "shadow_inflight")), (200, 7));
    assert_eq!(texts(&batch, "primary_output_names"), ["score"]);
    assert_eq!(texts(&batch, "primary_output_dtypes"), ["FP32"]);
    assert_eq!(texts(&batch, "primary_output_shapes"), ["2"]);
    assert_eq!(floats(&batch, "shadow_values"), [0.25, 0.75]);
    assert_eq!(int64(&batch, "shadow_values_total"), 2);
    let body = batch.column_by_name("primary_body").unwrap().as_binary::<i32>();
    assert_eq!(body.value(0), answer("0.25,0.75").as_bytes());
    for (name, value) in [
        ("shadow_http_version", "1.1"),
        ("shadow_trailers", r#"[["grpc-status","0"]]"#),
        ("primary_trailers", r#"[["grpc-status","0"]]"#),
    ] {
        assert_eq!(text(&batch, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!((int32(&batch, "shadow_grpc_status"), int64(&batch, "primary_reported_queue_us")), (0, 12));
    assert_eq!((int64(&batch, "shadow_stream"), float64(&batch, "shadow_reported_utilization")), (4, 0.5));
    assert!(batch.column_by_name("shadow_reused").unwrap().as_boolean().value(0));
    for name in ["trace_id", "query", "primary_reported_load", "primary_undecodable", "shadow_text"] {
        assert!(is_null(&batch, name), "{name}");
    }
}

#[test]
fn a_leg_without_an_answer_is_incomparable_and_says_why() {
    let mut timed_out = exchange(0);
    timed_out.shadow = Leg::unsent(Outcome::TimedOut, "no answer within 2 s");
    let row = batch(&timed_out, &Settings::new("out"));
    assert_eq!(text(&row, "class").as_deref(), Some("INCOMPARABLE"));
    assert_eq!(text(&row, "shadow_undecodable").as_deref(), Some("timed_out"));
    assert_eq!(text(&row, "shadow_reason").as_deref(), Some("no answer within 2 s"));
    assert_eq!(text(&row, "protocol").as_deref(), Some("v2_json"));
    assert!(is_null(&row, "shadow_status") && is_null(&row, "shadow_score") && is_null(&row, "shadow_body"));
    assert!(texts(&row, "shadow_output_names").is_empty());

    timed_out.primary.body.cut(10);
    let row = batch(&timed_out, &Settings::new("out"));
    assert!(text(&row, "primary_undecodable").unwrap().contains("truncated"));
    assert_eq!(text(&row, "protocol").as_deref(), Some("unknown"));
    assert_eq!(text(&row, "model").as_deref(), Some("ranker"), "from the path");

    timed_out.primary.status = None;
    let row = batch(&timed_out, &Settings::new("out"));
    assert_eq!(text(&row, "primary_undecodable").as_deref(), Some("answered without a status"));
}

#[test]
fn answers_have_signatures_and_statistics_by_which_they_are_found_again() {
    let same = batch(&exchange(7), &Settings::new("out"));
    assert_eq!(text(&same, "primary_signature"), text(&same, "shadow_signature"));
    assert_eq!(text(&same, "primary_signature").map(|hash| hash.len()), Some(32));
    assert_eq!((floats(&same, "shadow_projections").len(), floats(&same, "shadow_blocks").len()), (4, 2));
    assert_eq!((float64(&same, "shadow_value_min"), float64(&same, "shadow_value_max")), (0.25, 0.75));
    assert_eq!((int64(&same, "shadow_argmax"), int64(&same, "shadow_nan_count")), (1, 0));
    assert_eq!((float64(&same, "rmse"), float64(&same, "norm_ratio")), (0.0, 1.0));

    let mut other = exchange(7);
    other.shadow.body = ::exchange::Body::whole(answer("0.75,0.25").into());
    let row = batch(&other, &Settings::new("out"));
    assert_ne!(text(&row, "primary_signature"), text(&row, "shadow_signature"));
    assert_eq!((int64(&row, "shadow_argmax"), text(&row, "class").as_deref()), (0, Some("GROSS")));
    assert!((float64(&row, "mean_absolute") - 0.5).abs() < 1e-9);

    other.shadow = Leg::unsent(Outcome::TimedOut, "no answer within 2 s");
    let row = batch(&other, &Settings::new("out"));
    assert!(is_null(&row, "shadow_signature") && is_null(&row, "shadow_nan_count") && is_null(&row, "rmse"));
    assert!(floats(&row, "shadow_projections").is_empty());
}

#[test]
fn an_answer_that_the_client_did_not_wait_for_is_compared_like_any_other() {
    let mut cancelled = exchange(0);
    cancelled.primary.outcome = Outcome::ClientCancelled;
    let row = batch(&cancelled, &Settings::new("out"));
    assert_eq!(text(&row, "primary_outcome").as_deref(), Some("client_cancelled"));
    assert_eq!(text(&row, "class").as_deref(), Some("BIT_EQUAL"));

    cancelled.primary.outcome = Outcome::ResetOnReuse;
    let row = batch(&cancelled, &Settings::new("out"));
    assert_eq!(text(&row, "class").as_deref(), Some("INCOMPARABLE"));
    assert_eq!(text(&row, "primary_undecodable").as_deref(), Some("reset_on_reuse"));
}

#[test]
fn bodies_are_kept_as_asked() {
    let same = exchange(0);
    let mut other = exchange(0);
    other.shadow = leg("0.75,0.25");
    for (bodies, keeps_same, keeps_other) in
        [(Bodies::All, true, true), (Bodies::Divergent, false, true), (Bodies::None, false, false)]
    {
        let settings = Settings { bodies, ..Settings::new("out") };
        for (exchange, keeps) in [(&same, keeps_same), (&other, keeps_other)] {
            let row = batch(exchange, &settings);
            for name in ["request_body", "primary_body", "shadow_body"] {
                assert_eq!(is_null(&row, name), !keeps, "{name} {bodies:?}");
            }
            assert_eq!(text(&row, "primary_body_digest"), exchange.primary.body.digest_hex());
        }
    }
}

#[test]
fn values_are_cut_at_the_cap_and_counted_whole() {
    let settings = Settings { values_cap: 1, ..Settings::new("out") };
    let row = batch(&exchange(0), &settings);
    assert_eq!(floats(&row, "primary_values"), [0.25]);
    assert_eq!(int64(&row, "primary_values_total"), 2);
}

#[test]
fn counts_beyond_the_column_are_the_largest_it_holds() {
    let mut odd = exchange(0);
    odd.sequence = u64::MAX;
    odd.shadow.inflight = u32::MAX;
    odd.shadow.stream = Some(u64::MAX);
    let row = batch(&odd, &Settings::new("out"));
    assert_eq!((int64(&row, "sequence"), int64(&row, "shadow_stream")), (i64::MAX, i64::MAX));
    assert_eq!(int32(&row, "shadow_inflight"), i32::MAX);
}

#[test]
fn a_ledger_has_a_row_for_each_count_and_one_for_none() {
    let mut rows = Rows::new(LEDGER, &[]);
    let item = |item| LedgerItem { item, target: "candidate".into(), inflight_from: 8, count: 5 };
    let mut ledger = Ledger { proxy: "p".into(), snapshot: 3, closing: true, ..Ledger::default() };
    put_ledger(&mut rows, &ledger);
    ledger.items = vec![item(Item::Mirrored), item(Item::Outcome(Outcome::Shed))];
    put_ledger(&mut rows, &ledger);
    let batch = rows.take().unwrap();
    let items = batch.column_by_name("item").unwrap().as_string::<i32>();
    assert_eq!(items.iter().flatten().collect::<Vec<_>>(), ["mirrored", "mirrored", "outcome.shed"]);
    let counts = batch.column_by_name("count").unwrap().as_primitive::<Int64Type>();
    assert_eq!(counts.values(), &[0, 5, 5]);
}

#[test]
fn a_large_dead_letter_keeps_its_first_part_and_says_so() {
    let mut rows = Rows::new(DEAD_LETTERS, &[]);
    let payload = vec![1; (1 << 20) + 5];
    let letter =
        DeadLetter { at_us: None, reason: "not an envelope", key: None, payload: Some(&payload), keep: true };
    put_dead_letter(&mut rows, ORIGIN, &letter);
    let batch = rows.take().unwrap();
    assert_eq!(batch.column_by_name("payload").unwrap().as_binary::<i32>().value(0).len(), 1 << 20);
    let reason = text(&batch, "reason").unwrap();
    assert!(reason.starts_with("not an envelope (payload of 1048581 bytes"), "{reason}");
    assert!(is_null(&batch, "at") && is_null(&batch, "key"));
}

#[test]
#[should_panic(expected = "cells come in the order of the table")]
fn a_cell_in_the_wrong_place_is_caught() {
    Rows::new(DEAD_LETTERS, &[]).put("partition", 1);
}

#[test]
fn the_score_is_of_a_floating_output_where_there_is_one() {
    let mut labelled = exchange(0);
    let label = r#"{"name":"class","datatype":"INT64","shape":[1],"data":[3]}"#;
    let score = r#"{"name":"score","datatype":"FP32","shape":[1],"data":[0.25]}"#;
    let body = |outputs: &str| ::exchange::Body::whole(format!(r#"{{"outputs":[{outputs}]}}"#).into());
    labelled.primary.body = body(&format!("{label},{score}"));
    labelled.shadow.body = body(label);
    let row = batch(&labelled, &Settings::new("out"));
    let float = |name: &str| row.column_by_name(name).unwrap().as_primitive::<Float64Type>().value(0);
    assert_eq!((float("primary_score"), float("shadow_score")), (0.25, 3.0));
}

#[test]
fn a_dead_letter_keeps_no_bytes_where_no_bodies_are_kept() {
    let mut rows = Rows::new(DEAD_LETTERS, &[]);
    let payload = b"from a newer release, with its bodies";
    let letter =
        DeadLetter { at_us: None, reason: "too new", key: Some(b"k"), payload: Some(payload), keep: false };
    put_dead_letter(&mut rows, ORIGIN, &letter);
    let row = rows.take().unwrap();
    assert!(is_null(&row, "payload") && !is_null(&row, "key"));
    assert_eq!(text(&row, "reason").unwrap(), "too new (payload of 37 bytes not kept: bodies are not)");
}

fn exchange_body(bytes: &'static [u8]) -> ::exchange::Body {
    ::exchange::Body::whole(bytes::Bytes::from_static(bytes))
}

#[test]
fn a_call_is_decoded_with_its_trailers_and_its_request_names_the_model() {
    // `ModelInferResponse` of one FP32 output `y` of two elements, raw; the request names the model `r`.
    let answer =
        b"\0\0\0\0\x1c\x2a\x0e\x0a\x01y\x12\x04FP32\x1a\x01\x02\x2a\0\x32\x08\0\0\0\x3f\0\0\x80\x3f\x1a\0";
    let mut call = exchange(0);
    call.request.path = "/inference.GRPCInferenceService/ModelInfer".into();
    call.request.headers = vec![("content-type".into(), "application/grpc".into())];
    call.request.body = exchange_body(b"\0\0\0\0\x03\x0a\x01r");
    for leg in [&mut call.primary, &mut call.shadow] {
        leg.headers = call.request.headers.clone();
        leg.body = exchange_body(answer);
    }
    let row = batch(&call, &Settings::new("out"));
    assert_eq!(text(&row, "protocol").as_deref(), Some("v2_grpc"));
    assert_eq!(
        (text(&row, "class").as_deref(), text(&row, "model").as_deref()),
        (Some("BIT_EQUAL"), Some("r"))
    );

    call.shadow.trailers = vec![("grpc-status".into(), "13".into())];
    let row = batch(&call, &Settings::new("out"));
    assert_eq!(text(&row, "class").as_deref(), Some("INCOMPARABLE"));
    assert_eq!(text(&row, "shadow_undecodable").as_deref(), Some("grpc status 13"));
}

#[test]
fn another_text_is_no_fault_where_the_request_draws_its_text_by_chance() {
    let said = |text: &str| {
        let body = format!(
            r#"{{"object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}}}}]}}"#
        );
        ::exchange::Body::whole(body.into_bytes().into())
    };
    let asked = |request: &'static [u8]| {
        let mut exchange = exchange(1);
        exchange.request.path = "/v1/chat/completions".into();
        exchange.request.body = exchange_body(request);
        (exchange.primary.body, exchange.shadow.body) = (said("it is fine"), said("all is well"));
        let batch = batch(&exchange, &Settings::new("out"));
        let serious = batch.column_by_name("serious").unwrap().as_boolean().value(0);
        (text(&batch, "class").unwrap(), text(&batch, "class_detail").unwrap(), serious)
    };
    let drawn = asked(br#"{"messages":[],"temperature":0.7}"#);
    assert_eq!(drawn, ("FLIP".into(), "sampled:text".into(), false));
    let greedy = asked(br#"{"messages":[],"temperature":0}"#);
    assert_eq!(greedy, ("FLIP".into(), "real:text".into(), true));
}
