//! QuestDB as a server for each workspace: loaded by its line protocol over HTTP, queried over PostgreSQL's protocol.
//!
//! A table with a time is as QuestDB recommends: the time is its designated timestamp, partitions are days, writes pass
//! through its write-ahead log, mapped texts are SYMBOLs, and rows that are equal are kept. A load ends when the log
//! has been applied to the table. It consists of many requests, each a transaction, so a failed load keeps those it has
//! sent. A table without a time has no log, and is loaded from Parquet files. Dates are DATEs, which count
//! milliseconds.

mod connection;
mod failure;
mod loader;
mod program;
mod session;

use self::connection::SERVERS;
use self::program::QuestdbProgram;
use crate::contestant::{Contestant, Session, Workspace, folder_bytes};
use crate::failure::Failure;
use crate::server::ServerUrls;

/// QuestDB.
pub(crate) struct Questdb;

impl Contestant for Questdb {
    fn name(&self) -> &'static str {
        "questdb"
    }

    fn summary(&self) -> &'static str {
        "QuestDB, loaded by its line protocol over HTTP, asked over PostgreSQL's protocol"
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        program::version()
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::QuestdbSession::open(QuestdbProgram::of(workspace)?)?))
    }

    fn close(&self) {
        SERVERS.stop();
    }

    /// The files of the tables, once the server has stopped and cut off what it had reserved: partitions, symbols and
    /// indexes. The write-ahead log, which is removed some time after it was applied, is not counted.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        SERVERS.stop();
        let mut bytes = 0;
        for table in program::table_folders(&workspace.directory)? {
            for entry in std::fs::read_dir(&table).map_err(Failure::broken)? {
                let entry = entry.map_err(Failure::broken)?;
                let (name, metadata) = (entry.file_name(), entry.metadata().map_err(Failure::broken)?);
                let name = name.to_string_lossy();
                bytes += match metadata.is_dir() {
                    true if name.starts_with("wal") || name == "txn_seq" => 0,
                    true => folder_bytes(&entry.path())?,
                    false => metadata.len(),
                };
            }
        }
        Ok(bytes)
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a server; it runs already"))
    }
}
