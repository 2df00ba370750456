//! Certificates, keys and how far the other side is trusted. Files are read once, when the proxy starts, so that a wrong one
//! is told then.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};

/// What clients are served TLS with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTls {
    /// Certificate chain, PEM.
    pub cert: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
    /// Certificates of authorities that clients must have theirs from (mutual TLS), PEM; none asks for none.
    pub client_ca: Option<PathBuf>,
}

/// How `https` nodes are verified, and who the proxy says it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientTls {
    /// How far a node is trusted.
    pub verify: Verify,
    /// The name that is asked for (SNI) and that the certificate must bear, instead of the node's host.
    pub server_name: Option<String>,
    /// Certificate chain and private key of the proxy, PEM, for nodes that ask for one (mutual TLS).
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// How far a node is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Verify {
    /// By the authorities of this machine.
    #[default]
    System,
    /// By the authorities of a PEM file, and no other.
    Ca(PathBuf),
    /// Not at all: anyone in between can read and change what is sent.
    Off,
}

/// What is wrong with a certificate, key or bundle.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TlsError {
    /// The file cannot be read as what it should be.
    #[error("{what} {}: {error}: give a PEM file", path.display())]
    File {
        /// What it should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the reader said.
        error: String,
    },
    /// Each is well-formed and together they are not.
    #[error("tls of {of}: {error}")]
    Settings {
        /// The listener or target.
        of: String,
        /// What the library said.
        error: String,
    },
    /// This machine has no authorities.
    #[error(
        "tls of {of}: no certificate authorities were found on this machine: give a file with ca = \"FILE\""
    )]
    NoAuthorities {
        /// The target.
        of: String,
    },
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let what = "certificate";
    let file = |error: String| TlsError::File { what, path: path.to_owned(), error };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = read.map_err(|error| file(error.to_string()))?;
    if chain.is_empty() { Err(file("no certificate in it".into())) } else { Ok(chain) }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let what = "private key";
    PrivateKeyDer::from_pem_file(path).map_err(|error| TlsError::File {
        what,
        path: path.to_owned(),
        error: error.to_string(),
    })
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(path)? {
        roots.add(certificate).map_err(|error| TlsError::File {
            what: "certificate authority",
            path: path.to_owned(),
            error: error.to_string(),
        })?;
    }
    Ok(roots)
}

impl ServerTls {
    /// The library's configuration; offers HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// When a file is not what it should be.
    pub(crate) fn build(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let settings = |error: String| TlsError::Settings { of: "the listener".into(), error };
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| settings(error.to_string()))?;
        let builder = match &self.client_ca {
            Some(ca) => {
                let roots = Arc::new(authorities(ca)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                    .build()
                    .map_err(|error| settings(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(chain(&self.cert)?, key(&self.key)?)
            .map_err(|error| settings(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ClientTls {
    /// The library's configuration for the target of that name, asking for one protocol.
    ///
    /// # Errors
    /// When a file is not what it should be, or this machine has no authorities.
    pub(crate) fn build(&self, of: &str, alpn: &[u8]) -> Result<Arc<ClientConfig>, TlsError> {
        let settings = |error: String| TlsError::Settings { of: of.to_owned(), error };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| settings(error.to_string()))?;
        let builder = match &self.verify {
            Verify::System => builder.with_root_certificates(system(of)?),
            Verify::Ca(path) => builder.with_root_certificates(authorities(path)?),
            Verify::Off => {
                tracing::warn!(
                    of,
                    "TLS certificates are NOT verified: anyone in between can read and change what is sent"
                );
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider())))
            }
        };
        let mut config = match &self.identity {
            Some((cert, path)) => builder
                .with_client_auth_cert(chain(cert)?, key(path)?)
                .map_err(|error| settings(error.to_string()))?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Arc::new(config))
    }
}

fn system(of: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    // What cannot be parsed is none of ours: the others still verify.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::NoAuthorities { of: of.to_owned() }) } else { Ok(roots) }
}

/// Trusts anyone, as [`Verify::Off`] asks; signatures are still checked, so that the handshake is one.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_pem_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "nothing of the kind").unwrap();
        let tls = ClientTls { verify: Verify::Ca(path.clone()), ..ClientTls::default() };
        let error = tls.build("candidate", b"h2").unwrap_err().to_string();
        assert!(error.contains("ca.pem") && error.contains("PEM"), "{error}");
        let missing = ServerTls { cert: folder.path().join("none"), key: path, client_ca: None };
        assert!(missing.build().unwrap_err().to_string().contains("none"));
    }
}
