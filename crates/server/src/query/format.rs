//! The formats of answers.

use super::table::TableWriter;
use atsdb::Result;
use atsdb::arrow::datatypes::SchemaRef;
use atsdb_export::{ArrowIpcWriter, CsvWriter, IpcShape, JsonShape, JsonWriter, Output, ParquetWriter, ResultWriter};
use std::io::Write;
use strum::EnumString;

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, EnumString)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Format {
    /// One array of objects.
    #[default]
    Json,
    /// One object in each line.
    #[strum(serialize = "ndjson", serialize = "jsonl")]
    Ndjson,
    /// A header and fields; NULL is empty, empty text is `""`.
    Csv,
    /// The Arrow stream format.
    Arrow,
    /// A Parquet file.
    Parquet,
    /// Columns with their types, then an array for each row. The page uses this format.
    Table,
}

impl Format {
    /// Parses a name; an error is a message.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        name.parse().map_err(|_| format!("unknown format {name:?} (use json, ndjson, csv, arrow, parquet or table)"))
    }

    /// The media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson | Self::Table => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Arrow => "application/vnd.apache.arrow.stream",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }

    /// Returns whether an answer is text that is worth compressing. The page shows rows of `Table` as they come, and
    /// the others compress by themselves or are read on fast networks.
    pub(crate) fn is_compressible(self) -> bool {
        matches!(self, Self::Json | Self::Ndjson | Self::Csv)
    }

    /// Begins an answer.
    pub(crate) fn writer<'a, W: Write + Send + 'a>(
        self,
        schema: &SchemaRef,
        out: W,
    ) -> Result<Box<dyn ResultWriter + 'a>> {
        let named = |out| Output::new(out, "the answer");
        Ok(match self {
            Self::Json => Box::new(JsonWriter::new(schema, JsonShape::Array, named(out))),
            Self::Ndjson => Box::new(JsonWriter::new(schema, JsonShape::Lines, named(out))),
            Self::Csv => Box::new(CsvWriter::new(schema, b',', named(out))?),
            Self::Arrow => Box::new(ArrowIpcWriter::new(schema, IpcShape::Stream, named(out))?),
            Self::Parquet => Box::new(ParquetWriter::new(schema, named(out))?),
            Self::Table => Box::new(TableWriter::new(schema, out)?),
        })
    }
}
