//! The contract of stores, on the memory store.

use atsdb_core::Store;
use atsdb_memory::MemoryStore;

#[test]
fn the_contract_of_stores_holds() {
    atsdb_testkit::store_conformance(&|| Box::new(MemoryStore::new([7; 16])));
}

#[test]
fn a_store_says_what_it_is() {
    let store = MemoryStore::new([7; 16]);
    assert_eq!((store.url(), store.uid()), ("memory:", [7; 16]));
}
