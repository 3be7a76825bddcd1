//! Prints how many rows a second one process and four append to one store, in one SQLite file and split, and how much
//! processor time they use.
//!
//! `cargo run --release -p atsdb-engine --example append_by_many [DURABILITY ROWS]`. `ATSDB_FIGURES_DIR` chooses the
//! disk.
//!
//! Each commit is one Arrow batch of 8 columns, two of them mapped.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout)] // What this program is for.

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray, TimestampSecondArray};
use atsdb_core::{ColumnType, Durability, MapWidth, Store, TableDefinition, TimeUnit};
use atsdb_engine::{Engine, EngineOptions};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(4);
const REPEATS: usize = 3;
const LAYOUTS: [Option<SplitBy>; 3] = [None, Some(SplitBy::Shards(4)), Some(SplitBy::Slice)];
const COUNTERS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [path, durability, rows] = arguments.as_slice() {
        return write(Path::new(path), Durability::parse(durability).unwrap(), rows.parse().unwrap());
    }
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    for durability in [Durability::Off, Durability::Full] {
        for rows in [1_000, 10_000, 100_000] {
            if matches!(arguments.as_slice(), [only, of] if *only != durability.name() || *of != rows.to_string()) {
                continue;
            }
            let cases: Vec<_> = LAYOUTS.into_iter().flat_map(|split| [(split, 1), (split, 4)]).collect();
            let mut told = vec![Vec::new(); cases.len()];
            // The cases take turns, so that other load on the machine affects all of them.
            for _ in 0..REPEATS {
                for ((split, writers), told) in cases.iter().zip(&mut told) {
                    let scratch = tempfile::tempdir_in(&folder).unwrap();
                    told.push(run(&scratch.path().join("store"), *split, durability, rows, *writers));
                }
            }
            for (split, told) in LAYOUTS.iter().zip(told.chunks_exact_mut(2)) {
                let (one, four) = (median(&mut told[0]), median(&mut told[1]));
                println!(
                    "{durability}, {rows} rows a commit, {}: 1 writer {:.2} M rows/s with {:.2} processors, 4 writers {:.2} \
                     with {:.2}: {:.2} x",
                    split.map_or("one file".to_owned(), |split| split.to_string()),
                    one.0 / 1e6,
                    one.1,
                    four.0 / 1e6,
                    four.1,
                    four.0 / one.0
                );
            }
        }
    }
}

fn median(told: &mut [(f64, f64)]) -> (f64, f64) {
    told.sort_by(|a, b| f64::total_cmp(&a.0, &b.0));
    told[told.len() / 2]
}

fn open(path: &Path, split: Option<SplitBy>, durability: Durability) -> Engine {
    let options = SqliteOptions { durability, ..SqliteOptions::default() };
    let store = match split {
        None => SqliteStore::open(path, &options).unwrap(),
        Some(split) => SqliteStore::open_split(path, &options, SplitLayout::new(split)).unwrap(),
    };
    engine(Arc::new(store))
}

fn engine(store: Arc<dyn Store>) -> Engine {
    Engine::new(store, EngineOptions { maintenance: false, ..EngineOptions::default() }).unwrap()
}

/// Returns the rows a second and the processors used by this number of processes.
fn run(path: &Path, split: Option<SplitBy>, durability: Durability, rows: usize, writers: usize) -> (f64, f64) {
    let mut definition = TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("status", ColumnType::Text, Some(MapWidth::U8));
    for counter in 0..COUNTERS {
        definition = definition.with_column(format!("count{counter}"), ColumnType::Int32, None);
    }
    let definition = definition.with_time("time", TimeUnit::Second).unwrap();
    open(path, split, durability).create_table(&definition).unwrap();
    let spawn = |_| {
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer.arg(path).arg(durability.name()).arg(rows.to_string());
        writer.stdout(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..writers).map(spawn).collect();
    let told = running.into_iter().map(|writer| String::from_utf8(writer.wait_with_output().unwrap().stdout).unwrap());
    told.fold((0.0, 0.0), |sum, told| {
        let (rate, processors) = told.trim().split_once(' ').unwrap();
        (sum.0 + rate.parse::<f64>().unwrap(), sum.1 + processors.parse::<f64>().unwrap())
    })
}

fn batches(rows: usize) -> Vec<RecordBatch> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let names: Vec<String> = (0..5_000).map(|sensor| format!("sensor {sensor:05}")).collect();
    let batch = |number: usize| {
        let row = |row: usize| number * rows + row;
        // One reading of each of 5,000 sensors a minute, within a day.
        let times = (0..rows).map(|position| (row(position) / 5_000 * 60 % 86_400) as i64 + (random() % 60) as i64);
        let times = TimestampSecondArray::from_iter_values(times).with_timezone("UTC");
        let sensors = (0..rows).map(|position| names[row(position) % 5_000].as_str());
        let sensors = StringArray::from_iter_values(sensors);
        let statuses = (0..rows).map(|_| if random() % 50 == 0 { "late" } else { "ok" });
        let statuses = StringArray::from_iter_values(statuses);
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("time".to_owned(), Arc::new(times)),
            ("sensor".to_owned(), Arc::new(sensors)),
            ("status".to_owned(), Arc::new(statuses)),
        ];
        for counter in 0..COUNTERS {
            let values = (0..rows).map(|_| 10_000 + (random() % 200) as i32);
            columns.push((format!("count{counter}"), Arc::new(Int32Array::from_iter_values(values))));
        }
        RecordBatch::try_from_iter(columns).unwrap()
    };
    (0..8).map(batch).collect()
}

/// The work of one process: prints its rows a second, and the processors it used.
fn write(path: &Path, durability: Durability, rows: usize) {
    let store = SqliteStore::open(path, &SqliteOptions { durability, ..SqliteOptions::default() }).unwrap();
    let engine = engine(Arc::new(store));
    let table = engine.snapshot().unwrap().table("t").unwrap().clone();
    let batches = batches(rows);
    let (start, processor, mut count) = (Instant::now(), processor_time(), 0);
    while start.elapsed() < TIME {
        let mut batch = engine.batch(None);
        batch.append(&table, &batches[count % batches.len()]).unwrap();
        batch.commit().unwrap();
        count += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{} {}", (count * rows) as f64 / seconds, (processor_time() - processor).as_secs_f64() / seconds);
}

/// Processor time of this process from /proc: user and system, in ticks of 10 ms.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<i64> = stat.rsplit(')').next().unwrap_or("").split(' ').filter_map(|x| x.parse().ok()).collect();
    Duration::from_millis(fields.get(10).zip(fields.get(11)).map_or(0, |(user, system)| (user + system) as u64 * 10))
}
