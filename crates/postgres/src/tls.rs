//! The encryption of connections, and the verification of the server.

use atsdb_core::{Error, Result};
use atsdb_sqlstore::ServerUrl;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The encryption settings of connections.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) mode: SslMode,
    connector: Option<MakeRustlsConnect>,
}

impl Tls {
    /// Returns the settings in the `sslmode` and `sslrootcert` of the URL. The server's certificate and name are always
    /// verified. The default is unencrypted on this machine, else encrypted if the server supports it.
    pub(crate) fn of(url: &ServerUrl) -> Result<Self> {
        let asked = url.options.get("sslmode").map(String::as_str);
        let mode = match asked {
            Some("disable") => SslMode::Disable,
            Some("prefer") => SslMode::Prefer,
            Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            None if url.is_local() => SslMode::Disable,
            None => SslMode::Prefer,
            Some(other) => {
                return Err(Error::usage(format!("unknown sslmode {other:.40}"))
                    .with_hint("use disable, prefer, require, verify-ca or verify-full"));
            }
        };
        let connector = match mode {
            SslMode::Disable => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the connection goes over a network depends on the host that is connected to, not on the one that the URL
    /// has before the database.
    #[test]
    fn another_machine_is_spoken_to_encrypted_however_the_url_names_it() {
        let mode = |url: &str| Tls::of(&ServerUrl::parse(url, &["host", "sslmode"]).unwrap()).unwrap().mode;
        for url in ["postgresql://me@192.0.2.2/air", "postgresql://me@/air?host=192.0.2.2"] {
            assert_eq!(mode(url), SslMode::Prefer, "{url}");
        }
        for url in ["postgresql://me@/air", "postgresql://me@/air?host=/run/postgresql"] {
            assert_eq!(mode(url), SslMode::Disable, "{url}");
        }
    }
}
