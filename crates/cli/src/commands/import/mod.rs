//! `atsdb import`: loads files into one table, as one batch.
//!
//! The importer reads the files and declares a table that fits them. The code here stores its rows as a batch of the
//! engine, and reports the result.

mod declared;
mod dry_run;
mod options;
mod remarks;
mod repeated;
mod server_table;
mod sink;
mod sqlite_table;

use super::schema::statement;
use crate::args::{ImportArgs, ImportFormat};
use crate::console::clock;
use crate::console::interrupt::{self, Watch};
use crate::console::progress::Progress;
use crate::console::quantity::{show_bytes, show_count, show_duration, show_many, show_rows};
use crate::console::stderr::inform;
use crate::output::destination::Destination;
use crate::session::paths;
use crate::session::settings::{self, Access};
use crate::session::source_file::SourceFile;
use atsdb::{CommitOutcome, Database, Engine, Error, ErrorKind, NewStore, Result, Table};
use atsdb_import::{Options, Report};
use atsdb_temporary::TemporarySpace;
use declared::DeclaredTable;
use remarks::show_remarks;
use sink::{BatchName, BatchSink, DiscardRows, KeyConflicts};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The minimum number of rows for which the size of a table says something about its rows.
const ROWS_MEASURED_MIN: u64 = 1_000;

/// The maximum number of names of files in a note.
const NAMES_SHOWN: usize = 5;

/// Opens the store, imports, and reports. Ctrl-C is watched from before there is a store, so that none is left.
pub(super) fn run(args: &ImportArgs) -> Result<()> {
    let space = Arc::new(TemporarySpace::in_default_folder(settings::temp_bytes(&args.store)?));
    if args.dry_run {
        let (database, compares_files) = existing_store(args)?;
        let shown = try_out(database.as_ref(), compares_files, args, &space);
        return shown.map_err(|error| paths::with_pattern(error, &args.files));
    }
    // Watched until the process ends: a stored import ends with 0, also if Ctrl-C comes after the store was closed.
    let _watch = ManuallyDrop::new(Watch::new(|| ()));
    let _new_store = NewStore::at(&args.url);
    let database = settings::open(&args.url, Access::Create, &args.store, Some(&args.write))?;
    import_into(&database, args, &space)
}

/// Refuses a new table with the name of a file: the table was forgotten, as in `atsdb import air.db *.csv`, which would
/// leave out the first file.
fn refuse_file_as_table(name: &str, existing: Option<&Table>) -> Result<()> {
    let path = Path::new(name);
    if existing.is_some() || path.extension().is_none() || !path.is_file() {
        return Ok(());
    }
    Err(Error::usage(format!("{name} is a file, but this argument names the table")).with_hint(
        "the table comes before the files: atsdb import URL TABLE FILE...; in the shell after them: .import FILE TABLE",
    ))
}

/// Shows what an import would do. `compares_files` is whether the store knows which files it has imported.
fn try_out(
    database: Option<&Database>,
    compares_files: bool,
    args: &ImportArgs,
    space: &Arc<TemporarySpace>,
) -> Result<()> {
    let (options, declared) = (options::options(args, space)?, DeclaredTable::of(args)?);
    let engine = database.map(Database::engine);
    let existing = engine.map(|engine| existing_table(engine, &args.table)).transpose()?.flatten();
    refuse_file_as_table(&args.table, existing.as_ref())?;
    let mut files = source_files(args, &options)?;
    if let Some(table) = &existing {
        note_unused(table, &options, &declared)?;
    }
    if compares_files && !args.again {
        (files, _) = unseen(files, args, engine.zip(existing.as_ref()))?;
    }
    if files.is_empty() {
        let mut out = Destination::stdout();
        out.put(b"these files were imported into this table before; nothing would be stored (--again imports them)\n")?;
        return out.complete();
    }
    let inputs = options::inputs(&files, &options)?;
    let not_compared = if compares_files { "keys" } else { "keys and files imported before" };
    dry_run::run(&args.table, existing.as_ref(), inputs, &options, &declared, not_compared)
}

/// Imports into an open store, and reports. Temporary files count against `space`.
pub(crate) fn import_into(database: &Database, args: &ImportArgs, space: &Arc<TemporarySpace>) -> Result<()> {
    let _watch = Watch::new(|| ());
    let imported = import_watched(database, args, space).map_err(|error| paths::with_pattern(error, &args.files));
    if imported.is_err() {
        interrupt::check()?;
    }
    imported
}

fn import_watched(database: &Database, args: &ImportArgs, space: &Arc<TemporarySpace>) -> Result<()> {
    if args.dry_run {
        return try_out(Some(database), true, args, space);
    }
    let options = options::options(args, space)?;
    let declared = DeclaredTable::of(args)?;
    let given_name = options::batch_id(args)?;
    let engine = database.engine();
    let existing = existing_table(engine, &args.table)?;
    refuse_file_as_table(&args.table, existing.as_ref())?;
    let files = source_files(args, &options)?;
    if let Some(table) = &existing {
        note_unused(table, &options, &declared)?;
    }
    if args.create_only {
        let inputs = options::inputs(&files, &options)?;
        let report = atsdb_import::import(&args.table, inputs, &options, None, &mut DiscardRows, &|_| ())?;
        return create(engine, existing, &declared, report);
    }
    let (files, batch_name) = match given_name {
        Some(id) => (files, BatchName::Given(id)),
        None if args.again => (files, BatchName::None),
        None => unseen(files, args, existing.as_ref().map(|table| (engine, table)))?,
    };
    if files.is_empty() {
        let mut out = Destination::stdout();
        out.put(b"these files were imported into this table before; nothing is stored twice (--again imports them)\n")?;
        return out.complete();
    }
    let inputs = options::inputs(&files, &options)?;
    let started = clock::now();
    let definition = existing.as_ref().map(|table| table.definition.clone());
    let mut sink = BatchSink::new(engine, existing.clone(), &declared, batch_name);
    let progress = Progress::new();
    let show = |now| progress.update_import(now);
    let report = atsdb_import::import(&args.table, inputs, &options, definition.as_ref(), &mut sink, &show)?;
    report.check_types()?;
    let (outcome, conflicts) = sink.commit()?;
    let elapsed = started.elapsed();
    drop(progress);
    let table = engine.table(&args.table)?;
    let mut out = Destination::stdout();
    show_remarks(&report);
    if outcome == CommitOutcome::Duplicate {
        out.put(b"this batch was imported before; nothing is stored twice\n")?;
        return out.complete();
    }
    if existing.is_none() {
        out.put(statement(&table.definition).as_bytes())?;
    }
    let line = summary(engine, &table, &report, elapsed)?;
    // Rows of a table in memory are saved by the commit, too.
    let is_kept = engine.store().url() != "memory:";
    let survives = if is_kept { engine.store().durability().to_string() } else { "none".to_owned() };
    out.put(format!("{line}, durability {survives}\n").as_bytes())?;
    show_conflicts(&mut out, report.row_count, &conflicts)?;
    out.complete()
}

/// Says how many of the rows had keys that exist.
fn show_conflicts(out: &mut Destination, row_count: u64, conflicts: &KeyConflicts) -> Result<()> {
    let KeyConflicts { skipped_rows, replaced_rows } = *conflicts;
    let stored = show_rows(row_count.saturating_sub(skipped_rows));
    if skipped_rows > 0 {
        out.put(format!("{stored} stored; {} left out, whose keys exist\n", show_rows(skipped_rows)).as_bytes())?;
    }
    if replaced_rows > 0 {
        out.put(format!("{stored} stored; {} replaced, which had their keys\n", show_rows(replaced_rows)).as_bytes())?;
    }
    Ok(())
}

/// Notes the flags that the existing table does not follow.
fn note_unused(table: &Table, options: &Options, declared: &DeclaredTable) -> Result<()> {
    let mut unused = options::unused(options, &table.definition)?;
    unused.extend(declared.unused(&table.definition)?);
    if !unused.is_empty() {
        let name = &table.definition.name;
        inform!("note: table {name} exists and stays as it is; ignored: {}", unused.join(", "));
    }
    Ok(())
}

/// The files, those from elsewhere fetched.
fn source_files(args: &ImportArgs, options: &Options) -> Result<Vec<SourceFile>> {
    let in_pieces = args.format.is_none_or(|format| format == ImportFormat::Parquet);
    paths::files(&args.files, in_pieces, &options.temporary_space)
}

/// Returns the files that are not in the table yet, and their batch id. Skipped files are noted. A table whose rows
/// were all deleted gets every file.
fn unseen(
    files: Vec<SourceFile>,
    args: &ImportArgs,
    table: Option<(&Engine, &Table)>,
) -> Result<(Vec<SourceFile>, BatchName)> {
    let (with_names, sheet) = (args.file_column.is_some(), args.sheet.as_deref());
    let Some(mut found) = repeated::compare(&files, with_names, sheet, table)? else {
        return Ok((files, BatchName::None));
    };
    let mut batch_name = BatchName::OfFiles(std::mem::take(&mut found.hashes));
    if let Some((engine, table)) = table
        && !found.known.is_empty()
        && is_empty(engine, table)?
    {
        found = repeated::compare(&files, with_names, sheet, None)?.unwrap_or_default();
        batch_name = BatchName::None;
    }
    for (copy, first) in &found.repeated {
        inform!("note: {} has the content of {}, and is stored once", copy.shown(), first.shown());
    }
    if !found.known.is_empty() && !found.new.is_empty() {
        let names: Vec<String> = found.known.iter().take(NAMES_SHOWN).map(SourceFile::shown).collect();
        let more = if found.known.len() > NAMES_SHOWN { ", ..." } else { "" };
        let (count, names) = (show_many(found.known.len() as u64, "file"), names.join(", "));
        inform!("note: left out {count} that this table got before (--again imports them): {names}{more}");
    }
    Ok((found.new, batch_name))
}

/// Opens the store, if it exists, and returns whether it can tell which files it got: only a store that may be written
/// can. A store that does not exist must be one that the import could create.
fn existing_store(args: &ImportArgs) -> Result<(Option<Database>, bool)> {
    let open = |access| match settings::open(&args.url, access, &args.store, None) {
        Err(error) if error.kind() == ErrorKind::NotFound => settings::check_new_store(&args.url).map(|()| None),
        opened => opened.map(Some),
    };
    match open(Access::Change) {
        Err(error) if error.kind() == ErrorKind::ReadOnly => Ok((open(Access::Read)?, false)),
        opened => Ok((opened?, true)),
    }
}

fn is_empty(engine: &Engine, table: &Table) -> Result<bool> {
    Ok(engine.stats(Some(table))?.first().is_none_or(|stats| stats.rows == 0))
}

fn existing_table(engine: &Engine, name: &str) -> Result<Option<Table>> {
    let table = match engine.table(name) {
        Ok(table) => table,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let definition = &table.definition;
    let what = match &definition.rollup {
        Some(rollup) => format!("a rollup, whose rows are computed from {}", rollup.table),
        None if definition.view.is_some() => "a view".to_owned(),
        None if definition.materialized.is_some() => "a materialized view".to_owned(),
        None if definition.sequence => "a sequence".to_owned(),
        None => return Ok(Some(table)),
    };
    Err(Error::usage(format!("{name} is {what}: rows cannot be imported into it"))
        .with_hint("import into another table"))
}

fn create(engine: &Engine, existing: Option<Table>, declared: &DeclaredTable, report: Report) -> Result<()> {
    show_remarks(&report);
    let mut out = Destination::stdout();
    if existing.is_none() {
        let table = engine.create_table(&engine.placed(&declared.apply(&report.definition)?)?)?;
        out.put(statement(&table.definition).as_bytes())?;
    } else {
        inform!("table {} already exists; nothing is changed", report.definition.name);
    }
    out.complete()
}

/// `26,115 rows in 0.123 s, 212,000 rows/s, 398 kB read, 13.80 bytes a row`. A table of few rows has no size of a row:
/// most of it is the definition and the pages that every table has.
fn summary(engine: &Engine, table: &Table, report: &Report, elapsed: Duration) -> Result<String> {
    let rate = report.row_count as f64 / elapsed.as_secs_f64().max(1e-9);
    let stats = engine.stats(Some(table))?;
    let measured = stats.first().filter(|stats| stats.rows >= ROWS_MEASURED_MIN);
    let size = measured.map_or(String::new(), |stats| format!(", {:.2} bytes a row", stats.bytes_per_row));
    Ok(format!(
        "{} in {}, {} rows/s, {} read{size}",
        show_rows(report.row_count),
        show_duration(elapsed),
        show_count(rate as u64),
        show_bytes(report.bytes_read),
    ))
}
