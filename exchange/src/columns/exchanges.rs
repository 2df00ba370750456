//! The `exchanges` table: one row per mirrored request and shadow.

use super::Kind::{Binary, Bool, Float64, Float64List, Int32, Int64, Text, TextList, Timestamp};
use super::{Column, column, optional};

macro_rules! leg {
    ($leg:literal) => {
        [
            column(concat!($leg, "_node"), Text, "", "node that answered: the address dialled; empty when none was chosen"),
            column(concat!($leg, "_labels"), Text, "JSON object", "labels of the node, such as GPU and driver; keys sorted"),
            optional(concat!($leg, "_status"), Int32, "", "HTTP status; null when no head of an answer came"),
            optional(concat!($leg, "_grpc_status"), Int32, "", "status of a gRPC call, 0 is OK; null when none came"),
            optional(concat!($leg, "_http_version"), Text, "", "protocol of the answer on the wire: 1.0, 1.1 or 2; null when no head of an answer came"),
            column(concat!($leg, "_outcome"), Text, "", "how the leg ended: answered, refused, timed_out, reset, incomplete, client_gone, shed, body_too_large, shutdown, client_cancelled, reset_on_reuse, unsupported"),
            column(concat!($leg, "_reason"), Text, "", "what went wrong, for people; empty when answered"),
            optional(concat!($leg, "_queued_us"), Int64, "µs", "receipt of the request's head to dispatch on this leg"),
            optional(concat!($leg, "_first_byte_us"), Int64, "µs", "dispatch to the head of the answer"),
            optional(concat!($leg, "_latency_us"), Int64, "µs", "dispatch to the last byte of the answer, or to the failure"),
            column(concat!($leg, "_inflight"), Int32, "requests", "requests of this leg under way on this node at dispatch, without this one"),
            optional(concat!($leg, "_inflight_total"), Int32, "requests", "requests of this leg under way on all its nodes at dispatch, without this one; null when never sent"),
            optional(concat!($leg, "_inflight_peak"), Int32, "requests", "most requests of this leg under way on this node at once while this one was, without this one; null when never sent"),
            column(concat!($leg, "_rate_1s"), Float64, "1/s", "arrivals on this leg and node before this one, shot noise, time constant 1 s"),
            column(concat!($leg, "_rate_10s"), Float64, "1/s", "the same with a time constant of 10 s"),
            optional(concat!($leg, "_reported_load"), Text, "", "the server's own load report (endpoint-load-metrics header), as it came"),
            optional(concat!($leg, "_reported_queue_us"), Int64, "µs", "wait in the server's own queue, as the server says (x-queue-time, Server-Timing)"),
            optional(concat!($leg, "_reported_utilization"), Float64, "", "how busy the server says it is, 1 is full: application utilization of its load report, or else cpu utilization"),
            optional(concat!($leg, "_connection"), Text, "", "local address of the upstream connection"),
            optional(concat!($leg, "_reused"), Bool, "", "whether that connection had carried a request before"),
            optional(concat!($leg, "_stream"), Int64, "", "number of the request on that connection, from 0"),
            column(concat!($leg, "_attempts"), Int32, "", "times the request was sent: 2 after a replay on a stale connection, 0 when never"),
            column(concat!($leg, "_headers"), Text, "JSON array of [name, value]", "headers of the answer, secrets replaced"),
            column(concat!($leg, "_trailers"), Text, "JSON array of [name, value]", "trailers of the answer, secrets replaced"),
            optional(concat!($leg, "_body"), Binary, "", "body of the answer; null when bodies are not kept or none came"),
            column(concat!($leg, "_body_bytes"), Int64, "bytes", "length of the whole body as it crossed the wire"),
            optional(concat!($leg, "_body_digest"), Text, "", "XXH3-128 of the whole body, also of one too large to keep, 32 hex digits; null when its end was not seen"),
            column(concat!($leg, "_body_truncated"), Bool, "", "whether the body was captured only in part, so it may not be decodable"),
            optional(concat!($leg, "_model_version"), Text, "", "version of the model that the answer names"),
            column(concat!($leg, "_output_names"), TextList, "", "names of the decoded outputs, sorted"),
            column(concat!($leg, "_output_dtypes"), TextList, "", "type of each output, in the order of its names: FP32, INT64, BYTES …"),
            column(concat!($leg, "_output_shapes"), TextList, "", "shape of each output, such as 2x3; empty for a scalar"),
            column(concat!($leg, "_values"), Float64List, "", "elements of all numeric outputs, one after the other, row-major; cut at the configured cap"),
            column(concat!($leg, "_values_total"), Int64, "", "number of elements before the cut"),
            optional(concat!($leg, "_score"), Float64, "", "first element of the first floating output, or of the first numeric one where none is floating"),
            optional(concat!($leg, "_text"), Text, "", "text outputs (BYTES) as a JSON array of strings, cut at the configured cap; null when there are none"),
            column(concat!($leg, "_degenerate"), Text, "", "signs of a degenerate answer, comma-separated: all_zero, tiny, zeroed, constant, nan, inf, null, range, simplex, saturated, repeated, empty; empty when none"),
            optional(concat!($leg, "_undecodable"), Text, "", "why the answer could not be decoded; null when it was"),
            optional(concat!($leg, "_nan_count"), Int64, "", "decoded elements that are NaN, null included; null when the answer was not decoded"),
            optional(concat!($leg, "_inf_count"), Int64, "", "decoded elements that are infinite"),
            optional(concat!($leg, "_zero_count"), Int64, "", "decoded elements that are 0"),
            optional(concat!($leg, "_value_min"), Float64, "", "smallest finite element of the floating outputs"),
            optional(concat!($leg, "_value_max"), Float64, "", "largest finite element of the floating outputs"),
            optional(concat!($leg, "_value_mean"), Float64, "", "mean of the finite elements of the floating outputs"),
            optional(concat!($leg, "_value_l2"), Float64, "", "Euclidean norm of the finite elements of the floating outputs"),
            optional(concat!($leg, "_argmax"), Int64, "", "index of the largest element in the first row of scores"),
            optional(concat!($leg, "_signature"), Text, "", "xxh3-128 of the decoded outputs, hex: equal for equal outputs"),
            column(concat!($leg, "_projections"), Float64List, "", "4 fixed projections of the decoded outputs: close for outputs that agree; empty without any"),
            column(concat!($leg, "_blocks"), Float64List, "", "the first projection of each row, or of up to 16 stretches, of the largest output"),
        ]
    };
}

const HEAD: [Column; 23] = [
    column("exchange_id", Text, "", "unique id of the row (UUID version 7: sorts by time)"),
    optional("request_id", Text, "", "the client's x-request-id or equivalent"),
    optional("trace_id", Text, "", "trace id of the client's traceparent, 32 hex digits"),
    column("run", Text, "", "name of the run: one start of one proxy, or the operator's name for it"),
    column("proxy", Text, "", "name of the proxy"),
    column("sequence", Int64, "", "number of the exchange within (proxy, run), from 0, without gaps"),
    column("topic", Text, "", "Kafka topic; local-PROXY when written without Kafka"),
    column("partition", Int32, "", "Kafka partition"),
    column("offset", Int64, "", "Kafka offset"),
    column("received_at", Timestamp, "", "when the head of the request had arrived at the proxy"),
    column("method", Text, "", "HTTP method"),
    column("path", Text, "", "path of the request, without the query"),
    optional("query", Text, "", "query string, secret values replaced"),
    column("route", Text, "", "name of the configured route that matched"),
    optional("model", Text, "", "model that the answer, the path or the request names"),
    column(
        "protocol",
        Text,
        "",
        "how the answers were decoded: v2_json, v1_predictions, json_path …; unknown when neither could be",
    ),
    column("client_connection", Int64, "", "number of the client's connection within the proxy's run"),
    column(
        "request_headers",
        Text,
        "JSON array of [name, value]",
        "headers of the request, secrets replaced",
    ),
    optional("request_body", Binary, "", "body of the request; null when bodies are not kept or none came"),
    column("request_bytes", Int64, "bytes", "length of the whole request body"),
    optional("request_digest", Text, "", "XXH3-128 of the whole request body, 32 hex digits"),
    column("shadow_target", Text, "", "configured name of the shadow"),
    column("shadow_role", Text, "", "candidate (under test) or control (the primary's own version)"),
];

const PRIMARY: [Column; 49] = leg!("primary");
const SHADOW: [Column; 49] = leg!("shadow");

const DIVERGENCE: [Column; 36] = [
    column(
        "class",
        Text,
        "",
        "class of the divergence, first match: INCOMPARABLE, STRUCTURE, DEGENERATE, CROSSTALK, GROSS, FLIP, RANK, NUMERIC, WITHIN_TOL, BIT_EQUAL; DEGENERATE of the primary alone only where there is no GROSS and no real FLIP",
    ),
    column(
        "class_detail",
        Text,
        "",
        "what within the class, such as shadow_only:all_zero, real, near_tie, sampled:text or the reason for INCOMPARABLE",
    ),
    column("serious", Bool, "", "whether the class counts against the candidate"),
    optional("bit_equal", Bool, "", "whether all values are the same, bit for bit; null when incomparable"),
    optional(
        "tolerance_units",
        Float64,
        "",
        "largest |shadow - primary| / (atol + rtol * |primary|); at most 1 is within tolerance; may be infinite; like the next three, of floating outputs where there are any, else of all",
    ),
    optional("max_absolute", Float64, "", "largest |shadow - primary|"),
    optional(
        "max_relative",
        Float64,
        "",
        "largest |shadow - primary| / |primary| where the primary is not 0",
    ),
    optional(
        "symmetric_relative",
        Float64,
        "",
        "largest 2 |shadow - primary| / (|shadow| + |primary|), 0 to 2",
    ),
    optional(
        "log10_ratio",
        Float64,
        "",
        "largest |log10(|shadow| / |primary|)| over elements above the noise floor; ten times too large is 1",
    ),
    optional("fraction_beyond", Float64, "", "share of elements beyond tolerance"),
    optional(
        "cosine",
        Float64,
        "",
        "smallest cosine between the outputs of both legs (two elements or more)",
    ),
    optional("sign_change", Bool, "", "whether an element changed its sign beyond tolerance"),
    optional("argmax_flip", Bool, "", "whether the largest element of a row moved"),
    optional(
        "argmax_near_tie",
        Bool,
        "",
        "whether every such move is between elements closer than the noise; null without a flip",
    ),
    optional(
        "ulp_max",
        Int64,
        "ULP",
        "largest distance in units in the last place of the declared type, where defined",
    ),
    optional(
        "worst_output",
        Text,
        "",
        "output of the element that names the class: what moved, or has the most tolerance units",
    ),
    optional(
        "worst_index",
        Int64,
        "",
        "index of that element, row-major; of a token in text, of an image of boxes, of an item in the list of the side that alone has it",
    ),
    optional(
        "worst_row",
        Int64,
        "",
        "row (first dimension) that it is in; null for outputs of one dimension",
    ),
    optional("mean_absolute", Float64, "", "mean |shadow - primary| of the output in which it is largest"),
    optional("rmse", Float64, "", "largest root mean square difference of an output"),
    optional(
        "l2_relative",
        Float64,
        "",
        "largest |shadow - primary| / |primary| of an output in the Euclidean norm",
    ),
    optional("norm_ratio", Float64, "", "|shadow| / |primary| of the output in which it is furthest from 1"),
    optional(
        "top_k_overlap",
        Float64,
        "",
        "smallest share of the best k of the primary that the shadow has too",
    ),
    optional("kendall_tau", Float64, "", "smallest Kendall tau-b of a row of scores or a ranking"),
    optional("rank_biased_overlap", Float64, "", "smallest rank-biased overlap of a ranking"),
    optional("rank_cost", Float64, "", "largest sum of score differences over pairs that changed places"),
    optional("jensen_shannon", Float64, "bit", "largest Jensen-Shannon divergence of rows of probabilities"),
    optional("total_variation", Float64, "", "largest total variation of rows of probabilities"),
    optional("first_difference", Int64, "", "index of the first generated token (or word) that differs"),
    optional("common_prefix", Float64, "", "smallest common beginning of two texts, as a share"),
    optional("edit_distance", Float64, "", "largest edit distance of two texts, as a share of the longer"),
    optional("rouge_l", Float64, "", "smallest ROUGE-L of two texts"),
    optional(
        "logprob_gap",
        Float64,
        "nat",
        "largest gap between the two choices at the first token that differs; infinite when one side never considered it",
    ),
    optional("detection_f1", Float64, "", "smallest F1 of two sets of boxes"),
    optional("mean_iou", Float64, "", "smallest mean overlap of matched boxes"),
    optional("json_differences", Int64, "", "number of differences of two JSON answers of no known shape"),
];

const fn join() -> [Column; 157] {
    let mut all = [HEAD[0]; 157];
    let mut next = 0;
    let parts: [&[Column]; 4] = [&HEAD, &PRIMARY, &SHADOW, &DIVERGENCE];
    let mut part = 0;
    while part < parts.len() {
        let mut index = 0;
        while index < parts[part].len() {
            all[next] = parts[part][index];
            next += 1;
            index += 1;
        }
        part += 1;
    }
    assert!(next == all.len());
    all
}

/// Columns of `exchanges/`, in file order.
pub const EXCHANGES: &[Column] = &join();
