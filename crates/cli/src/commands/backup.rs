//! `atsdb backup`: backs a store up to a directory, a bucket or another store, and lists backups.

use super::copy::{in_words, into_target, options_of, refuse_flags_of_stores, watched};
use super::report;
use crate::args::{BackupArgs, ReportFormat};
use crate::console::clock;
use crate::console::failure::warn;
use crate::console::quantity::{show_bytes, show_count, show_many, show_rows};
use crate::console::stderr::inform;
use crate::session::settings::{self, Access};
use atsdb::{Archive, BackupOptions, BackupReport, CopyOptions, Database, Error, Result, Selection};
use serde::Serialize;
use std::path::Path;

pub(super) fn run(args: &BackupArgs) -> Result<()> {
    if let Some(url) = &args.list {
        return list(url, args.format);
    }
    let (Some(source), Some(target)) = (&args.source, &args.target) else {
        return Err(Error::usage("name the store to back up, and the target"));
    };
    let started = clock::now();
    let database = settings::open(source, Access::Read, &args.store, None)?;
    let selection = Selection { tables: args.tables.clone(), ..Selection::default() };
    if is_store(target) {
        if args.keep.is_some() {
            return Err(Error::usage(format!("{target} is a store, not an archive: --keep does not apply"))
                .with_hint("name a directory, or s3://BUCKET/PREFIX"));
        }
        let copy =
            |store: &Database, options: CopyOptions| database.copy_into(store, &CopyOptions { selection, ..options });
        let report = into_target(target, &args.store, &args.write, &args.into, copy)?;
        inform!("{} in {:.1} s", in_words(&report), started.elapsed().as_secs_f64());
        return Ok(());
    }
    refuse_flags_of_stores(&args.into)?;
    let back_up = |options: CopyOptions| {
        let keep = args.keep.map(|keep| keep as usize);
        let CopyOptions { verify, on_progress, .. } = options;
        database.backup(target, &BackupOptions { selection, keep, verify, on_progress })
    };
    let report = watched(back_up, options_of(&args.into))?;
    for finding in &report.findings {
        warn(&format!("{}: {}; what it may need is not deleted", finding.location, finding.problem));
    }
    inform!("{} in {:.1} s", describe(&report), started.elapsed().as_secs_f64());
    report::write_text(&format!("{}\n", report.id))
}

/// Returns whether a target is a store's URL: it is not an archive, and has a scheme or the extension of a database
/// file.
fn is_store(target: &str) -> bool {
    if atsdb::is_archive(target) {
        return false;
    }
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        ["sqlite", "memory", "mysql", "mariadb", "postgres", "postgresql"]
            .contains(&scheme.to_ascii_lowercase().as_str())
    });
    let is_split = target.contains("?split=") || target.contains("?shards=");
    let path = Path::new(target);
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let is_database =
        ending.is_some_and(|ending| ["db", "sqlite", "sqlite3", "atsdb"].iter().any(|known| ending == *known));
    has_scheme || is_split || is_database || path.join("atsdb.db").exists() || path.is_file()
}

fn describe(report: &BackupReport) -> String {
    let mut text = format!(
        "{}, {}: {} of {} written ({} of {})",
        show_many(report.tables, "table"),
        show_rows(report.rows),
        show_count(report.chunks_written),
        show_many(report.chunks, "chunk"),
        show_bytes(report.bytes_written),
        show_bytes(report.bytes)
    );
    if report.backups_deleted > 0 || report.objects_deleted > 0 {
        let (backups, objects) = (report.backups_deleted, report.objects_deleted);
        text.push_str(&format!(", {} and {} deleted", show_many(backups, "old backup"), show_many(objects, "object")));
    }
    text
}

/// A line of the list. For a damaged backup it only has the id and the problem.
#[derive(Serialize)]
struct BackupJson {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
    #[serde(flatten)]
    whole: Option<WholeBackupJson>,
}

#[derive(Serialize)]
struct WholeBackupJson {
    taken: String,
    url: String,
    source: String,
    tables: u64,
    rows: u64,
    chunks: u64,
    bytes: u64,
}

fn list(url: &str, format: ReportFormat) -> Result<()> {
    let archive = Archive::open(url)?;
    archive.require()?;
    let backups = archive.backups()?;
    let whole = backups.whole.into_iter().map(|backup| BackupJson {
        id: backup.id,
        damaged: None,
        whole: Some(WholeBackupJson {
            taken: backup.taken,
            url: backup.url,
            source: backup.source,
            tables: backup.tables.len() as u64,
            rows: backup.rows,
            chunks: backup.chunks,
            bytes: backup.bytes,
        }),
    });
    let damaged = backups.damaged.into_iter().map(|backup| BackupJson {
        id: backup.id,
        damaged: Some(backup.problem),
        whole: None,
    });
    let mut listed: Vec<BackupJson> = whole.chain(damaged).collect();
    // Ids begin with the number of the backup.
    let number = |listed: &BackupJson| listed.id.split('-').next().and_then(|number| number.parse::<u64>().ok());
    listed.sort_by_cached_key(|listed| (number(listed), listed.id.clone()));
    match format {
        ReportFormat::Json => report::write_text(&report::json(&listed)?),
        ReportFormat::Table => report::write_text(&listed.iter().map(line).collect::<String>()),
    }
}

fn line(listed: &BackupJson) -> String {
    let Some(whole) = &listed.whole else {
        return format!("{}  damaged: {}\n", listed.id, listed.damaged.as_deref().unwrap_or_default());
    };
    format!(
        "{}  {}  {}, {}, {}  of {} {}\n",
        listed.id,
        whole.taken,
        show_many(whole.tables, "table"),
        show_rows(whole.rows),
        show_bytes(whole.bytes),
        &whole.source[..whole.source.len().min(8)],
        whole.url
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_store_where_it_says_so() {
        for store in ["b.db", "sqlite:x", "postgresql://h/d", "MariaDB://h/d", "memory:", "x.SQLITE", "air?shards=4"] {
            assert!(is_store(store), "{store}");
        }
        for archive in ["/backup/air", "s3://b/p.db", "dir:x.db", "backups/", "/tmp"] {
            assert!(!is_store(archive), "{archive}");
        }
    }
}
