//! The encryption of connections, and the verification of the server.

use atsdb_core::{Error, Result};
use atsdb_sqlstore::{ServerUrl, TlsMode};
use mysql::{Conn, Opts, OptsBuilder, SslOpts};
use std::path::PathBuf;

/// The encryption settings of connections.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    root_file: Option<PathBuf>,
}

impl Tls {
    /// Returns the settings in the `sslmode` and `sslrootcert` of the URL. The server's certificate and name are always
    /// verified. The default is unencrypted on this machine, else encrypted if the server supports it.
    pub(crate) fn of(url: &ServerUrl) -> Result<Self> {
        let mode = TlsMode::of(url)?;
        if mode == TlsMode::Require && url.socket().is_some() {
            let message =
                format!("nothing is encrypted on a Unix socket, which the store's URL names: {}", url.shown());
            return Err(Error::usage(message).with_hint(
                "leave sslmode out, since other machines cannot read a socket; or name the server's host instead",
            ));
        }
        if mode != TlsMode::Disable {
            // This is the default of the whole program, unless it has chosen one already.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self { mode, root_file: url.options.get("sslrootcert").map(PathBuf::from) })
    }

    /// Connects, encrypted as configured.
    pub(crate) fn connect(&self, options: &OptsBuilder) -> mysql::Result<Conn> {
        let plain = || Conn::new(Opts::from(options.clone()));
        if self.mode == TlsMode::Disable {
            return plain();
        }
        let tls = SslOpts::default().with_root_cert_path(self.root_file.clone());
        match Conn::new(Opts::from(options.clone().ssl_opts(tls))) {
            Err(_) if self.may_go_without(options) => plain(),
            done => done,
        }
    }

    /// Returns whether an unencrypted connection is acceptable after an encrypted one failed: only if the server does
    /// not support encryption. A server that does and cannot prove its identity is not trusted with anything.
    fn may_go_without(&self, options: &OptsBuilder) -> bool {
        self.mode == TlsMode::Prefer && !offers_tls(options)
    }
}

fn offers_tls(options: &OptsBuilder) -> bool {
    let tls = SslOpts::default();
    let tried = Conn::new(Opts::from(options.clone().ssl_opts(tls)));
    !matches!(tried, Err(mysql::Error::DriverError(mysql::DriverError::TlsNotSupported)))
}
