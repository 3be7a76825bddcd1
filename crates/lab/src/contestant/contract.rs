//! The contract of a contestant: a system that runs workloads.
//!
//! A contestant is one file under `contestants`. It refuses what it cannot do with [`Failure::Cannot`] and the reason,
//! which the report shows in place of a figure. Workloads pass it rows, batches and SQL text; where dialects differ,
//! [`Dialect`] has the spelling.

use crate::contestant::dialect::Dialect;
use crate::data::answer::Answer;
use crate::data::digest::RowDigest;
use crate::data::rows::RowSet;
use crate::failure::Failure;
use crate::measure::{Tier, Tuning};
use crate::server::{ServerAddress, ServerKind, ServerUrls};
use arrow::array::RecordBatch;
use atsdb::{Durability, TableDefinition};
use std::path::{Path, PathBuf};

/// The workspace of a contestant: a folder, a database, and the settings to run with.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The contestant's own folder, which exists.
    pub directory: PathBuf,
    /// The requested durability tier.
    pub durability: Durability,
    /// Tuned or default settings.
    pub tuning: Tuning,
    /// The name of its database, if it is on a server.
    pub database: String,
    /// The server, if [`Contestant::server`] requests one.
    pub server: Option<ServerAddress>,
}

impl Workspace {
    /// The server.
    ///
    /// # Errors
    ///
    /// The workspace has no server.
    pub fn server(&self) -> Result<&ServerAddress, Failure> {
        self.server.as_ref().ok_or_else(|| Failure::cannot("no server was given"))
    }
}

/// Opens a session for a thread.
pub type OpenSession<'a> = Box<dyn Fn() -> Result<Box<dyn Session>, Failure> + Sync + 'a>;

/// A system that runs workloads.
pub trait Contestant: Sync {
    /// Its name in results and on the command line.
    fn name(&self) -> &'static str;

    /// A description in one line.
    fn summary(&self) -> &'static str;

    /// The server it runs on, which the lab starts before and stops after.
    fn server(&self) -> Option<ServerKind> {
        None
    }

    /// Its version, or why it cannot run here and how to install it. `urls` names running servers.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] with the command that installs it.
    fn version(&self, urls: &ServerUrls) -> Result<String, Failure>;

    /// Opens the database in `workspace`, and creates it if the workspace is empty.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure>;

    /// Opens the database as a long-running program does, with all the background work of the system.
    /// Returns what opens a session for a thread of that program. By default each session is one of [`Self::open`].
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn open_for_threads<'a>(&'a self, workspace: &'a Workspace) -> Result<OpenSession<'a>, Failure> {
        Ok(Box::new(move || self.open(workspace)))
    }

    /// Checks that several sessions can load one table at the same time.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if rows would be lost or not found.
    fn loads_at_once(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Ends what it runs between sessions, if anything. Called when a workload ends, and no session is open.
    fn close(&self) {}

    /// The size of everything in `workspace` in bytes, logs and indexes included, while no session is open. By default
    /// the lengths of the files.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        folder_bytes(&workspace.directory)
    }

    /// Checks that the system is a separate program, whose start can be timed.
    ///
    /// # Errors
    /// [`Failure::Cannot`] if it is part of another program.
    fn has_program(&self) -> Result<(), Failure>;
}

/// An open database. Dropping it closes it; everything is then in the workspace.
pub trait Session {
    /// Its dialect.
    fn dialect(&self) -> Dialect;

    /// The durability that its commits really have.
    fn tier(&self) -> Tier;

    /// Every setting that bears on speed or safety, as `name = value`.
    fn settings(&self) -> Vec<String>;

    /// Creates a table.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure>;

    /// Begins a load. Its rows are in the table when [`Loader::finish`] returns.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure>;

    /// Converts loaded rows to their lasting form, if that differs from the form they are loaded in.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if the two forms are the same.
    fn seal(&mut self) -> Result<(), Failure>;

    /// Creates the indexes that a user would create for looking up single series and short times.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if the system has no indexes.
    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure>;

    /// Reads every row and column.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure>;

    /// Answers a query.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn query(&mut self, sql: &str) -> Result<Answer, Failure>;

    /// Runs statements one by one, each in its own transaction.
    ///
    /// # Errors
    ///
    /// An error of the system; [`Failure::Cannot`] if it does not support such statements.
    fn execute(&mut self, statements: &[String]) -> Result<(), Failure>;

    /// Runs statements one by one, all in one transaction.
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Self::execute).
    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure>;

    /// Loads a file with one value in each line into a table of one column, with the system's own command for loading
    /// files.
    ///
    /// # Errors
    ///
    /// An error of the system; [`Failure::Cannot`] if it does not support this.
    fn load_lines(&mut self, _table: &str, _file: &Path) -> Result<(), Failure> {
        Err(Failure::cannot("has no way to load a file"))
    }

    /// Looks values up one after another, and returns how many rows were found. The statement is prepared if the system
    /// can. Values are SQL literals.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        values.iter().try_fold(0, |found, value| {
            let answer = self.query(&format!("SELECT {column} FROM {table} WHERE {column} = {value}"))?;
            Ok(found + answer.rows.len() as u64)
        })
    }

    /// The size of a table and its indexes, if the session holds the rows in memory and not in the workspace.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn bytes_in_memory(&mut self, _table: &str) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    /// Makes the tables of another workspace reachable, as `name.table` where the name can be chosen. Returns the name.
    ///
    /// # Errors
    ///
    /// An error of the system; [`Failure::Cannot`] if a session can have only one workspace.
    fn attach(&mut self, _place: &Workspace, _name: &str) -> Result<String, Failure> {
        Err(Failure::cannot("a session has one workspace; another cannot be attached"))
    }
}

/// A load in progress. Dropped before it is finished, it leaves no rows.
pub trait Loader {
    /// Takes rows, one by one.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure>;

    /// Takes a batch.
    ///
    /// # Errors
    ///
    /// An error of the system.
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure>;

    /// Commits.
    ///
    /// # Errors
    ///
    /// An error of the system.
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
