//! The dialect of MariaDB and MySQL.

use crate::connection::MysqlConnection;
use crate::tls::Tls;
use atsdb_core::Durability;
use atsdb_core::store::Finding;
use atsdb_sqlstore::{Attempt, ClusterDialect, Connection, Server, TABLES};
use mysql::OptsBuilder;
use std::sync::Arc;

/// The size of page parts in bytes. InnoDB stores a long value in blocks of 16 KiB, which it does not share: this is
/// four of them, less their overhead.
const PART_BYTES: u64 = 65_240;

const CLUSTER: ClusterDialect = ClusterDialect {
    node: "SELECT CAST(sha2(concat_ws(' ', @@hostname, @@port, @@wsrep_node_name, @@wsrep_node_address), 256) AS BINARY)",
    disable_autocommit: "SET SESSION autocommit = 0",
};

/// Begins a transaction that reads the state of this moment: two statements.
pub(crate) const BEGIN_READ: &str =
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
const BEGIN_READ_SPIDER: &str =
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;
     SELECT max(payload) FROM atsdb_fresh; SELECT max(payload) FROM atsdb_sealed";

/// Returns the statements that begin a write and a read transaction on such a server, each after the statement that
/// limits the client's silence.
///
/// A write transaction reads what is committed. Of a transaction's engines the last one commits first. Spider is the
/// last, so that pages are committed before the catalogue; but with `spider_internal_xa` InnoDB shows its rows before
/// any engine commits, and readers wait for the pages. In a read transaction, other servers take their snapshots when
/// they are first read.
pub(crate) fn begin(uses_spider: bool, is_cluster: bool, silence: [String; 2]) -> [String; 2] {
    let write = match (uses_spider, is_cluster) {
        (true, _) => "START TRANSACTION; SELECT 1 FROM atsdb_store LIMIT 1",
        (false, true) => "START TRANSACTION; SAVEPOINT begun",
        (false, false) => "START TRANSACTION",
    };
    let read = if uses_spider { BEGIN_READ_SPIDER } else { BEGIN_READ };
    let [before_write, before_read] = silence;
    [before_write + write, before_read + read]
}

/// A database of a server.
pub(crate) struct MysqlServer {
    /// The connection settings, for each address.
    pub(crate) options: Vec<OptsBuilder>,
    pub(crate) tls: Tls,
    pub(crate) location: Arc<str>,
    pub(crate) durability: Durability,
    pub(crate) setup: String,
    /// The statements that begin a write and a read transaction.
    pub(crate) begin: [String; 2],
    pub(crate) parts_per_statement: usize,
    /// Whether the server is a node of a Galera cluster.
    pub(crate) is_cluster: bool,
    /// Whether Spider stores the pages on other servers.
    pub(crate) uses_spider: bool,
}

impl std::fmt::Debug for MysqlServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MysqlServer({})", self.location)
    }
}

/// Returns how many parts fit into a packet of this size in bytes; at most a mebibyte.
pub(crate) fn parts_per_packet(packet_bytes: u64) -> usize {
    (packet_bytes / 2 / PART_BYTES).clamp(1, 16) as usize
}

impl Server for MysqlServer {
    fn address_count(&self) -> usize {
        self.options.len()
    }

    fn connect(&self, address: usize) -> Attempt<Box<dyn Connection>> {
        let mut connection = MysqlConnection::open(&self.options[address], &self.tls, &self.location, self.is_cluster)?;
        connection.run(&self.setup)?;
        Ok(Box::new(connection))
    }

    fn location(&self) -> &str {
        &self.location
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn cluster(&self) -> Option<ClusterDialect> {
        self.is_cluster.then_some(CLUSTER)
    }

    fn begin_write(&self) -> &str {
        &self.begin[0]
    }

    /// A node may roll a transaction back in favour of another node's without reporting it. What follows is then
    /// another transaction, which lacks the savepoint.
    fn commit(&self) -> &'static str {
        match (self.uses_spider, self.is_cluster) {
            (false, true) => "RELEASE SAVEPOINT begun; COMMIT",
            _ => "COMMIT",
        }
    }

    fn begin_read(&self) -> &str {
        &self.begin[1]
    }

    fn reads_pages_later(&self) -> Option<&'static str> {
        self.uses_spider.then_some("LOCK IN SHARE MODE")
    }

    /// Spider has no savepoints.
    fn has_savepoints(&self) -> bool {
        !self.uses_spider
    }

    fn integer(&self, expression: &str) -> String {
        format!("CAST({expression} AS SIGNED)")
    }

    fn substring(&self, bytes: &str, first: &str, count: &str) -> String {
        format!("SUBSTRING({bytes} FROM {first} FOR {count})")
    }

    fn random_bytes(&self) -> &'static str {
        "RANDOM_BYTES(16)"
    }

    fn part_bytes(&self) -> u64 {
        PART_BYTES
    }

    fn parts_per_statement(&self) -> usize {
        self.parts_per_statement
    }

    fn occupied_bytes_query(&self) -> &'static str {
        "SELECT table_name IN ('atsdb_fresh', 'atsdb_sealed'),
                       CAST(sum(coalesce(data_length, 0) + coalesce(index_length, 0)) AS SIGNED)
                   FROM information_schema.tables
                   WHERE table_schema = DATABASE() AND table_name LIKE 'atsdb\\_%' GROUP BY 1"
    }

    /// InnoDB purges by itself. Its files keep their length, since shrinking one would end the snapshots of others.
    fn vacuum(&self, _: &mut dyn Connection) -> Attempt<()> {
        Ok(())
    }

    fn check(&self, connection: &mut dyn Connection) -> Attempt<Vec<Finding>> {
        let mut findings = Vec::new();
        for table in TABLES {
            for mut row in connection.query(&format!("CHECK TABLE {table}"), &[])? {
                let (kind, message) = (row.text(2)?, row.text(3)?);
                if kind.eq_ignore_ascii_case("error") || kind.eq_ignore_ascii_case("warning") {
                    findings.push(Finding::damage(table, message));
                }
            }
        }
        Ok(findings)
    }
}
