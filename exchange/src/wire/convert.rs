//! Between the types of the contract and those made from the `.proto` file.

use bytes::Bytes;
use uuid::Uuid;

use super::DecodeError;
use super::generated as pb;
use crate::{Body, Exchange, HttpVersion, Item, Ledger, LedgerItem, Leg, Outcome, Pairs, Request, Role};

impl From<Exchange> for pb::Exchange {
    fn from(exchange: Exchange) -> Self {
        let as_primary = shares_bytes(&exchange);
        let mut shadow = pb::Leg::from(exchange.shadow);
        if let Some(body) = shadow.body.as_mut().filter(|_| as_primary) {
            (body.bytes, body.as_primary) = (Bytes::new(), true);
        }
        Self {
            id: Bytes::copy_from_slice(exchange.id.as_bytes()),
            run: exchange.run,
            proxy: exchange.proxy,
            sequence: exchange.sequence,
            request: Some(exchange.request.into()),
            primary: Some(exchange.primary.into()),
            shadow: Some(shadow),
            shadow_target: exchange.shadow_target,
            shadow_role: match exchange.shadow_role {
                Role::Candidate => pb::Role::Candidate,
                Role::Control => pb::Role::Control,
            }
            .into(),
        }
    }
}

/// Whether both answers have the same bytes, which are then written once: most have, where nothing is wrong.
pub(super) fn shares_bytes(exchange: &Exchange) -> bool {
    let (primary, shadow) = (&exchange.primary.body, &exchange.shadow.body);
    !shadow.bytes.is_empty() && primary.digest == shadow.digest && primary.bytes == shadow.bytes
}

impl TryFrom<pb::Exchange> for Exchange {
    type Error = DecodeError;

    fn try_from(exchange: pb::Exchange) -> Result<Self, DecodeError> {
        let id = Uuid::from_slice(&exchange.id)
            .map_err(|_| unknown("exchange id", format!("{:?}", exchange.id)))?;
        let shadow_role = match pb::Role::try_from(exchange.shadow_role) {
            Ok(pb::Role::Candidate) => Role::Candidate,
            Ok(pb::Role::Control) => Role::Control,
            _ => return Err(unknown("shadow_role", exchange.shadow_role)),
        };
        let primary: Leg = exchange.primary.ok_or(DecodeError::Missing("a primary leg"))?.try_into()?;
        let shadow = exchange.shadow.ok_or(DecodeError::Missing("a shadow leg"))?;
        let as_primary = shadow.body.as_ref().is_some_and(|body| body.as_primary);
        let mut shadow: Leg = shadow.try_into()?;
        if as_primary {
            shadow.body.bytes = primary.body.bytes.clone();
        }
        Ok(Self {
            id,
            run: exchange.run,
            proxy: exchange.proxy,
            sequence: exchange.sequence,
            request: exchange.request.ok_or(DecodeError::Missing("a request"))?.try_into()?,
            primary,
            shadow,
            shadow_target: exchange.shadow_target,
            shadow_role,
        })
    }
}

impl From<Request> for pb::Request {
    fn from(request: Request) -> Self {
        Self {
            id: request.id,
            trace_id: request.trace_id,
            received_at_us: request.received_at_us,
            method: request.method,
            path: request.path,
            query: request.query,
            route: request.route,
            client_connection: request.client_connection,
            headers: into_headers(request.headers),
            body: Some(request.body.into()),
        }
    }
}

impl TryFrom<pb::Request> for Request {
    type Error = DecodeError;

    fn try_from(request: pb::Request) -> Result<Self, DecodeError> {
        Ok(Self {
            id: request.id,
            trace_id: request.trace_id,
            received_at_us: request.received_at_us,
            method: request.method,
            path: request.path,
            query: request.query,
            route: request.route,
            client_connection: request.client_connection,
            headers: from_headers(request.headers),
            body: request.body.unwrap_or_default().try_into()?,
        })
    }
}

impl From<Leg> for pb::Leg {
    fn from(leg: Leg) -> Self {
        Self {
            node: leg.node,
            labels: into_headers(leg.labels),
            status: leg.status.map(u32::from),
            outcome: outcome_to_wire(leg.outcome).into(),
            reason: leg.reason,
            queued_us: leg.queued_us,
            first_byte_us: leg.first_byte_us,
            latency_us: leg.latency_us,
            inflight: leg.inflight,
            inflight_total: leg.inflight_total,
            inflight_peak: leg.inflight_peak,
            rate_1s: leg.rate_1s,
            rate_10s: leg.rate_10s,
            reported_load: leg.reported_load,
            connection: leg.connection,
            stream: leg.stream,
            attempts: leg.attempts,
            headers: into_headers(leg.headers),
            body: Some(leg.body.into()),
            trailers: into_headers(leg.trailers),
            grpc_status: leg.grpc_status,
            http_version: version_to_wire(leg.http_version).into(),
            reported_queue_us: leg.reported_queue_us,
            reported_utilization: leg.reported_utilization,
            reused: leg.reused,
        }
    }
}

impl TryFrom<pb::Leg> for Leg {
    type Error = DecodeError;

    fn try_from(leg: pb::Leg) -> Result<Self, DecodeError> {
        let status = match leg.status {
            Some(status) => Some(u16::try_from(status).map_err(|_| unknown("status", status))?),
            None => None,
        };
        Ok(Self {
            outcome: outcome_from_wire(leg.outcome)?,
            node: leg.node,
            labels: from_headers(leg.labels),
            status,
            reason: leg.reason,
            queued_us: leg.queued_us,
            first_byte_us: leg.first_byte_us,
            latency_us: leg.latency_us,
            inflight: leg.inflight,
            inflight_total: leg.inflight_total,
            inflight_peak: leg.inflight_peak,
            rate_1s: leg.rate_1s,
            rate_10s: leg.rate_10s,
            reported_load: leg.reported_load,
            connection: leg.connection,
            stream: leg.stream,
            attempts: leg.attempts,
            headers: from_headers(leg.headers),
            body: leg.body.unwrap_or_default().try_into()?,
            trailers: from_headers(leg.trailers),
            grpc_status: leg.grpc_status,
            http_version: version_from_wire(leg.http_version)?,
            reported_queue_us: leg.reported_queue_us,
            reported_utilization: leg.reported_utilization,
            reused: leg.reused,
        })
    }
}

fn outcome_to_wire(outcome: Outcome) -> pb::Outcome {
    match outcome {
        Outcome::Answered => pb::Outcome::Answered,
        Outcome::Refused => pb::Outcome::Refused,
        Outcome::TimedOut => pb::Outcome::TimedOut,
        Outcome::Reset => pb::Outcome::Reset,
        Outcome::Incomplete => pb::Outcome::Incomplete,
        Outcome::ClientGone => pb::Outcome::ClientGone,
        Outcome::Shed => pb::Outcome::Shed,
        Outcome::BodyTooLarge => pb::Outcome::BodyTooLarge,
        Outcome::Shutdown => pb::Outcome::Shutdown,
        Outcome::ClientCancelled => pb::Outcome::ClientCancelled,
        Outcome::ResetOnReuse => pb::Outcome::ResetOnReuse,
        Outcome::Unsupported => pb::Outcome::Unsupported,
    }
}

fn outcome_from_wire(number: i32) -> Result<Outcome, DecodeError> {
    Outcome::ALL
        .into_iter()
        .find(|outcome| i32::from(outcome_to_wire(*outcome)) == number)
        .ok_or_else(|| unknown("outcome", number))
}

fn version_to_wire(version: Option<HttpVersion>) -> pb::HttpVersion {
    match version {
        None => pb::HttpVersion::Unspecified,
        Some(HttpVersion::Http10) => pb::HttpVersion::HttpVersion10,
        Some(HttpVersion::Http11) => pb::HttpVersion::HttpVersion11,
        Some(HttpVersion::Http2) => pb::HttpVersion::HttpVersion2,
    }
}

fn version_from_wire(number: i32) -> Result<Option<HttpVersion>, DecodeError> {
    std::iter::once(None)
        .chain(HttpVersion::ALL.map(Some))
        .find(|version| i32::from(version_to_wire(*version)) == number)
        .ok_or_else(|| unknown("http_version", number))
}

impl From<Body> for pb::Body {
    fn from(body: Body) -> Self {
        Self {
            bytes: body.bytes,
            length: body.length,
            digest: body.digest.map(|digest| Bytes::copy_from_slice(&digest.to_be_bytes())),
            truncated: body.truncated,
            as_primary: false,
        }
    }
}

impl TryFrom<pb::Body> for Body {
    type Error = DecodeError;

    fn try_from(body: pb::Body) -> Result<Self, DecodeError> {
        let digest = match body.digest {
            None => None,
            Some(digest) => Some(u128::from_be_bytes(
                digest[..].try_into().map_err(|_| unknown("body digest", format!("{digest:?}")))?,
            )),
        };
        Ok(Self { bytes: body.bytes, length: body.length, digest, truncated: body.truncated })
    }
}

impl From<Ledger> for pb::Ledger {
    fn from(ledger: Ledger) -> Self {
        let items = ledger.items.into_iter().map(|entry| pb::LedgerItem {
            item: entry.item.name(),
            target: entry.target,
            inflight_from: entry.inflight_from,
            count: entry.count,
        });
        Self {
            items: items.collect(),
            proxy: ledger.proxy,
            run: ledger.run,
            at_us: ledger.at_us,
            snapshot: ledger.snapshot,
            closing: ledger.closing,
        }
    }
}

impl TryFrom<pb::Ledger> for Ledger {
    type Error = DecodeError;

    fn try_from(ledger: pb::Ledger) -> Result<Self, DecodeError> {
        let items = ledger.items.into_iter().map(|entry| {
            Ok(LedgerItem {
                item: Item::from_name(&entry.item).ok_or_else(|| unknown("ledger item", &entry.item))?,
                target: entry.target,
                inflight_from: entry.inflight_from,
                count: entry.count,
            })
        });
        Ok(Self {
            items: items.collect::<Result<_, DecodeError>>()?,
            proxy: ledger.proxy,
            run: ledger.run,
            at_us: ledger.at_us,
            snapshot: ledger.snapshot,
            closing: ledger.closing,
        })
    }
}

fn into_headers(pairs: Pairs) -> Vec<pb::Header> {
    pairs.into_iter().map(|(name, value)| pb::Header { name, value }).collect()
}

fn from_headers(headers: Vec<pb::Header>) -> Pairs {
    headers.into_iter().map(|header| (header.name, header.value)).collect()
}

fn unknown(field: &'static str, value: impl ToString) -> DecodeError {
    DecodeError::Unknown { field, value: value.to_string() }
}
