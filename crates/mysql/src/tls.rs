//! Whether a connection is encrypted, and who the server must prove to be.

use atsdb_core::{Error, Result};
use atsdb_sqlstore::ServerUrl;
use mysql::{Conn, Opts, OptsBuilder, SslOpts};
use std::path::PathBuf;

/// How much encryption is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// None.
    Disable,
    /// Where the server can.
    Prefer,
    /// Always.
    Require,
}

/// How connections are encrypted.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub(crate) mode: Mode,
    root_file: Option<PathBuf>,
}

impl Tls {
    /// What the URL asks for with `sslmode` and `sslrootcert`. The server's certificate is always checked, its name too.
    /// Without a word of it: unencrypted on this machine, else encrypted where the server can.
    pub(crate) fn of(url: &ServerUrl) -> Result<Self> {
        let mode = match url.options.get("sslmode").map(String::as_str) {
            Some("disable") => Mode::Disable,
            Some("prefer") => Mode::Prefer,
            Some("require" | "verify-ca" | "verify-full") => Mode::Require,
            None if url.is_local() => Mode::Disable,
            None => Mode::Prefer,
            Some(other) => {
                return Err(Error::usage(format!("unknown sslmode {other:.40}"))
                    .with_hint("use disable, prefer, require, verify-ca or verify-full"));
            }
        };
        if mode == Mode::Require && url.socket().is_some() {
            let message =
                format!("nothing is encrypted on a Unix socket, which the store's URL names: {}", url.shown());
            return Err(Error::usage(message).with_hint(
                "leave sslmode out: nobody reads what goes over a socket; or name the server's host instead",
            ));
        }
        if mode != Mode::Disable {
            // What the whole program uses, unless it has chosen already.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self { mode, root_file: url.options.get("sslrootcert").map(PathBuf::from) })
    }

    /// Connects, encrypted if it is to be.
    pub(crate) fn connect(&self, options: &OptsBuilder) -> mysql::Result<Conn> {
        let plain = || Conn::new(Opts::from(options.clone()));
        if self.mode == Mode::Disable {
            return plain();
        }
        let tls = SslOpts::default().with_root_cert_path(self.root_file.clone());
        match Conn::new(Opts::from(options.clone().ssl_opts(tls))) {
            Err(_) if self.may_go_without(options) => plain(),
            done => done,
        }
    }

    /// Whether an unencrypted connection will do, after an encrypted one could not be had: only where the server offers
    /// none. One that offers it and proves to be nobody is not trusted with anything.
    fn may_go_without(&self, options: &OptsBuilder) -> bool {
        self.mode == Mode::Prefer && !offers_tls(options)
    }
}

fn offers_tls(options: &OptsBuilder) -> bool {
    let tls = SslOpts::default();
    let tried = Conn::new(Opts::from(options.clone().ssl_opts(tls)));
    !matches!(tried, Err(mysql::Error::DriverError(mysql::DriverError::TlsNotSupported)))
}
