//! Importing files into tables of an open store. Each import is one batch.

use crate::database::Database;
use arrow::record_batch::RecordBatch;
use atsdb_core::{BatchId, CommitOutcome, Error, ErrorKind, Result, Table, TableDefinition};
use atsdb_engine::{Batch, Engine};
use atsdb_import::{Input, Options, Report};

/// The result of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportReport {
    /// The table, the numbers of rows and bytes, and the records that were skipped.
    pub report: Report,
    /// Whether the rows were stored, or a batch with the same id had been stored before.
    pub outcome: CommitOutcome,
}

impl Database {
    /// Imports files into a table. If the table does not exist, it is created with the columns and types found in the
    /// files. All rows become visible at once. `progress` is called with the number of rows so far; if it returns an
    /// error, the import ends with that error, and nothing is stored. Rows of a table in memory are saved by the same
    /// commit.
    ///
    /// Errors: those of [`atsdb_import::import`], and those of appending.
    ///
    /// ```
    /// # fn main() -> atsdb::Result<()> {
    /// use atsdb::import_options::{Input, Options};
    ///
    /// let csv = "time,sensor,pm10\n2024-03-01 12:00:00,s1,14\n2024-03-01 12:00:10,s1,15\n";
    /// let db = atsdb::open("memory:")?;
    /// let file = Input::Reader("air.csv".into(), Box::new(csv.as_bytes()));
    /// let imported = db.import("air", vec![file], &Options::default(), None, &|_| Ok(()))?;
    /// assert_eq!(imported.report.row_count, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn import(
        &self,
        table: &str,
        inputs: Vec<Input>,
        options: &Options,
        id: Option<BatchId>,
        progress: &dyn Fn(u64) -> Result<()>,
    ) -> Result<ImportReport> {
        let engine = self.engine();
        let existing = match engine.table(table) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let definition = existing.as_ref().map(|table| table.definition.clone());
        let mut sink = BatchSink { engine, existing, id, open: None, progress, row_count: 0 };
        let report = atsdb_import::import(table, inputs, options, definition.as_ref(), &mut sink, &|_| ())?;
        report.check_types()?;
        let outcome = sink.commit()?;
        Ok(ImportReport { report, outcome })
    }
}

/// One batch of the engine, which is restarted whenever the importer changes its plan for the table.
struct BatchSink<'a> {
    engine: &'a Engine,
    existing: Option<Table>,
    id: Option<BatchId>,
    open: Option<(Batch, Table)>,
    progress: &'a dyn Fn(u64) -> Result<()>,
    row_count: u64,
}

impl BatchSink<'_> {
    fn commit(&mut self) -> Result<CommitOutcome> {
        match self.open.take() {
            Some((batch, table)) => self.engine.commit_saved(batch, &table),
            None => Err(Error::internal("the importer began no table")),
        }
    }
}

impl atsdb_import::Sink for BatchSink<'_> {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        // Dropping the batch discards its stage.
        self.open = None;
        self.row_count = 0;
        let mut batch = self.engine.batch(self.id.clone());
        let table = match &self.existing {
            Some(table) => table.clone(),
            None => batch.create_table(&self.engine.placed(definition)?)?,
        };
        self.open = Some((batch, table));
        Ok(())
    }

    fn rows(&mut self, rows: RecordBatch) -> Result<()> {
        self.row_count += rows.num_rows() as u64;
        (self.progress)(self.row_count)?;
        match &mut self.open {
            Some((batch, table)) => batch.append(table, &rows),
            None => Err(Error::internal("the importer gave rows before a table")),
        }
    }
}
