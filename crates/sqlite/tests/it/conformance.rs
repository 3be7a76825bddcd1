//! The contract of stores.

use crate::support::{LAYOUTS, Scratch, open};
use atsdb_core::Durability;
use std::sync::atomic::{AtomicU32, Ordering};

fn holds_with(layout: usize) {
    let scratch = Scratch::new();
    let count = AtomicU32::new(0);
    atsdb_testkit::store_conformance(&|| {
        let name = format!("{}.db", count.fetch_add(1, Ordering::Relaxed));
        Box::new(open(&scratch.path(&name), LAYOUTS[layout], Durability::Normal))
    });
}

#[test]
fn the_contract_of_stores_holds() {
    holds_with(0);
}

#[test]
fn the_contract_holds_split_by_slice() {
    holds_with(1);
}

#[test]
fn the_contract_holds_in_shards() {
    holds_with(2);
}

#[test]
fn the_contract_holds_with_small_chunks_in_the_catalogue() {
    holds_with(3);
}
