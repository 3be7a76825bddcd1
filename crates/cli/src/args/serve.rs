//! `atsdb serve`.

use super::store::{StoreArgs, WriteArgs};
use clap::Args;
use std::path::PathBuf;

/// `atsdb serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server is ready when GET /ready on the http address answers 200. It prints one line for each address when it
listens there, with the port that it got where 0 was asked for.

While the store has no users (atsdb user add), everybody who reaches an address may do everything, and only addresses of
this machine are taken. Others need users, and TLS by --tls-cert and --tls-key.

SIGHUP reads users and the certificate again. SIGTERM and Ctrl-C end it: nothing is accepted any more, what has been begun has --drain to end, is cancelled then, and
the exit code is 0. A second one ends the process at once.

Examples:
  atsdb serve air.db
  atsdb serve air.db --pg 127.0.0.1:0 --http 127.0.0.1:0
  psql -h 127.0.0.1 -p 5433 air
  atsdb serve air.db --pg 0.0.0.0:5433 --http 0.0.0.0:8086 --tls-cert air.crt --tls-key air.key")]
pub(crate) struct ServeArgs {
    /// The store: a path or another URL; created if it does not exist
    pub(crate) url: String,
    /// Speak PostgreSQL's protocol on this address; off is nowhere
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5433", env = "ATSDB_PG", hide_env = true)]
    pub(crate) pg: String,
    /// Speak HTTP on this address; off is nowhere
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8086", env = "ATSDB_HTTP", hide_env = true)]
    pub(crate) http: String,
    /// Encrypt connections with this certificate, in PEM; those that vouch for it follow in the same file
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "ATSDB_TLS_CERT", hide_env = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "ATSDB_TLS_KEY", hide_env = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept at most this many connections of each protocol
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) connections: usize,
    /// Let what has been begun end for this long when the server is asked to end, as 30s
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) drain: String,
    /// Refuse to change the store
    #[arg(long)]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
