//! How fast rows come into a table in memory as Arrow batches, and how many random lookups a second one core does.
//!
//! `cargo run --release -p atsdb --example memory_lookups [ROWS]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use atsdb::arrow::array::{ArrayRef, Int32Array, RecordBatch};
use std::sync::Arc;
use std::time::Instant;

const LOOKUPS: usize = 20_000_000;
const KEYS_AT_ONCE: usize = 16_384;

fn main() -> atsdb::Result<()> {
    let rows: usize = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let value = |row: usize| (row as u32).wrapping_mul(2_654_435_761) as i32;
    let db = atsdb::open("memory:")?;
    db.sql("CREATE TABLE t1 (c1 INT, INDEX (c1)) ENGINE = memory")?;
    let table = db.engine().table("t1")?;
    let start = Instant::now();
    let mut batch = db.batch(None);
    for first in (0..rows).step_by(1 << 20) {
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values((first..rows.min(first + (1 << 20))).map(value)));
        batch.append(&table, &RecordBatch::try_from_iter([("c1", values)])?)?;
    }
    batch.commit()?;
    let seconds = start.elapsed().as_secs_f64();
    let memory_table = db.memory_table("t1")?;
    let bytes = memory_table.byte_count() as f64 / rows as f64;
    say(&format!("{rows} rows in {seconds:.3} s: {:.1} M rows/s, {bytes:.1} bytes a row", rows as f64 / seconds / 1e6));
    let lookup = memory_table.lookup(&["c1"])?;
    for (kind, first) in [("hits", 0), ("misses", rows)] {
        let (mut random, mut seconds, mut found) = (1_u64, 0.0, 0);
        for _ in 0..LOOKUPS / KEYS_AT_ONCE {
            let mut next = |_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                value(first + ((random >> 33) as usize) % rows)
            };
            let keys: ArrayRef = Arc::new(Int32Array::from_iter_values((0..KEYS_AT_ONCE).map(&mut next)));
            let start = Instant::now();
            found += lookup.find(&[keys])?.rows.len();
            seconds += start.elapsed().as_secs_f64();
        }
        let lookups = (LOOKUPS / KEYS_AT_ONCE * KEYS_AT_ONCE) as f64;
        say(&format!("{:.1} M {kind} a second on one core ({found} rows found)", lookups / seconds / 1e6));
    }
    Ok(())
}

#[allow(clippy::print_stdout)]
fn say(line: &str) {
    println!("{line}");
}
