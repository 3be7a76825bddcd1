//! Tables of one column in atsdb: loading a file of lines, like LOAD DATA INFILE and `atsdb import`, and look-ups by
//! the library's handle if the table is in memory.

use crate::failure::Failure;
use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use atsdb::{Batch, ColumnType, Database, Error, Table, TableDefinition};
use atsdb_import::{Format, Input, Options, SingleColumn, Sink};
use std::path::Path;
use std::sync::Arc;

/// Loads the file's lines into a table of one column, as one batch.
pub(super) fn load(database: &Database, table: &str, file: &Path) -> Result<(), Failure> {
    let engine = database.engine();
    let table = engine.table(table)?;
    let definition = table.definition.clone();
    let mut rows = TableBatch { batch: engine.batch(None), table };
    if let (true, [column]) = (definition.is_in_memory(), definition.columns.as_slice()) {
        let single = SingleColumn { column, delimiter: b',', null: &[], bytes_max: u64::MAX };
        if let Some(batches) = single.read(file)? {
            batches.into_iter().try_for_each(|batch| rows.rows(batch))?;
            rows.batch.commit()?;
            return Ok(());
        }
    }
    let options = Options {
        format: Some(Format::Csv),
        header: Some(false),
        names: Some(definition.columns.iter().map(|column| column.name.clone()).collect()),
        begin_once: true,
        ..Options::default()
    };
    let inputs = vec![Input::Path(file.to_owned())];
    atsdb_import::import(&definition.name, inputs, &options, Some(&definition), &mut rows, &|_| ())?;
    rows.batch.commit()?;
    Ok(())
}

struct TableBatch {
    batch: Batch,
    table: Table,
}

impl Sink for TableBatch {
    fn begin(&mut self, _: &TableDefinition) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, rows: RecordBatch) -> Result<(), Error> {
        self.batch.append(&self.table, &rows)
    }
}

/// Returns whether the rows of a table are in memory.
pub(super) fn is_in_memory(database: &Database, table: &str) -> Result<bool, Failure> {
    Ok(database.engine().table(table)?.definition.is_in_memory())
}

/// Looks up values in a table in memory one after another, like the other contestants, although the handle could look
/// up thousands at a time.
pub(super) fn find(database: &Database, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
    let column_type = database.engine().table(table)?.definition.column(column)?.column_type;
    let lookup = database.memory_table(table)?.lookup(&[column])?;
    let mut found = 0;
    for value in values {
        let text = value.trim_matches('\'');
        let key: ArrayRef = match column_type {
            ColumnType::Int32 => Arc::new(Int32Array::from(vec![text.parse::<i32>().map_err(Failure::broken)?])),
            _ => Arc::new(StringArray::from(vec![text])),
        };
        found += lookup.find(&[key])?.rows.len() as u64;
    }
    Ok(found)
}
