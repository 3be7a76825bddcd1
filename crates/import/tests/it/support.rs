//! Imports of inline text into memory.

use arrow::array::{Array, ArrayRef};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::{Error, Result, TableDefinition};
use atsdb_import::{Input, Options, Report, Sink, import};
use std::sync::Arc;

/// A sink that keeps all rows.
#[derive(Default)]
pub(crate) struct KeptRows {
    pub(crate) begins: usize,
    pub(crate) definition: Option<TableDefinition>,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Sink for KeptRows {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        self.begins += 1;
        self.definition = Some(definition.clone());
        self.batches.clear();
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        assert!(batch.num_rows() <= atsdb_core::limits::CHUNK_ROWS_MAX);
        self.batches.push(batch);
        Ok(())
    }
}

pub(crate) struct Imported {
    pub(crate) report: Report,
    pub(crate) begins: usize,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Imported {
    /// Returns `name type` for every column, with `*` for the time and `~width` for mapped columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        let definition = &self.report.definition;
        let time = definition.time.map(|time| time.column);
        let column = |column: &atsdb_core::Column| {
            let map = column.map.map_or(String::new(), |map| format!("~{map}"));
            format!("{}{} {}{map}", if Some(column.id) == time { "*" } else { "" }, column.name, column.column_type)
        };
        definition.columns.iter().map(column).collect()
    }

    /// Returns one column of all rows.
    pub(crate) fn column(&self, name: &str) -> ArrayRef {
        let position = self.report.definition.position(name).unwrap();
        // Dictionaries differ from batch to batch.
        let plain = |array: &ArrayRef| match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values).unwrap(),
            _ => Arc::clone(array),
        };
        let columns: Vec<RecordBatch> = self
            .batches
            .iter()
            .map(|batch| {
                RecordBatch::try_from_iter_with_nullable([("c", plain(batch.column(position)), true)]).unwrap()
            })
            .collect();
        Arc::clone(concat_batches(&columns[0].schema(), &columns).unwrap().column(0))
    }

    /// Returns a column's values as text, with `∅` for NULL.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let array = self.column(name);
        let options = FormatOptions::default().with_null("∅");
        let formatter = ArrayFormatter::try_new(&array, &options).unwrap();
        (0..array.len()).map(|row| formatter.value(row).to_string()).collect()
    }

    pub(crate) fn null_count(&self, name: &str) -> usize {
        self.column(name).null_count()
    }
}

pub(crate) fn run(inputs: Vec<Input>, options: &Options, existing: Option<&TableDefinition>) -> Result<Imported> {
    let mut kept = KeptRows::default();
    let report = import("t", inputs, options, existing, &mut kept, &|_| {})?;
    assert_eq!(kept.definition.as_ref(), Some(&report.definition));
    assert_eq!(kept.batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>(), report.row_count);
    Ok(Imported { report, begins: kept.begins, batches: kept.batches })
}

/// An input with this name and text.
pub(crate) fn text(name: &str, content: impl Into<Vec<u8>>) -> Input {
    Input::Reader(name.to_owned(), Box::new(std::io::Cursor::new(content.into())))
}

pub(crate) fn csv(content: impl Into<Vec<u8>>) -> Imported {
    with(content, &Options::default())
}

pub(crate) fn with(content: impl Into<Vec<u8>>, options: &Options) -> Imported {
    run(vec![text("a.csv", content)], options, None).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn refused(content: impl Into<Vec<u8>>) -> Error {
    refused_with(content, &Options::default())
}

pub(crate) fn refused_with(content: impl Into<Vec<u8>>, options: &Options) -> Error {
    run(vec![text("a.csv", content)], options, None).map(|imported| imported.columns()).unwrap_err()
}

pub(crate) fn time(names: &str) -> Options {
    Options { time: names.split(',').map(str::to_owned).collect(), ..Options::default() }
}
