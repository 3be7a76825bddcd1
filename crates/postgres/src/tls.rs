//! The encryption of connections, and the verification of the server.

use atsdb_core::{Error, Result};
use atsdb_sqlstore::{ServerUrl, TlsMode};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The encryption settings of connections.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    connector: Option<MakeRustlsConnect>,
}

impl Tls {
    /// Returns the settings in the `sslmode` and `sslrootcert` of the URL. The server's certificate and name are always
    /// verified. The default is unencrypted on this machine, else encrypted if the server supports it.
    pub(crate) fn of(url: &ServerUrl) -> Result<Self> {
        let mode = TlsMode::of(url)?;
        let connector = match mode {
            TlsMode::Disable => None,
            _ => Some(connector(url.options.get("sslrootcert").map(String::as_str))?),
        };
        Ok(Self { mode, connector })
    }

    /// Returns the TLS connector, if connections are encrypted.
    pub(crate) fn connector(&self) -> Option<MakeRustlsConnect> {
        self.connector.clone()
    }
}

fn connector(root_file: Option<&str>) -> Result<MakeRustlsConnect> {
    let Some(file) = root_file else {
        // This is the default of the whole program, unless it has chosen one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        return match MakeRustlsConnect::with_native_certs() {
            Ok((connector, _)) => Ok(connector),
            Err(errors) => {
                let why = errors.first().map_or_else(String::new, |error| format!(": {error}"));
                Err(Error::usage(format!("this machine has no certificates of authorities{why}"))
                    .with_hint("name a file of them with sslrootcert=FILE, or use sslmode=disable"))
            }
        };
    };
    let refuse = |why: String| Error::usage(format!("cannot use the certificates in {file}: {why}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| refuse(error.to_string()))? {
        let certificate = certificate.map_err(|error| refuse(error.to_string()))?;
        roots.add(certificate).map_err(|error| refuse(error.to_string()))?;
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
