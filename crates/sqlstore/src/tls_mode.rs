//! Whether connections to a server are encrypted. Not owned: the encryption, which each server's client has.

use crate::url::ServerUrl;
use atsdb_core::{Error, Result};

/// The requested encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// None.
    Disable,
    /// Encrypted, if the server supports it.
    Prefer,
    /// Always.
    Require,
}

impl TlsMode {
    /// The `sslmode` of the URL. The default is unencrypted on this machine, else encrypted if the server supports it.
    pub fn of(url: &ServerUrl) -> Result<Self> {
        match url.options.get("sslmode").map(String::as_str) {
            Some("disable") => Ok(Self::Disable),
            Some("prefer") => Ok(Self::Prefer),
            Some("require" | "verify-ca" | "verify-full") => Ok(Self::Require),
            None if url.is_local() => Ok(Self::Disable),
            None => Ok(Self::Prefer),
            Some(other) => Err(Error::usage(format!("unknown sslmode {other:.40}"))
                .with_hint("use disable, prefer, require, verify-ca or verify-full")),
        }
    }

    /// The warning about a connection over a network that may be unencrypted. `location` is the URL without secrets.
    pub fn warning(self, url: &ServerUrl, location: &str) -> Option<String> {
        let encryption = match self {
            _ if url.is_local() => return None,
            Self::Require => return None,
            Self::Prefer => "may be",
            Self::Disable => "is",
        };
        Some(format!("{location}: the connection {encryption} unencrypted; sslmode=require forbids that"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the connection goes over a network depends on the host that is connected to, not on the one that the URL
    /// has before the database.
    #[test]
    fn another_machine_is_spoken_to_encrypted_however_the_url_names_it() {
        let mode = |url: &str| TlsMode::of(&ServerUrl::parse(url, &["host", "sslmode"]).unwrap()).unwrap();
        for url in ["postgresql://me@192.0.2.2/air", "postgresql://me@/air?host=192.0.2.2"] {
            assert_eq!(mode(url), TlsMode::Prefer, "{url}");
        }
        for url in ["postgresql://me@/air", "postgresql://me@/air?host=/run/postgresql"] {
            assert_eq!(mode(url), TlsMode::Disable, "{url}");
        }
    }
}
