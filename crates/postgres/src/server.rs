//! The dialect of PostgreSQL.

use crate::connection::{IoThread, PostgresConnection};
use crate::tls::Tls;
use atsdb_core::Durability;
use atsdb_core::store::Finding;
use atsdb_sqlstore::{Attempt, Connection, Server};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Config;

/// The size of page parts in bytes. The server stores long values in pieces of 1,996 bytes, four to a block: these are
/// 32 pieces.
const PART_BYTES: u64 = 32 * 1_996;
/// The number of parts per statement: about a mebibyte.
const PARTS_PER_STATEMENT: usize = 16;

/// A database of a server.
pub(crate) struct PostgresServer {
    /// The connection settings, for each address.
    pub(crate) configs: Vec<Config>,
    pub(crate) tls: Tls,
    pub(crate) location: Arc<str>,
    pub(crate) durability: Durability,
    pub(crate) setup: String,
    pub(crate) begin_write: String,
    /// The maximum duration of an answer.
    pub(crate) answer_max: Duration,
    pub(crate) io_thread: Arc<IoThread>,
}

impl std::fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostgresServer({})", self.location)
    }
}

impl Server for PostgresServer {
    fn address_count(&self) -> usize {
        self.configs.len()
    }

    fn connect(&self, address: usize) -> Attempt<Box<dyn Connection>> {
        let how = (&self.configs[address], &self.tls, self.setup.as_str());
        Ok(Box::new(PostgresConnection::open(how, &self.io_thread, &self.location, self.answer_max)?))
    }

    fn location(&self) -> &str {
        &self.location
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn begin_write(&self) -> &str {
        &self.begin_write
    }

    /// BEGIN alone takes no snapshot; the first read does.
    fn begin_read(&self) -> &str {
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1"
    }

    fn integer(&self, expression: &str) -> String {
        format!("({expression})::bigint")
    }

    fn substring(&self, bytes: &str, first: &str, count: &str) -> String {
        format!("substring({bytes} FROM ({first})::int FOR ({count})::int)")
    }

    fn random_bytes(&self) -> &'static str {
        "uuid_send(gen_random_uuid())"
    }

    fn part_bytes(&self) -> u64 {
        PART_BYTES
    }

    fn parts_per_statement(&self) -> usize {
        PARTS_PER_STATEMENT
    }

    fn occupied_bytes_query(&self) -> &'static str {
        // The server's free space maps are excluded, since they do not depend on the content.
        "SELECT (relname IN ('atsdb_fresh', 'atsdb_sealed'))::int, sum(
                       pg_relation_size(oid) + pg_indexes_size(oid)
                       + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0)
                       + coalesce(pg_indexes_size(nullif(reltoastrelid, 0)), 0))::bigint
                   FROM pg_class WHERE relkind = 'r' AND relname LIKE 'atsdb\\_%' AND pg_table_is_visible(oid)
                   GROUP BY 1"
    }

    /// VACUUM makes the space reusable soon. The table of fresh pages becomes short when it is empty.
    fn vacuum(&self, connection: &mut dyn Connection) -> Attempt<()> {
        connection.run("VACUUM atsdb_fresh, atsdb_sealed, atsdb_map")
    }

    /// Analyzes the dictionaries. Before ANALYZE the planner expects a handful of strings per table and reads all of
    /// them.
    fn analyze_dictionaries(&self, connection: &mut dyn Connection) -> Attempt<()> {
        connection.run("ANALYZE (SKIP_LOCKED) atsdb_map")
    }

    /// Finds nothing: all that the server can check without an extension, it already checks when it reads.
    fn check(&self, _: &mut dyn Connection) -> Attempt<Vec<Finding>> {
        Ok(Vec::new())
    }
}
