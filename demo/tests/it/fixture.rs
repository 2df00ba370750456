//! A server for the length of a test, and what its answers should be.

use std::net::SocketAddr;
use std::time::Duration;

use demo::client::{Connection, INFER_PATH};
use demo::load::Impression;
use demo::{Ranker, ServerOptions, serve};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(crate) async fn start(service_time_ms: u64, faults: &[&str]) -> Self {
        let options = ServerOptions {
            name: "node-a".into(),
            labels: [("gpu".to_owned(), "Tesla M10".to_owned())].into(),
            service_time: Duration::from_millis(service_time_ms),
            faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, options, async {
            let _ = stopped.await;
        }));
        Self { address, stop, task }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.address, PATIENCE).await.unwrap()
    }

    /// Asks the server to stop and waits until it has.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        tokio::time::timeout(PATIENCE, self.task).await.expect("the server stops").unwrap().unwrap();
    }
}

/// Status and body of one inference.
pub(crate) async fn infer(connection: &mut Connection, body: impl Into<String>) -> (u16, Value) {
    let body = body.into().into_bytes().into();
    let (status, answer) = connection.post(INFER_PATH, "x", body, PATIENCE).await.unwrap();
    (status.as_u16(), serde_json::from_slice(&answer).unwrap())
}

/// The scores a server gives to a drawn request.
pub(crate) async fn scores(connection: &mut Connection, impression: &Impression) -> Vec<f32> {
    let (status, answer) = infer(connection, String::from_utf8(impression.body.to_vec()).unwrap()).await;
    assert_eq!((status, &answer["id"]), (200, &Value::from(impression.id.as_str())));
    let output = &answer["outputs"][0];
    assert_eq!(output["name"], "SCORE");
    assert_eq!(output["shape"], Value::from(vec![impression.rows.len(), 1]));
    output["data"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap() as f32).collect()
}

/// The scores it should give.
pub(crate) fn right_scores(impression: &Impression) -> Vec<f32> {
    impression.rows.iter().map(|row| Ranker::shipped().probability(row) as f32).collect()
}
