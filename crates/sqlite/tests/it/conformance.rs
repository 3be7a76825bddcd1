//! The contract of stores.

use crate::support::Scratch;
use atsdb_core::Durability;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn the_contract_of_stores_holds() {
    let scratch = Scratch::new();
    let count = AtomicU32::new(0);
    atsdb_testkit::store_conformance(&|| {
        let name = format!("{}.db", count.fetch_add(1, Ordering::Relaxed));
        Box::new(scratch.open_as(&name, Durability::Normal))
    });
}
