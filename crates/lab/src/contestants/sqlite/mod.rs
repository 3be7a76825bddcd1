//! Plain SQLite, as a careful user runs it: one table with the rows as they are, strings as TEXT, times as
//! INTEGER, prepared statements, one transaction for a load. Strings that a user replaces by integers by hand, in
//! tables of their own, would make it smaller and faster; that is another contestant than the plain one.

mod loader;
mod memory;
mod session;

use crate::contestant::{Contestant, Place, Session, Tuning, folder_bytes};
use crate::failure::Failure;
use crate::server::ServerUrls;
use crate::tier::Tier;
use atsdb::Durability;
use rusqlite::Connection;
use session::SqliteSession;

const FILE: &str = "plain.db";

/// SQLite with one kind of journal.
pub(crate) struct Sqlite {
    name: &'static str,
    summary: &'static str,
    journal: Journal,
}

/// How a commit becomes whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    /// New pages are appended to a log, and copied back later.
    Wal,
    /// Old pages are kept until the new ones are in their place.
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
    fn connect(&self, place: &Place) -> Result<Connection, Failure> {
        match self.journal {
            Journal::Memory => memory::take(&place.directory),
            _ => Connection::open(place.directory.join(FILE)).map_err(Failure::broken),
        }
    }

    fn pragmas(&self, place: &Place) -> Vec<(&'static str, &'static str)> {
        let journal = match self.journal {
            Journal::Wal => "WAL",
            Journal::Rollback => "DELETE",
            Journal::Memory => "MEMORY",
        };
        let synchronous = match place.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
            Durability::Off => "OFF",
        };
        let mut pragmas = vec![("journal_mode", journal)];
        if self.journal != Journal::Memory {
            pragmas.push(("synchronous", synchronous));
        }
        if place.tuning == Tuning::Tuned {
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

    fn open(&self, place: &Place) -> Result<Box<dyn Session>, Failure> {
        let connection = self.connect(place)?;
        let pragmas = self.pragmas(place);
        for (name, value) in &pragmas {
            connection.pragma_update(None, name, value).map_err(Failure::broken)?;
        }
        let settings = pragmas.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let (tier, keep) = match self.journal {
            Journal::Memory => (Tier::None, Some(place.directory.clone())),
            _ => (Tier::from(place.durability), None),
        };
        Ok(Box::new(SqliteSession { connection: Some(connection), tier, settings, keep }))
    }

    fn bytes(&self, place: &Place) -> Result<u64, Failure> {
        match self.journal {
            Journal::Memory => memory::bytes(&place.directory),
            _ => folder_bytes(&place.directory),
        }
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a library; starting is its program's"))
    }
}
