//! Opening a store.

use crate::connection::Mover;
use crate::server::PostgresServer;
use crate::settings::Settings;
use crate::tls::Tls;
use crate::{schema, settings};
use atsdb_core::{Error, ErrorKind, Result};
use atsdb_sqlstore::{Attempt, Failure, Secret, Server, ServerOptions, ServerStore, ServerUrl};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What may follow the question mark of a URL.
const OPTIONS: [&str; 3] = ["sslmode", "sslrootcert", "host"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that answers nothing for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Opens the store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore;

impl PostgresStore {
    /// Opens the store of a URL `postgresql://user:password@host:port/database`, and creates its tables if the options
    /// say so. The password of the URL wins over the one given. Also gives warnings: settings of the server that break
    /// what the store promises.
    ///
    /// Errors: `Usage` (the URL, a server that is too old), `NotFound` (no such database, or no store in it),
    /// `Unavailable` (no connection, no login), `ReadOnly` (no store, and no permission to make one), `NewerFormat`,
    /// `Corrupt`.
    pub fn open(url: &str, password: Option<&Secret>, options: &ServerOptions) -> Result<(ServerStore, Vec<String>)> {
        let url = ServerUrl::parse(url, &OPTIONS)?;
        let tls = Tls::of(&url)?;
        let mover = Mover::new().map_err(|error| {
            Error::new(ErrorKind::Resources, format!("cannot start a thread: {error}")).with_source(error)
        })?;
        let mut server = PostgresServer {
            config: config(&url, password, &tls),
            place: url.shown().into(),
            durability: options.durability,
            setup: settings::setup(options.busy_timeout.as_millis()),
            mover: Arc::new(mover),
            tls,
        };
        let (uid, found) = prepare(&server, options).map_err(Failure::into_error)?;
        server.durability = found.durability;
        let mut warnings = found.warnings;
        if !url.is_local() && server.tls.mode != SslMode::Require {
            let said = if server.tls.mode == SslMode::Disable { "is" } else { "may be" };
            warnings.push(format!("{}: the connection {said} unencrypted; sslmode=require forbids that", server.place));
        }
        Ok((ServerStore::new(Box::new(server), uid, options), warnings))
    }
}

fn prepare(server: &PostgresServer, options: &ServerOptions) -> Attempt<([u8; 16], Settings)> {
    let place = server.place();
    let mut connection = server.connect()?;
    let settings = settings::look(&mut *connection, place, options.durability)?;
    let found = schema::check(&mut *connection, place)?;
    let uid = match found {
        Some(uid) => uid,
        None if options.create && !options.read_only => schema::create(&mut *connection, place)?,
        None => {
            return Err(Error::not_found(format!("there is no store in the database {place}"))
                .with_hint("check the URL; whoever writes first creates one")
                .into());
        }
    };
    Ok((uid, settings))
}

/// How a program reaches the server of a store's URL by itself, as the store does: with the URL's login and options, and
/// with what encrypts where the URL asks for that.
///
/// Errors: `Usage` (the URL, its certificates).
pub fn client_config(url: &str) -> Result<(Config, Option<MakeRustlsConnect>)> {
    let url = ServerUrl::parse(url, &OPTIONS)?;
    let tls = Tls::of(&url)?;
    Ok((config(&url, None, &tls), tls.connector()))
}

fn config(url: &ServerUrl, password: Option<&Secret>, tls: &Tls) -> Config {
    let mut config = Config::new();
    config
        .dbname(&url.database)
        .port(url.port.unwrap_or(5432))
        .ssl_mode(tls.mode)
        .application_name("atsdb")
        .connect_timeout(CONNECT_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(SILENCE_MAX / 2)
        .tcp_user_timeout(SILENCE_MAX);
    match url.options.get("host") {
        Some(folder) => config.host(folder),
        None if url.host.is_empty() => config.host("localhost"),
        None => config.host(&url.host),
    };
    // As with PostgreSQL's own programs: without a user it is the system's.
    let user = url.user.clone().or_else(|| std::env::var("USER").ok()).unwrap_or_else(|| "postgres".into());
    config.user(user);
    if let Some(password) = url.password.as_ref().or(password) {
        config.password(password.reveal());
    }
    config
}
