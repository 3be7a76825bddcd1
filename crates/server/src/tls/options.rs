//! Where the certificate is.

use std::path::PathBuf;

/// Where the certificate and its key are, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate, followed by those that vouch for it.
    pub certificate: PathBuf,
    /// The private key: PKCS #8, PKCS #1 or SEC 1, without a password.
    pub key: PathBuf,
}
