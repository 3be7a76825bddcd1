//! The files of the certificate and its key.

use std::path::PathBuf;

/// The paths of the certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate, followed by its chain.
    pub certificate: PathBuf,
    /// The private key: PKCS #8, PKCS #1 or SEC 1, without a password.
    pub key: PathBuf,
}
