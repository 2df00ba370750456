//! The openai client against a server of its shape: whole and streamed chat, embeddings, retries.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use e2e::cache::{Component, have};
use e2e::python;
use e2e::scripted::{Body, Scripted, full};
use e2e::set;
use http_body_util::{BodyExt as _, Channel};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::tempdir;
use tokio::sync::watch;

use crate::ranker;

/// Events of a streamed answer, `[DONE]` besides.
const EVENTS: usize = 5;

/// What a server does.
#[derive(Clone)]
struct Script {
    /// How many streamed events the client has said it has; the server sends one more than that.
    got: watch::Sender<usize>,
    /// Whether it waits for the client at all.
    waits: bool,
    /// Chats with the model `flaky` that it has refused.
    refused: Arc<AtomicUsize>,
}

fn server(waits: bool) -> Scripted {
    let script = Script { got: watch::Sender::new(0), waits, refused: Arc::default() };
    Scripted::started(move |request| answer(request, script.clone()))
}

async fn answer(request: Request<Incoming>, script: Script) -> Response<Body> {
    let path = request.uri().path().to_owned();
    if let Some(number) = path.strip_prefix("/got/").and_then(|number| number.parse().ok()) {
        script.got.send_replace(number);
        return Response::new(full(""));
    }
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    match path.as_str() {
        "/v1/embeddings" => {
            // Two 32-bit floats, 0.25 and -1.5, as the client asks for them: base64 of their bytes.
            let data = json!([{"object": "embedding", "index": 0, "embedding": "AACAPgAAwL8="}]);
            let usage = json!({"prompt_tokens": 1, "total_tokens": 1});
            reply(&json!({"object": "list", "model": "m", "data": data, "usage": usage}))
        }
        "/v1/chat/completions"
            if body["model"] == "flaky" && script.refused.fetch_add(1, Ordering::Relaxed) < 2 =>
        {
            let mut refusal = reply(&json!({"error": {"message": "busy"}}));
            *refusal.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            refusal
        }
        "/v1/chat/completions" if body["stream"] == true => stream(script),
        "/v1/chat/completions" => {
            let message = json!({"role": "assistant", "content": "word0 word1"});
            let choices = json!([{"index": 0, "finish_reason": "stop", "message": message}]);
            reply(
                &json!({"id": "chat-1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}),
            )
        }
        _ => Response::builder().status(404).body(full("no such path")).unwrap(),
    }
}

fn reply(body: &Value) -> Response<Body> {
    Response::builder().header("content-type", "application/json").body(full(body.to_string())).unwrap()
}

fn stream(script: Script) -> Response<Body> {
    let chunk = |at: usize| {
        let delta = json!({"content": format!("word{at} ")});
        let choices = json!([{"index": 0, "finish_reason": null, "delta": delta}]);
        let object = "chat.completion.chunk";
        let event = json!({"id": "c", "object": object, "created": 1, "model": "m", "choices": choices});
        Bytes::from(format!("data: {event}\n\n"))
    };
    let (mut sender, body) = Channel::<Bytes, std::io::Error>::new(1);
    tokio::spawn(async move {
        let mut got = script.got.subscribe();
        for at in 0..EVENTS {
            // Only once the client has all before it: a proxy that holds one back never gets the next.
            if script.waits && got.wait_for(|got| *got >= at).await.is_err() {
                return;
            }
            if sender.send_data(chunk(at)).await.is_err() {
                return;
            }
        }
        // A reader that went away shows as a missing event in the test.
        let _ = sender.send_data(Bytes::from_static(b"data: [DONE]\n\n")).await;
    });
    Response::builder().header("content-type", "text/event-stream").body(body.boxed()).unwrap()
}

#[test]
fn chats_streams_embeddings_and_retries_are_as_without_the_proxy_and_recorded() {
    if !have("the openai client", &[Component::Python]) {
        return;
    }
    let dir = tempdir().unwrap();
    let (primary, candidate) = (server(true), server(false));
    let proxy = ranker::local_proxy(dir.path(), &["--primary", &primary.url, "--candidate", &candidate.url]);
    let said = python::run("chat.py", &[&proxy.url, &primary.url]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["whole"], "word0 word1");
    assert_eq!(said["streamed"], json!(["word0 ", "word1 ", "word2 ", "word3 ", "word4 "]));
    assert_eq!(said["embedding"], json!([0.25, -1.5]));
    assert_eq!(said["after_retries"], "word0 word1");
    proxy.settled();
    proxy.stop();

    let rows = set::rows(&dir.path().join("set"), "exchanges");
    assert_eq!(rows.len(), 6, "whole, streamed, embedding, and three tries");
    assert!(rows.iter().all(|row| row["shadow_outcome"] == "answered"));
    let tries: BTreeSet<String> = rows
        .iter()
        .filter(|row| row["request_body"].as_str().is_some_and(|body| body.contains("flaky")))
        .filter_map(|row| retries(row["request_headers"].as_str().unwrap()))
        .collect();
    assert_eq!(tries, ["0", "1", "2"].map(str::to_owned).into(), "which try it was is recorded");
    let key = "sk-never-recorded";
    assert!(rows.iter().all(|row| !row.values().any(|value| value.to_string().contains(key))));
}

/// The client's own count of its retries.
fn retries(headers: &str) -> Option<String> {
    let headers: Vec<(String, String)> = serde_json::from_str(headers).unwrap();
    headers.into_iter().find(|(name, _)| name == "x-stainless-retry-count").map(|(_, value)| value)
}
