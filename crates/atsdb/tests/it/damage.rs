//! Damaged files, and files that are no stores: an error, or exactly the right rows.

use crate::content::{Shape, create_tables, read, send};
use crate::support::{as_other_process, assert_no_complaints, open_quiet, other_process};
use arrow::array::RecordBatch;
use atsdb::{Error, ErrorKind, Result};
use atsdb_testkit::sample::Random;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

type Rows = BTreeMap<String, RecordBatch>;

/// A closed store with fresh and sealed chunks, and its rows.
fn sample(folder: &Path) -> (Vec<u8>, Rows) {
    let path = folder.join("sample.db");
    let db = open_quiet(&path).unwrap();
    create_tables(&db);
    for number in 0..12 {
        send(&db, if number == 3 { Shape::Bulky } else { Shape::Small }, number).unwrap();
        if number == 8 {
            db.engine().recompress(None).unwrap();
        }
    }
    let rows = read(&db.snapshot().unwrap()).unwrap();
    drop(db);
    (std::fs::read(path).unwrap(), rows)
}

/// What became of a damaged store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Reading gave an error.
    Told,
    /// Reading gave the right rows; verify says something.
    Found,
    /// Reading gave the right rows; verify is content.
    Harmless,
    /// Reading gave other rows; verify says something.
    WrongButFound,
    /// Reading gave other rows, and verify is content.
    Wrong,
}

fn fate(path: &Path, bytes: &[u8], right: &Rows) -> Fate {
    std::fs::write(path, bytes).unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(crate::support::beside(path, ending));
    }
    let db = match open_quiet(path) {
        Ok(db) => db,
        Err(error) => {
            assert_tells_damage(&error);
            return Fate::Told;
        }
    };
    let rows = db.snapshot().and_then(|snapshot| read(&snapshot));
    let found = db.engine().verify(None).map_or(true, |report| !report.findings.is_empty());
    match rows {
        Err(error) => {
            assert_tells_damage(&error);
            if !found { eprintln!("NOTFOUND {error}"); }
            Fate::Told
        }
        Ok(rows) if rows == *right => {
            if found {
                Fate::Found
            } else {
                Fate::Harmless
            }
        }
        Ok(_) => {
            if found {
                Fate::WrongButFound
            } else {
                Fate::Wrong
            }
        }
    }
}

fn assert_tells_damage(error: &Error) {
    let kinds = [ErrorKind::Corrupt, ErrorKind::NotAStore, ErrorKind::NewerFormat];
    if !kinds.contains(&error.kind()) { eprintln!("KIND {:?}: {error}", error.kind()); }
}

#[test]
fn bits_flipped_anywhere_in_the_file_give_an_error_or_the_right_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, right) = sample(folder.path());
    let path = folder.path().join("damaged.db");
    let mut random = Random::new(1);
    let mut fates = BTreeMap::new();
    let flips: usize = std::env::var("FLIPS").map_or(400, |t| t.parse().unwrap());
    for _ in 0..flips {
        let (position, bit) = (random.below(bytes.len() as u64) as usize, random.below(8));
        let mut damaged = bytes.clone();
        damaged[position] ^= 1 << bit;
        let fate = fate(&path, &damaged, &right);
        if matches!(fate, Fate::Wrong | Fate::WrongButFound) {
            eprintln!("{fate:?} page {} offset {} bit {bit}", position / 4096 + 1, position % 4096);
        }
        *fates.entry(format!("{fate:?}")).or_insert(0) += 1;
    }
    panic!("{fates:?} {}", bytes.len());
}
