//! `atsdb import`: loads files into one table, as one batch.
//!
//! The importer reads the files and declares a table that fits them. The code here stores its rows as a batch of the
//! engine, and reports the result.

mod declared;
mod dry_run;
mod options;
mod remarks;
mod repeated;
mod sink;

use super::schema::statement;
use crate::args::ImportArgs;
use crate::console::clock;
use crate::console::progress::Progress;
use crate::console::quantity::{show_bytes, show_count, show_duration, show_rows};
use crate::output::destination::Destination;
use crate::session::paths;
use crate::session::settings::{self, Access};
use atsdb::{CommitOutcome, Database, Engine, Error, ErrorKind, Result, Table};
use atsdb_import::Report;
use declared::DeclaredTable;
use remarks::show_remarks;
use sink::{BatchName, BatchSink, DiscardRows};
use std::time::Duration;

/// Imports the files, and reports the result.
pub(super) fn run(args: &ImportArgs) -> Result<()> {
    let options = options::options(args)?;
    let declared = DeclaredTable::of(args)?;
    let files = paths::files(&args.files)?;
    let inputs = options::inputs(&files)?;
    if args.dry_run {
        let database = existing_store(args)?;
        let existing = database.as_ref().map(|database| existing_table(database.engine(), &args.table)).transpose()?;
        return dry_run::run(&args.table, existing.flatten().as_ref(), inputs, &options, &declared);
    }
    let batch_name = match options::batch_id(args)? {
        Some(id) => BatchName::Given(id),
        None if args.again => BatchName::None,
        None => repeated::hash(&files)?.map_or(BatchName::None, BatchName::OfFiles),
    };
    let durability = settings::durability(&args.write)?;
    let database = settings::open(&args.url, Access::Create, &args.store, Some(&args.write))?;
    let engine = database.engine();
    let existing = existing_table(engine, &args.table)?;
    if let Some(table) = &existing {
        let mut unused = options::unused(&options, &table.definition)?;
        unused.extend(declared.unused(&table.definition)?);
        if !unused.is_empty() {
            eprintln!("note: table {} is there and stays as it is; not used: {}", args.table, unused.join(", "));
        }
    }
    if args.create_only {
        let report = atsdb_import::import(&args.table, inputs, &options, None, &mut DiscardRows, &|_| ())?;
        return create(engine, existing, &declared, report);
    }
    let started = clock::now();
    let definition = existing.as_ref().map(|table| table.definition.clone());
    let is_of_files = matches!(batch_name, BatchName::OfFiles(_));
    let mut sink = BatchSink::new(engine, existing.clone(), &declared, batch_name);
    let progress = Progress::new();
    let show = |now: atsdb_import::Progress| progress.update(now.bytes_read, now.bytes_total, now.row_count);
    let report = atsdb_import::import(&args.table, inputs, &options, definition.as_ref(), &mut sink, &show)?;
    let (mut outcome, mut kept) = sink.commit()?;
    let mut report = report;
    if outcome == CommitOutcome::Duplicate && is_of_files && is_empty(engine, &args.table)? {
        // The rows that were imported earlier have been deleted since.
        let mut sink = BatchSink::new(engine, existing.clone(), &declared, BatchName::None);
        let inputs = options::inputs(&files)?;
        report = atsdb_import::import(&args.table, inputs, &options, definition.as_ref(), &mut sink, &show)?;
        (outcome, kept) = sink.commit()?;
    }
    let elapsed = started.elapsed();
    drop(progress);
    let table = engine.table(&args.table)?;
    let mut out = Destination::stdout();
    show_remarks(&report);
    if outcome == CommitOutcome::Duplicate {
        out.put(match is_of_files {
            true => {
                b"these files were imported into this table before; nothing is stored twice (--again imports them)\n"
            }
            false => b"this batch was imported before; nothing is stored twice\n".as_slice(),
        })?;
        return out.complete();
    }
    if existing.is_none() {
        out.put(statement(&table.definition).as_bytes())?;
    }
    let line = summary(engine, &table, &report, elapsed)?;
    let is_kept = !table.definition.is_in_memory() && !args.url.starts_with("memory:");
    let survives = if is_kept { durability.to_string() } else { "none".to_owned() };
    out.put(format!("{line}, durability {survives}\n").as_bytes())?;
    if kept > 0 {
        let stored = report.row_count.saturating_sub(kept);
        let text = format!("{} stored; {} left out, whose keys exist\n", show_rows(stored), show_rows(kept));
        out.put(text.as_bytes())?;
    }
    out.complete()
}

/// Opens the store for reading, if it exists.
fn existing_store(args: &ImportArgs) -> Result<Option<Database>> {
    match settings::open(&args.url, Access::Read, &args.store, None) {
        Ok(database) => Ok(Some(database)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_empty(engine: &Engine, name: &str) -> Result<bool> {
    let table = engine.table(name)?;
    Ok(engine.stats(Some(&table))?.first().is_none_or(|stats| stats.rows == 0))
}

fn existing_table(engine: &Engine, name: &str) -> Result<Option<Table>> {
    match engine.table(name) {
        Ok(table) if table.definition.view.is_some() => {
            Err(Error::usage(format!("{name} is a view: no rows go into it")).with_hint("import into another table"))
        }
        Ok(table) => Ok(Some(table)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn create(engine: &Engine, existing: Option<Table>, declared: &DeclaredTable, report: Report) -> Result<()> {
    show_remarks(&report);
    let mut out = Destination::stdout();
    if existing.is_none() {
        let table = engine.create_table(&declared.apply(&report.definition)?)?;
        out.put(statement(&table.definition).as_bytes())?;
    } else {
        eprintln!("table {} already exists; nothing is changed", report.definition.name);
    }
    out.complete()
}

/// `26,115 rows in 0.123 s, 212,000 rows/s, 5.61 bytes a row`.
fn summary(engine: &Engine, table: &Table, report: &Report, elapsed: Duration) -> Result<String> {
    let rate = report.row_count as f64 / elapsed.as_secs_f64().max(1e-9);
    let stats = engine.stats(Some(table))?;
    let bytes_per_row = stats.first().map_or(0.0, |stats| stats.bytes_per_row);
    Ok(format!(
        "{} in {}, {} rows/s, {} read, {bytes_per_row:.2} bytes a row",
        show_rows(report.row_count),
        show_duration(elapsed),
        show_count(rate as u64),
        show_bytes(report.bytes_read),
    ))
}
