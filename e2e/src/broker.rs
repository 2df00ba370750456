//! A real Apache Kafka broker: one node that is its own controller (KRaft), on loopback.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Component, root};
use crate::ports::free_port;
use crate::process::Process;

/// Any fixed id will do: 16 bytes in URL-safe base64.
const CLUSTER: &str = "c2hhZG93ZGlmZi1lMmUtMQ";

/// A broker whose data outlives its crashes: [`Broker::kill`] and [`Broker::start`] again.
#[derive(Debug)]
pub struct Broker {
    dir: PathBuf,
    port: u16,
    process: Option<Process>,
}

impl Broker {
    /// A broker that is set up, with its data in `dir`, but does not run yet: its address is dead.
    ///
    /// # Panics
    /// When its storage cannot be made.
    #[must_use]
    pub fn stopped(dir: &Path) -> Self {
        let dir = dir.join("kafka");
        let port = free_port();
        let template = root().join("e2e/kafka/server.properties");
        let properties = std::fs::read_to_string(&template)
            .unwrap_or_else(|error| panic!("{}: {error}", template.display()))
            .replace("CONTROLLER_PORT", &free_port().to_string())
            .replace(":PORT", &format!(":{port}"))
            .replace("=DATA", &format!("={}", dir.join("data").display()));
        std::fs::create_dir_all(&dir).expect("the folder of the test takes another folder");
        std::fs::write(dir.join("server.properties"), properties)
            .expect("the folder of the test takes a file");
        let format = Self::java(&dir, "kafka.tools.StorageTool", &["format", "-t", CLUSTER, "-c"]);
        let code = Process::spawn("kafka-format", format, &dir).wait();
        assert_eq!(code, 0, "kafka's storage cannot be made");
        Self { dir, port, process: None }
    }

    /// A broker that runs, with its data in `dir`.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn started(dir: &Path) -> Self {
        let mut broker = Self::stopped(dir);
        broker.start();
        broker
    }

    /// Its address, for a list of brokers.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready.
    pub fn start(&mut self) {
        let java = Self::java(&self.dir, "kafka.Kafka", &[]);
        let mut process = Process::spawn("kafka", java, &self.dir);
        process.wait_for("is ready", |log| log.contains("Kafka Server started").then_some(()));
        self.process = Some(process);
    }

    /// Crashes it (SIGKILL); its data stays.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// A command that runs a class of the broker's on its properties file.
    fn java(dir: &Path, class: &str, arguments: &[&str]) -> Command {
        let mut java = Command::new("java");
        java.args(["-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg("-cp")
            .arg(Component::Kafka.dir().join("lib/*"))
            .arg(class)
            .args(arguments)
            .arg(dir.join("server.properties"));
        java
    }
}
