//! Plain SQLite, as a careful user runs it: one table with unmodified rows, strings as TEXT, times as INTEGER, prepared
//! statements, one transaction for a load. It would be smaller and faster if the user replaced strings by integers by
//! hand, with separate tables for the strings; that would be a different contestant.

mod file;
mod loader;
mod memory;
mod session;

use self::file::database_file;
use crate::contestant::{Contestant, Session, Workspace, folder_bytes};
use crate::failure::Failure;
use crate::measure::{Tier, Tuning};
use crate::server::ServerUrls;
use atsdb::Durability;
use rusqlite::Connection;
use session::SqliteSession;

/// SQLite with one kind of journal.
pub(crate) struct Sqlite {
    name: &'static str,
    summary: &'static str,
    journal: Journal,
}

/// How commits are made atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    /// New pages are appended to a log, and copied back later.
    Wal,
    /// Old pages are kept until the new ones are written.
    Rollback,
    /// The database is in memory.
    Memory,
}

/// All of them.
pub(super) static VARIANTS: [Sqlite; 3] = [
    Sqlite {
        name: "sqlite",
        summary: "plain SQLite: one table, prepared statements, one transaction",
        journal: Journal::Wal,
    },
    Sqlite {
        name: "sqlite:rollback",
        summary: "plain SQLite with a rollback journal, its default",
        journal: Journal::Rollback,
    },
    Sqlite {
        name: "sqlite:memory",
        summary: "plain SQLite in memory, gone with the process",
        journal: Journal::Memory,
    },
];

impl Sqlite {
    fn connect(&self, workspace: &Workspace) -> Result<Connection, Failure> {
        match self.journal {
            Journal::Memory => memory::take(&workspace.directory),
            _ => Connection::open(database_file(&workspace.directory)).map_err(Failure::broken),
        }
    }

    fn pragmas(&self, workspace: &Workspace) -> Vec<(&'static str, &'static str)> {
        let journal = match self.journal {
            Journal::Wal => "WAL",
            Journal::Rollback => "DELETE",
            Journal::Memory => "MEMORY",
        };
        let synchronous = match workspace.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
            Durability::Off => "OFF",
        };
        let mut pragmas = vec![("journal_mode", journal)];
        if self.journal != Journal::Memory {
            pragmas.push(("synchronous", synchronous));
        }
        if workspace.tuning == Tuning::Tuned {
            pragmas.push(("cache_size", "-65536"));
        }
        pragmas
    }
}

impl Contestant for Sqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        Ok(format!("SQLite {}", rusqlite::version()))
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        let connection = self.connect(workspace)?;
        let pragmas = self.pragmas(workspace);
        for (name, value) in &pragmas {
            connection.pragma_update(None, name, value).map_err(Failure::broken)?;
        }
        let settings = pragmas.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let (tier, keep) = match self.journal {
            Journal::Memory => (Tier::None, Some(workspace.directory.clone())),
            _ => (Tier::from(workspace.durability), None),
        };
        Ok(Box::new(SqliteSession { connection: Some(connection), tier, settings, keep }))
    }

    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        match self.journal {
            Journal::Memory => memory::bytes(&workspace.directory),
            _ => folder_bytes(&workspace.directory),
        }
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a library; starting is its program's"))
    }
}
