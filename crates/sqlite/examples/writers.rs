//! Prints how fast one process and four write chunks into one store, in one file and split: `cargo run --release -p
//! atsdb-sqlite --example writers`. `ATSDB_FIGURES_DIR` chooses the disk.
//!
//! The chunks are made before, so only the store is measured. Each commit is one chunk of nine pages, of 12 KB (which
//! are stored in the catalogue) or of 1 MB, in today's slice, as endless appends write them.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark tells its figures")]

use atsdb_core::{Change, Durability, Store};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, series_table};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const NOW_MS: i64 = 1_709_294_400_000;
const TIME: Duration = Duration::from_secs(3);
const REPEATS: usize = 3;
const LAYOUTS: [Option<SplitBy>; 3] = [None, Some(SplitBy::Shards(4)), Some(SplitBy::Slice)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [path, durability, page_bytes] = arguments.as_slice() {
        return write(Path::new(path), Durability::parse(durability).unwrap(), page_bytes.parse().unwrap());
    }
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    for durability in [Durability::Off, Durability::Full] {
        for page_bytes in [1_300, 115_000] {
            let cases: Vec<_> = LAYOUTS.into_iter().flat_map(|split| [(split, 1), (split, 4)]).collect();
            let mut rates = vec![Vec::new(); cases.len()];
            // The cases take turns, so that other load on the machine affects all of them.
            for _ in 0..REPEATS {
                for ((split, writers), rates) in cases.iter().zip(&mut rates) {
                    let scratch = tempfile::tempdir_in(&folder).unwrap();
                    rates.push(run(&scratch.path().join("store"), *split, durability, page_bytes, *writers));
                }
            }
            for (split, rates) in LAYOUTS.iter().zip(rates.chunks_exact_mut(2)) {
                let (one, four) = (median(&mut rates[0]), median(&mut rates[1]));
                println!(
                    "{durability}, {} KB, {}: 1 writer {one:.0} commits/s, 4 writers {four:.0}: {:.2} x",
                    page_bytes * 9 / 1_000,
                    split.map_or("one file".to_owned(), |split| split.to_string()),
                    four / one
                );
            }
        }
    }
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn open(path: &Path, split: Option<SplitBy>, durability: Durability) -> SqliteStore {
    let options = SqliteOptions { durability, ..SqliteOptions::default() };
    match split {
        None => SqliteStore::open(path, &options).unwrap(),
        Some(split) => SqliteStore::open_split(path, &options, SplitLayout::new(split)).unwrap(),
    }
}

/// Returns the commits a second by this number of processes.
fn run(path: &Path, split: Option<SplitBy>, durability: Durability, page_bytes: usize, writers: usize) -> f64 {
    let store = open(path, split, durability);
    store.create_table(&series_table("t"), None).unwrap();
    let spawn = |_| {
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer.arg(path).arg(durability.name()).arg(page_bytes.to_string());
        writer.stdout(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..writers).map(spawn).collect();
    let told = running.into_iter().map(|writer| String::from_utf8(writer.wait_with_output().unwrap().stdout).unwrap());
    told.map(|rate| rate.trim().parse::<f64>().unwrap()).sum()
}

/// The work of one process: prints its commits a second.
fn write(path: &Path, durability: Durability, page_bytes: usize) {
    let store = SqliteStore::open(path, &SqliteOptions { durability, ..SqliteOptions::default() }).unwrap();
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    // Fresh chunks, as appends write them.
    let fresh = |seed| {
        let mut chunk = Plan::new(seed).with_pages(9, page_bytes).chunk(table);
        chunk.descriptor.sealed = false;
        chunk
    };
    let chunks: Vec<_> = (0..8).map(fresh).collect();
    let (start, mut count) = (Instant::now(), 0_u32);
    while start.elapsed() < TIME {
        let add = vec![chunks[count as usize % chunks.len()].clone()];
        store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        count += 1;
    }
    println!("{}", f64::from(count) / start.elapsed().as_secs_f64());
}
