use std::time::Duration;

use bytes::Bytes;
use demo::client::{ClientError, Connection, INFER_PATH};
use demo::load::{Impression, wait_ready};
use demo::server::MAX_BODY_BYTES;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{PATIENCE, Server, infer, right_scores, scores};

async fn get(connection: &mut Connection, path: &str) -> (u16, Bytes) {
    let (status, body) = connection.get(path, PATIENCE).await.unwrap();
    (status.as_u16(), body)
}

async fn get_json(connection: &mut Connection, path: &str) -> (u16, Value) {
    let (status, body) = get(connection, path).await;
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_sound_server_answers_with_the_models_scores_on_one_connection() {
    let server = Server::start(0, &[]).await;
    let mut connection = server.connect().await;
    for number in 0..30 {
        let impression = Impression::draw(1, number);
        assert_eq!(scores(&mut connection, &impression).await, right_scores(&impression));
    }
    server.stop().await;
}

#[tokio::test]
async fn health_and_metadata_follow_the_protocol() {
    let server = Server::start(0, &[]).await;
    wait_ready(server.address, PATIENCE).await.unwrap();
    let mut connection = server.connect().await;
    for path in [
        "/v2/health/live",
        "/v2/health/ready",
        "/v2/models/ranker/ready",
        "/v2/models/ranker/versions/1/ready",
    ] {
        assert_eq!(get(&mut connection, path).await, (200, Bytes::new()), "{path}");
    }
    let (status, node) = get_json(&mut connection, "/v2").await;
    assert_eq!(
        (status, &node["name"], &node["parameters"]),
        (200, &json!("node-a"), &json!({"gpu": "Tesla M10"}))
    );
    assert!(node["version"].is_string() && node["extensions"].is_array(), "{node}");
    let (status, model) = get_json(&mut connection, "/v2/models/ranker").await;
    assert_eq!((status, &model["versions"]), (200, &json!(["1"])));
    assert_eq!(model["inputs"][0]["shape"], json!([-1, 8]));
    assert_eq!(model["outputs"][1], json!({"name": "LABEL", "datatype": "INT64", "shape": [-1, 1]}));
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_answered_gets_an_error_in_json_and_the_connection_lives_on() {
    let server = Server::start(0, &[]).await;
    let mut connection = server.connect().await;
    for path in [
        "/",
        "/v1/models/ranker",
        "/v2/models/other",
        "/v2/models/ranker/versions/2",
        "/v2/models/ranker/stats",
    ] {
        let (status, body) = get_json(&mut connection, path).await;
        assert_eq!(status, 404, "{path}");
        assert!(body["error"].is_string(), "{body}");
    }
    let (status, body) = get_json(&mut connection, "/v2/models/ranker/infer").await;
    assert_eq!((status, body["error"].as_str()), (405, Some("GET is not for this path: use POST")));
    let (status, _) = connection.post("/v2", "x", Bytes::new(), PATIENCE).await.unwrap();
    assert_eq!(status, 405);
    for body in [
        "",
        "{",
        "[]",
        r#"{"inputs":[]}"#,
        r#"{"inputs":[{"name":"INPUT","datatype":"FP32","shape":[2,2],"data":[1]}]}"#,
    ] {
        let (status, answer) = infer(&mut connection, body).await;
        assert_eq!(status, 400, "{body}");
        assert!(answer["error"].is_string(), "{answer}");
    }
    assert_eq!(get(&mut connection, "/v2/health/live").await.0, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused() {
    let server = Server::start(0, &[]).await;
    // Only just above, so that it fits in the socket's buffers and is not cut off by the answer.
    let (status, answer) = infer(&mut server.connect().await, " ".repeat(MAX_BODY_BYTES + 1)).await;
    assert_eq!(status, 413, "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn an_old_gpu_answers_zeros_of_the_right_shape() {
    let server = Server::start(0, &["zero", "race:8"]).await;
    let mut connection = server.connect().await;
    for number in 0..10 {
        let impression = Impression::draw(2, number);
        let zeros = vec![0.0; impression.rows.len()];
        assert_eq!(scores(&mut connection, &impression).await, zeros);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_hanging_request_gets_no_answer_in_time() {
    let server = Server::start(0, &["hang:1"]).await;
    let body = Impression::draw(2, 0).body;
    let answer = server.connect().await.post(INFER_PATH, "x", body, Duration::from_millis(50)).await;
    assert!(matches!(answer, Err(ClientError::Timeout(_))), "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_hanging_request_ends_when_its_server_stops() {
    let server = Server::start(0, &["hang:1"]).await;
    let body = Impression::draw(2, 0).body;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST {INFER_PATH} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The interim answer comes when the body is waited for: from now on the request is under way.
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut read = vec![0; interim.len()];
    stream.read_exact(&mut read).await.unwrap();
    assert_eq!(read, interim);
    stream.write_all(&body).await.unwrap();
    server.stop().await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("the server is stopping"), "{answer}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_not_ready() {
    let server = Server::start(0, &[]).await;
    let address = server.address;
    server.stop().await;
    let error = wait_ready(address, Duration::from_millis(50)).await.unwrap_err().to_string();
    assert!(error.contains(&format!("{address} is not ready")) && error.contains("no connection"), "{error}");
}
