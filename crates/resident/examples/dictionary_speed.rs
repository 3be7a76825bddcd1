//! Prints how fast strings are mapped to numbers, as dictionaries of mapped columns need it: by a growing hash table,
//! as in the engine's interner, and by this crate's index, which is built at once and probed for many strings.
//!
//! `cargo run --release -p atsdb-resident --example dictionary_speed`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use atsdb_resident::{HashIndex, HashSeed, IndexMatches, RowKeys};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

const LOOKUPS: usize = 4_000_000;
const BATCH: usize = 65_536;

fn main() {
    for distinct in [200_usize, 5_000, 100_000, 2_000_000] {
        let text = |number: usize| format!("sensor/{number:08}/temperature");
        let words = StringArray::from_iter_values((0..distinct).map(text));
        let random = (0..LOOKUPS).scan(1_u64, |state, _| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some((*state >> 33) as usize % distinct)
        });
        let rows = StringArray::from_iter_values(random.map(text));

        let start = Instant::now();
        let (hasher, mut table) = (DefaultHashBuilder::default(), HashTable::<u32>::new());
        for number in 0..distinct {
            let hash = hasher.hash_one(words.value(number).as_bytes());
            table
                .insert_unique(hash, number as u32, |number| hasher.hash_one(words.value(*number as usize).as_bytes()));
        }
        let grown = start.elapsed();
        let start = Instant::now();
        let mut sum = 0_u64;
        for row in rows.iter().flatten() {
            let hash = hasher.hash_one(row.as_bytes());
            let found = table.find(hash, |number| words.value(*number as usize) == row);
            sum += found.map_or(0, |number| u64::from(*number));
        }
        let by_table = start.elapsed();

        let start = Instant::now();
        let keys: ArrayRef = Arc::new(words.clone());
        let index = HashIndex::build(RowKeys::new(&[keys]).unwrap(), HashSeed::new(*b"0123456789abcdef"), 1).unwrap();
        let built = start.elapsed();
        let start = Instant::now();
        let (mut found, mut other_sum) = (IndexMatches::default(), 0_u64);
        for first in (0..LOOKUPS).step_by(BATCH) {
            let some: ArrayRef = Arc::new(rows.slice(first, BATCH.min(LOOKUPS - first)));
            assert!(some.as_string::<i32>().len() <= BATCH);
            index.find(&RowKeys::new(&[some]).unwrap(), &mut found);
            other_sum += found.rows.drain(..).map(u64::from).sum::<u64>();
            found.probes.clear();
        }
        let by_index = start.elapsed();
        assert_eq!(sum, other_sum);
        let rate = |time: std::time::Duration, count: usize| count as f64 / time.as_secs_f64() / 1e6;
        say(&format!(
            "{distinct:9} strings: grown {:5.1} M/s, asked {:5.1} M/s; built at once {:5.1} M/s, asked {:5.1} M/s",
            rate(grown, distinct),
            rate(by_table, LOOKUPS),
            rate(built, distinct),
            rate(by_index, LOOKUPS)
        ));
    }
}

#[allow(clippy::print_stdout)]
fn say(line: &str) {
    println!("{line}");
}
