//! A file of lines into a table of atsdb, as `atsdb import` does it: one batch, visible all at once.

use crate::failure::Failure;
use arrow::array::RecordBatch;
use atsdb::{Batch, Engine, Error, Table, TableDefinition};
use atsdb_import::{Format, Input, Options, Sink};
use std::path::Path;

/// Loads the file's lines into a table of one column.
pub(super) fn load(engine: &Engine, table: &str, file: &Path) -> Result<(), Failure> {
    let table = engine.table(table)?;
    let definition = table.definition.clone();
    let options = Options {
        format: Some(Format::Csv),
        header: Some(false),
        names: Some(definition.columns.iter().map(|column| column.name.clone()).collect()),
        begin_once: true,
        ..Options::default()
    };
    let mut rows = Rows { batch: engine.batch(None), table };
    let inputs = vec![Input::Path(file.to_owned())];
    atsdb_import::import(&definition.name, inputs, &options, Some(&definition), &mut rows, &|_| ())?;
    rows.batch.commit()?;
    Ok(())
}

struct Rows {
    batch: Batch,
    table: Table,
}

impl Sink for Rows {
    fn begin(&mut self, _: &TableDefinition) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, rows: RecordBatch) -> Result<(), Error> {
        self.batch.append(&self.table, &rows)
    }
}
