//! What declarations ask of the engine, each in one commit.

use super::Session;
use atsdb_core::{Change, Error, ErrorKind, Index, Redefinition, Result, Table, TableDefinition, TimeRange};
use atsdb_engine::{Batch, ReadSnapshot};

/// How often a statement looks again when somebody else was faster.
const ATTEMPTS_MAX: usize = 100;

impl Session {
    pub(super) fn snapshot(&self) -> Result<ReadSnapshot> {
        self.engine.snapshot()
    }

    pub(super) fn tables(&self) -> Result<Vec<Table>> {
        self.engine.tables()
    }

    pub(super) fn create(&self, definition: &TableDefinition) -> Result<Table> {
        self.engine.create_table(definition)
    }

    /// Rows and tables that appear together.
    pub(super) fn with_batch<T>(&self, work: impl FnOnce(&mut Batch) -> Result<T>) -> Result<T> {
        let mut batch = self.engine.batch(None);
        let done = work(&mut batch)?;
        batch.commit()?;
        Ok(done)
    }

    /// Puts a definition in the place of a table's.
    pub(super) fn redefine(&self, table: &Table, to: TableDefinition) -> Result<()> {
        let redefinition = Redefinition { table: table.id, from: table.definition.clone(), to };
        self.commit(Change { redefine: vec![redefinition], ..Change::default() })
    }

    /// Takes all rows out of tables, at once.
    pub(super) fn empty(&self, tables: &[Table]) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            let snapshot = self.engine.store().snapshot()?;
            let mut remove = Vec::new();
            for table in tables {
                let chunks = snapshot.chunks(table.id, TimeRange::ALL)?;
                remove.extend(chunks.into_iter().map(|chunk| (table.id, chunk.id)));
            }
            drop(snapshot);
            match self.commit(Change { remove, ..Change::default() }) {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done,
            }
        }
        Err(Error::new(ErrorKind::Conflict, "others change the table all the time").with_hint("try again"))
    }

    /// Gives the chunks that are there pages of new indexes.
    pub(super) fn build(&self, table: &Table, indexes: &[Index]) -> Result<()> {
        indexes.iter().try_for_each(|index| self.engine.build_index(table, index).map(drop))
    }

    fn commit(&self, change: Change) -> Result<()> {
        let now_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_ms = now_ms.map_or(0, |elapsed| elapsed.as_millis() as i64);
        match self.engine.store().commit(vec![change], now_ms)?.pop() {
            Some(outcome) => outcome.map(drop),
            None => Err(Error::internal("a commit without an outcome")),
        }
    }
}
