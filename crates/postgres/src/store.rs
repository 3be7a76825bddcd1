//! Opening a store.

use crate::connection::IoThread;
use crate::server::PostgresServer;
use crate::tls::Tls;
use crate::{schema, settings};
use atsdb_core::{Result, StoreWarning};
use atsdb_sqlstore::{
    Address, Connection, Failure, Secret, Server, ServerOptions, ServerStore, ServerUrl, TlsMode, prepare,
};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The options of a URL.
pub(crate) const OPTIONS: [&str; 3] = ["sslmode", "sslrootcert", "host"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that does not answer for this long counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Opens the store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore;

impl PostgresStore {
    /// Opens the store of a URL `postgresql://user:password@host:port/database`, and creates its tables if the options
    /// say so. Of several addresses, separated by commas, the first that answers is used. A password in the URL takes
    /// precedence over `password`. Also returns warnings about settings of the server that weaken the store's
    /// guarantees.
    ///
    /// Errors: `Usage` (the URL, a server that is too old), `NotFound` (no such database, or no store in it),
    /// `Unavailable` (no connection, no login), `ReadOnly` (no store, and no permission to create one), `NewerFormat`,
    /// `Corrupt`.
    pub fn open(
        url: &str,
        password: Option<&Secret>,
        options: &ServerOptions,
    ) -> Result<(ServerStore, Vec<StoreWarning>)> {
        let url = ServerUrl::parse(url, &OPTIONS)?;
        let tls = Tls::of(&url)?;
        let io_thread = IoThread::new()?;
        let mut server = PostgresServer {
            configs: url.addresses.iter().map(|address| config(&url, address, password, &tls)).collect(),
            location: url.shown().into(),
            durability: options.durability,
            setup: settings::setup(options.busy_timeout),
            begin_write: settings::begin_write(options.silence_max()),
            answer_max: options.answer_max(),
            io_thread: Arc::new(io_thread),
            tls,
        };
        let look = |connection: &mut dyn Connection| settings::check(connection, server.location(), options.durability);
        let (uid, found) =
            prepare(&server, options, look, (schema::check, schema::create)).map_err(Failure::into_error)?;
        server.durability = found.durability;
        let mut warnings = found.warnings;
        warnings.extend(server.tls.mode.warning(&url, &server.location).map(StoreWarning::new));
        Ok((ServerStore::new(Box::new(server), uid, options), warnings))
    }
}

/// Returns the client configuration and the encryption with which a program can connect to the server of a store's URL
/// like the store does: with the URL's login and options, and the first of several addresses.
///
/// Errors: `Usage` (the URL, its certificates).
pub fn client_config(url: &str) -> Result<(Config, Option<MakeRustlsConnect>)> {
    let url = ServerUrl::parse(url, &OPTIONS)?;
    let tls = Tls::of(&url)?;
    Ok((config(&url, &url.addresses[0], None, &tls), tls.connector()))
}

/// The client's configuration for one address.
pub(crate) fn config(url: &ServerUrl, address: &Address, password: Option<&Secret>, tls: &Tls) -> Config {
    let mut config = Config::new();
    config
        .dbname(&url.database)
        .port(address.port.unwrap_or(5432))
        .ssl_mode(match tls.mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require => SslMode::Require,
        })
        .application_name("atsdb")
        .connect_timeout(CONNECT_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(SILENCE_MAX / 2)
        .keepalives_interval(SILENCE_MAX / 6)
        .keepalives_retries(3)
        .tcp_user_timeout(SILENCE_MAX);
    // A name that begins with a slash is the folder of a Unix socket.
    config.host(if address.host.is_empty() { "localhost" } else { &address.host });
    // As in PostgreSQL's own programs, the default is the system's user.
    let user = url.user.clone().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "postgres".into());
    config.user(user);
    if let Some(password) = url.password.as_ref().or(password) {
        config.password(password.reveal());
    }
    config
}
