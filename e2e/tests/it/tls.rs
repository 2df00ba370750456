//! TLS on the listener and to nodes, with real certificates and a real client. The nodes are proxies themselves.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use e2e::cache::{Component, have};
use e2e::faulty::{Fault, Faulty};
use e2e::process;
use e2e::set;
use e2e::shadowdiff::Proxy;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tempfile::{TempDir, tempdir};

use crate::ranker;

/// An authority and the files that it made.
struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "an authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes `NAME.pem` and `NAME.key` for localhost.
    fn issue(&self, name: &str, expired: bool) {
        let mut params = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
        // Not the authority's, or it would be taken for one that signed itself.
        params.distinguished_name.push(DnType::CommonName, name);
        if expired {
            (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(self.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    /// The keys of a TOML table that name a certificate of this authority.
    fn identity(&self, name: &str) -> String {
        let (cert, key) = (self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")));
        format!("cert = {cert:?}\nkey = {key:?}\n")
    }
}

/// A proxy with TLS on its listener that mirrors nothing, before a server of its own; and its address over TLS.
struct Served {
    proxy: Proxy,
    url: String,
    _server: Faulty,
    _dir: TempDir,
}

fn served(listener: &str) -> Served {
    let dir = tempdir().unwrap();
    let server = Faulty::started(Fault::Slow(Duration::ZERO));
    let config = dir.path().join("config.toml");
    std::fs::write(&config, format!("[listener]\n{listener}")).unwrap();
    let legs = ["--primary", &server.url, "--candidate", &server.url, "--sample", "0%"];
    let proxy =
        ranker::local_proxy(dir.path(), &[&legs[..], &["--config", config.to_str().unwrap()]].concat());
    let url = proxy.url.replace("http://127.0.0.1", "https://localhost");
    Served { proxy, url, _server: server, _dir: dir }
}

/// curl's exit code, and its whole output.
fn curl(url: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new("curl");
    command
        .args(["-sS", "-v", "--max-time", "60", "-H", "x-request-id: request-1", "-d", "[1]"])
        .args(arguments);
    let output = process::output({
        command.arg(format!("{url}/v1/models/m:predict"));
        command
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
}

fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// curl's code for a certificate of an unknown authority.
const UNKNOWN_AUTHORITY: i32 = 60;

#[test]
fn a_listener_speaks_http_1_and_2_over_tls() {
    if !have("curl over TLS", &[Component::Tools]) {
        return;
    }
    let authority = Authority::new();
    authority.issue("server", false);
    let served = served(&authority.identity("server"));
    let ca = path(&authority.file("ca.pem"));
    for (protocol, status) in [("--http1.1", "HTTP/1.1 200"), ("--http2", "HTTP/2 200")] {
        let (code, said) = curl(&served.url, &["--cacert", &ca, protocol]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(status) && said.contains(r#"{"predictions":[0.001]"#), "{said}");
    }
    assert_eq!(curl(&served.url, &[]).0, UNKNOWN_AUTHORITY);
    let (code, said) = curl(&served.url.replace("https", "http"), &[]);
    assert_ne!(code, 0, "plain HTTP where TLS is served: {said}");
    served.proxy.stop();
}

#[test]
fn a_listener_that_asks_for_certificates_serves_nobody_without_one() {
    if !have("curl with mutual TLS", &[Component::Tools]) {
        return;
    }
    let (authority, clients) = (Authority::new(), Authority::new());
    authority.issue("server", false);
    authority.issue("stranger", false);
    clients.issue("client", false);
    let asks = format!("client_ca = {:?}\n", clients.file("ca.pem"));
    let served = served(&(authority.identity("server") + &asks));
    let ca = path(&authority.file("ca.pem"));
    let with = |from: &Authority, name: &str| {
        let (cert, key) =
            (path(&from.file(&format!("{name}.pem"))), path(&from.file(&format!("{name}.key"))));
        curl(&served.url, &["--cacert", &ca, "--cert", &cert, "--key", &key])
    };
    let (code, said) = with(&clients, "client");
    assert!(code == 0 && said.contains("200"), "{said}");
    assert_ne!(with(&authority, "stranger").0, 0);
    assert_ne!(curl(&served.url, &["--cacert", &ca]).0, 0);
    served.proxy.stop();
}

#[test]
fn nodes_are_reached_over_tls_and_refused_where_they_cannot_be_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (name, expired) in [("server", false), ("proxy", false), ("expired", true)] {
        authority.issue(name, expired);
    }
    let asks = format!("client_ca = {:?}\n", authority.file("ca.pem"));
    let good = served(&(authority.identity("server") + &asks));
    let expired = served(&authority.identity("expired"));
    let plain = served(&authority.identity("server"));

    let dir = tempdir().unwrap();
    let primary = Faulty::started(Fault::Slow(Duration::ZERO));
    let trusting = format!("ca = {:?}\n", authority.file("ca.pem"));
    let mistaken = format!("ca = {:?}\n", other.file("ca.pem"));
    let shadow = |name: &str, url: &str, protocol: &str, tls: &str| {
        format!(
            "[[shadow]]\nname = \"{name}\"\nnodes = [\"{url}\"]\nprotocol = \"{protocol}\"\n[shadow.tls]\n{tls}"
        )
    };
    let config = dir.path().join("config.toml");
    let all = [
        shadow("mutual-http2", &good.url, "http2", &(trusting.clone() + &authority.identity("proxy"))),
        shadow("without-certificate", &good.url, "http1", &trusting),
        shadow("http1", &plain.url, "http1", &trusting),
        shadow("unchecked", &expired.url, "http1", "verify = false\n"),
        shadow("wrong-authority", &plain.url, "http1", &mistaken),
        shadow("expired", &expired.url, "http1", &trusting),
    ];
    std::fs::write(&config, all.concat()).unwrap();
    let legs = ["--primary", primary.url.as_str(), "--config", config.to_str().unwrap()];
    let proxy = ranker::local_proxy(dir.path(), &legs);
    assert_eq!(ranker::send(&e2e::http::Client::default(), &proxy.url, 1).status, 200);
    proxy.settled();
    let refused = proxy.metric("shadowdiff_exchanges_total", "refused");
    let log = proxy.stop();
    assert!(
        log.contains("TLS certificates are NOT verified"),
        "certificates that are not checked are told: {log}"
    );

    let rows = set::rows(&dir.path().join("set"), "exchanges");
    let row = |name: &str| rows.iter().find(|row| row["shadow_target"] == name).unwrap();
    for (name, version) in [("mutual-http2", "2"), ("http1", "1.1"), ("unchecked", "1.1")] {
        let row = row(name);
        assert_eq!(
            (&row["shadow_outcome"], &row["shadow_status"]),
            (&"answered".into(), &200.into()),
            "{name}: {row:?}"
        );
        assert!(
            row["shadow_http_version"].as_str().is_some_and(|found| found.ends_with(version)),
            "{name}: {row:?}"
        );
    }
    for (name, word) in [("wrong-authority", "certificate"), ("expired", "xpired")] {
        let reason = row(name)["shadow_reason"].as_str().unwrap();
        assert_eq!(row(name)["shadow_outcome"], "refused", "{name}: {reason}");
        assert!(reason.contains(word), "{name}: {reason}");
    }
    // A server tells only after the handshake that it wanted a certificate (TLS 1.3).
    let outcome = row("without-certificate")["shadow_outcome"].as_str().unwrap();
    assert!(["refused", "reset"].contains(&outcome), "{outcome}");
    assert!(refused.is_some_and(|refused| refused >= 2.0), "{refused:?}");
}
