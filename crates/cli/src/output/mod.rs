//! Results as text and as files: one [`ResultWriter`] for each [`Format`], fed with Arrow batches.
//!
//! Owned here: which formats there are, which one a file's ending means, and how one is opened. Not owned: how a
//! single value reads ([`value`]), where the bytes go ([`destination`]).

mod arrow_ipc;
mod csv;
pub(crate) mod destination;
pub(crate) mod grid;
mod json;
mod markdown;
mod parquet;
mod table;
pub(crate) mod value;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb_core::{Error, Result};
use clap::ValueEnum;
use destination::{Compression, Destination};
use std::path::Path;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people
    Table,
    /// Comma-separated values (RFC 4180), a header first; NULL is empty, empty text is ""
    Csv,
    /// The same with tabs
    Tsv,
    /// One array of objects
    Json,
    /// One object a line
    #[value(alias = "ndjson")]
    Jsonl,
    /// A Markdown table
    #[value(alias = "md")]
    Markdown,
    /// Apache Parquet, compressed with zstd
    Parquet,
    /// Arrow IPC: the file format with -o, the stream format on stdout
    #[value(alias = "ipc")]
    Arrow,
}

impl Format {
    /// The format and the compression that a file's ending means: `x.csv.gz` is csv in gzip.
    pub(crate) fn of_path(path: &Path) -> Option<(Self, Compression)> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (stem, compression) = match name.rsplit_once('.')? {
            (stem, "gz") => (stem.to_owned(), Compression::Gzip),
            (stem, "zst") => (stem.to_owned(), Compression::Zstd),
            _ => (name, Compression::None),
        };
        let format = match stem.rsplit_once('.')?.1 {
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::Jsonl,
            "md" | "markdown" => Self::Markdown,
            "txt" => Self::Table,
            "parquet" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            _ => return None,
        };
        Some((format, compression))
    }

    /// Whether a second result may follow the first in the same output.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow)
    }

    /// The name that `--format` takes.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The format of a name, or an error that lists them.
    pub(crate) fn parse(name: &str) -> Result<Self> {
        <Self as ValueEnum>::from_str(name, true).map_err(|_| {
            let names: Vec<String> = Self::value_variants().iter().map(|format| format.name()).collect();
            Error::usage(format!("unknown format {name}")).with_hint(format!("use one of {}", names.join(", ")))
        })
    }
}

/// Writes one result: its header when it is made, its rows as they come.
pub(crate) trait ResultWriter {
    /// Writes the rows of a batch of the schema it was made for.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what follows the last row. A writer that is dropped before leaves an incomplete output.
    fn finish(&mut self) -> Result<()>;
}

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
        Format::Json => Box::new(json::JsonWriter::new(schema, json::Shape::Array, out)),
        Format::Jsonl => Box::new(json::JsonWriter::new(schema, json::Shape::Lines, out)),
        Format::Markdown => Box::new(markdown::MarkdownWriter::new(schema, out)?),
        Format::Parquet => Box::new(parquet::ParquetWriter::new(schema, out)?),
        Format::Arrow => Box::new(arrow_ipc::ArrowIpcWriter::new(schema, out)?),
    })
}

/// Writes a whole result and says how many rows it had.
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
        crate::interrupt::check()?;
        writer.write(&batch)?;
        row_count += batch.num_rows() as u64;
    }
    writer.finish()?;
    Ok(row_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_ending_names_format_and_compression() {
        let of = |name: &str| Format::of_path(Path::new(name));
        assert_eq!(of("a/b.CSV"), Some((Format::Csv, Compression::None)));
        assert_eq!(of("b.jsonl.zst"), Some((Format::Jsonl, Compression::Zstd)));
        assert_eq!(of("b.tsv.gz"), Some((Format::Tsv, Compression::Gzip)));
        assert_eq!((of("b"), of("b.gz"), of("b.xls")), (None, None, None));
    }

    #[test]
    fn an_unknown_format_is_refused_with_the_list() {
        let error = Format::parse("xml").unwrap_err();
        assert!(error.hint().unwrap().contains("markdown"), "{error}");
        assert_eq!(Format::parse("CSV").unwrap(), Format::Csv);
    }
}
