//! Prints how fast a hash index is built and probed, in rows and lookups a second.
//!
//! `cargo run --release -p atsdb-resident --example index_speed [ROWS]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use arrow::array::{ArrayRef, Int32Array, StringArray};
use atsdb_resident::{HashIndex, HashSeed, IndexMatches, RowKeys};
use std::sync::Arc;
use std::time::Instant;

const LOOKUPS: usize = 10_000_000;
const BATCH: usize = 8_192;

fn main() {
    let rows: usize = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(10_000_000);
    let shuffled = |row: usize| (row as u32).wrapping_mul(2_654_435_761) as i32;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..rows).map(shuffled)));
    measure("INT, all different", numbers, |row| Arc::new(Int32Array::from_iter_values(row.map(shuffled))), rows);
    let equal: ArrayRef = Arc::new(Int32Array::from(vec![7; rows]));
    build("INT, all equal", equal);
    let text = |row: usize| format!("{:020}", (row as u64).wrapping_mul(11_400_714_819_323_198_485));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(text)));
    measure("CHAR(20)", texts, |row| Arc::new(StringArray::from_iter_values(row.map(text))), rows);
}

fn build(what: &str, column: ArrayRef) -> HashIndex {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let rows = column.len();
    let start = Instant::now();
    let index =
        HashIndex::build(RowKeys::new(&[column]).unwrap(), HashSeed::new(*b"0123456789abcdef"), threads).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let bytes = index.byte_count() as f64 / rows as f64;
    say(&format!(
        "{what}: built {rows} rows in {seconds:.3} s, {:.1} M rows/s, {bytes:.1} bytes a row",
        rows as f64 / seconds / 1e6
    ));
    index
}

fn measure(what: &str, column: ArrayRef, keys: impl Fn(Box<dyn Iterator<Item = usize>>) -> ArrayRef, rows: usize) {
    let index = build(what, column);
    for (kind, first) in [("hits", 0), ("misses", rows)] {
        let mut random = 1_u64;
        let mut seconds = 0.0;
        let mut found = IndexMatches::default();
        let mut found_count = 0;
        for _ in 0..LOOKUPS / BATCH {
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                first + ((random >> 33) as usize) % rows
            };
            let chosen: Vec<usize> = (0..BATCH).map(|_| next()).collect();
            let keys = RowKeys::new(&[keys(Box::new(chosen.into_iter()))]).unwrap();
            found.rows.clear();
            found.probes.clear();
            let start = Instant::now();
            index.find(&keys, &mut found);
            seconds += start.elapsed().as_secs_f64();
            found_count += found.rows.len();
        }
        let lookups = (LOOKUPS / BATCH * BATCH) as f64;
        say(&format!("{what}: {:.1} M {kind} a second on one core, {found_count} rows found", lookups / seconds / 1e6));
    }
}

#[allow(clippy::print_stdout)]
fn say(line: &str) {
    println!("{line}");
}
