//! One pass over the file. It finds the number of rows, the times, the column that names the series, and the measured
//! column.

use super::input::AdviseInput;
use crate::failure::Failure;
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use atsdb::{ColumnType, Error, Result, TableDefinition};
use atsdb_import::{Input, Options, Sink};
use std::collections::HashMap;
use std::path::Path;

/// A column with more distinct values than this names rows, not series.
const SERIES_MAX: usize = 100_000;
/// The minimum number of rows for each value of a series column, on average.
const ROWS_A_SERIES: u64 = 2;

impl AdviseInput {
    /// Inspects a file: separated values, JSON or Parquet, plain or compressed.
    ///
    /// # Errors
    /// The importer's errors about the file; a file without rows.
    pub fn look(file: &Path, options: &Options) -> Result<Self> {
        let mut name: String = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name = name.split('.').next().unwrap_or_default().to_owned();
        if !name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            name = format!("t{name}");
        }
        let mut look = FileSurvey::default();
        let options = Options { begin_once: true, ..options.clone() };
        let inputs = vec![Input::Path(file.to_owned())];
        let report = atsdb_import::import(&name, inputs, &options, None, &mut look, &|_| ())?;
        if report.row_count == 0 {
            return Err(Error::invalid(format!("{} has no rows", file.display())));
        }
        Ok(look.into_input(file, report.definition, report.row_count))
    }
}

/// Passes a file's rows to `take`, in the form in which [`AdviseInput::look`] read them.
pub(crate) fn read(
    input: &AdviseInput,
    take: &mut dyn FnMut(&RecordBatch) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut rows = RowsOfFile { take, failure: None };
    let options = Options { begin_once: true, ..Options::default() };
    let inputs = vec![Input::Path(input.file.clone())];
    let read = atsdb_import::import(&input.table.name, inputs, &options, None, &mut rows, &|_| ());
    match rows.failure {
        Some(failure) => Err(failure),
        None => read.map(drop).map_err(Failure::from),
    }
}

struct RowsOfFile<'a> {
    take: &'a mut dyn FnMut(&RecordBatch) -> Result<(), Failure>,
    failure: Option<Failure>,
}

impl Sink for RowsOfFile<'_> {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        (self.take)(&batch).map_err(|failure| {
            let message = failure.to_string();
            self.failure = Some(failure);
            Error::internal(message)
        })
    }
}

#[derive(Default)]
struct FileSurvey {
    /// The values of each text column with their frequencies; none once there are too many.
    texts: Vec<Option<HashMap<String, u64>>>,
    time: Option<usize>,
    times: Option<(i64, i64)>,
}

impl Sink for FileSurvey {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        let of = |column: &atsdb::Column| (column.column_type == ColumnType::Text).then(HashMap::new);
        let time = definition.time_column().map(|column| column.name.clone());
        *self = Self {
            texts: definition.columns.iter().map(of).collect(),
            time: definition.columns.iter().position(|column| Some(&column.name) == time.as_ref()),
            times: None,
        };
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        for (counts, column) in self.texts.iter_mut().zip(batch.columns()) {
            if let Some(known) = counts {
                count(known, column)?;
                if known.len() > SERIES_MAX {
                    *counts = None;
                }
            }
        }
        if let Some(column) = self.time.and_then(|position| batch.columns().get(position)) {
            let times = cast(column, &DataType::Int64)?;
            for time in times.as_primitive::<Int64Type>().iter().flatten() {
                let (first, last) = self.times.unwrap_or((time, time));
                self.times = Some((first.min(time), last.max(time)));
            }
        }
        Ok(())
    }
}

fn count(known: &mut HashMap<String, u64>, column: &ArrayRef) -> Result<()> {
    let texts = cast(column, &DataType::Utf8)?;
    for text in texts.as_string::<i32>().iter().flatten() {
        if let Some(times) = known.get_mut(text) {
            *times += 1;
        } else if known.len() > SERIES_MAX {
            return Ok(());
        } else {
            known.insert(text.to_owned(), 1);
        }
    }
    Ok(())
}

impl FileSurvey {
    fn into_input(self, file: &Path, table: TableDefinition, rows: u64) -> AdviseInput {
        let tells = |known: &HashMap<String, u64>| known.len() > 1 && known.len() as u64 * ROWS_A_SERIES <= rows;
        let candidates = self.texts.iter().zip(&table.columns);
        let series = candidates
            .filter_map(|(known, column)| Some((known.as_ref().filter(|known| tells(known))?, column)))
            .max_by_key(|(known, _)| known.len());
        let value = value_column(&table);
        AdviseInput {
            file: file.to_owned(),
            rows,
            times: self.times,
            series_count: series.map_or(0, |(known, _)| known.len() as u64),
            series: series.map(|(known, column)| (column.name.clone(), usual(known))),
            value,
            table,
        }
    }
}

/// A value of median frequency; of several, the first by letters, so that it is the same each time.
fn usual(known: &HashMap<String, u64>) -> String {
    let mut values: Vec<(u64, &String)> = known.iter().map(|(value, times)| (*times, value)).collect();
    values.sort_unstable();
    values[values.len() / 2].1.clone()
}

/// The first column of fractions, or else of whole numbers, that is not the time.
fn value_column(table: &TableDefinition) -> Option<String> {
    let time = table.time_column().map(|column| column.name.as_str());
    let of = |wanted: fn(ColumnType) -> bool| {
        let found =
            table.columns.iter().find(|column| wanted(column.column_type) && Some(column.name.as_str()) != time);
        found.map(|column| column.name.clone())
    };
    of(|column| matches!(column, ColumnType::Float32 | ColumnType::Float64)).or_else(|| {
        of(|column| matches!(column, ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64))
    })
}
