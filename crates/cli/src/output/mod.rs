//! Results as text and as files: one [`ResultWriter`] for each [`Format`], fed with Arrow batches. Those that other
//! programs read are in crates/export; those for people are here. Owned here: the list of formats, the format for a
//! file's extension, and opening a writer. Not owned: formatting a single value ([`atsdb_export::value`]), the
//! destination of the bytes ([`destination`]).

mod bars;
mod chart;
mod colours;
pub(crate) mod destination;
mod format;
pub(crate) mod grid;
mod markdown;
mod plot;
pub(crate) mod screen;
mod spark;
mod svg;
mod table;
mod ticks;

pub(crate) use format::{Format, format_of};

use self::destination::Destination;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::{ArrowIpcWriter, CsvWriter, IpcShape, JsonShape, JsonWriter, Output, ParquetWriter, ResultWriter};

/// Opens the writer of a format.
pub(crate) fn result_writer<'a>(
    format: Format,
    schema: &SchemaRef,
    out: &'a mut Destination,
) -> Result<Box<dyn ResultWriter + 'a>> {
    // A file can be mapped into memory and supports seeking; stdout does not.
    let shape = if out.is_stdout() { IpcShape::Stream } else { IpcShape::File };
    let name = out.name().to_owned();
    Ok(match format {
        Format::Table => Box::new(table::TableWriter::new(schema, out)),
        Format::Csv => Box::new(CsvWriter::new(schema, b',', Output::new(out, name))?),
        Format::Tsv => Box::new(CsvWriter::new(schema, b'\t', Output::new(out, name))?),
        Format::Json => Box::new(JsonWriter::new(schema, JsonShape::Array, Output::new(out, name))),
        Format::Jsonl => Box::new(JsonWriter::new(schema, JsonShape::Lines, Output::new(out, name))),
        Format::Markdown => Box::new(markdown::MarkdownWriter::new(schema, out)?),
        Format::Chart => Box::new(chart::ChartWriter::new(schema, out)?),
        Format::Spark => Box::new(spark::SparkWriter::new(schema, out)?),
        Format::Svg => Box::new(svg::SvgWriter::new(schema, false, out)?),
        Format::Html => Box::new(svg::SvgWriter::new(schema, true, out)?),
        Format::Parquet => Box::new(ParquetWriter::new(schema, Output::new(out, name))?),
        Format::Arrow => Box::new(ArrowIpcWriter::new(schema, shape, Output::new(out, name))?),
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
