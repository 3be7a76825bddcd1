//! Prints what a key costs: the same rows are appended in rounds, as measurements arrive, with a key and without.
//! Besides elapsed time it prints processor time (on Linux), which depends less on other load.
//!
//! `cargo run --release -p atsdb-engine --example key_cost [ROWS] [SENSORS]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, TimestampSecondArray, UInt32Array};
use arrow::datatypes::UInt32Type;
use atsdb_core::{ColumnType, Durability, MapWidth, Result, Store, TableDefinition, TimeUnit, Unique};
use atsdb_engine::{Engine, EngineOptions};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of rounds that are appended and committed together.
const ROUNDS: usize = 20;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let row_count = arguments.next().unwrap_or(5_000_000);
    let sensors = arguments.next().unwrap_or(5_000);
    let batches = batches(row_count, sensors);
    let mut out = std::io::stdout();
    let mut best = [(f64::MAX, f64::MAX); 2];
    for _ in 0..5 {
        for (has_key, best) in [false, true].into_iter().zip(&mut best) {
            let before = processor_seconds();
            let passed = append(&batches, has_key)?.as_secs_f64();
            *best = (best.0.min(passed), best.1.min(processor_seconds() - before));
        }
    }
    let [without, with] = best;
    let speed = |seconds: f64| row_count as f64 / seconds / 1e6;
    let more = |with: f64, without: f64| (with / without - 1.0) * 100.0;
    let _ = writeln!(out, "without a key {:6.2} M rows/s", speed(without.0));
    let _ = writeln!(out, "with a key    {:6.2} M rows/s ({:+.1} %)", speed(with.0), more(with.0, without.0));
    let _ =
        writeln!(out, "processor     {:6.2} s, then {:.2} s ({:+.1} %)", without.1, with.1, more(with.1, without.1));
    Ok(())
}

/// The processor time of this process's threads, including ended ones, in hundredths of a second.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn append(batches: &[RecordBatch], has_key: bool) -> Result<Duration> {
    let path = std::env::temp_dir().join(format!("key_cost-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let options = SqliteOptions {
        durability: Durability::Normal,
        create: true,
        read_only: false,
        busy_timeout: Duration::from_secs(30),
    };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, &options)?);
    let engine = Engine::new(store, EngineOptions { maintenance: false, ..EngineOptions::default() })?;
    let table = engine.create_table(&definition(has_key)?)?;
    let start = Instant::now();
    for rows in batches {
        let mut batch = engine.batch(None);
        batch.append(&table, rows)?;
        batch.commit()?;
    }
    let elapsed = start.elapsed();
    drop(engine);
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
    Ok(elapsed)
}

fn definition(has_key: bool) -> Result<TableDefinition> {
    let mut definition = TableDefinition::new("readings")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("value", ColumnType::Float64, None)
        .with_column("count", ColumnType::Int64, None)
        .with_time("time", TimeUnit::Second)?;
    if has_key {
        let columns = vec![definition.columns[1].id, definition.columns[0].id];
        definition.unique.push(Unique::new(columns));
    }
    Ok(definition)
}

fn batches(row_count: usize, sensors: usize) -> Vec<RecordBatch> {
    let names: ArrayRef =
        Arc::new((0..sensors).map(|sensor| Some(format!("sensor-{sensor}"))).collect::<arrow::array::StringArray>());
    let batch = |start: usize| {
        let rows = start..(start + sensors * ROUNDS).min(row_count);
        let times = rows.clone().map(|row| 1_700_000_000 + (row / sensors) as i64 * 60);
        let keys = rows.clone().map(|row| (row % sensors) as u32);
        let keys = UInt32Array::from_iter_values(keys);
        let sensor = arrow::array::DictionaryArray::<UInt32Type>::new(keys, Arc::clone(&names));
        let values = rows.clone().map(|row| 20.0 + (row.wrapping_mul(2_654_435_761) >> 7 & 255) as f64 / 16.0);
        let counts = rows.map(|row| (row / sensors * 3 + row % 7) as i64);
        RecordBatch::try_from_iter([
            ("time", Arc::new(TimestampSecondArray::from_iter_values(times).with_timezone("UTC")) as ArrayRef),
            ("sensor", Arc::new(sensor)),
            ("value", Arc::new(Float64Array::from_iter_values(values))),
            ("count", Arc::new(Int64Array::from_iter_values(counts))),
        ])
    };
    (0..row_count).step_by(sensors * ROUNDS).filter_map(|start| batch(start).ok()).collect()
}
