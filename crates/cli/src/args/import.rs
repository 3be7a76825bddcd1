//! `atsdb import`.

use super::store::{StoreArgs, WriteArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `atsdb import`.
#[derive(Debug, Args)]
#[command(after_help = "\
All files together are one batch: all of it becomes visible, or nothing. Types, time, mapped
columns and slice width are chosen from the files, and the CREATE TABLE is printed. Flags override
these choices.

Examples:
  atsdb import air.db weather weather.csv
  atsdb import air.db rtt probes/*.csv.gz --file-column probe --null -4.0
  atsdb import air.db beijing *.csv.gz --time year,month,day,hour
  atsdb import memory: codes codes.txt --engine memory --index column1 --no-header
  atsdb import air.db prices day.csv --columns time=Date,price=Close --dry-run
  atsdb import air.db quakes quakes.geojson
  atsdb import air.db prices 'book.xlsx#Sheet 2'
  atsdb import air.db readings sqlite:old.db#readings
  atsdb import air.db readings 'postgresql://me@host/db#public.readings'
  atsdb import air.db readings wide.csv --unpivot 'sensor*' --into sensor,value
  atsdb import air.db log 'logs/*.csv' --zone Europe/Berlin
  atsdb import air.db weather https://example.org/day.csv.gz
  atsdb import air.db readings 's3://bucket/2024/*.parquet' --columns time,value
  zcat log.gz | atsdb import air.db log - --time ts --time-unit ms")]
pub(crate) struct ImportArgs {
    /// The store: a path or another URL; created if it does not exist
    pub(crate) url: String,
    /// The table; if it does not exist, it is created to fit the files
    pub(crate) table: String,
    /// The files, together one batch: names, patterns such as 'logs/*.csv', folders, URLs such as https://HOST/FILE or
    /// 's3://BUCKET/*.csv', sheets such as 'x.xlsx#SHEET', files of an archive such as 'x.zip#FILE', tables such as
    /// 'sqlite:x.db#TABLE', 'postgresql://USER@HOST/DB#TABLE' or 'mariadb://USER@HOST/DB#TABLE'; - is stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The time: a column, or several, such as date,clock or year,month,day,hour; none: create a table without a time
    /// column [default: detected]
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub(crate) time: Vec<String>,
    /// What integer times count since 1970-01-01 [default: detected by their size]
    #[arg(long, value_name = "s|ms|us|ns")]
    pub(crate) time_unit: Option<String>,
    /// Store a text column as an index into its dictionary, of the width that fits or the one given; may be repeated
    #[arg(long, value_name = "COL[:u8|u16|u32]", value_delimiter = ',')]
    pub(crate) map: Vec<String>,
    /// How much time each slice of a new table holds; queries and retention skip or drop whole slices [default: by the
    /// number of rows]
    #[arg(long, value_name = "hour|day|week|month|year")]
    pub(crate) slice: Option<String>,
    /// The series key of a new table, by which sealed rows are sorted. If it includes the time, or if the table has no
    /// time, it is the primary key: no two rows have the same values
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub(crate) key: Vec<String>,
    /// Where the rows of a new table are: memory keeps them in this program, with a copy in the store
    #[arg(long, value_name = "memory")]
    pub(crate) engine: Option<ImportEngine>,
    /// An index of a new table over these columns; may be repeated
    #[arg(long, value_name = "COL,...")]
    pub(crate) index: Vec<String>,
    /// The text that means NULL, instead of NA, None, NULL and the like; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) null: Vec<String>,
    /// Skip bad records and report them, instead of refusing the import
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Create the table that fits the files, and import nothing
    #[arg(long, conflicts_with = "batch_id")]
    pub(crate) create_only: bool,
    /// The format of the files [default: detected for each]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// The encoding of the texts, such as latin1, windows-1251 or utf-16le [default: UTF-8, or UTF-16 with a byte order
    /// mark]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,
    /// The character between fields; tab for a tab, space for any number of blanks [default: detected]
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<String>,
    /// The first record names the columns [default: detected]
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first record is data: columns are named column1, column2, ... [default: detected]
    #[arg(long)]
    pub(crate) no_header: bool,
    /// How many lines come before the header, or before the first record [default: titles and comments are detected]
    #[arg(long, value_name = "LINES")]
    pub(crate) skip: Option<u64>,
    /// Treat quotes as ordinary characters
    #[arg(long)]
    pub(crate) no_quotes: bool,
    /// In a JSON document the list that holds the records, such as data or result.items, or the object whose lists are
    /// the columns, such as hourly; with .* behind it, or as *, the object whose members are the records; '' is the
    /// document itself. In line protocol the one measurement to read
    #[arg(long, value_name = "NAME")]
    pub(crate) path: Option<String>,
    /// The sheet of an Excel or OpenDocument workbook, which BOOK.xlsx#NAME can also name [default: the first with
    /// rows]
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
    /// The columns to read, in any order; NEW=OLD renames; without a header, the names of all fields in order
    #[arg(long, value_name = "COL|NEW=OLD,...", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Columns to leave out
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub(crate) omit: Vec<String>,
    /// Columns of separated values that become rows, one for each with its name and value; * stands for any text
    #[arg(long, value_name = "COL,...", value_delimiter = ',', conflicts_with = "columns")]
    pub(crate) unpivot: Vec<String>,
    /// The columns for the names and the values of --unpivot [default: name,value]
    #[arg(long, value_name = "NAME,VALUE", requires = "unpivot")]
    pub(crate) into: Option<String>,
    /// Read the comma in numbers such as 1,234 as a decimal comma, and the point in numbers such as 1.234 as a
    /// separator of thousands, unless other numbers of the column decide
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// The zone of times without one, such as Europe/Berlin or +02:00 [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// How dates such as 03/04/2024 are read, if the files do not decide it
    #[arg(long, value_name = "dmy|mdy")]
    pub(crate) date_order: Option<DateOrderArg>,
    /// Add a column with each file's name, without folder and endings
    #[arg(long, value_name = "NAME")]
    pub(crate) file_column: Option<String>,
    /// Show the CREATE TABLE, the first rows, which values would be NULL or refused, and which files the table has;
    /// store nothing. The exit code is that of the import
    #[arg(long, conflicts_with_all = ["create_only", "batch_id"])]
    pub(crate) dry_run: bool,
    /// Import files even if this table already has them
    #[arg(long)]
    pub(crate) again: bool,
    /// An id for the batch: a batch that is sent twice counts once
    #[arg(long, value_name = "ID")]
    pub(crate) batch_id: Option<String>,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportEngine {
    /// In the process, with hash indexes
    Memory,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Separated values; the separator is detected
    #[value(alias = "tsv")]
    Csv,
    /// As PostgreSQL's COPY and ClickHouse write text: tabs, \N for NULL, backslash escapes, no quotes
    Text,
    /// JSON objects or arrays, one a line or in one list
    #[value(alias = "jsonl", alias = "ndjson")]
    Json,
    /// Parquet
    Parquet,
    /// Arrow IPC, as a file or a stream
    #[value(alias = "ipc", alias = "feather")]
    Arrow,
    /// InfluxDB line protocol
    #[value(alias = "influx", alias = "lp")]
    Line,
}

/// How dates with the year last are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateOrderArg {
    /// Day first: 03/04/2024 is in April
    Dmy,
    /// Month first: 03/04/2024 is in March
    Mdy,
}
