//! An import from its files to the sink: it reads typed files, one plain column, or text files.
//!
//! Owned here: the passes over text files ([`text`]) with what they count ([`tally`]), what follows from that for the
//! plan ([`revision`]) and the user ([`notes`]), and the fast path for a plain file of one column ([`single`]). Not
//! owned: files of typed values (`typed`).

mod notes;
mod revision;
pub(crate) mod single;
mod tally;
mod text;

use crate::input::source::ImportFile;
use crate::options::report::{Progress, Report};
use crate::options::{Format, Input, Options, Sink};
use crate::typed;
use atsdb_core::{Error, Result, TableDefinition};

/// Reads all inputs as one table and delivers its rows to the sink.
///
/// `table_name` is the name of a new table; `existing` is the table to which rows are added. Memory stays below 256
/// MiB, whatever the size of the inputs, except for workbooks: their texts are held, and of those in OpenDocument and
/// of Excel up to 2003 all cells. After an error the sink may have received any number of rows, and must discard
/// them.
///
/// # Errors
///
/// `Usage` if an option is missing, which the hint names; `InvalidValue` for a value that does not fit, with file,
/// line, column and value; `NotFound` for a column that does not exist, with the most similar name; `Limit` for a
/// record of more than 64 MiB; `Unavailable` if reading fails; and the errors of the sink.
pub fn import(
    table_name: &str,
    inputs: Vec<Input>,
    options: &Options,
    existing: Option<&TableDefinition>,
    sink: &mut dyn Sink,
    progress: &dyn Fn(Progress),
) -> Result<Report> {
    if inputs.is_empty() {
        return Err(Error::usage("no file to import").with_hint("name files, or - for standard input"));
    }
    let sources: Vec<ImportFile> =
        inputs.into_iter().map(|input| ImportFile::new(input, options, progress)).collect::<Result<_>>()?;
    refuse_unused(&sources, options)?;
    let typed_count = sources.iter().filter(|source| is_typed(source)).count();
    if typed_count > 0 {
        if typed_count < sources.len() {
            return Err(Error::usage(
                "files of typed values (Parquet, Arrow, line protocol) and text cannot be imported together",
            )
            .with_hint("import the typed files first, then the others into the same table"));
        }
        return typed::run(table_name, &sources, options, existing, sink, progress);
    }
    if let Some(report) = single::run(&sources, options, existing, sink)? {
        return Ok(report);
    }
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().clamp(1, 8));
    text::TextImport { name: table_name, sources, options, existing, progress, threads }.run(sink)
}

/// The table that Parquet and Arrow files show, for a query that reads some of its columns later: few values are read
/// for it. `None` if a file has another format, or texts as times, any of which may turn out to be none.
///
/// # Errors
///
/// Those of [`import`], as far as they do not depend on the values.
pub fn typed_table(
    table_name: &str,
    inputs: Vec<Input>,
    options: &Options,
    progress: &dyn Fn(Progress),
) -> Result<Option<TableDefinition>> {
    let sources: Vec<ImportFile> =
        inputs.into_iter().map(|input| ImportFile::new(input, options, progress)).collect::<Result<_>>()?;
    let has_columns = |source: &ImportFile| matches!(source.format, Format::Parquet | Format::Arrow);
    if sources.is_empty() || !sources.iter().all(has_columns) {
        return Ok(None);
    }
    refuse_unused(&sources, options)?;
    typed::table_of(table_name, &sources, options)
}

/// Refuses options that mean nothing for any of the files, and columns that become rows if they mean nothing for one.
fn refuse_unused(sources: &[ImportFile], options: &Options) -> Result<()> {
    const SEPARATED: (&str, &[Format]) = ("separated values", &[Format::Csv, Format::Text, Format::Sheet]);
    const NAMED: (&str, &[Format]) = ("JSON and line protocol", &[Format::Json, Format::Lines]);
    let flags = [
        ("--path", options.path.is_some(), NAMED),
        ("--delimiter", options.delimiter.is_some(), SEPARATED),
        ("--skip", options.skip.is_some(), SEPARATED),
        ("--no-quotes", options.no_quotes, SEPARATED),
    ];
    for (flag, is_set, (what, formats)) in flags {
        if is_set && !sources.iter().any(|source| formats.contains(&source.format)) {
            return Err(Error::usage(format!("{flag} is for {what}, and {} is not in that format", sources[0].name))
                .with_hint(format!("leave {flag} out, or name the format of the files with --format")));
        }
    }
    let is_separated = |source: &ImportFile| matches!(source.format, Format::Csv | Format::Text | Format::Sheet);
    if let Some(source) = sources.iter().find(|source| options.unpivot.is_some() && !is_separated(source)) {
        return Err(Error::usage(format!("{}: columns become rows in separated values only", source.name))
            .with_hint("import the file as it is, then INSERT INTO ... SELECT from its columns, with UNION ALL"));
    }
    Ok(())
}

fn is_typed(source: &ImportFile) -> bool {
    matches!(source.format, Format::Parquet | Format::Arrow | Format::Lines)
}
