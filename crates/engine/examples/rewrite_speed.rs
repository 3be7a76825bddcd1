//! Prints how fast one integer column of every row is changed, and how fast an index is built and probed, in an SQLite
//! file: the cost of `UPDATE t SET i2 = i2 + 2` and `CREATE INDEX` below SQL.
//!
//! `cargo run --release -p atsdb-engine --example rewrite_speed [ROWS]`

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout)] // What this program is for.

use arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch, TimestampSecondArray};
use arrow::datatypes::Int64Type;
use atsdb_core::{
    Change, ColumnId, ColumnType, Durability, Index, NewChunk, Redefinition, Table, TableDefinition, TimeUnit, Value,
};
use atsdb_engine::{Comparison, Engine, EngineOptions, Predicate, Rewrite, Scan, ScanRequest};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROUND: i64 = 100_000;
/// The position of the column that is changed.
const I2: usize = 2;

fn main() {
    let rows: i64 = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let folder = tempfile::tempdir().expect("a folder");
    let options = SqliteOptions {
        durability: Durability::Full,
        create: true,
        read_only: false,
        busy_timeout: Duration::from_secs(30),
    };
    let store = SqliteStore::open(&folder.path().join("t.db"), &options).expect("a store");
    let options = EngineOptions { maintenance: false, ..Default::default() };
    let engine = Engine::new(Arc::new(store), options).expect("an engine");
    let definition = TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("i1", ColumnType::Int32, None)
        .with_column("i2", ColumnType::Int64, None)
        .with_column("f", ColumnType::Float64, None)
        .with_time("time", TimeUnit::Second)
        .expect("a time");
    let mut table = engine.create_table(&definition).expect("a table");
    timed("append", rows, || append(&engine, &table, rows));
    for state in ["fresh", "sealed"] {
        timed(&format!("update, {state}"), rows, || update(&engine, &table));
        timed(&format!("seal after that, {state}"), rows, || _ = engine.recompress(None).expect("sealed"));
    }
    let index = Index { id: ColumnId(0x8000), name: "by_i2".to_owned(), columns: vec![ColumnId(I2 as u16)] };
    let to = TableDefinition { indexes: vec![index.clone()], indexes_given: 1, ..table.definition.clone() };
    let redefine = vec![Redefinition { table: table.id, from: table.definition.clone(), to: to.clone() }];
    commit(&engine, Change { redefine, ..Change::default() });
    table.definition = to;
    timed("build an index", rows, || _ = engine.build_index(&table, &index).expect("built"));
    let stats = engine.stats(None).expect("stats").remove(0);
    println!("  {:.2} bytes a row", stats.indexes[0].bytes as f64 / rows as f64);
    for round in ["cold", "warm"] {
        let predicates = vec![Predicate::new(I2, Comparison::Equal, Value::Int(500_000))];
        let request = ScanRequest { predicates, use_cache: true, ..ScanRequest::all(&table) };
        timed(&format!("ask it, {round}"), rows, || {
            let scan = engine.snapshot().expect("a snapshot").scan(&table, &request).expect("a scan");
            println!("  {} of {} chunks", scan.chunks().len(), scan.chunk_count_total().unwrap());
        });
    }
    timed("update, indexed", rows, || update(&engine, &table));
    timed("delete every other row", rows, || delete(&engine, &table));
}

fn timed(what: &str, rows: i64, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {seconds:.3} s, {:.1} M rows/s", rows as f64 / seconds / 1e6);
}

fn append(engine: &Engine, table: &Table, rows: i64) {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut batch = engine.batch(None);
    for start in (0..rows).step_by(ROUND as usize) {
        let numbers = || start..(start + ROUND).min(rows);
        let times = TimestampSecondArray::from_iter_values(numbers().map(|row| row / 20)).with_timezone("UTC");
        let rows = RecordBatch::try_from_iter([
            ("time", Arc::new(times) as ArrayRef),
            ("i1", Arc::new(numbers().map(|_| (random() % 100) as i32).collect::<Int32Array>())),
            ("i2", Arc::new(numbers().map(|_| (random() % 1_000_000) as i64).collect::<Int64Array>())),
            ("f", Arc::new(numbers().map(|_| (random() % 10_000) as f64 / 10.0).collect::<Float64Array>())),
        ]);
        batch.append(table, &rows.expect("a batch")).expect("appended");
    }
    batch.commit().expect("committed");
}

fn update(engine: &Engine, table: &Table) {
    rewrite(engine, table, |scan, position| {
        let old = scan.read_stored(position, &[I2]).expect("a column").remove(0);
        let changed = old.as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| value + 2);
        Rewrite { keep: None, set: vec![(I2, Arc::new(changed))] }
    });
}

fn delete(engine: &Engine, table: &Table) {
    rewrite(engine, table, |scan, position| {
        let rows = scan.chunks()[position].entry.row_count;
        Rewrite { keep: Some((0..rows).map(|row| Some(row % 2 == 0)).collect()), set: Vec::new() }
    });
}

fn rewrite(engine: &Engine, table: &Table, how: impl Fn(&Scan, usize) -> Rewrite + Sync) {
    let scan = engine.snapshot().expect("a snapshot").scan(table, &ScanRequest::all(table)).expect("a scan");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut new: Vec<NewChunk> = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= scan.chunks().len() {
                return new;
            }
            new.extend(scan.rewrite(position, &how(&scan, position)).expect("rewritten"));
        }
    };
    let start = Instant::now();
    let add: Vec<NewChunk> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
    });
    println!("  rewriting {:.3} s, {} MB", start.elapsed().as_secs_f64(), bytes(&add) / 1_000_000);
    let remove = scan.chunks().iter().map(|chunk| (table.id, chunk.entry.id)).collect();
    commit(engine, Change { add, remove, ..Change::default() });
}

fn bytes(chunks: &[NewChunk]) -> usize {
    chunks.iter().flat_map(|chunk| &chunk.pages).map(Vec::len).sum()
}

fn commit(engine: &Engine, change: Change) {
    engine.store().commit(&[change], 0).expect("committed").remove(0).expect("done");
}
