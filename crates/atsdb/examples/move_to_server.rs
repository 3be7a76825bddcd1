//! Moves a store to a server and checks that both hold the same rows. A further run moves only what is new.
//!
//! `cargo run --release -p atsdb --example move_to_server -- air.db postgresql://me@localhost/air`
//!
//! The password comes from the URL, `ATSDB_PASSWORD` or the file that `ATSDB_PASSWORD_FILE` names. Any two stores will
//! do, such as `mariadb://me@localhost/air` or a second file.

use atsdb::{CopyOptions, Database, Error, ErrorKind, Result};
use std::io::Write;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        say("two URLs are needed: the store to copy, and the store to copy it to");
        std::process::exit(1);
    };
    let source = atsdb::open(&from)?;
    // Everything becomes visible at once, or nothing. Writers of the source need not stop.
    let report = source.copy_to(&to, &CopyOptions::default())?;
    say(&format!("{} chunks moved, {} were there already", report.chunks, report.chunks_kept));

    let target = atsdb::open(&to)?;
    // Settings of the server that weaken a promise.
    for warning in target.warnings() {
        say(&format!("warning: {warning}"));
    }
    let (before, after) = (count(&source)?, count(&target)?);
    if before != after {
        return Err(Error::new(ErrorKind::Internal, format!("{before} rows became {after}")));
    }
    say(&format!("{after} rows on both sides"));
    Ok(())
}

/// The rows of all tables.
fn count(db: &Database) -> Result<usize> {
    let snapshot = db.snapshot()?;
    let mut rows = 0;
    for table in db.tables()? {
        let scan = snapshot.scan(&table, &atsdb::ScanRequest::all(&table))?;
        for batch in scan.batches() {
            rows += batch?.num_rows();
        }
    }
    Ok(rows)
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
