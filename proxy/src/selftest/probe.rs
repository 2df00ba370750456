//! One node, asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;

use super::{Ask, NodeFindings, TlsFindings};
use crate::config::Verify;
use crate::nodes::NodeState;
use crate::redact::REDACTED;
use crate::tee::{Chunks, UpstreamBody};
use crate::upstream::{Answer, Upstream, micros};

/// Longest time for one answer.
const WITHIN: Duration = Duration::from_secs(10);

/// Bytes of an answer that are told.
const TOLD: usize = 300;

/// Bytes of an answer that are read for it.
const READ: usize = 64 << 10;

/// Asks one after the other until one is not refused. `secrets` are values that must not be told of the answer, which is not told at all
/// where they are not known.
pub(super) async fn node(
    upstream: &Upstream,
    node: &Arc<NodeState>,
    asks: &[Ask],
    own: bool,
    secrets: Option<&[String]>,
) -> NodeFindings {
    let mut found = NodeFindings {
        node: node.node.name.clone(),
        ok: false,
        address: None,
        addresses: Vec::new(),
        tls: None,
        http: None,
        asked: String::new(),
        status: None,
        latency_us: 0,
        answer: None,
        error: None,
    };
    for ask in asks {
        found.asked = format!("{} {}", ask.method, ask.path);
        once(upstream, node, ask, secrets, &mut found).await;
        found.addresses = node.addresses().to_vec();
        let refused = found.status.is_none_or(|status| status >= 400);
        found.ok = if own { !refused } else { found.status.is_some() };
        if !refused || found.error.is_some() {
            break;
        }
    }
    found
}

async fn once(
    upstream: &Upstream,
    node: &Arc<NodeState>,
    ask: &Ask,
    secrets: Option<&[String]>,
    found: &mut NodeFindings,
) {
    let target = upstream.target();
    let configured = [target.first_byte_timeout, target.total_timeout].into_iter().flatten();
    let within = configured.fold(WITHIN, Duration::min);
    let dispatch = upstream.dispatch_own(node);
    let (head, body) = (ask.head(), UpstreamBody::Again(Chunks::of(ask.body.clone())));
    let begun = Instant::now();
    let answered = tokio::time::timeout(within, upstream.send(&dispatch, &head, body, None)).await;
    found.latency_us = micros(begun.elapsed());
    let answer = match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => return found.error = Some(failure.reason),
        Err(_) => return found.error = Some(format!("no answer within {} ms", within.as_millis())),
    };
    found.address = Some(answer.wire().peer);
    found.tls = answer.wire().tls.map(|secured| TlsFindings {
        verified: !matches!(target.tls.verify, Verify::Off),
        version: secured.version.map(|version| format!("{version:?}")).unwrap_or_default(),
        alpn: secured.alpn.map(str::to_owned),
    });
    found.http = Some(format!("{:?}", answer.response.version()));
    found.status = Some(answer.response.status().as_u16());
    let rest = within.saturating_sub(begun.elapsed());
    found.answer = match secrets {
        // What came until then is told.
        Some(secrets) => beginning(answer, secrets, rest).await,
        None => None,
    };
}

/// The first characters of an answer that is text, without secrets.
async fn beginning(answer: Answer, secrets: &[String], within: Duration) -> Option<String> {
    let mut body = answer.response.into_body();
    let mut bytes = Vec::new();
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if bytes.len() >= READ {
                break;
            }
        }
    };
    // A stream without end is told as far as it has come.
    let _ = tokio::time::timeout(within, reading).await;
    bytes.truncate(READ);
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.utf8_error().error_len().is_none() => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(_) => return None,
    };
    for secret in secrets {
        text = text.replace(secret, REDACTED);
    }
    let told: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(TOLD).collect();
    (!told.trim().is_empty()).then_some(told)
}
