//! The contract of a contestant: a system that runs workloads.
//!
//! A contestant is one file under `contestants`. What it cannot do it refuses with [`Failure::Cannot`] and the
//! reason, which the report shows in place of a figure. Workloads speak to it in rows, batches and SQL text; where
//! dialects differ, [`Dialect`] gives the spelling.

use crate::answer::Answer;
pub use crate::dialect::Dialect;
use crate::digest::RowDigest;
use crate::failure::Failure;
use crate::rows::RowSet;
use crate::server::{ServerAddress, ServerKind, ServerUrls};
use crate::tier::Tier;
use arrow::array::RecordBatch;
use atsdb::{Durability, TableDefinition};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where a contestant keeps its data, and what its commits survive.
#[derive(Debug, Clone)]
pub struct Place {
    /// A folder of its own, there already.
    pub directory: PathBuf,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Whose settings it runs with.
    pub tuning: Tuning,
    /// The name of its database, for who keeps it on a server.
    pub database: String,
    /// The server, for who asked for one by [`Contestant::server`].
    pub server: Option<ServerAddress>,
}

impl Place {
    /// The server.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn server(&self) -> Result<&ServerAddress, Failure> {
        self.server.as_ref().ok_or_else(|| Failure::cannot("no server was given"))
    }
}

/// Whose settings a contestant runs with, apart from those that durability decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tuning {
    /// As it comes.
    Defaults,
    /// As one who knows it runs it on this machine.
    #[default]
    Tuned,
}

impl Tuning {
    /// Its name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defaults => "defaults",
            Self::Tuned => "tuned",
        }
    }
}

/// A system that runs workloads.
pub trait Contestant: Sync {
    /// Its name in results and on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn summary(&self) -> &'static str;

    /// The server it runs on, which the lab starts before and stops after.
    fn server(&self) -> Option<ServerKind> {
        None
    }

    /// Its version, or why it cannot run here and what would install it. `urls` names servers that run already.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] with the command that installs it.
    fn version(&self, urls: &ServerUrls) -> Result<String, Failure>;

    /// Opens what is in `place`, or begins anew when that is empty.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn open(&self, place: &Place) -> Result<Box<dyn Session>, Failure>;

    /// What everything in `place` occupies, logs and indexes included, in bytes, when no session is open. By
    /// default the lengths of the files.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    fn bytes(&self, place: &Place) -> Result<u64, Failure> {
        folder_bytes(&place.directory)
    }

    /// Whether the system is a program of its own, whose start can be timed.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] where it is part of another program.
    fn has_program(&self) -> Result<(), Failure>;
}

/// An open database. Dropping it closes it; everything is then in its place.
pub trait Session {
    /// Its dialect.
    fn dialect(&self) -> Dialect;

    /// What its commits really survive.
    fn tier(&self) -> Tier;

    /// Every setting that bears on speed or safety, as `name = value`.
    fn settings(&self) -> Vec<String>;

    /// Creates a table.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure>;

    /// Begins a load. What it takes is there when [`Loader::finish`] returns.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure>;

    /// Brings what was loaded into its lasting form, where there is another than that of the load.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] where there is none.
    fn seal(&mut self) -> Result<(), Failure>;

    /// Makes what a user would make before looking up single series and short times: indexes.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] where there is nothing to make.
    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure>;

    /// Reads every row and column.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure>;

    /// Answers a query.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn query(&mut self, sql: &str) -> Result<Answer, Failure>;

    /// Runs statements one by one, each a transaction of its own.
    ///
    /// # Errors
    ///
    /// What the system reports. [`Failure::Cannot`] where it does not know such statements.
    fn execute(&mut self, statements: &[String]) -> Result<(), Failure>;

    /// Runs statements one by one, all in one transaction.
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure>;

    /// Loads a file of one value a line into a table of one column, by the system's own way of loading files.
    ///
    /// # Errors
    ///
    /// What the system reports. [`Failure::Cannot`] where it has no such way.
    fn load_lines(&mut self, _table: &str, _file: &Path) -> Result<(), Failure> {
        Err(Failure::cannot("has no way to load a file"))
    }

    /// Looks values up, one after another, and says how many rows were found. Prepared, where the system has that.
    /// Values are as they stand in SQL.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        values.iter().try_fold(0, |found, value| {
            let answer = self.query(&format!("SELECT {column} FROM {table} WHERE {column} = {value}"))?;
            Ok(found + answer.rows.len() as u64)
        })
    }

    /// What a table and its indexes occupy, where its rows are in the session's memory and in no place.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn bytes_in_memory(&mut self, _table: &str) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    /// Makes the tables of another place reachable, as `name.table` where the name can be chosen. Returns the name.
    ///
    /// # Errors
    ///
    /// What the system reports. [`Failure::Cannot`] where one session has one place.
    fn attach(&mut self, _place: &Place, _name: &str) -> Result<String, Failure> {
        Err(Failure::cannot("a session has one place; another cannot be attached"))
    }
}

/// A load in progress. What is dropped unfinished is not there.
pub trait Loader {
    /// Takes rows, one by one.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure>;

    /// Takes a batch.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure>;

    /// Commits.
    ///
    /// # Errors
    ///
    /// What the system reports.
    fn finish(self: Box<Self>) -> Result<(), Failure>;
}

/// The lengths of all files below `folder`, in bytes.
pub(crate) fn folder_bytes(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(Failure::broken)? {
        let entry = entry.map_err(Failure::broken)?;
        let metadata = entry.metadata().map_err(Failure::broken)?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
