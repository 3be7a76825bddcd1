//! `atsdb copy`: copies a store to another one.

use crate::args::{CopyArgs, StoreArgs, TargetArgs, WriteArgs};
use crate::console::progress::Progress;
use crate::console::quantity::{show_bytes, show_count, show_many, show_rows};
use crate::console::stderr::inform;
use crate::console::{clock, interrupt};
use crate::session::settings::{self, Access};
use atsdb::{
    BackupOptions, BackupSelector, CopyOptions, CopyReport, Database, Error, ErrorKind, NewStore, OpenOptions, Result,
    Selection,
};
use parking_lot::Mutex;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(args: &CopyArgs) -> Result<()> {
    let started = clock::now();
    let source = settings::open(&args.source, Access::Read, &args.store, None)?;
    let selection = Selection { tables: args.tables.clone(), from: args.from, to: args.to };
    let copy =
        |target: &Database, options: CopyOptions| source.copy_into(target, &CopyOptions { selection, ..options });
    let report = into_target(&args.target, &args.store, &args.write, &args.into, copy)
        .map_err(|error| with_backup_hint(error, &args.target))?;
    inform!("{} in {:.1} s", in_words(&report), started.elapsed().as_secs_f64());
    Ok(())
}

/// Names the command that writes into a directory of backups, if the target is a directory and no store.
fn with_backup_hint(error: Error, target: &str) -> Error {
    if error.kind() != ErrorKind::NotAStore || !Path::new(target).is_dir() {
        return error;
    }
    let store = error.hint().map_or_else(String::new, |hint| format!("; for a store, {hint}"));
    error.with_hint(format!("atsdb backup STORE {target} writes a backup there{store}"))
}

/// Opens the target, without background maintenance, and copies into it. A store that is new is removed again if the
/// copy asks for what does not exist; after any other error it stays, so that the next copy resumes.
pub(crate) fn into_target<T>(
    url: &str,
    store: &StoreArgs,
    write: &WriteArgs,
    into: &TargetArgs,
    copy: impl FnOnce(&Database, CopyOptions) -> Result<T>,
) -> Result<T> {
    let new_store = ManuallyDrop::new(NewStore::at(url));
    let copied = settings::open(url, Access::CreateQuietly, store, Some(write))
        .and_then(|target| watched(|options| copy(&target, options), options_of(into)));
    if copied.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Usage)) {
        drop(ManuallyDrop::into_inner(new_store));
    }
    copied
}

/// The options of a copy that the flags of its target ask for.
pub(crate) fn options_of(into: &TargetArgs) -> CopyOptions {
    CopyOptions {
        overwrite: into.overwrite,
        allow_non_empty: into.allow_non_empty,
        verify: !into.no_verify,
        ..CopyOptions::default()
    }
}

/// Runs a copy with a progress line, and stops it at Ctrl-C.
pub(crate) fn watched<T>(run: impl FnOnce(CopyOptions) -> Result<T>, options: CopyOptions) -> Result<T> {
    let progress = Mutex::new(Progress::new());
    let watch = interrupt::Watch::new(|| {});
    let options = CopyOptions {
        on_progress: Some(Arc::new(move |now| {
            interrupt::check()?;
            let progress = progress.lock();
            progress.update(now.bytes, now.bytes_total, now.rows);
            Ok(())
        })),
        ..options
    };
    let done = run(options);
    drop(watch);
    done
}

/// The flags of a target that a directory or bucket of backups does not have.
pub(super) fn refuse_flags_of_stores(into: &TargetArgs) -> Result<()> {
    if !into.overwrite && !into.allow_non_empty {
        return Ok(());
    }
    Err(Error::usage("--overwrite and --allow-non-empty are for a target that is a store")
        .with_hint("a directory or bucket may hold any number of backups"))
}

/// `.save`: copies the open store to another one, or to a directory or bucket of backups. Returns a line that describes
/// the result.
pub(crate) fn save(database: &Database, url: &str, into: &TargetArgs) -> Result<String> {
    if atsdb::is_archive(url) {
        refuse_flags_of_stores(into)?;
        let back_up = |options: CopyOptions| {
            let CopyOptions { verify, on_progress, .. } = options;
            database.backup(url, &BackupOptions { verify, on_progress, ..BackupOptions::default() })
        };
        let report = watched(back_up, options_of(into))?;
        return Ok(format!(
            "backup {}: {} in {}",
            report.id,
            show_rows(report.rows),
            show_many(report.tables, "table")
        ));
    }
    watched(|options| database.copy_to(url, &options), options_of(into)).map(|report| in_words(&report))
}

/// `.load`: copies another store, or the newest backup, into the open one.
pub(crate) fn load(database: &Database, url: &str, into: &TargetArgs) -> Result<String> {
    let beside_others = CopyOptions { allow_non_empty: true, ..options_of(into) };
    if atsdb::is_archive(url) {
        let restore = |options: CopyOptions| database.restore(url, &BackupSelector::Latest, &options);
        return watched(restore, beside_others).map(|(_, report)| in_words(&report));
    }
    let source = OpenOptions::new().create(false).read_only(true).open(url)?;
    watched(|options| source.copy_into(database, &options), beside_others).map(|report| in_words(&report))
}

/// A line that describes the result.
pub(crate) fn in_words(report: &CopyReport) -> String {
    let mut text = format!(
        "{}: {} moved ({}, {})",
        show_many(report.tables, "table"),
        show_many(report.chunks, "chunk"),
        show_rows(report.rows),
        show_bytes(report.bytes)
    );
    let mut add = |count: u64, what: &str| {
        if count > 0 {
            text.push_str(&format!(", {} {what}", show_count(count)));
        }
    };
    add(report.chunks_kept - report.chunks_resumed, "already there");
    add(report.chunks_resumed, "left by an interrupted copy");
    add(report.chunks_removed, "removed");
    if report.tables_dropped > 0 {
        text.push_str(&format!(", {} dropped", show_many(report.tables_dropped, "table")));
    }
    text
}
