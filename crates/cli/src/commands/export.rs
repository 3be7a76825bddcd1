//! `atsdb export`: a table in its stored order, or one query's result, to a file or stdout.

use crate::args::ExportArgs;
use crate::args::sql_text::begins_as_sql;
use crate::console::interrupt::Watch;
use crate::console::progress::Progress;
use crate::console::quantity::{show_bytes, show_rows};
use crate::console::stderr::inform;
use crate::output::destination::{Compression, Destination};
use crate::output::{Format, format_of, write_result};
use crate::session::settings::{self, Access};
use arrow::record_batch::RecordBatch;
use atsdb::sql::{Answer, exact_name};
use atsdb::{Database, Error, ErrorKind, Result, ScanRequest};
use std::path::Path;

/// Writes the rows.
pub(super) fn run(args: &ExportArgs) -> Result<()> {
    let path = (args.output != Path::new("-")).then_some(args.output.as_path());
    let (format, compression) = format_of(path, args.format)?;
    if let Some(table) = args.table.as_deref().filter(|table| begins_as_sql(table)) {
        return Err(Error::usage(format!("this is SQL, not a table: {table}")).with_hint("write -q before a query"));
    }
    let destination = || open_output(path, compression, args.overwrite);
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    match (&args.table, &args.query) {
        (Some(table), _) => {
            let snapshot = database.engine().snapshot()?;
            let table = snapshot.table(table)?.clone();
            let definition = &table.definition;
            if definition.rollup.is_some() || definition.is_in_memory() || definition.is_unpopulated() {
                // A query is needed because stale rows of a rollup are computed now, rows in memory are not in chunks,
                // and a materialized view without rows is refused.
                let query = format!("SELECT * FROM {}", exact_name(&table));
                return export_query(&database, args, &query, format, path, destination);
            }
            // Everything is read once, so caching it is not useful.
            let request = ScanRequest { use_cache: false, ..ScanRequest::all(&table) };
            let scan = snapshot.scan(&table, &request)?;
            let schema = scan.schema();
            let _watch = Watch::new(|| ());
            let total = database.engine().stats(Some(&table))?.first().map(|stats| stats.rows);
            let mut out = destination()?;
            let batches = with_progress(scan.batches(), total, path);
            let row_count = write_result(format, &schema, batches, &mut out)?;
            out.complete()?;
            report_written(path, row_count);
            Ok(())
        }
        (None, Some(query)) => export_query(&database, args, query, format, path, destination),
        (None, None) => Err(Error::usage("export needs a table, or a query with -q")
            .with_hint("name a table of the store, which `atsdb tables` lists, or write -q 'SELECT ...'")),
    }
}

fn export_query(
    database: &Database,
    args: &ExportArgs,
    query: &str,
    format: Format,
    path: Option<&Path>,
    open: impl FnOnce() -> Result<Destination>,
) -> Result<()> {
    let session = settings::session(database, Access::Read, &args.store, &args.query_limits)?;
    let statements = session.statements(query).collect::<Result<Vec<_>>>()?;
    let [statement] = statements.as_slice() else {
        return Err(Error::usage(format!("-q takes one query, not {} statements", statements.len()))
            .with_hint("use atsdb sql for a script"));
    };
    let handle = session.interrupt_handle();
    let _watch = Watch::new(move || handle.interrupt());
    match session.execute(statement, &[]).map_err(with_sql_hint)? {
        Answer::Rows(rows) => {
            let schema = rows.schema();
            let mut out = open()?;
            let row_count = write_result(format, &schema, with_progress(rows, None, path), &mut out)?;
            out.complete()?;
            report_written(path, row_count);
            Ok(())
        }
        Answer::Done { verb, .. } => Err(Error::usage(format!("-q takes a query, and {verb} returns no rows"))),
    }
}

/// A statement that changes something is for another command.
fn with_sql_hint(error: Error) -> Error {
    match error.kind() {
        ErrorKind::ReadOnly => {
            error.with_hint("atsdb export only reads; atsdb sql runs statements that change something")
        }
        _ => error,
    }
}

/// The batches; where they go into a file, a terminal shows how many rows have passed.
fn with_progress(
    batches: impl Iterator<Item = Result<RecordBatch>>,
    total: Option<u64>,
    path: Option<&Path>,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let progress = path.map(|_| Progress::new());
    let mut row_count = 0;
    batches.inspect(move |batch| {
        if let (Some(progress), Ok(batch)) = (&progress, batch) {
            row_count += batch.num_rows() as u64;
            progress.update_rows(row_count, total);
        }
    })
}

/// Reports the number of rows written to a file.
pub(super) fn report_written(path: Option<&Path>, row_count: u64) {
    let Some(path) = path else { return };
    let bytes = path.metadata().map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 });
    inform!("{} written to {}, {}", show_rows(row_count), path.display(), show_bytes(bytes));
}

/// Opens the file of `-o`, or stdout. A file that exists is replaced only if an option says so.
pub(super) fn open_output(path: Option<&Path>, compression: Compression, may_replace: bool) -> Result<Destination> {
    match path {
        Some(path) if may_replace => Destination::file(path, compression),
        Some(path) => Destination::new_file(path, compression).map_err(|error| match error.kind() {
            ErrorKind::Sql => Error::usage(error.message()).with_hint("name another file, or pass --overwrite"),
            _ => error,
        }),
        None => Ok(Destination::stdout()),
    }
}
