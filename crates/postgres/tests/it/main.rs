//! The PostgreSQL store: the contract of stores, and the promises that only a server makes.

mod durable;
mod pooler;
mod standby;
mod support;

use atsdb_core::ColumnId;
use atsdb_testkit::sample::series_table;
use atsdb_testkit::server::{self, ServerKind};
use std::ops::Range;
use support::open;

mod servers {
    atsdb_testkit::on_server_tests!("servers", crate::support::SUBJECT);
}

/// The server updates its statistics late. Before that, it would scan all strings of a table to look up a few.
#[test]
fn strings_are_found_by_their_index_as_soon_as_there_are_many() {
    let Some(server) = server::shared(ServerKind::Postgres) else { return };
    let url = server.database();
    let store = open(&url).unwrap();
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let map = |strings: Range<u32>| {
        let strings: Vec<String> = strings.map(|number| format!("sensor {number}")).collect();
        let values: Vec<&[u8]> = strings.iter().map(String::as_bytes).collect();
        store.map_values(table, ColumnId(1), 1 << 32, &values).unwrap()
    };
    assert_eq!(map(0..100), (0..100).collect::<Vec<_>>());
    assert_eq!(map(50..50_000), (50..50_000).collect::<Vec<_>>());
    let hashes = vec!["7"; 128].join(", ");
    let sql = format!("EXPLAIN SELECT id FROM atsdb_map WHERE table_id = 1 AND column_id = 1 AND hash IN ({hashes})");
    let plan = server.ask(&url, &sql);
    assert!(plan.contains("atsdb_map_hash") && !plan.contains("Filter"), "{plan}");
}
