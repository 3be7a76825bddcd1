//! `atsdb restore`: a backup to a store.

use super::copy::{in_words, open_target, watched};
use crate::args::RestoreArgs;
use crate::settings::{self, Access};
use atsdb::{CopyOptions, Moment, Selection, Which};
use atsdb_core::{Error, Result};
use std::time::Instant;

pub(super) fn run(args: &RestoreArgs) -> Result<()> {
    let started = Instant::now();
    let which = which(args)?;
    let selection = Selection { tables: args.tables.clone(), ..Selection::default() };
    if atsdb::is_archive(&args.source) {
        // What is not there is told before a store is created.
        let archive = atsdb::Archive::open(&args.source)?;
        archive.backup(&which)?;
        let target = open_target(&args.target, &args.store, &args.write)?;
        let restore =
            |options: CopyOptions| target.restore(&args.source, &which, &CopyOptions { selection, ..options });
        let (backup, report) = watched(restore, &args.into)?;
        eprintln!("backup {} of {}, taken {}", backup.id, backup.url, backup.taken);
        eprintln!("{} in {:.1} s", in_words(&report), started.elapsed().as_secs_f64());
        return Ok(());
    }
    if which != Which::Latest {
        return Err(Error::usage(format!("{} is a store, which holds one copy", args.source))
            .with_hint("--at and --backup choose among the backups of a directory or bucket"));
    }
    let source = settings::open(&args.source, Access::Read, &args.store, None)?;
    let target = open_target(&args.target, &args.store, &args.write)?;
    let report = watched(|options| source.copy_into(&target, &CopyOptions { selection, ..options }), &args.into)?;
    eprintln!("{} in {:.1} s", in_words(&report), started.elapsed().as_secs_f64());
    Ok(())
}

fn which(args: &RestoreArgs) -> Result<Which> {
    if let Some(id) = &args.backup {
        return Ok(Which::Id(id.clone()));
    }
    let Some(at) = &args.at else { return Ok(Which::Latest) };
    match Moment::parse(at)? {
        Moment::Nanoseconds(nanoseconds) => {
            let milliseconds = nanoseconds.div_euclid(1_000_000);
            Ok(Which::At(i64::try_from(milliseconds).unwrap_or(if milliseconds < 0 { i64::MIN } else { i64::MAX })))
        }
        Moment::Count(_) => {
            Err(Error::usage(format!("cannot read the time {at}")).with_hint("write it as '2024-03-01 12:00:00', UTC"))
        }
    }
}
