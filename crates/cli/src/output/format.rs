//! The formats, and how a file's extension selects one.

use super::destination::Compression;
use atsdb::{Error, Result};
use clap::ValueEnum;
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
    /// A chart for a terminal: the columns of numbers over the first column
    Chart,
    /// A line of blocks for each column of numbers
    Spark,
    /// A chart as a picture
    Svg,
    /// The same as a page, which opens offline
    Html,
    /// Apache Parquet, compressed with zstd
    Parquet,
    /// Arrow IPC: the file format with -o, the stream format on stdout
    #[value(alias = "ipc")]
    Arrow,
}

impl Format {
    /// The format and the compression for a file's extension: `x.csv.gz` is csv in gzip.
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
            "svg" => Self::Svg,
            "html" | "htm" => Self::Html,
            "parquet" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            _ => return None,
        };
        Some((format, compression))
    }

    /// Returns whether a second result may follow the first in the same output.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Arrow | Self::Svg | Self::Html)
    }

    /// The name in `--format`.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Parses the name of a format. The error lists all formats.
    pub(crate) fn parse(name: &str) -> Result<Self> {
        <Self as ValueEnum>::from_str(name, true).map_err(|_| {
            let names: Vec<String> = Self::value_variants().iter().map(|format| format.name()).collect();
            Error::usage(format!("unknown format {name}")).with_hint(format!("use one of {}", names.join(", ")))
        })
    }
}

/// The format of a file: the one requested, or else the one of its extension.
pub(crate) fn format_of(path: Option<&Path>, requested: Option<Format>) -> Result<(Format, Compression)> {
    let by_ending = path.and_then(Format::of_path);
    let (format, compression) = match (requested, by_ending, path) {
        (Some(format), _, path) => (format, path.map_or(Compression::None, Compression::of_path)),
        (None, Some(both), _) => both,
        (None, None, None) => (Format::Csv, Compression::None),
        (None, None, Some(path)) => {
            let is_spreadsheet = path.extension().is_some_and(|ending| ending == "xlsx" || ending == "ods");
            let error = Error::usage(format!("cannot tell the format of {} from its extension", path.display()));
            if is_spreadsheet {
                return Err(error.with_hint("spreadsheets open .csv"));
            }
            return Err(error.with_hint(
                "end it with .csv, .tsv, .json, .jsonl, .md, .parquet, .arrow, .svg or .html, or pass --format",
            ));
        }
    };
    if compression != Compression::None && matches!(format, Format::Parquet | Format::Arrow) {
        return Err(Error::usage(format!("{} is compressed internally, not with .gz or .zst", format.name()))
            .with_hint(format!("end the file with .{}", format.name())));
    }
    Ok((format, compression))
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
    fn a_requested_format_is_compressed_as_the_ending_says() {
        let of = |name: &str, format| format_of(Some(Path::new(name)), Some(format)).unwrap();
        assert_eq!(of("rows.gz", Format::Csv), (Format::Csv, Compression::Gzip));
        assert_eq!(of("rows.txt.zst", Format::Jsonl), (Format::Jsonl, Compression::Zstd));
        assert_eq!(of("rows", Format::Parquet), (Format::Parquet, Compression::None));
    }

    #[test]
    fn an_unknown_format_is_refused_with_the_list() {
        let error = Format::parse("xml").unwrap_err();
        assert!(error.hint().unwrap().contains("markdown"), "{error}");
        assert_eq!(Format::parse("CSV").unwrap(), Format::Csv);
    }
}
