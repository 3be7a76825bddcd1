//! Parquet, compressed with zstd, with types that other readers know.
//!
//! Parquet has no seconds: a timestamp of seconds is written in milliseconds. Its intervals have neither signs nor
//! digits beyond milliseconds: they are written as text, and the metadata of their field says so.

use crate::writer::{Output, ResultWriter, write_error};
use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, Schema, SchemaRef, TimeUnit,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use atsdb_codec::interval_text_field;
use atsdb_core::interval_text::interval_text;
use atsdb_core::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// The number of rows in a row group, which is buffered in memory until it is written.
const ROW_GROUP_ROWS: usize = 131_072;

/// Writes rows as a Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    writer: Option<ArrowWriter<W>>,
    schema: SchemaRef,
    location: String,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    pub fn new(schema: &SchemaRef, out: Output<W>) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Timestamp(TimeUnit::Second, zone) => {
                let data_type = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
                Arc::new(field.as_ref().clone().with_data_type(data_type))
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => Arc::new(interval_text_field(field.as_ref().clone())),
            _ => Arc::clone(field),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let Output { out, location } = out;
        let refuse = |error| write_error(&location, error);
        let level = ZstdLevel::try_new(3).map_err(refuse)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(refuse)?;
        Ok(Self { writer: Some(writer), schema, location })
    }
}

impl<W: Write + Send> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").field("location", &self.location).finish_non_exhaustive()
    }
}

impl<W: Write + Send> ResultWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = fit(batch, &self.schema)?;
        match &mut self.writer {
            Some(writer) => writer.write(&batch).map_err(|error| write_error(&self.location, error)),
            None => Err(Error::internal("a finished Parquet file got more rows")),
        }
    }

    fn finish(&mut self) -> Result<()> {
        match self.writer.take() {
            Some(writer) => writer.close().map(drop).map_err(|error| write_error(&self.location, error)),
            None => Ok(()),
        }
    }
}

/// The batch in the file's types.
fn fit(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let cast = |(column, field): (&ArrayRef, &arrow::datatypes::FieldRef)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        if let Some(intervals) = column.as_primitive_opt::<IntervalMonthDayNanoType>() {
            let text =
                |interval: IntervalMonthDayNano| interval_text(interval.months, interval.days, interval.nanoseconds);
            let texts: StringArray = intervals.iter().map(|interval| interval.map(text)).collect();
            return Ok(Arc::new(texts) as ArrayRef);
        }
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(column, field.data_type(), &strict).map_err(|error| {
            Error::invalid(format!("column {}: {error}", field.name()))
                .with_hint("choose the format arrow or csv, which take every time of a TIMESTAMP(0)")
        })
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(cast).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|error| Error::internal(format!("cannot build a Parquet batch: {error}")))
}
