//! Prints what 5,000 slices cost compared with 10, in one SQLite file and with page files for each slice: opening,
//! appending a row, counting, reading one slice.
//!
//! `cargo run --release -p atsdb-engine --example many_slices`. `ATSDB_FIGURES_DIR` chooses the disk.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout)] // What this program is for.

use arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampSecondArray};
use atsdb_core::{ColumnType, Durability, Store, Table, TableDefinition, TimeRange, TimeUnit};
use atsdb_engine::{Engine, EngineOptions, ScanRequest};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DAY: i64 = 86_400;
const ROWS_OF_A_SLICE: i64 = 2_000;
const REPEATS: usize = 21;

fn main() {
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    // All pages are in page files, which gives the largest number of files.
    let by_slice = SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 };
    for (name, layout) in [("one file", None), ("split=slice", Some(by_slice))] {
        for slices in [10, 5_000] {
            let scratch = tempfile::tempdir_in(&folder).unwrap();
            measure(name, &scratch.path().join("store"), layout, slices);
        }
    }
}

fn open(path: &Path, layout: Option<SplitLayout>) -> Engine {
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    let store: Arc<dyn Store> = Arc::new(match layout {
        None => SqliteStore::open(path, &options).unwrap(),
        Some(layout) => SqliteStore::open_split(path, &options, layout).unwrap(),
    });
    Engine::new(store, EngineOptions { maintenance: false, ..EngineOptions::default() }).unwrap()
}

fn measure(name: &str, path: &Path, layout: Option<SplitLayout>, slices: i64) {
    let engine = open(path, layout);
    let definition = TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("value", ColumnType::Int64, None)
        .with_time("time", TimeUnit::Second)
        .unwrap();
    let table = engine.create_table(&definition).unwrap();
    let start = Instant::now();
    (0..slices).for_each(|slice| append(&engine, &table, slice * DAY, ROWS_OF_A_SLICE));
    let filled = start.elapsed();
    drop(engine);
    let opened = median(|| {
        let engine = open(path, layout);
        assert_eq!(engine.snapshot().unwrap().tables().len(), 1);
    });
    let engine = open(path, layout);
    let mut row = slices / 2 * DAY + ROWS_OF_A_SLICE;
    let appended = median(|| {
        append(&engine, &table, row, 1);
        row += 1;
    });
    let counted = median(|| {
        let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
        assert!(scan.row_count_exact().unwrap() > (slices * ROWS_OF_A_SLICE) as u64);
    });
    let read = median(|| {
        let range = TimeRange { start: Some(DAY), end: Some(2 * DAY) };
        let request = ScanRequest { range, ..ScanRequest::all(&table) };
        let rows = engine.snapshot().unwrap().scan(&table, &request).unwrap().batches();
        assert_eq!(rows.map(|batch| batch.unwrap().num_rows() as i64).sum::<i64>(), ROWS_OF_A_SLICE);
    });
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{name}, {slices} slices: filling {:.0} ms, opening {:.2} ms, appending a row {:.2} ms, counting {:.2} ms, reading a \
         slice {:.2} ms",
        ms(filled),
        ms(opened),
        ms(appended),
        ms(counted),
        ms(read)
    );
}

fn append(engine: &Engine, table: &Table, first: i64, count: i64) {
    let times = TimestampSecondArray::from_iter_values(first..first + count).with_timezone("UTC");
    let values = Int64Array::from_iter_values((0..count).map(|value| value * value % 977));
    let rows: Vec<(&str, ArrayRef)> = vec![("time", Arc::new(times)), ("value", Arc::new(values))];
    let mut batch = engine.batch(None);
    batch.append(table, &RecordBatch::try_from_iter(rows).unwrap()).unwrap();
    batch.commit().unwrap();
}

fn median(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..REPEATS).map(time).collect();
    times.sort();
    times[REPEATS / 2]
}
