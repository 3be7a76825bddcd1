//! `atsdb export`: a table in its stored order, or one query's result, to a file or stdout.

use crate::args::ExportArgs;
use crate::interrupt::Watch;
use crate::output::destination::{Compression, Destination};
use crate::output::{Format, write_result};
use crate::settings::{self, Access};
use atsdb::sql::{Answer, quoted};
use atsdb::{Database, ScanRequest};
use atsdb_core::{Error, Result};
use std::path::Path;

/// Writes it.
pub(super) fn run(args: &ExportArgs) -> Result<()> {
    let path = (args.output != Path::new("-")).then_some(args.output.as_path());
    let (format, compression) = format_of(path, args.format)?;
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    match (&args.table, &args.query) {
        (Some(table), _) => {
            let snapshot = database.engine().snapshot()?;
            let table = snapshot.table(table)?.clone();
            if table.definition.rollup.is_some() || table.definition.is_in_memory() {
                // Part of a rollup's rows may be computed only now; rows in memory are no chunks.
                let query = format!("SELECT * FROM {}", quoted(&table.definition.name));
                return export_query(&database, args, &query, format, || destination(path, compression));
            }
            // One reading of everything: what it passes is not worth keeping.
            let request = ScanRequest { use_cache: false, ..ScanRequest::all(&table) };
            let scan = snapshot.scan(&table, &request)?;
            let schema = scan.schema();
            let _watch = Watch::new(|| ());
            let mut out = destination(path, compression)?;
            write_result(format, &schema, scan.batches(), &mut out)?;
            out.complete()
        }
        (None, Some(query)) => export_query(&database, args, query, format, || destination(path, compression)),
        (None, None) => Err(Error::usage("export needs a table, or a query with -q")),
    }
}

fn export_query(
    database: &Database,
    args: &ExportArgs,
    query: &str,
    format: Format,
    open: impl FnOnce() -> Result<Destination>,
) -> Result<()> {
    let session = settings::session(database, Access::Read, &args.store, &args.query_limits)?;
    let statements = session.statements(query).collect::<Result<Vec<_>>>()?;
    let [statement] = statements.as_slice() else {
        return Err(Error::usage(format!("-q takes one query, and this is {} statements", statements.len()))
            .with_hint("use atsdb sql for a script"));
    };
    let handle = session.interrupt_handle();
    let _watch = Watch::new(move || handle.interrupt());
    match session.execute(statement, &[])? {
        Answer::Rows(rows) => {
            let schema = rows.schema();
            let mut out = open()?;
            write_result(format, &schema, rows, &mut out)?;
            out.complete()
        }
        Answer::Done { verb, .. } => Err(Error::usage(format!("-q takes a query, and {verb} has no rows"))),
    }
}

/// How a file is written, by what was asked, else by its ending.
pub(crate) fn format_of(path: Option<&Path>, asked: Option<Format>) -> Result<(Format, Compression)> {
    let by_ending = path.and_then(Format::of_path);
    let (format, compression) = match (asked, by_ending, path) {
        (Some(format), by_ending, _) => (format, by_ending.map_or(Compression::None, |(_, compression)| compression)),
        (None, Some(both), _) => both,
        (None, None, None) => (Format::Csv, Compression::None),
        (None, None, Some(path)) => {
            return Err(Error::usage(format!("cannot tell the format of {} by its ending", path.display()))
                .with_hint("end it with .csv, .tsv, .json, .jsonl, .md, .parquet or .arrow, or pass --format"));
        }
    };
    if compression != Compression::None && !format.is_text() {
        return Err(Error::usage(format!("{} is compressed inside, and not with .gz or .zst", format.name()))
            .with_hint(format!("end the file with .{}", format.name())));
    }
    Ok((format, compression))
}

fn destination(path: Option<&Path>, compression: Compression) -> Result<Destination> {
    match path {
        Some(path) => Destination::file(path, compression),
        None => Ok(Destination::stdout()),
    }
}
