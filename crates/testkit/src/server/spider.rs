//! MariaDB with Spider for tests: a head that holds the catalogue, and two servers that share the pages.
//!
//! Spider distinguishes the parts of a transaction by the hosts of their servers alone, so the two have addresses of
//! their own on loopback.

use super::data::{ServerKind, data_folder};
use super::mariadb;
use super::setup::{PASSWORD, USER};
use super::test_server::TestServer;
use crate::skipped;
use std::path::Path;

const PLUGINS: [&str; 3] = [
    "/usr/lib/mysql/plugin/ha_spider.so",
    "/usr/lib64/mysql/plugin/ha_spider.so",
    "/usr/lib/x86_64-linux-gnu/mariadb19/plugin/ha_spider.so",
];
/// A transaction is committed on all servers or on none.
const SETTINGS: [&str; 2] = ["--plugin-load-add=ha_spider.so", "--spider-internal-xa=ON"];
const SHARDS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
/// The tables of pages.
const SPREAD: [&str; 2] = ["atsdb_fresh", "atsdb_sealed"];
const COLUMNS: &str =
    "payload BIGINT NOT NULL, part BIGINT NOT NULL, bytes MEDIUMBLOB NOT NULL, PRIMARY KEY (payload, part)";

/// A server that spreads its pages over two others.
#[derive(Debug)]
pub struct Spider {
    head: TestServer,
    shards: Vec<TestServer>,
}

impl Spider {
    /// Starts separate servers. `None`, with a message on stderr, if their programs are not installed.
    pub fn start() -> Option<Self> {
        if mariadb::missing().is_some() || !PLUGINS.iter().any(|plugin| Path::new(plugin).exists()) {
            skipped("Spider is not installed; the Debian packages mariadb-server and mariadb-plugin-spider have it");
            return None;
        }
        let start = |arguments: Vec<String>| {
            let folder = data_folder(ServerKind::Mariadb).expect("a data folder can be made");
            let server = TestServer::of(ServerKind::Mariadb, folder, arguments);
            server.resume();
            server
        };
        let shards = SHARDS.iter().map(|address| start(vec![format!("--bind-address={address}")])).collect();
        let head = start(SETTINGS.map(str::to_owned).to_vec());
        let spider = Self { head, shards };
        for (shard, address) in spider.shards.iter().zip(SHARDS) {
            let port = shard.port();
            spider.head.administer(&format!(
                "CREATE SERVER shard{port} FOREIGN DATA WRAPPER mysql OPTIONS
                 (HOST '{address}', PORT {port}, USER '{USER}', PASSWORD '{PASSWORD}')"
            ));
        }
        Some(spider)
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        self.shards.iter().for_each(|shard| drop(shard.database()));
        self.head.database()
    }

    /// Moves the tables of pages of an empty store to the other servers.
    pub fn spread(&self, url: &str) {
        let database = url.rsplit('/').next().unwrap_or_default();
        for table in SPREAD {
            let mut parts = Vec::new();
            for shard in &self.shards {
                shard.administer(&format!("CREATE TABLE {database}.{table} ({COLUMNS}) ENGINE = InnoDB"));
                let server = format!("wrapper \"mysql\", srv \"shard{}\"", shard.port());
                parts.push(format!("PARTITION p{} COMMENT = '{server}'", shard.port()));
            }
            self.head.administer(&format!(
                "DROP TABLE {database}.{table}; CREATE TABLE {database}.{table} ({COLUMNS}) ENGINE = Spider
                 COMMENT = 'database \"{database}\", table \"{table}\"' PARTITION BY KEY (payload) ({})",
                parts.join(", ")
            ));
        }
    }

    /// Runs statements in this database of each of the other servers.
    pub fn ask(&self, url: &str, sql: &str) {
        self.shards.iter().for_each(|shard| drop(shard.ask(url, sql)));
    }

    /// The number of rows of pages on each of the other servers.
    pub fn rows(&self, url: &str) -> Vec<u64> {
        let tables = SPREAD.map(|table| format!("(SELECT count(*) FROM {table})")).join(" + ");
        let count = |shard: &TestServer| shard.ask(url, &format!("SELECT {tables}")).trim().parse().unwrap_or(0);
        self.shards.iter().map(count).collect()
    }
}
