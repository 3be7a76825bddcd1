//! Reads files into a table definition and Arrow batches: separated values, JSON objects and Parquet, plain or
//! compressed; and tables of other databases, whose readers are elsewhere.
//!
//! Owned here: the format of a file ([`Format`]), the types of its columns, which of them is the time, which texts are
//! worth a dictionary, and errors that name file, line, column and value. Not owned: stores. The caller of [`import`]
//! passes a [`Sink`] and decides what to do with rows that were delivered before an error.
//!
//! The result depends on the data alone. First the beginning of every file is sampled and a plan is made. If a later
//! value does not fit the plan, all values are read, and the sink starts over.

mod arrow_reader;
mod arrow_types;
mod backslashes;
mod block;
mod build;
mod calendar_words;
mod catch_panic;
mod cell_text;
mod cells;
mod clock_text;
mod column_values;
mod comma_number;
mod content;
mod dialect;
mod distinct;
mod epoch_text;
mod facts;
mod foreign;
mod header;
mod infer;
mod json;
mod json_arrays;
mod json_outline;
mod json_records;
mod json_text;
mod key;
mod lines;
mod map_choice;
mod null;
mod null_notes;
mod number_text;
mod observe;
mod options;
mod parquet;
mod parquet_columns;
mod parquet_reader;
mod parquet_text;
mod pipeline;
mod plan;
mod plan_column;
mod planner;
mod planner_existing;
mod preamble;
mod read;
mod record;
mod record_error;
mod run;
mod selection;
mod separator;
mod separators;
mod single;
mod source;
mod table_file;
mod time_choice;
mod time_text;
mod unpivot;
mod zone;

pub use content::open_content;
pub use key::declare_key;
pub use options::{
    ColumnChoice, DateOrder, Format, Input, Options, Progress, Report, SKIPPED_SHOWN_MAX, Sink, Skipped, UnpivotChoice,
};

pub use single::SingleColumn;
pub use zone::Zone;

use atsdb_core::{Error, Result, TableDefinition};
use source::Source;

/// Reads all inputs as one table and delivers its rows to the sink.
///
/// `table_name` is the name of a new table; `existing` is the table to which rows are added. Memory stays below 256
/// MiB, whatever the size of the inputs. After an error the sink may have received any number of rows, and must discard
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
    let sources: Vec<Source> = inputs.into_iter().map(|input| Source::new(input, options)).collect::<Result<_>>()?;
    let is_separated = |source: &Source| matches!(source.format, Format::Csv | Format::Text);
    if let Some(source) = sources.iter().find(|source| options.unpivot.is_some() && !is_separated(source)) {
        return Err(Error::usage(format!("{}: columns become rows in separated values only", source.name))
            .with_hint("import the file as it is, then INSERT INTO ... SELECT from its columns, with UNION ALL"));
    }
    let is_typed = |source: &&Source| matches!(source.format, Format::Parquet | Format::Arrow | Format::Lines);
    let typed_count = sources.iter().filter(is_typed).count();
    if typed_count > 0 {
        if typed_count < sources.len() {
            return Err(Error::usage(
                "files of typed values (Parquet, Arrow, line protocol) and text cannot be imported together",
            )
            .with_hint("import the typed files first, then the others into the same table"));
        }
        return parquet::run(table_name, &sources, options, existing, sink, progress);
    }
    if let Some(report) = single::run(&sources, options, existing, sink)? {
        return Ok(report);
    }
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().clamp(1, 8));
    run::Run { name: table_name, sources, options, existing, progress, threads }.run(sink)
}
