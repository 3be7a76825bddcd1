//! Prints the speeds of the SQLite store: `cargo run --release -p atsdb-sqlite --example figures`. `ATSDB_FIGURES_DIR`
//! chooses the disk.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark tells its figures")]

use atsdb_core::{Change, ColumnId, Durability, Store, TimeRange};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, Random, series_table};
use std::path::Path;
use std::time::{Duration, Instant};

const NOW_MS: i64 = 1_709_294_400_000;

fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn main() {
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let scratch = tempfile::tempdir_in(folder).unwrap();
    for &durability in Durability::ALL {
        let path = scratch.path().join(durability.name());
        let store = SqliteStore::open(&path, &SqliteOptions { durability, ..SqliteOptions::default() }).unwrap();
        let table = store.create_table(&series_table("t"), None).unwrap().id;
        let (staged_bytes, time) = bulk(&store, table);
        let speed = |bytes: u64, time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
        let file = file_bytes(&path);
        println!(
            "{durability}: bulk staging {:.0} MB/s, file / payload {:.3}",
            speed(staged_bytes, time),
            file as f64 / staged_bytes as f64
        );

        let start = Instant::now();
        let mut read = 0;
        let snapshot = store.snapshot().unwrap();
        for entry in snapshot.chunks(table, TimeRange::ALL).unwrap() {
            let columns: Vec<_> = (0..9).map(ColumnId).collect();
            read += snapshot.read_pages(entry.id, &columns).unwrap().iter().map(|page| page.len() as u64).sum::<u64>();
        }
        println!("{durability}: reading pages {:.0} MB/s", speed(read, start.elapsed()));
        drop(snapshot);

        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_secs(2) {
            let add = vec![Plan::new(count).with_pages(9, 100).chunk(table)];
            store.commit(&[Change { add, ..Change::default() }], NOW_MS).unwrap();
            count += 1;
        }
        println!("{durability}: small commits {:.0} a second", count as f64 / start.elapsed().as_secs_f64());

        let listed = store.create_table(&series_table("listed"), None).unwrap().id;
        let add =
            (0..100_000).map(|seed| Plan::new(seed).in_slice(seed as i64 * 86_400).with_pages(9, 10).chunk(listed));
        store.commit(&[Change { add: add.collect(), ..Change::default() }], NOW_MS).unwrap();
        let start = Instant::now();
        let all = store.snapshot().unwrap().chunks(listed, TimeRange::ALL).unwrap().len();
        let all_time = start.elapsed();
        let start = Instant::now();
        let one = store.snapshot().unwrap().chunks(listed, TimeRange::from(99_999 * 86_400..)).unwrap().len();
        println!("{durability}: listing {all} chunks {all_time:?}, {one} of them {:?}", start.elapsed());

        let start = Instant::now();
        store.drop_table(table).unwrap();
        let drop_time = start.elapsed();
        let start = Instant::now();
        while store.reclaim(32 << 20, NOW_MS).unwrap().more {}
        println!(
            "{durability}: drop {drop_time:?}, reclaim {:.0} MB/s, {} bytes left",
            speed(file, start.elapsed()),
            file_bytes(&path)
        );
    }
}

/// Stages half a gigabyte in chunks of nine pages of different lengths. Returns the bytes and the time.
fn bulk(store: &dyn Store, table: atsdb_core::TableId) -> (u64, Duration) {
    let mut random = Random::new(1);
    let chunks: Vec<_> = (0..20)
        .map(|seed| {
            let page_bytes = 60_000 + random.below(60_000) as usize;
            Plan::new(seed).with_pages(9, page_bytes).chunk(table)
        })
        .collect();
    let mut bytes = 0;
    let mut time = Duration::ZERO;
    let stage = store.open_stage(NOW_MS).unwrap();
    while bytes < 500_000_000 {
        for chunk in &chunks {
            let chunk = chunk.clone();
            bytes += chunk.descriptor.byte_count();
            let start = Instant::now();
            store.stage(stage, vec![chunk], NOW_MS).unwrap();
            time += start.elapsed();
        }
    }
    let start = Instant::now();
    store.commit(&[Change { stage: Some(stage), ..Change::default() }], NOW_MS).unwrap();
    (bytes, time + start.elapsed())
}
