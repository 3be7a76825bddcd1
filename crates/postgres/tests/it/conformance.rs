//! The contract of stores.

use crate::support::{open, server};

#[test]
fn the_contract_of_stores_holds() {
    let Some(server) = server() else { return };
    atsdb_testkit::store_conformance(&|| open(&server.database()).unwrap());
}
