//! One pass over the rows of files of typed values: each batch becomes rows of the table.

use crate::batches::readable::as_text;
use crate::batches::rows::{
    arrow_type, checked_cast, default_array, repeated_text, schema, time_bounds, with_types_of,
};
use crate::facts::widened;
use crate::infer::slices::slice_of_rows;
use crate::input::batch_reader::{read, reader};
use crate::input::source::ImportFile;
use crate::options::report::{Progress, Skipped, SkippedRecords};
use crate::options::{Options, Sink};
use crate::typed::columns::TypedColumn;
use crate::values::times;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use atsdb_core::time_text::DateReading;
use atsdb_core::{Column, ColumnType, Error, Result, SliceWidth, TableDefinition, TimeUnit};
use std::sync::Arc;

/// A pass over all files. It can be repeated, and then starts anew.
pub(crate) struct Pass<'a> {
    sources: &'a [ImportFile],
    options: &'a Options,
    /// The column of the files for each column of the table.
    sources_of: Vec<Option<&'a TypedColumn>>,
    progress: &'a dyn Fn(Progress),
    /// Rows delivered.
    pub(crate) row_count: u64,
    /// Rows left out.
    pub(crate) skipped: SkippedRecords,
    time_bounds: Option<(i64, i64)>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        sources: &'a [ImportFile],
        options: &'a Options,
        sources_of: Vec<Option<&'a TypedColumn>>,
        progress: &'a dyn Fn(Progress),
    ) -> Self {
        let skipped = SkippedRecords::default();
        Self { sources, options, sources_of, progress, row_count: 0, skipped, time_bounds: None }
    }

    /// The width that suits the rows of the last pass.
    pub(crate) fn slice(&self, definition: &TableDefinition) -> SliceWidth {
        slice_of_rows(definition, self.row_count, self.time_bounds)
    }

    /// Delivers all rows.
    pub(crate) fn build(&mut self, definition: &TableDefinition, sink: &mut dyn Sink) -> Result<()> {
        sink.begin(definition)?;
        let schema = schema(definition);
        (self.row_count, self.time_bounds, self.skipped) = (0, None, SkippedRecords::default());
        let bytes_total = self.sources.iter().map(|source| source.byte_count).sum();
        let mut bytes_before = 0;
        for (number, source) in self.sources.iter().enumerate() {
            let mut first_row = 1;
            let wanted = self.wanted(number);
            let (_, mut batches) =
                reader(source, Some(&wanted).filter(|wanted| !wanted.is_empty()).map(Vec::as_slice))?;
            while let Some(batch) = batches.next() {
                let batch = batch?;
                let row_count = batch.num_rows() as u64;
                let batch = read(source, || self.convert(definition, &schema, (number, &wanted), &batch, first_row))?;
                first_row += row_count;
                self.row_count += batch.num_rows() as u64;
                sink.rows(batch)?;
                let bytes_read = bytes_before + batches.bytes_read();
                (self.progress)(Progress { bytes_read, bytes_total, row_count: self.row_count });
            }
            let skipped = batches.into_skipped();
            self.skipped.add_some(skipped.first, skipped.count);
            bytes_before += source.byte_count;
        }
        Ok(())
    }

    /// The positions of a file's columns that the table takes, in their order.
    fn wanted(&self, number: usize) -> Vec<usize> {
        let taken = self.sources_of.iter().filter_map(|found| found.as_ref()?.merged.positions[number]);
        let mut positions: Vec<usize> = taken.collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// The rows of a batch of a file, whose first row has this number. The batch has the wanted columns.
    fn convert(
        &mut self,
        definition: &TableDefinition,
        schema: &SchemaRef,
        (number, wanted): (usize, &[usize]),
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<RecordBatch> {
        let arrays = self.arrays(definition, (number, wanted), batch, first_row)?;
        let keep = self.complete_rows(definition, number, &arrays, first_row)?;
        let typed_schema = with_types_of(schema, &arrays);
        let columns =
            schema.fields().iter().zip(&arrays).map(|(field, array)| (field.name().as_str(), Arc::clone(array), true));
        let mut batch = RecordBatch::try_from_iter_with_nullable(columns)?;
        if keep.contains(&false) {
            batch = filter_record_batch(&batch, &BooleanArray::from(keep))?;
        }
        if let Some(time) = definition.time_column().and_then(|time| definition.position(&time.name).ok()) {
            self.time_bounds = widened(self.time_bounds, time_bounds(batch.column(time)));
        }
        Ok(RecordBatch::try_new(typed_schema, batch.columns().to_vec())?)
    }

    /// The columns of the table from those of a batch.
    fn arrays(
        &self,
        definition: &TableDefinition,
        (number, wanted): (usize, &[usize]),
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<Vec<ArrayRef>> {
        let (source, row_count) = (&self.sources[number], batch.num_rows());
        let array = |(column, found): (&Column, &Option<&TypedColumn>)| {
            let arrow_type = arrow_type(column.column_type, column.map.is_some());
            if self.options.is_file_column(&column.name) {
                return Ok(repeated_text(source.stem(), row_count));
            }
            let position = found.and_then(|found| found.merged.positions[number]);
            let Some(position) = position.and_then(|position| wanted.binary_search(&position).ok()) else {
                return Ok(default_array(column, row_count)?);
            };
            let array = batch.column(position);
            // Values of these types are rounded and checked when they are appended. Lists that are no arrays of the
            // table become JSON first.
            let is_array = matches!(column.column_type, ColumnType::Array(_));
            if is_array || column.column_type.stored() != column.column_type && !array.data_type().is_nested() {
                return Ok(Arc::clone(array));
            }
            let converted = match column.column_type {
                ColumnType::Timestamp(unit) if is_text(array.data_type()) => {
                    times_of_texts(array, unit, &arrow_type, self.options.date_reading())
                }
                _ => converted(array, &arrow_type),
            };
            converted.map_err(|error| {
                let last = first_row + row_count as u64 - 1;
                let place = format!("{}, rows {first_row} to {last}, column {}", source.name, column.name);
                Error::invalid(format!("{place}: {error}"))
                    .with_hint(format!("the column is {}", column.column_type.sql_name()))
            })
        };
        definition.columns.iter().zip(&self.sources_of).map(array).collect()
    }

    /// Returns for each row whether it has a value in every column that must have one. The others are skipped, or an
    /// error.
    fn complete_rows(
        &mut self,
        definition: &TableDefinition,
        number: usize,
        arrays: &[ArrayRef],
        first_row: u64,
    ) -> Result<Vec<bool>> {
        let mut keep = vec![true; arrays.first().map_or(0, |array| array.len())];
        for (column, array) in definition.columns.iter().zip(arrays).filter(|(column, _)| !column.nullable) {
            for row in (0..keep.len()).filter(|row| array.is_null(*row)) {
                let skipped = Skipped {
                    file: self.sources[number].name.clone(),
                    line: first_row + row as u64,
                    column: Some(column.name.clone()),
                    value: String::new(),
                    reason: "is NULL, but the column is NOT NULL".to_owned(),
                };
                if !self.options.skip_bad {
                    let message =
                        format!("{}, row {}, column {}: {}", skipped.file, skipped.line, column.name, skipped.reason);
                    return Err(Error::invalid(message).with_hint("pass --skip-bad to skip such rows"));
                }
                if std::mem::replace(&mut keep[row], false) {
                    self.skipped.add(skipped);
                }
            }
        }
        Ok(keep)
    }
}

/// Casts without loss of range; dictionaries of other keys pass through text, and lists become JSON.
fn converted(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    if array.data_type().is_nested() {
        return as_text(array);
    }
    if matches!(wanted, DataType::Timestamp(..)) && array.data_type().is_integer() {
        return checked_cast(&checked_cast(array, &DataType::Int64)?, wanted);
    }
    // A timestamp without a zone is UTC: cast to the same unit first, so that nothing is shifted.
    checked_cast(array, wanted)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
    }
}

/// The times that texts show, as the facts about a column read them.
fn times_of_texts(
    texts: &ArrayRef,
    unit: TimeUnit,
    wanted: &DataType,
    reading: DateReading,
) -> Result<ArrayRef, ArrowError> {
    let texts = checked_cast(texts, &DataType::Utf8)?;
    let count = |text: &str| {
        let time = times::parse(text.as_bytes(), reading).and_then(|time| time.count(unit));
        time.ok_or_else(|| ArrowError::CastError(format!("{text:?} is not a time, or is finer than a {unit}")))
    };
    let counts = texts.as_string::<i32>().iter().map(|text| text.map(count).transpose());
    checked_cast(&counts.collect::<Result<Int64Array, _>>()?, wanted)
}
