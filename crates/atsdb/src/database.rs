//! The handle of an open store.

use crate::typed::{TableOptions, TypedTable};
use atsdb_core::{BatchId, ErrorKind, Result, StoreWarning, Table, TableDefinition};
use atsdb_engine::{Appender, Batch, Engine, PreloadStats, ReadSnapshot, Record};
#[cfg(feature = "sql")]
use atsdb_sql::{Answer, Session, SessionOptions};
use std::sync::Arc;
#[cfg(feature = "sql")]
use std::sync::OnceLock;

/// An open store. Clones are cheap. The store is closed when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Database {
    engine: Engine,
    warnings: Arc<[StoreWarning]>,
    #[cfg(feature = "sql")]
    session: Arc<OnceLock<Session>>,
}

impl Database {
    pub(crate) fn new(engine: Engine, warnings: Vec<StoreWarning>) -> Self {
        #[cfg(feature = "sql")]
        atsdb_sql::compile_conditions_of(&engine);
        Self {
            engine,
            warnings: warnings.into(),
            #[cfg(feature = "sql")]
            session: Arc::default(),
        }
    }

    /// The engine, with all operations that are not methods of this type.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Warnings about conditions that weaken a guarantee of the store, such as settings of its server or an unencrypted
    /// connection.
    pub fn warnings(&self) -> &[StoreWarning] {
        &self.warnings
    }

    /// Loads the last hours of tables that declare `preload` into memory, and returns when they are loaded. A thread
    /// also does so when the store is opened, and keeps them loaded.
    pub fn preload(&self) -> Result<PreloadStats> {
        self.engine.preload()
    }

    /// The tables, ordered by number.
    pub fn tables(&self) -> Result<Vec<Table>> {
        self.engine.tables()
    }

    /// Opens a typed table. It is created with [`TableOptions::default`] if it does not exist. An existing table must
    /// have the record's columns.
    ///
    /// Errors: [`Usage`](ErrorKind::Usage) if an existing table has other columns or is a rollup.
    pub fn table<R: Record>(&self, name: &str) -> Result<TypedTable<R>> {
        self.table_with(name, &TableOptions::default())
    }

    /// Opens a typed table, and creates it with these options if it does not exist. The name `s.t` means the table `t`
    /// of the schema `s`, if that schema exists.
    pub fn table_with<R: Record>(&self, name: &str, options: &TableOptions) -> Result<TypedTable<R>> {
        let wanted = options.definition::<R>(name)?;
        let table = match self.engine.table(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.create_or_find(&self.engine.placed(&wanted)?)?,
            table => table?,
        };
        TypedTable::new(self.engine.clone(), table, &wanted)
    }

    fn create_or_find(&self, definition: &TableDefinition) -> Result<Table> {
        match self.engine.create_table(definition) {
            // Another process created the table first.
            Err(error) if error.kind() == ErrorKind::Exists => self.engine.table(&definition.name),
            table => table,
        }
    }

    /// Opens an appender to a table, for Arrow batches.
    ///
    /// Errors: [`NotFound`](ErrorKind::NotFound) if there is no such table.
    pub fn appender(&self, table: &str) -> Result<Appender> {
        Ok(self.engine.appender(&self.engine.table(table)?))
    }

    /// Begins a batch over any number of tables. Its commit stores all of its rows or none. A batch with an id is
    /// stored once, even if it is sent several times.
    pub fn batch(&self, id: Option<BatchId>) -> Batch {
        self.engine.batch(id)
    }

    /// Takes a snapshot of the present state, for reading.
    pub fn snapshot(&self) -> Result<ReadSnapshot> {
        self.engine.snapshot()
    }

    /// Runs one or several SQL statements, separated by semicolons. Returns the answer of the last one; the rows of the
    /// others are discarded. All calls share one session, so a transaction may span several calls. The first error ends
    /// the call; outside of a transaction the statements before it have taken effect.
    ///
    /// Errors: [`Sql`](ErrorKind::Sql) if the text is wrong or has no statement, and those of its statements.
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

    /// Opens a session with its own transaction, memory and limits.
    #[cfg(feature = "sql")]
    pub fn session(&self, options: SessionOptions) -> Result<Session> {
        Session::new(self.engine.clone(), options)
    }

    /// Opens a session that shares the limits, threads and memory of a session over another store.
    #[cfg(feature = "sql")]
    pub fn session_beside(&self, other: &Session) -> Session {
        other.for_other_engine(self.engine.clone())
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
