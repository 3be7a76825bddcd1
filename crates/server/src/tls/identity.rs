//! The certificate in use.

use super::end_point::end_point;
use super::options::TlsOptions;
use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// The hint for a file that cannot be read, or that has no certificate or key.
const FILES_HINT: &str = "--tls-cert names a PEM file with the certificate and its chain, --tls-key one with its key";

/// The certificate with which the server proves its identity. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Tls(Arc<Inner>);

struct Inner {
    options: TlsOptions,
    present: Mutex<Arc<Identity>>,
}

/// A certificate and the acceptors that use it.
pub(crate) struct Identity {
    http: TlsAcceptor,
    grpc: TlsAcceptor,
    pg: TlsAcceptor,
    end_point: Option<Vec<u8>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the certificate and its key.
    ///
    /// Errors: [`ErrorKind::Usage`], which names the file.
    pub(crate) fn open(options: TlsOptions) -> Result<Self> {
        let present = Mutex::new(Arc::new(Identity::read(&options)?));
        Ok(Self(Arc::new(Inner { options, present })))
    }

    /// Reads both again, for new connections. After an error, the present ones are kept.
    pub(crate) fn reload(&self) -> Result<()> {
        let read = Identity::read(&self.0.options)?;
        *self.0.present.lock() = Arc::new(read);
        Ok(())
    }

    /// The current certificate.
    pub(crate) fn identity(&self) -> Arc<Identity> {
        Arc::clone(&self.0.present.lock())
    }
}

impl Identity {
    fn read(options: &TlsOptions) -> Result<Self> {
        let (certificate, key) = (&options.certificate, &options.key);
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(|found| found.collect::<std::result::Result<Vec<_>, _>>());
        let chain: Vec<CertificateDer<'static>> = chain.map_err(|error| unreadable(certificate, &error))?;
        let first = chain
            .first()
            .ok_or_else(|| Error::usage(format!("{}: no certificate", certificate.display())).with_hint(FILES_HINT))?;
        let end_point = end_point(first);
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
        let config = config.map_err(|error| {
            let message = format!("{} and {}: {error}", certificate.display(), key.display());
            Error::new(ErrorKind::Usage, message).with_source(error)
        })?;
        let acceptor = |protocol: &[u8]| {
            let mut config = config.clone();
            config.alpn_protocols = vec![protocol.to_vec()];
            TlsAcceptor::from(Arc::new(config))
        };
        Ok(Self { http: acceptor(b"http/1.1"), grpc: acceptor(b"h2"), pg: acceptor(b"postgresql"), end_point })
    }

    /// The acceptor for HTTP connections.
    pub(crate) fn http(&self) -> TlsAcceptor {
        self.http.clone()
    }

    /// The acceptor for gRPC connections.
    pub(crate) fn grpc(&self) -> TlsAcceptor {
        self.grpc.clone()
    }

    /// The acceptor for connections of PostgreSQL clients.
    pub(crate) fn pg(&self) -> TlsAcceptor {
        self.pg.clone()
    }

    /// The hash of the certificate to which SCRAM binds a password, if it has one.
    pub(crate) fn end_point(&self) -> Option<&[u8]> {
        self.end_point.as_deref()
    }
}

fn unreadable(path: &Path, error: &pem::Error) -> Error {
    if let pem::Error::Io(error) = error {
        return Error::usage(format!("cannot read {}: {error}", path.display()))
            .with_hint("check the path, and that the server may read the file");
    }
    // The parser's message does not contain any byte of the key.
    Error::usage(format!("cannot read {} as PEM: {error}", path.display())).with_hint(FILES_HINT)
}
