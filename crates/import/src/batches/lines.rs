//! InfluxDB line protocol as the rows of one table: the time, the tags and the fields of a line are its columns.
//!
//! A first pass finds the columns. If a file has several measurements, their names are a column, too, unless the
//! options choose one measurement.

use crate::batches::rows::{arrow_type, repeated_text};
use crate::options::Options;
use crate::options::report::{Skipped, SkippedRecords};
use arrow::array::{ArrayRef, AsArray, RecordBatch, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimestampNanosecondType};
use arrow::error::ArrowError;
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::name::{name_key, same_name, unknown_name};
use atsdb_core::{ColumnType, Error, ErrorKind, MapWidth, Result, TableDefinition, TimeUnit};
use atsdb_lineproto::{LineOptions, LineParser, Precision, TIME_COLUMN, TableBlock, whole_lines};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;

/// The bytes that are read at once.
const PART_BYTES: usize = 8 << 20;
/// The maximum length of a line, in bytes.
const LINE_BYTES_MAX: usize = 64 << 20;
/// The values of a batch.
const BATCH_VALUES: usize = 1 << 20;
/// The column of the names of several measurements.
const MEASUREMENT: &str = "measurement";

/// The columns of a file.
#[derive(Debug)]
pub(crate) struct LineTable {
    /// The file's name, for messages.
    file: String,
    options: LineOptions,
    skip_bad: bool,
    /// The one measurement that is read.
    chosen: Option<String>,
    /// The columns of each measurement, by its name in the form in which names are compared.
    measurements: BTreeMap<String, TableDefinition>,
    columns: Vec<LineColumn>,
    unit: TimeUnit,
    /// The number of lines that are comments.
    pub(crate) comment_count: u64,
}

#[derive(Debug)]
struct LineColumn {
    name: String,
    data_type: DataType,
    is_tag: bool,
}

impl LineTable {
    /// Reads a file once to find its columns.
    pub(crate) fn find(file: &str, input: impl Read, options: &Options) -> Result<Self> {
        let precision =
            options.time_unit.map_or(Precision::Auto, |unit| Precision::Unit(1_000_000_000 / unit.per_second()));
        let now_ns = options.times_until.unwrap_or(0).saturating_mul(1_000_000_000);
        let mut table = Self {
            file: file.to_owned(),
            options: LineOptions { precision, now_ns },
            skip_bad: options.skip_bad,
            chosen: options.path.clone(),
            measurements: BTreeMap::new(),
            columns: Vec::new(),
            unit: TimeUnit::Second,
            comment_count: 0,
        };
        let mut parts = LineBlocks::new(input);
        let mut others: Vec<String> = Vec::new();
        while let Some(part) = parts.next(file)? {
            let mut parser = LineParser::new(&part, table.options).with_block_values(BATCH_VALUES);
            while let Some(blocks) = parser.next_block(&|name| table.known(name)) {
                for block in blocks {
                    if table.is_wanted(&block.name) {
                        table.add(&block)?;
                    } else if !others.contains(&block.name) {
                        others.push(block.name);
                    }
                }
            }
            table.comment_count += parser.comment_lines();
        }
        if let Some(chosen) = table.chosen.as_deref().filter(|_| table.measurements.is_empty()) {
            let error = unknown_name("measurement", chosen, others.iter().map(String::as_str));
            return Err(error.context(format_args!("--path: {file}")));
        }
        if table.has_measurement_column() {
            if table.columns.iter().any(|column| same_name(&column.name, MEASUREMENT)) {
                return Err(Error::usage(format!("{file} has several measurements, and a column named {MEASUREMENT}"))
                    .with_hint("choose a measurement: --path NAME"));
            }
            table.columns.insert(
                0,
                LineColumn {
                    name: MEASUREMENT.to_owned(),
                    data_type: arrow_type(ColumnType::Text, true),
                    is_tag: true,
                },
            );
        }
        // Tags come first.
        table.columns.sort_by_key(|column| !column.is_tag);
        Ok(table)
    }

    fn is_wanted(&self, measurement: &str) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| same_name(chosen, measurement))
    }

    fn has_measurement_column(&self) -> bool {
        self.measurements.len() > 1
    }

    fn known(&self, measurement: &str) -> Option<TableDefinition> {
        self.measurements.get(&name_key(measurement)).cloned()
    }

    /// Adds the columns of rows.
    fn add(&mut self, block: &TableBlock) -> Result<()> {
        let schema = block.rows.schema();
        for (position, field) in schema.fields().iter().enumerate().skip(1) {
            let is_tag = position <= block.tag_count;
            match self.columns.iter().find(|column| same_name(&column.name, field.name())) {
                Some(known) if known.is_tag == is_tag && known.data_type == *field.data_type() => {}
                Some(_) => {
                    let message =
                        format!("{}: {} has other values in measurement {}", self.file, field.name(), block.name);
                    return Err(Error::invalid(message).with_hint("choose a measurement: --path NAME"));
                }
                None => self.columns.push(LineColumn {
                    name: field.name().clone(),
                    data_type: field.data_type().clone(),
                    is_tag,
                }),
            }
        }
        for time in block.rows.column(0).as_primitive::<TimestampNanosecondType>().values() {
            while time % (1_000_000_000 / self.unit.per_second()) != 0 {
                self.unit = match self.unit {
                    TimeUnit::Second => TimeUnit::Millisecond,
                    TimeUnit::Millisecond => TimeUnit::Microsecond,
                    TimeUnit::Microsecond | TimeUnit::Nanosecond => TimeUnit::Nanosecond,
                };
            }
        }
        let key = name_key(&block.name);
        let mut definition = match self.measurements.remove(&key) {
            Some(definition) => definition,
            None => TableDefinition::new(&block.name)
                .with_column(TIME_COLUMN, ColumnType::Timestamp(TimeUnit::Nanosecond), None)
                .with_time(TIME_COLUMN, TimeUnit::Nanosecond)?,
        };
        for (position, field) in schema.fields().iter().enumerate().skip(1) {
            if definition.column(field.name()).is_err() {
                let (column_type, map) = match field.data_type() {
                    _ if position <= block.tag_count => (ColumnType::Text, Some(MapWidth::U32)),
                    DataType::Float64 => (ColumnType::Float64, None),
                    DataType::Int64 => (ColumnType::Int64, None),
                    DataType::UInt64 => (ColumnType::UInt64, None),
                    DataType::Boolean => (ColumnType::Bool, None),
                    _ => (ColumnType::Text, None),
                };
                definition = definition.with_column(field.name(), column_type, map);
            }
        }
        self.measurements.insert(key, definition);
        Ok(())
    }

    /// The columns of its batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        let time = Field::new(TIME_COLUMN, time_type(self.unit), true);
        let others = self.columns.iter().map(|column| Field::new(&column.name, column.data_type.clone(), true));
        Arc::new(Schema::new(std::iter::once(time).chain(others).collect::<Vec<_>>()))
    }

    /// The rows of one measurement with all columns.
    fn batch(&self, block: &TableBlock) -> Result<RecordBatch, ArrowError> {
        let rows = &block.rows;
        let mut arrays: Vec<ArrayRef> = vec![cast(rows.column(0), &time_type(self.unit))?];
        for (position, column) in self.columns.iter().enumerate() {
            let found = rows.schema_ref().fields().iter().position(|field| same_name(field.name(), &column.name));
            arrays.push(match found {
                _ if position == 0 && self.has_measurement_column() => repeated_text(&block.name, rows.num_rows()),
                Some(found) => Arc::clone(rows.column(found)),
                None => new_null_array(&column.data_type, rows.num_rows()),
            });
        }
        RecordBatch::try_new(self.schema(), arrays)
    }
}

fn time_type(unit: TimeUnit) -> DataType {
    arrow_type(ColumnType::Timestamp(unit), false)
}

/// The batches of a file.
pub(crate) struct LineReader {
    table: Arc<LineTable>,
    columns: Option<Vec<usize>>,
    parts: LineBlocks<Box<dyn Read + Send>>,
    ready: VecDeque<RecordBatch>,
    /// The lines skipped so far.
    pub(crate) skipped: SkippedRecords,
}

impl LineReader {
    /// Reads a file from its start. `columns` are those to return; `None` returns all.
    pub(crate) fn new(table: Arc<LineTable>, input: Box<dyn Read + Send>, columns: Option<&[usize]>) -> Self {
        let columns = columns.map(<[usize]>::to_vec);
        let skipped = SkippedRecords::default();
        Self { table, columns, parts: LineBlocks::new(input), ready: VecDeque::new(), skipped }
    }

    /// The next rows.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while self.ready.is_empty() {
            let lines_before = self.parts.line_count;
            let Some(part) = self.parts.next(&self.table.file)? else { return Ok(None) };
            let mut parser = LineParser::new(&part, self.table.options).with_block_values(BATCH_VALUES);
            while let Some(blocks) = parser.next_block(&|name| self.table.known(name)) {
                for block in blocks.iter().filter(|block| self.table.is_wanted(&block.name)) {
                    let mut batch = self.table.batch(block)?;
                    if let Some(columns) = &self.columns {
                        batch = batch.project(columns)?;
                    }
                    let starts = (0..batch.num_rows()).step_by(CHUNK_ROWS_MAX);
                    let parts = starts.map(|start| batch.slice(start, CHUNK_ROWS_MAX.min(batch.num_rows() - start)));
                    self.ready.extend(parts);
                }
            }
            let errors = parser.errors().iter().map(|error| Skipped {
                file: self.table.file.clone(),
                line: lines_before + error.line,
                column: None,
                value: error.text.clone(),
                reason: error.message.clone(),
            });
            if let Some(first) = errors.clone().next().filter(|_| !self.table.skip_bad) {
                let message = format!("{}, line {}: {}: {}", first.file, first.line, first.reason, first.value);
                return Err(Error::invalid(message).with_hint("pass --skip-bad to skip such lines"));
            }
            self.skipped.add_some(errors, parser.refused_lines());
        }
        Ok(self.ready.pop_front())
    }
}

/// Parts of whole lines.
struct LineBlocks<R> {
    input: R,
    carry: Vec<u8>,
    /// The line ends of the parts so far.
    line_count: u64,
    is_at_end: bool,
}

impl<R: Read> LineBlocks<R> {
    fn new(input: R) -> Self {
        Self { input, carry: Vec::new(), line_count: 0, is_at_end: false }
    }

    fn next(&mut self, file: &str) -> Result<Option<Vec<u8>>> {
        let mut bytes = std::mem::take(&mut self.carry);
        let mut target = PART_BYTES;
        loop {
            let wanted = target.saturating_sub(bytes.len());
            let count = (&mut self.input).take(wanted as u64).read_to_end(&mut bytes);
            self.is_at_end |= count.map_err(|error| read_error(file, &error))? < wanted;
            let end = if self.is_at_end { bytes.len() } else { whole_lines(&bytes) };
            if end > 0 || self.is_at_end {
                self.carry = bytes.split_off(end);
                self.line_count += memchr::memchr_iter(b'\n', &bytes).count() as u64;
                return Ok(Some(bytes).filter(|bytes| !bytes.is_empty()));
            }
            if bytes.len() >= LINE_BYTES_MAX {
                let (line, most) = (self.line_count + 1, LINE_BYTES_MAX >> 20);
                return Err(Error::new(
                    ErrorKind::Limit,
                    format!("{file}, line {line}: a line is longer than {most} MiB"),
                )
                .with_hint("maybe a closing quote is missing"));
            }
            target = (bytes.len() * 2).min(LINE_BYTES_MAX);
        }
    }
}

fn read_error(file: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("cannot read {file}: {error}"))
}
