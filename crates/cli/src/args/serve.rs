//! `atsdb serve`.

use super::store::{StoreArgs, WriteArgs};
use atsdb_server::{LogFormat, LogLevel};
use clap::Args;
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

/// `atsdb serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server is ready when GET /ready on the http address answers 200. It prints one line for each
address it listens on, with the port that was chosen, if you asked for port 0.

Several stores are several databases, which share the addresses, the threads, the memory and all
limits. A database is named by NAME=URL, or else after its file or the database in its URL; clients
choose one by its name. A single store without a name answers to every name. If a store cannot be
opened, the others are served, and it is tried again every five seconds. Users belong to their
store, and have no rights in another.

While a store has no users (atsdb user add), everybody who reaches an address may do everything,
and only addresses of this machine are accepted. Other addresses need users, and TLS by --tls-cert
and --tls-key.

SIGHUP reloads the users and the certificate. SIGTERM and Ctrl-C stop the server: new connections
are refused. Running work may finish within --drain; the rest is cancelled, and the exit code is
0. A second signal ends the process at once.

Every flag but --help can also be set in the environment, such as ATSDB_LOG_SLOW=500ms, and in a
file that --config names. Flags override the environment, which overrides the file. A line of the
file is a flag's name and its value in TOML; the store is url:

  url = \"air.db\"             # a comment
  log-slow = \"500ms\"
  connections = 200
  read-only = true

In the environment and the file, several databases are one text, with a blank before each name:

  url = \"air=/data/air.db machines=postgresql://db/machines\"

The log goes to stderr. It has no passwords, tokens, or values of parameters; literals in
statements are shown as ?.

Examples:
  atsdb serve air.db
  atsdb serve air.db --pg 127.0.0.1:0 --http 127.0.0.1:0
  psql -h 127.0.0.1 -p 5433 air
  atsdb serve air.db machines.db
  atsdb serve air=/data/2026.db machines=postgresql://db/machines
  atsdb serve air.db --grpc 127.0.0.1:8815
  atsdb serve air.db --log json --log-level info --log-slow 500ms
  atsdb serve --config /etc/atsdb.toml
  atsdb serve air.db --pg 0.0.0.0:5433 --http 0.0.0.0:8086 --tls-cert air.crt --tls-key air.key")]
pub(crate) struct ServeArgs {
    /// The stores: paths or other URLs, each with the name of its database before it; created if they do not exist
    #[arg(required = true, value_name = "[NAME=]URL", env = "ATSDB_URL", hide_env = true)]
    pub(crate) url: Vec<String>,
    /// Read settings from this file; flags and environment variables override it
    #[arg(long, value_name = "FILE", env = "ATSDB_CONFIG", hide_env = true)]
    pub(crate) config: Option<PathBuf>,
    /// Speak PostgreSQL's protocol on this address; off disables it
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5433", env = "ATSDB_PG", hide_env = true)]
    pub(crate) pg: String,
    /// Speak HTTP on this address; off disables it
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8086", env = "ATSDB_HTTP", hide_env = true)]
    pub(crate) http: String,
    /// Speak gRPC on this address: Arrow Flight SQL, and OpenTelemetry's metrics
    #[arg(long, value_name = "HOST:PORT", default_value = "off", env = "ATSDB_GRPC", hide_env = true)]
    pub(crate) grpc: String,
    /// Encrypt connections with this certificate, in PEM; the file may also contain the intermediate certificates
    #[arg(long, value_name = "FILE", env = "ATSDB_TLS_CERT", hide_env = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM
    #[arg(long, value_name = "FILE", env = "ATSDB_TLS_KEY", hide_env = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept at most this many connections of each protocol
    #[arg(long, value_name = "N", default_value_t = 1_000, env = "ATSDB_CONNECTIONS", hide_env = true)]
    pub(crate) connections: usize,
    /// Run at most this many statements at once, over all protocols; others wait up to five seconds
    #[arg(long, value_name = "N", default_value_t = 64, env = "ATSDB_STATEMENTS", hide_env = true)]
    pub(crate) statements: usize,
    /// Stop a statement that takes longer, such as 500ms or 30s [default: 10min over HTTP and gRPC, no limit over
    /// PostgreSQL's protocol, whose clients may SET statement_timeout]
    #[arg(long, value_name = "TIME", env = "ATSDB_STATEMENT_TIMEOUT", hide_env = true)]
    pub(crate) statement_timeout: Option<String>,
    /// Run at most this many statements of all users with a role at once, such as read=16
    #[arg(long, value_name = "ROLE=N,...", env = "ATSDB_ROLE_STATEMENTS", hide_env = true)]
    pub(crate) role_statements: Option<String>,
    /// Stop a statement of a user with a role that takes longer, such as read=30s,write=5min; no client can raise it
    #[arg(long, value_name = "ROLE=TIME,...", env = "ATSDB_ROLE_TIMEOUT", hide_env = true)]
    pub(crate) role_timeout: Option<String>,
    /// At shutdown, wait this long for running work to finish, such as 30s
    #[arg(long, value_name = "TIME", default_value = "30s", env = "ATSDB_DRAIN", hide_env = true)]
    pub(crate) drain: String,
    /// Refuse to change the stores
    #[arg(long, env = "ATSDB_READ_ONLY", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) read_only: bool,
    /// Write the log as lines of text, or of JSON
    #[arg(long, value_name = "text|json", default_value = "text", env = "ATSDB_LOG", hide_env = true)]
    #[arg(value_parser = PossibleValuesParser::new(LogFormat::ALL.iter().map(|format| format.name()))
        .map(format_named))]
    #[arg(hide_possible_values = true)]
    pub(crate) log: LogFormat,
    /// Log the server's errors (error), also failed logins and slow statements (warn), start and end (info),
    /// connections and clients' errors (debug), or nothing (off)
    #[arg(long, value_name = "LEVEL", default_value = "warn", env = "ATSDB_LOG_LEVEL", hide_env = true)]
    #[arg(value_parser = PossibleValuesParser::new(LogLevel::ALL.iter().map(|level| level.name())).map(level_named))]
    #[arg(hide_possible_values = true)]
    pub(crate) log_level: LogLevel,
    /// Log statements that take at least this long, such as 500ms
    #[arg(long, value_name = "TIME", env = "ATSDB_LOG_SLOW", hide_env = true)]
    pub(crate) log_slow: Option<String>,
    /// Send a span for each statement to this collector of OpenTelemetry, by OTLP over HTTP
    #[arg(long, value_name = "http://HOST:PORT", env = "ATSDB_TRACES", hide_env = true)]
    pub(crate) traces: Option<String>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

// The parser has refused every other name.
fn format_named(name: String) -> LogFormat {
    LogFormat::ALL.iter().copied().find(|format| format.name() == name).unwrap_or_default()
}

fn level_named(name: String) -> LogLevel {
    LogLevel::ALL.iter().copied().find(|level| level.name() == name).unwrap_or_default()
}
