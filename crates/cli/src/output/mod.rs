//! Results as text and as files: one [`ResultWriter`] for each [`Format`], fed with Arrow batches.
//!
//! Owned here: which formats there are, which one a file's ending means, and how one is opened. Not owned: how a
//! single value reads ([`value`]), where the bytes go ([`destination`]).

mod arrow_ipc;
mod chart;
mod csv;
pub(crate) mod destination;
mod format;
pub(crate) mod grid;
mod json;
mod markdown;
mod parquet;
mod plot;
pub(crate) mod screen;
mod svg;
mod table;
pub(crate) mod value;
mod writer;

pub(crate) use format::{Format, format_of};

use self::destination::Destination;
use self::writer::ResultWriter;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;

/// Opens the writer of a format.
pub(crate) fn result_writer<'a>(
    format: Format,
    schema: &SchemaRef,
    out: &'a mut Destination,
) -> Result<Box<dyn ResultWriter + 'a>> {
    Ok(match format {
        Format::Table => Box::new(table::TableWriter::new(schema, out)),
        Format::Csv => Box::new(csv::CsvWriter::new(schema, b',', out)?),
        Format::Tsv => Box::new(csv::CsvWriter::new(schema, b'\t', out)?),
        Format::Json => Box::new(json::JsonWriter::new(schema, json::JsonShape::Array, out)),
        Format::Jsonl => Box::new(json::JsonWriter::new(schema, json::JsonShape::Lines, out)),
        Format::Markdown => Box::new(markdown::MarkdownWriter::new(schema, out)?),
        Format::Chart => Box::new(chart::ChartWriter::new(schema, out)?),
        Format::Svg => Box::new(svg::SvgWriter::new(schema, false, out)?),
        Format::Html => Box::new(svg::SvgWriter::new(schema, true, out)?),
        Format::Parquet => Box::new(parquet::ParquetWriter::new(schema, out)?),
        Format::Arrow => Box::new(arrow_ipc::ArrowIpcWriter::new(schema, out)?),
    })
}

/// Writes a whole result and returns how many rows it had.
pub(crate) fn write_result(
    format: Format,
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    out: &mut Destination,
) -> Result<u64> {
    let mut writer = result_writer(format, schema, out)?;
    let mut row_count = 0;
    for batch in batches {
        let batch = batch?;
        crate::console::interrupt::check()?;
        writer.write(&batch)?;
        row_count += batch.num_rows() as u64;
    }
    writer.finish()?;
    Ok(row_count)
}
