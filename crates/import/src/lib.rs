//! Files become a table definition and Arrow batches: separated values, JSON objects and Parquet, plain or compressed.
//!
//! Owned here: what a file is written in ([`Format`]), what its columns hold, which of them is the time, which texts
//! are worth a dictionary, and the errors that name file, line, column and value. Not owned: stores; whoever calls
//! [`import`] gives a [`Sink`] and decides what to do with rows that were handed on before an error.
//!
//! What comes out follows from the data alone. The beginning of every file is looked at first, and a plan made of
//! it; when a later value does not fit the plan, all values are looked at, and the sink begins again.

mod block;
mod build;
mod caught;
mod cell_text;
mod cells;
mod dialect;
mod distinct;
mod facts;
mod foreign;
mod gathered;
mod infer;
mod json;
mod json_text;
mod key;
mod map_choice;
mod null;
mod null_notes;
mod number_text;
mod observe;
mod options;
mod parquet;
mod parquet_reader;
mod pipeline;
mod place;
mod plan;
mod plan_column;
mod planner;
mod read;
mod record;
mod run;
mod single;
mod source;
mod time_choice;
mod time_text;

pub use key::declare_key;
pub use options::{DateOrder, Format, Input, Options, Progress, Report, SKIPPED_SHOWN_MAX, Sink, Skipped};

pub use single::SingleColumn;

use atsdb_core::{Error, Result, TableDefinition};
use source::Source;

/// Reads all inputs as one table and hands its rows to the sink.
///
/// `table_name` names the table that is created; `existing` is the one that rows are added to. Memory stays below
/// 256 MiB whatever the size of the inputs. On an error the sink has been given some rows, none, or all: nothing of
/// them may stay.
///
/// # Errors
///
/// `Usage` where the caller must say more, and the hint is the option to pass; `InvalidValue` for a value that does
/// not fit, with file, line, column and value; `NotFound` for a column that is not there, with the nearest name;
/// `Limit` for a record of more than 64 MiB; `Unavailable` where reading fails; and whatever the sink returns.
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
    let sources: Vec<Source> =
        inputs.into_iter().map(|input| Source::new(input, options.format)).collect::<Result<_>>()?;
    let parquet_count = sources.iter().filter(|source| source.format == Format::Parquet).count();
    if parquet_count > 0 {
        if parquet_count < sources.len() {
            return Err(Error::usage("Parquet and text files cannot be imported together")
                .with_hint("import the Parquet files first, then the others into the same table"));
        }
        return parquet::run(table_name, &sources, options, existing, sink, progress);
    }
    if let Some(report) = single::run(&sources, options, existing, sink)? {
        return Ok(report);
    }
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get().clamp(1, 8));
    run::Run { name: table_name, sources, options, existing, progress, threads }.run(sink)
}
