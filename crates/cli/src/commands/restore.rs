//! `atsdb restore`: restores a backup into a store.

use super::copy::{in_words, into_target};
use crate::args::RestoreArgs;
use crate::console::clock;
use crate::console::failure::warn;
use crate::console::stderr::inform;
use crate::session::settings::{self, Access};
use atsdb::{BackupSelector, CopyOptions, Database, Error, Moment, Result, Selection};
use std::path::Path;

pub(super) fn run(args: &RestoreArgs) -> Result<()> {
    let started = clock::now();
    let which = which(args)?;
    // A path that does not exist may have been meant as either.
    if !args.source.contains(':') && !Path::new(&args.source).exists() {
        return Err(Error::not_found(format!("cannot restore from {}: it does not exist", args.source))
            .with_hint("name a directory of backups, s3://BUCKET/PREFIX, or a store"));
    }
    let selection = Selection { tables: args.tables.clone(), ..Selection::default() };
    if atsdb::is_archive(&args.source) {
        // A missing source is reported before a store is created.
        let archive = atsdb::Archive::open(&args.source)?;
        let backups = archive.backups()?;
        let chosen = BackupSelector::Id(backups.choose(&which)?.id.clone());
        for damaged in &backups.damaged {
            warn(&format!("backup {} is left out: {}", damaged.id, damaged.problem));
        }
        let restore = |target: &Database, options: CopyOptions| {
            target.restore(&args.source, &chosen, &CopyOptions { selection, ..options })
        };
        let (backup, report) = into_target(&args.target, &args.store, &args.write, &args.into, restore)?;
        inform!("backup {} of {}, taken {}", backup.id, backup.url, backup.taken);
        inform!("{} in {:.1} s", in_words(&report), started.elapsed().as_secs_f64());
        return Ok(());
    }
    if which != BackupSelector::Latest {
        return Err(Error::usage(format!("{} is a store, not an archive: name a backup directory", args.source))
            .with_hint("--at, --backup and --store choose among the backups of a directory or bucket"));
    }
    let source = settings::open(&args.source, Access::Read, &args.store, None)?;
    let copy =
        |target: &Database, options: CopyOptions| source.copy_into(target, &CopyOptions { selection, ..options });
    let report = into_target(&args.target, &args.store, &args.write, &args.into, copy)?;
    inform!("{} in {:.1} s", in_words(&report), started.elapsed().as_secs_f64());
    Ok(())
}

fn which(args: &RestoreArgs) -> Result<BackupSelector> {
    let which = match (&args.backup, &args.at) {
        (Some(id), _) => BackupSelector::Id(id.clone()),
        (None, None) => BackupSelector::Latest,
        (None, Some(at)) => BackupSelector::At(milliseconds(at)?),
    };
    Ok(match &args.of {
        Some(store) => which.of(store),
        None => which,
    })
}

fn milliseconds(at: &str) -> Result<i64> {
    const HOW_TO_WRITE: &str = "write it as '2024-03-01 12:00:00', UTC";
    match Moment::parse(at).map_err(|error| error.with_hint(HOW_TO_WRITE))? {
        Moment::Nanoseconds(nanoseconds) => {
            let milliseconds = nanoseconds.div_euclid(1_000_000);
            Ok(i64::try_from(milliseconds).unwrap_or(if milliseconds < 0 { i64::MIN } else { i64::MAX }))
        }
        Moment::Count(_) => Err(Error::usage(format!("cannot read the time {at:?}")).with_hint(HOW_TO_WRITE)),
    }
}
