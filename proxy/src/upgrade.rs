//! Protocol upgrades: they go to the primary, and once it has agreed bytes go both ways as they come. None is mirrored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::{Leg, Outcome, SkipReason};
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use crate::client::Client;
use crate::deadline::Deadlines;
use crate::forward::{Call, REPLAY_CAP};
use crate::head::Head;
use crate::headers;
use crate::reply::{Reply, no_answer};
use crate::state::State;
use crate::tee::{Tee, UpstreamBody};
use crate::upstream::REPLAY_WAIT;

/// Whether the request asks for another protocol. HTTP/2 on plain connections is none: its clients begin with it, and a
/// server may go on in HTTP/1.1 (RFC 9113, section 3.1).
pub(crate) fn is_asked<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    request.version() == Version::HTTP_11
        && headers::lists(headers, CONNECTION, "upgrade")
        && headers.get(UPGRADE).is_some_and(|to| !to.as_bytes().eq_ignore_ascii_case(b"h2c"))
}

/// Forwards an upgrade, within the bounds of any request to the primary and with the same notes on its nodes.
pub(crate) async fn forward(
    state: Arc<State>,
    mut request: Request<Incoming>,
    client: Arc<Client>,
    received: Instant,
) -> Response<Reply> {
    let theirs = hyper::upgrade::on(&mut request);
    let asked = request.headers().get(UPGRADE).cloned();
    let (parts, body) = request.into_parts();
    let mut head = Head::new(parts, body.is_end_stream());
    head.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(asked) = asked {
        head.headers.insert(UPGRADE, asked);
    }
    let deadlines = Deadlines::new(&mut head, state.primary.target(), received);
    state.control.sampler.plan().run.account.skipped(SkipReason::Upgrade);
    let (body, capture) = Tee::new(body, REPLAY_CAP, state.bytes.portion(), REPLAY_WAIT);
    let call =
        Call { state: state.clone(), head: Arc::new(head), worker: client.worker, received, deadlines };
    let (mut answer, dispatch) = match call.send(UpstreamBody::live(body), capture).await {
        Ok(sent) => sent,
        Err((failure, dispatch)) => {
            let leg = call.failed(&failure, dispatch);
            return no_answer(&failure, &leg.node, false);
        }
    };
    state.primary.note(&dispatch, &Leg::unsent(Outcome::Answered, ""));
    let agreed = answer.response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let ours = agreed.then(|| hyper::upgrade::on(&mut answer.response));
    let to = answer.response.headers().get(UPGRADE).cloned();
    let back = answer.back.take().filter(|_| !agreed);
    let (mut parts, body) = answer.response.into_parts();
    headers::strip_hop_by_hop(&mut parts.headers);
    let held = state.bytes.portion();
    let under_way = dispatch.under_way;
    if let Some(ours) = ours {
        parts.headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        if let Some(to) = to {
            parts.headers.insert(UPGRADE, to);
        }
        let (body, _) = Tee::new(body, 0, held, Duration::ZERO);
        let cut = state.cut.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = splice(theirs, ours) => {}
                () = client.moved.idle(client.idle) => {}
                () = cut.cancelled() => {}
            }
            drop((under_way, client));
        });
        return Response::from_parts(parts, Reply::Streamed(body));
    }
    let (body, _) = Tee::counting(body, 0, held, Duration::ZERO, Some(under_way), back);
    Response::from_parts(parts, Reply::Streamed(body))
}

/// Sends bytes both ways until both have ended.
async fn splice(theirs: OnUpgrade, ours: OnUpgrade) {
    let (Ok(theirs), Ok(ours)) = tokio::join!(theirs, ours) else { return };
    // Whichever side breaks off ends both: there is nobody left to tell.
    let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(theirs), &mut TokioIo::new(ours)).await;
}
