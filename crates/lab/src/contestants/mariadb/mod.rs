//! MariaDB with each of its engines, and MySQL by URL: one table with unmodified rows, times as DATETIME, loaded by
//! INSERT statements of many rows in one transaction, like a dump. Guarantees depend on the engine: MyISAM and CSV
//! never wait for the disk, and MEMORY is lost when the server ends. The tier in the report is the engine's real one,
//! not the requested one.

mod connection;
mod engine;
mod loader;
mod session;
mod value;

use self::engine::Engine;
use crate::contestant::{Contestant, Session, Workspace, folder_bytes};
use crate::failure::Failure;
use crate::server::{ServerKind, ServerUrls, mysql_client, server_failure};
use mysql::prelude::Queryable;

/// MariaDB or MySQL with one engine.
pub(crate) struct Mariadb {
    name: &'static str,
    summary: &'static str,
    server: ServerKind,
    engine: Engine,
    /// Statements that insert return before the rows are in the table.
    delayed: bool,
}

const fn engine(name: &'static str, summary: &'static str, engine: Engine) -> Mariadb {
    Mariadb { name, summary, server: ServerKind::Mariadb, engine, delayed: false }
}

/// One contestant for each engine, and some further variants.
pub(super) static VARIANTS: [Mariadb; 8] = [
    engine("mariadb:innodb", "MariaDB, InnoDB: transactions, the default engine", Engine::Innodb),
    engine("mariadb:myisam", "MariaDB, MyISAM: no transactions, nothing synced", Engine::Myisam),
    engine("mariadb:aria", "MariaDB, Aria: crash-safe, no transactions", Engine::Aria),
    engine("mariadb:memory", "MariaDB, MEMORY: fixed rows in memory, gone with the server", Engine::Memory),
    engine("mariadb:csv", "MariaDB, CSV: a text file a table, no indexes, no NULL", Engine::Csv),
    Mariadb {
        server: ServerKind::MariadbRocksdb,
        ..engine("mariadb:rocksdb", "MariaDB, MyRocks: a log-structured merge tree", Engine::Rocksdb)
    },
    Mariadb {
        delayed: true,
        ..engine("mariadb:delayed", "MariaDB, MyISAM with INSERT DELAYED: rows wait in the server", Engine::Myisam)
    },
    Mariadb {
        server: ServerKind::Mysql,
        ..engine("mysql", "MySQL, InnoDB, on a server that runs already", Engine::Innodb)
    },
];

impl Contestant for Mariadb {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn server(&self) -> Option<ServerKind> {
        Some(self.server)
    }

    fn version(&self, urls: &ServerUrls) -> Result<String, Failure> {
        Ok(format!("{}, {}", self.server.version(urls)?, self.engine.name()))
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::MariadbSession::open(self.engine, self.delayed, workspace)?))
    }

    /// The size of the files of tables and indexes, if the engine keeps one file for each table and the folder is
    /// accessible; otherwise the sizes that the server reports. The redo log, which all tables share and whose size is
    /// a setting, is not included.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        let server = workspace.server()?;
        let has_files = !matches!(self.engine, Engine::Memory | Engine::Rocksdb);
        if let (true, Some(data)) = (has_files, &server.data) {
            if self.engine == Engine::Aria {
                // The server writes its pages back later. Until then they are only in its log.
                mysql_client(server, Some(&workspace.database))?.query_drop("FLUSH TABLES").map_err(server_failure)?;
            }
            return folder_bytes(&data.join(&workspace.database));
        }
        let mut connection = mysql_client(server, Some(&workspace.database))?;
        if self.engine == Engine::Rocksdb {
            connection.query_drop("SET GLOBAL rocksdb_force_flush_memtable_now = 1").map_err(server_failure)?;
        }
        if self.engine == Engine::Innodb {
            // The server's statistics may be from before the rows were inserted.
            let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()";
            for table in connection.query::<String, _>(tables).map_err(server_failure)? {
                connection.query_drop(format!("ANALYZE TABLE `{table}`")).map_err(server_failure)?;
            }
        }
        // MEMORY reserves a tenth of the maximum size of a table, so the size is computed from the length of the rows.
        let data = if self.engine == Engine::Memory { "table_rows * avg_row_length" } else { "data_length" };
        // MyRocks subtracts what it has not compacted yet, and reports a negative size as a large number.
        let sum = format!(
            "SELECT CAST(coalesce(sum(greatest(CAST({data} AS SIGNED), 0) + greatest(CAST(index_length AS SIGNED), 0)), 0) \
             AS UNSIGNED) FROM information_schema.tables WHERE table_schema = DATABASE()"
        );
        connection.query_first(sum).map_err(server_failure).map(|bytes| bytes.unwrap_or(0))
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a server; it runs already"))
    }
}
