//! Opening a store.

use crate::connection::STATEMENTS_KEPT_MAX;
use crate::server::{MysqlServer, begin, parts_per_packet};
use crate::tls::Tls;
use crate::{schema, settings};
use atsdb_core::{Result, StoreWarning};
use atsdb_sqlstore::{Address, Connection, Failure, Secret, Server, ServerOptions, ServerStore, ServerUrl, prepare};
use mysql::consts::CapabilityFlags;
use mysql::{Conn, OptsBuilder};
use std::time::Duration;

/// The options of a URL.
pub(crate) const OPTIONS: [&str; 3] = ["sslmode", "sslrootcert", "socket"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that does not answer for this long counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// Opens the store in a MariaDB or MySQL database.
#[derive(Debug)]
pub struct MysqlStore;

impl MysqlStore {
    /// Opens the store of a URL `mysql://user:password@host:port/database` or `mariadb://...`, and creates its tables
    /// if the options say so. Of several addresses, separated by commas, the first that answers is used; writes to a
    /// cluster use its writer node. A password in the URL takes precedence over `password`. Also returns warnings about
    /// settings of the server that weaken the store's guarantees.
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
        let mut server = MysqlServer {
            options: url.addresses.iter().map(|address| client_options(&url, address, password, options)).collect(),
            location: url.shown().into(),
            durability: options.durability,
            setup: settings::setup(options),
            begin: Default::default(),
            parts_per_statement: 1,
            is_cluster: false,
            uses_spider: false,
            tls,
        };
        let look = |connection: &mut dyn Connection| settings::check(connection, server.location(), options.durability);
        let (uid, found) =
            prepare(&server, options, look, (schema::check, schema::create)).map_err(Failure::into_error)?;
        server.is_cluster = found.is_cluster;
        if found.is_cluster {
            server.setup.push_str(settings::IN_CLUSTER);
        }
        server.uses_spider = found.uses_spider;
        server.begin = begin(found.uses_spider, found.is_cluster, settings::silence(options, found.is_mariadb));
        server.durability = found.durability;
        server.parts_per_statement = parts_per_packet(found.packet_bytes);
        let mut warnings = found.warnings;
        warnings.extend(server.tls.mode.warning(&url, &server.location).map(StoreWarning::new));
        Ok((ServerStore::new(Box::new(server), uid, options), warnings))
    }
}

/// Connects a program to the server of a store's URL like the store does: with the URL's login, options and encryption,
/// and the first of several addresses. It connects to `database`, or to none, regardless of the URL, and waits for
/// answers without a limit.
///
/// Errors: `Usage` (the URL); the inner error is the client's error about the server.
pub fn connect(url: &str, database: Option<&str>) -> Result<mysql::Result<Conn>> {
    let url = ServerUrl::parse(url, &OPTIONS)?;
    let tls = Tls::of(&url)?;
    let options = client_options(&url, &url.addresses[0], None, &ServerOptions::default());
    Ok(tls.connect(&options.db_name(database).read_timeout(None).write_timeout(None)))
}

/// The client's configuration for one address.
pub(crate) fn client_options(
    url: &ServerUrl,
    address: &Address,
    password: Option<&Secret>,
    options: &ServerOptions,
) -> OptsBuilder {
    // As in the servers' own programs, the default is the system's user.
    let user = url.user.clone().or_else(|| std::env::var("USER").ok());
    let password = url.password.as_ref().or(password).map(|password| password.reveal().to_owned());
    let host = if address.host.is_empty() { "localhost" } else { &address.host };
    OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(address.port.unwrap_or(3306))
        .socket(url.socket().map(str::to_owned))
        .prefer_socket(false)
        .user(user)
        .pass(password)
        .db_name(Some(url.database.clone()))
        .tcp_connect_timeout(Some(CONNECT_TIMEOUT))
        .read_timeout(Some(options.answer_max()))
        .write_timeout(Some(options.answer_max()))
        .tcp_keepalive_time_ms(Some(SILENCE_MAX.as_millis() as u32))
        .tcp_nodelay(true)
        .stmt_cache_size(STATEMENTS_KEPT_MAX)
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
}
