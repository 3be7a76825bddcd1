//! Reads files of typed values (Parquet, Arrow IPC, line protocol) as batches. A file may be damaged, or made to do
//! harm.

use crate::batches::arrow_ipc::ArrowReader;
use crate::batches::lines::LineReader;
use crate::batches::readable::{read_as, readable, readable_schema};
use crate::input::catch_panic::catch_panic;
use crate::input::parquet_bytes::ParquetBytes;
use crate::input::parquet_reader::{ParquetReader, has_inner_intervals};
use crate::input::source::ImportFile;
use crate::options::Format;
use crate::options::report::SkippedRecords;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use atsdb_core::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a batch as read: few enough that wide tables stay small.
const BATCH_ROWS: usize = 32_768;

/// The error of a file that cannot be read: it did not arrive, or it is damaged.
pub(crate) fn damaged(source: &ImportFile, error: impl std::fmt::Display) -> Error {
    if let Some(failure) = source.pieces().and_then(|pieces| pieces.failure()) {
        return failure;
    }
    let error = error.to_string();
    if let Some((_, compression)) = error.split_once("Disabled feature at compile time: ") {
        return Error::usage(format!("{} is compressed with {compression}, which cannot be read", source.name))
            .with_hint("write it with zstd, snappy, lz4, gzip or no compression");
    }
    let format = match source.format {
        Format::Arrow => "Arrow",
        Format::Lines => "line protocol",
        _ => "Parquet",
    };
    Error::invalid(format!("{}: cannot read it as {format}: {error}", source.name))
        .with_hint("fetch or write the file again")
}

/// Runs the reader of a format on a file. A panic of the reader also counts as damage.
pub(crate) fn read<T>(source: &ImportFile, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_panic(work).map_err(|panic| damaged(source, panic))?
}

/// The batches of a file, up to its end or to the first unreadable one.
pub(crate) struct Batches<'a> {
    source: &'a ImportFile,
    reader: Option<FormatReader>,
    skipped: SkippedRecords,
    /// Rows of the batches so far.
    row_count: u64,
    /// Bytes of the file that were read, except of Parquet.
    read: Arc<AtomicU64>,
}

/// The reader of a format.
enum FormatReader {
    Parquet(Box<ParquetReader>),
    Arrow(Box<ArrowReader>),
    Lines(Box<LineReader>),
}

impl FormatReader {
    fn next(&mut self, source: &ImportFile) -> Result<Option<RecordBatch>> {
        let next = match self {
            Self::Parquet(reader) => reader.next(),
            Self::Arrow(reader) => reader.next(),
            Self::Lines(reader) => return reader.next_batch(),
        };
        next.transpose().map_err(|error| damaged(source, error))
    }
}

impl Batches<'_> {
    /// The lines that were skipped, once all batches were read.
    pub(crate) fn into_skipped(self) -> SkippedRecords {
        self.skipped
    }

    /// About how many bytes of the file the batches so far are of.
    pub(crate) fn bytes_read(&self) -> u64 {
        let byte_count = self.source.byte_count;
        match &self.reader {
            // Of Parquet, the columns of a group of rows are read one after the other.
            Some(FormatReader::Parquet(reader)) => {
                let share = u128::from(byte_count) * u128::from(self.row_count) / u128::from(reader.row_count.max(1));
                u64::try_from(share).map_or(byte_count, |share| share.min(byte_count))
            }
            _ => self.read.load(Ordering::Relaxed).min(byte_count),
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        let next = read(self.source, || reader.next(self.source)).transpose();
        if let (None, FormatReader::Lines(lines)) = (&next, &mut reader) {
            self.skipped = std::mem::take(&mut lines.skipped);
        }
        let batch =
            next?.and_then(|batch| read(self.source, || readable(&batch).map_err(|error| damaged(self.source, error))));
        if let Ok(batch) = &batch {
            self.row_count += batch.num_rows() as u64;
            self.reader = Some(reader);
        }
        Some(batch)
    }
}

/// The columns of a file that are read as another type: their names, types, and the types they are read as.
pub(crate) fn converted_columns(source: &ImportFile) -> Result<Vec<(String, DataType, DataType)>> {
    let (schema, _) = read(source, || open(source, Some(&[]), &Arc::default()))?;
    let converted = schema
        .fields()
        .iter()
        .filter_map(|field| read_as(field.data_type()).map(|to| (field.name().clone(), field.data_type().clone(), to)));
    Ok(converted.collect())
}

/// The schema of a file, and its batches of these columns, or of all if `columns` is `None`. Types that tables lack are
/// converted.
pub(crate) fn reader<'a>(source: &'a ImportFile, columns: Option<&[usize]>) -> Result<(SchemaRef, Batches<'a>)> {
    let bytes_read = Arc::default();
    let (schema, reader) = read(source, || open(source, columns, &bytes_read))?;
    let skipped = SkippedRecords::default();
    Ok((readable_schema(&schema), Batches { source, reader: Some(reader), skipped, row_count: 0, read: bytes_read }))
}

/// Opens a file. `bytes_read` counts its bytes, except of Parquet.
fn open(
    source: &ImportFile,
    columns: Option<&[usize]>,
    bytes_read: &Arc<AtomicU64>,
) -> Result<(SchemaRef, FormatReader)> {
    if source.format == Format::Arrow {
        let bytes = source.open(bytes_read)?;
        let reader = ArrowReader::open(bytes, columns, BATCH_ROWS).map_err(|error| damaged(source, error))?;
        return Ok((reader.schema(), FormatReader::Arrow(Box::new(reader))));
    }
    if let Some(table) = &source.lines {
        let schema = table.schema();
        let reader = LineReader::new(Arc::clone(table), source.open(bytes_read)?, columns);
        return Ok((schema, FormatReader::Lines(Box::new(reader))));
    }
    let bytes = match source.pieces() {
        Some(pieces) => ParquetBytes::Pieces(Arc::clone(pieces)),
        None => ParquetBytes::File(source.file()?),
    };
    let opened = ParquetReader::open(bytes, columns, BATCH_ROWS);
    let (schema, reader) = opened.map_err(|error| damaged(source, error))?;
    let is_wanted = |position: usize| columns.is_none_or(|columns| columns.contains(&position));
    let mut wanted = schema.fields().iter().enumerate().filter(|(position, _)| is_wanted(*position));
    if let Some((_, field)) = wanted.find(|(_, field)| has_inner_intervals(field.data_type())) {
        let name = field.name();
        let message = format!("{}, column {name}: intervals within lists or structures are not read", source.name);
        return Err(Error::invalid(message).with_hint(format!("--omit {name} leaves the column out")));
    }
    Ok((schema, FormatReader::Parquet(Box::new(reader))))
}
