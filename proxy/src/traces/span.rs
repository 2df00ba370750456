//! Spans of one exchange, in the JSON of OTLP: ids in hex, times in nanoseconds as text, attributes as key and typed value.

use exchange::leg::header;
use exchange::{Ending, Exchange, Leg};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::config::Fraction;

const SERVER: u8 = 2;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

/// The trace a request is part of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    id: String,
    /// The caller's span.
    parent: Option<String>,
}

/// A text attribute.
pub(crate) fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn int(key: &str, value: i64) -> Value {
    // Protobuf's JSON has 64-bit integers as text.
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

impl Trace {
    /// The trace of an exchange: that of the caller when it is sampled there; a new one for a share of the requests without.
    pub(crate) fn of(exchange: &Exchange, sample: Fraction) -> Option<Self> {
        let Some(parent) = header(&exchange.request.headers, "traceparent") else {
            let id = exchange.id.simple().to_string();
            let hash = xxh3_64_with_seed(exchange.id.as_bytes(), 0);
            return sample.takes(hash).then_some(Self { id, parent: None });
        };
        // version - trace id - span id - flags (W3C Trace Context, section 3.2)
        let mut parts = parent.split('-').skip(1);
        let (id, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        let valid = hex(id, 32) && hex(span, 16);
        (valid && sampled).then(|| Self { id: id.to_owned(), parent: Some(span.to_owned()) })
    }

    /// The spans: with the `first` exchange of a request its own and the primary's, with each the shadow's.
    pub(crate) fn spans(&self, exchange: &Exchange, first: bool) -> Vec<Value> {
        let request = &exchange.request;
        let seed = request.received_at_us as u64 ^ request.client_connection.rotate_left(32);
        let server = self.span_id(seed, "request");
        let mut spans = Vec::with_capacity(3);
        if first {
            let end = ended(request.received_at_us, &exchange.primary);
            let attributes = vec![
                text("http.request.method", &request.method),
                text("url.path", &request.path),
                text("shadowdiff.route", &request.route),
                text("shadowdiff.run", &exchange.run),
            ];
            let name = format!("{} {}", request.method, request.route);
            let mut span = self.span(&server, &name, SERVER, (request.received_at_us, end), attributes);
            if let Some(parent) = &self.parent {
                span["parentSpanId"] = json!(parent);
            }
            spans.push(span);
            spans.push(self.leg(&server, exchange, &exchange.primary, "primary"));
        }
        spans.push(self.leg(&server, exchange, &exchange.shadow, &exchange.shadow_target));
        spans
    }

    fn leg(&self, server: &str, exchange: &Exchange, leg: &Leg, target: &str) -> Value {
        let received = exchange.request.received_at_us;
        let begun = received + leg.queued_us.unwrap_or(0);
        let mut attributes = vec![
            text("shadowdiff.target", target),
            text("shadowdiff.outcome", leg.outcome.as_str()),
            text("server.address", &leg.node),
            int("shadowdiff.inflight", i64::from(leg.inflight)),
            json!({"key": "shadowdiff.shadow", "value": {"boolValue": target != "primary"}}),
            text("shadowdiff.exchange_id", &exchange.id.to_string()),
        ];
        attributes.extend(leg.status.map(|status| int("http.response.status_code", i64::from(status))));
        attributes.extend(leg.grpc_status.map(|status| int("rpc.grpc.status_code", i64::from(status))));
        let id = self.span_id(xxh3_64_with_seed(exchange.id.as_bytes(), 1), target);
        let mut span = self.span(&id, target, CLIENT, (begun, ended(received, leg)), attributes);
        span["parentSpanId"] = json!(server);
        if leg.outcome.ending() != Ending::Answered {
            span["status"] = json!({"code": ERROR, "message": leg.reason});
        }
        span
    }

    fn span(&self, id: &str, name: &str, kind: u8, (from, to): (i64, i64), attributes: Vec<Value>) -> Value {
        let nanos = |micros: i64| format!("{micros}000");
        json!({
            "traceId": self.id,
            "spanId": id,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": nanos(from),
            "endTimeUnixNano": nanos(to.max(from)),
            "attributes": attributes,
        })
    }

    /// The same for the same request: exchanges of one request share its span.
    fn span_id(&self, seed: u64, what: &str) -> String {
        let id = xxh3_64_with_seed(self.id.as_bytes(), seed) ^ xxh3_64_with_seed(what.as_bytes(), 2);
        // All zeros is no span.
        format!("{:016x}", id.max(1))
    }
}

fn ended(received: i64, leg: &Leg) -> i64 {
    received + leg.queued_us.unwrap_or(0) + leg.latency_us.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::{Outcome, Request, Role, Uuid};

    fn exchange(traceparent: Option<&str>) -> Exchange {
        let headers = traceparent.map(|value| ("traceparent".to_owned(), value.to_owned()));
        let leg = |outcome| Leg { queued_us: Some(5), latency_us: Some(20), ..Leg::unsent(outcome, "why") };
        Exchange {
            id: Uuid::from_u128(7),
            run: "r".into(),
            proxy: "p".into(),
            sequence: 0,
            request: Request {
                received_at_us: 1_000,
                method: "POST".into(),
                route: "infer".into(),
                headers: headers.into_iter().collect(),
                ..Request::default()
            },
            primary: leg(Outcome::Answered),
            shadow: leg(Outcome::Refused),
            shadow_target: "candidate".into(),
            shadow_role: Role::Candidate,
        }
    }

    const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_sampled_trace_is_continued_and_one_that_is_not_is_left_alone() {
        let of = |parent| Trace::of(&exchange(parent), "100%".parse().unwrap());
        let trace = of(Some(SAMPLED)).unwrap();
        assert_eq!(trace.id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(trace.parent.as_deref(), Some("b7ad6b7169203331"));
        assert_eq!(of(Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")), None);
        assert_eq!(of(Some("nothing of the kind")), None);
        assert_eq!(of(None).unwrap().parent, None);
    }

    #[test]
    fn the_legs_are_children_of_the_request_and_a_failed_one_is_an_error() {
        let exchange = exchange(Some(SAMPLED));
        let trace = Trace::of(&exchange, "1%".parse().unwrap()).unwrap();
        let spans = trace.spans(&exchange, true);
        let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["POST infer", "primary", "candidate"]);
        assert_eq!(spans[0]["parentSpanId"], "b7ad6b7169203331");
        assert!(spans[1..].iter().all(|span| span["parentSpanId"] == spans[0]["spanId"]));
        assert_eq!(
            (&spans[1]["startTimeUnixNano"], &spans[1]["endTimeUnixNano"]),
            (&json!("1005000"), &json!("1025000"))
        );
        assert!(spans[1].get("status").is_none());
        assert_eq!(spans[2]["status"], json!({"code": 2, "message": "why"}));
        let second = trace.spans(&exchange, false);
        assert_eq!((second.len(), &second[0]["parentSpanId"]), (1, &spans[0]["spanId"]));
    }
}
