//! A real Triton Inference Server on loopback, on CPU.

use std::path::Path;
use std::process::Command;

use crate::cache::{Component, root};
use crate::http::Client;
use crate::ports::free_port;
use crate::process::Process;

/// A running server; stopped when dropped.
#[derive(Debug)]
pub struct Triton {
    /// Base address of its HTTP endpoint.
    pub url: String,
    /// Base address of its gRPC endpoint.
    pub grpc_url: String,
    process: Process,
}

impl Triton {
    /// Starts a server named `id` with the models of `e2e/triton/models/MODELS`; its log goes to `dir`.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn started(id: &str, models: &str, dir: &Path) -> Self {
        let (port, grpc_port) = (free_port(), free_port());
        let mut command = Command::new(Component::Triton.dir().join("tritonserver"));
        command
            .args(["--id", id, "--http-address", "127.0.0.1", "--http-port", &port.to_string()])
            .args(["--grpc-address", "127.0.0.1", "--grpc-port", &grpc_port.to_string()])
            .args(["--allow-metrics", "false", "--exit-timeout-secs", "5"])
            .arg("--model-repository")
            .arg(root().join("e2e/triton/models").join(models));
        let mut process = Process::spawn(&format!("triton-{id}"), command, dir);
        let url = format!("http://127.0.0.1:{port}");
        let client = Client::default();
        let ready = format!("{url}/v2/health/ready");
        process.wait_for("is ready", |_| {
            client.try_get(&ready).is_ok_and(|answer| answer.status == 200).then_some(())
        });
        Self { url, grpc_url: format!("http://127.0.0.1:{grpc_port}"), process }
    }
}

impl Drop for Triton {
    fn drop(&mut self) {
        // In order, so that the processes of its Python models end with it.
        self.process.terminate_quietly();
    }
}
