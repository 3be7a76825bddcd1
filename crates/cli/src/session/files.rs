//! Files that SQL statements name. They are read by the importer and written like exports, with the rights of the user.

use crate::console::failure::note;
use crate::console::progress::{self, Progress};
use crate::console::quantity::show_many;
use crate::output::destination::{Compression, Destination};
use crate::output::{self, format_of, write_result};
use crate::session::file_options::file_options;
use crate::session::file_rows::{CollectedRows, typed_files};
use crate::session::paths;
use crate::session::source_file::SourceFile;
use arrow::record_batch::RecordBatch;
use atsdb::name::same_name;
use atsdb::sql::{
    AnswerRows, CopyLayout, FileLayout, FileReader, FileRequest, FileTable, FileTableRequest, FileWriter, WriteTarget,
    quoted,
};
use atsdb::{Error, ErrorKind, Result, TableDefinition};
use atsdb_import::{Format, Input, Options, Report, Sink, cannot_open, open_content};
use atsdb_server::{read_copied, write_copied};
use atsdb_temporary::TemporarySpace;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens every file that the operating system permits.
#[derive(Debug)]
pub(crate) struct HostFiles {
    /// Whether statements may also write files.
    pub(crate) may_write: bool,
    /// The space of temporary files, which queries share.
    pub(crate) space: Arc<TemporarySpace>,
    /// The notes that were shown. A statement may read a file twice, and a session may repeat a statement.
    pub(crate) noted: Mutex<HashSet<String>>,
}

impl HostFiles {
    /// Shows what the importer notes about files, each note once, and how many records it left out.
    fn show_notes(&self, files: &[SourceFile], report: &Report) {
        let name = match files {
            [] => return,
            [file] => file.shown(),
            [first, rest @ ..] => format!("{} and {}", first.shown(), show_many(rest.len() as u64, "other file")),
        };
        let left_out = report.skipped.first().map(|first| {
            let first = first.refusal();
            format!("left out {}, the first is {}", show_many(report.skipped_count, "bad record"), first.message())
        });
        for text in report.notes.iter().chain(&left_out) {
            let text = format!("{name}: {text}");
            if self.noted.lock().insert(text.clone()) {
                progress::clear();
                note(&text);
            }
        }
    }
}

impl FileReader for HostFiles {
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let definition = request.definition;
        let temporary_space = Arc::clone(&self.space);
        let plain = Options { for_query: true, begin_once: true, temporary_space, ..Options::default() };
        let options = match &request.layout {
            FileLayout::Copy(CopyLayout::Detected) => plain,
            FileLayout::Copy(CopyLayout::Named(name)) => Options { format: Some(Format::parse(name)?), ..plain },
            FileLayout::Separated { delimiter, has_header } => Options {
                format: Some(Format::Csv),
                delimiter: Some(*delimiter),
                header: Some(*has_header),
                names: Some(definition.columns.iter().map(|column| column.name.clone()).collect()),
                ..plain
            },
            FileLayout::Copy(CopyLayout::PostgreSql(options)) => {
                for file in sources(request.path, false, &self.space)? {
                    let shown = file.shown();
                    let opened = file.opened().map_err(|error| cannot_open(Path::new(&shown), error))?;
                    let opened =
                        opened.ok_or_else(|| Error::internal(format!("{shown} was not fetched as a whole")))?;
                    let content = open_content(&opened).map_err(|error| cannot_open(Path::new(&shown), error))?;
                    read_copied(&shown, content, definition, options, rows).map_err(with_header_hint)?;
                }
                return Ok(());
            }
        };
        let files = sources(request.path, true, &self.space)?;
        let inputs = inputs(&files)?;
        let mut sink = BatchesToCaller { wanted: definition, rows, begun: false };
        let progress = Progress::new();
        let show = |now| progress.update_import(now);
        let report = atsdb_import::import(&definition.name, inputs, &options, Some(definition), &mut sink, &show)
            .map_err(without_flags)?;
        drop(progress);
        self.show_notes(&files, &report);
        Ok(())
    }

    fn table(&self, request: &FileTableRequest) -> Result<FileTable> {
        request.paths.iter().try_for_each(|path| paths::refuse_table_url(path))?;
        let options = Options { temporary_space: Arc::clone(&self.space), ..file_options(request)? };
        let in_pieces = request.format.is_none_or(|format| format == "parquet");
        let named: Vec<PathBuf> = request.paths.iter().map(PathBuf::from).collect();
        let files = paths::files(&named, in_pieces, &self.space)?;
        if let Some(table) = typed_files(&files, &options).map_err(without_flags)? {
            return Ok(table);
        }
        let mut sink = CollectedRows::new(request.bytes_max, &self.space);
        let progress = Progress::new();
        let show = |now| progress.update_import(now);
        let mut import =
            |options: &Options| atsdb_import::import("file", inputs(&files)?, options, None, &mut sink, &show);
        let report = import(&options).or_else(|error| match error.kind() {
            // A table must have one time column without NULL. A query does not need one.
            ErrorKind::Usage | ErrorKind::InvalidValue if options.time.is_empty() => {
                import(&Options { time: vec!["none".to_owned()], ..options.clone() })
            }
            _ => Err(error),
        });
        let report = report.map_err(|error| paths::with_pattern(without_flags(error), &named))?;
        drop(progress);
        self.show_notes(&files, &report);
        let (schema, rows) = sink.finish(&report.definition)?;
        Ok(FileTable { schema, rows })
    }
}

/// The files that a path, a pattern or a URL in a COPY means. A file that is here may have any name, also that of a
/// pattern.
fn sources(path: &str, in_pieces: bool, space: &Arc<TemporarySpace>) -> Result<Vec<SourceFile>> {
    paths::refuse_table_url(path)?;
    paths::files(&[PathBuf::from(path)], in_pieces, space)
}

fn inputs(files: &[SourceFile]) -> Result<Vec<Input>> {
    files.iter().map(SourceFile::input).collect()
}

impl FileWriter for HostFiles {
    fn write(&self, target: WriteTarget<'_>, layout: &CopyLayout, rows: AnswerRows) -> Result<u64> {
        let path = match target {
            WriteTarget::Stdout => None,
            WriteTarget::File { path, .. } => Some(Path::new(path)),
        };
        if path.is_some() && !self.may_write {
            return Err(Error::new(
                ErrorKind::Sql,
                "COPY ... TO writes a file, and nothing is written with --read-only",
            )
            .with_hint("use `atsdb export`, or leave --read-only out"));
        }
        let open = |compression| match target {
            WriteTarget::Stdout => Ok(Destination::stdout()),
            WriteTarget::File { path, may_replace: true } => Destination::file(Path::new(path), compression),
            WriteTarget::File { path, may_replace: false } => Destination::new_file(Path::new(path), compression),
        };
        let requested = match layout {
            CopyLayout::Named(name) => Some(output::Format::parse(name)?),
            CopyLayout::Detected | CopyLayout::PostgreSql(_) => None,
        };
        let (row_count, out) = match layout {
            CopyLayout::PostgreSql(options) => {
                let mut out = open(path.map_or(Compression::None, Compression::of_path))?;
                let name = out.name().to_owned();
                (write_copied(&name, rows, options, &mut out)?, out)
            }
            CopyLayout::Detected | CopyLayout::Named(_) => {
                let is_known = requested.is_some() || path.is_some_and(|path| output::Format::of_path(path).is_some());
                let (format, compression) = format_of(path, requested).map_err(|error| {
                    let hint = error.hint().filter(|_| is_known);
                    let hint = hint.unwrap_or("end it with .csv, .tsv, .json, .jsonl or .parquet");
                    Error::new(ErrorKind::Sql, error.message()).with_hint(hint)
                })?;
                let schema = rows.schema();
                let mut out = open(compression)?;
                (write_result(format, &schema, rows, &mut out)?, out)
            }
        };
        out.complete()?;
        Ok(row_count)
    }
}

struct BatchesToCaller<'a> {
    /// The columns that the statement gives values, in the order of the rows.
    wanted: &'a TableDefinition,
    rows: &'a mut dyn FnMut(RecordBatch) -> Result<()>,
    begun: bool,
}

impl Sink for BatchesToCaller<'_> {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        // The importer leaves out columns that number the rows and that the file lacks; the caller counts on each.
        if let Some(column) = self.wanted.columns.iter().find(|column| definition.column_by_id(column.id).is_none()) {
            let names: Vec<String> = definition.columns.iter().map(|column| quoted(&column.name)).collect();
            let (table, names) = (quoted(&self.wanted.name), names.join(", "));
            return Err(Error::new(ErrorKind::Sql, format!("the file has no column {}", column.name))
                .with_hint(format!("name the columns that it has: COPY {table} ({names}) FROM 'FILE'")));
        }
        match std::mem::replace(&mut self.begun, true) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Internal, "the importer began twice")),
        }
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        (self.rows)(batch)
    }
}

/// Explains the error about a first line that has the name of a column where its value should be.
fn with_header_hint(error: Error) -> Error {
    let value = error.message().rsplit_once(", line 1, column ").and_then(|(_, value)| value.split_once(": \""));
    let is_name = |(column, value): (&str, &str)| value.strip_suffix("\")").is_some_and(|text| same_name(text, column));
    if value.is_some_and(is_name) {
        error.with_hint("the first line has the names of the columns: add HEADER, or leave all options out")
    } else {
        error
    }
}

/// The error of an import in the words of a query: with the options of a file, or clear that a flag in a hint is one of
/// `atsdb import`.
fn without_flags(error: Error) -> Error {
    let error = with_option(error);
    // Those of resources are flags of every command.
    let is_flag = |hint: &&str| hint.contains("--") && error.kind() != ErrorKind::Resources;
    match error.hint().filter(is_flag).map(str::to_owned) {
        Some(hint) if hint.contains("--encoding ") => {
            let named = ["pass --encoding ", "such as --encoding "].iter().find_map(|start| hint.split_once(start));
            let encoding = named.and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or("latin1");
            error.with_hint(format!("name its encoding: read_csv('FILE', encoding = '{encoding}')"))
        }
        Some(hint) if hint.starts_with("pass --date-order ") => {
            error.with_hint("name the order: read_csv('FILE', date_order = 'dmy'), or 'mdy'")
        }
        Some(hint) if hint.starts_with("correct the line, or pass --skip-bad ") => {
            error.with_hint("correct the line, or leave such lines out: read_csv('FILE', skip_bad = true)")
        }
        Some(hint) if hint.starts_with(SECOND_TABLE) => error.with_hint(second_table_hint(&hint)),
        Some(hint) if hint.starts_with("--delimiter space ") => error.with_hint(
            "read_csv('FILE', sep = 'space', skip = N) separates at blanks, below N lines; format = 'csv' reads whole \
             lines",
        ),
        Some(hint) if hint.starts_with("leave --") => error.with_hint("leave the option out"),
        Some(hint) if COLUMN_FLAGS.iter().any(|start| hint.starts_with(start)) => {
            error.with_hint(hint.replace("--", ""))
        }
        // The hint has both ways.
        Some(hint) if hint.starts_with("correct ") => error.with_hint(format!("{hint}, with `atsdb import`")),
        Some(hint) => error.with_hint(format!("correct the file, or use `atsdb import`: {hint}")),
        None => error,
    }
}

/// The beginning of a hint about a line in which another table may begin.
const SECOND_TABLE: &str = "if another table begins there, --skip ";

/// The beginnings of hints whose flags are options of a file, with the same names.
const COLUMN_FLAGS: [&str; 3] = ["name all fields with --columns", "--columns or --omit ", "--omit "];

/// The error with the option of a file in place of a flag at the beginning of its message.
fn with_option(error: Error) -> Error {
    let Some(message) = error.message().strip_prefix("--") else { return error };
    let named_otherwise = [("no-quotes", "quote"), ("delimiter", "sep")];
    let other =
        named_otherwise.iter().find_map(|(flag, option)| Some(format!("{option}{}", message.strip_prefix(*flag)?)));
    let message = other.unwrap_or_else(|| message.to_owned());
    let renamed = Error::new(error.kind(), message);
    match error.hint() {
        Some(hint) => renamed.with_hint(hint),
        None => renamed,
    }
}

fn second_table_hint(hint: &str) -> String {
    let lines: String = hint.chars().skip(SECOND_TABLE.len()).take_while(char::is_ascii_digit).collect();
    let function = if hint.contains("needs a sheet of its own") { "read_xlsx" } else { "read_csv" };
    let rest = match hint.contains("--skip-bad") {
        true => format!(", or leave such lines out: {function}('FILE', skip_bad = true)"),
        false => String::new(),
    };
    let alone = format!("{function}('FILE', skip = {lines}) reads it alone");
    format!("if another table begins there, {alone}; otherwise correct the line{rest}")
}
