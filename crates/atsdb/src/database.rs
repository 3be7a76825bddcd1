//! The handle of an open store.

use crate::typed::{TableOptions, TypedTable};
use atsdb_core::{BatchId, ErrorKind, Result, Table, TableDefinition};
use atsdb_engine::{Appender, Batch, Engine, PreloadStats, ReadSnapshot, Record};
#[cfg(feature = "sql")]
use atsdb_sql::{Answer, Session, SessionOptions};
use std::sync::Arc;
#[cfg(feature = "sql")]
use std::sync::OnceLock;

/// An open store. Cloning it is cheap; the store is closed with the last clone.
#[derive(Clone, Debug)]
pub struct Database {
    engine: Engine,
    warnings: Arc<[String]>,
    #[cfg(feature = "sql")]
    session: Arc<OnceLock<Session>>,
}

impl Database {
    pub(crate) fn new(engine: Engine, warnings: Vec<String>) -> Self {
        Self {
            engine,
            warnings: warnings.into(),
            #[cfg(feature = "sql")]
            session: Arc::default(),
        }
    }

    /// What works on the store: everything that is not here.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What breaks a promise of the store, in sentences: settings of its server, a connection that is not encrypted.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Loads into memory, now, the last hours of tables that declare `preload`. A thread does so by itself when the store is
    /// opened, and keeps it up; this waits for it.
    pub fn preload(&self) -> Result<PreloadStats> {
        self.engine.preload()
    }

    /// The tables there are.
    pub fn tables(&self) -> Result<Vec<Table>> {
        self.engine.tables()
    }

    /// The typed table of a name; created with [`TableOptions::default`] at first use. A table that is there must
    /// have the record's columns.
    pub fn table<R: Record>(&self, name: &str) -> Result<TypedTable<R>> {
        self.table_with(name, &TableOptions::default())
    }

    /// The same, created otherwise.
    pub fn table_with<R: Record>(&self, name: &str, options: &TableOptions) -> Result<TypedTable<R>> {
        let wanted = options.definition::<R>(name)?;
        let table = match self.engine.table(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.create_or_find(&wanted)?,
            table => table?,
        };
        TypedTable::new(self.engine.clone(), table, &wanted)
    }

    fn create_or_find(&self, definition: &TableDefinition) -> Result<Table> {
        match self.engine.create_table(definition) {
            // Somebody else was first.
            Err(error) if error.kind() == ErrorKind::Exists => self.engine.table(&definition.name),
            table => table,
        }
    }

    /// An appender to a table, for Arrow batches.
    pub fn appender(&self, table: &str) -> Result<Appender> {
        Ok(self.engine.appender(&self.engine.table(table)?))
    }

    /// A batch over any number of tables.
    pub fn batch(&self, id: Option<BatchId>) -> Batch {
        self.engine.batch(id)
    }

    /// The present state, for reading.
    pub fn snapshot(&self) -> Result<ReadSnapshot> {
        self.engine.snapshot()
    }

    /// Runs SQL: one statement or several. The answer is the last one's; rows of others are read to their end.
    #[cfg(feature = "sql")]
    pub fn sql(&self, text: &str) -> Result<Answer> {
        let session = self.default_session()?;
        let mut answer = None;
        for statement in session.statements(text) {
            if let Some(Answer::Rows(rows)) = answer.take() {
                for batch in rows {
                    batch?;
                }
            }
            answer = Some(session.execute(&statement?, &[])?);
        }
        answer.ok_or_else(|| atsdb_core::Error::new(ErrorKind::Sql, "there is no statement in the text"))
    }

    /// A session of its own, with its own bounds.
    #[cfg(feature = "sql")]
    pub fn session(&self, options: SessionOptions) -> Result<Session> {
        Session::new(self.engine.clone(), options)
    }

    #[cfg(feature = "sql")]
    fn default_session(&self) -> Result<&Session> {
        if let Some(session) = self.session.get() {
            return Ok(session);
        }
        let session = self.session(SessionOptions::default())?;
        Ok(self.session.get_or_init(|| session))
    }
}
