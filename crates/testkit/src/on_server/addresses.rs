//! The addresses of a URL, and what answers there.

use super::proxy::{AtCommit, Proxy};
use super::{NOW_MS, Subject};
use crate::sample::{Plan, series_table};
use crate::server;
use atsdb_core::{Change, ErrorKind, Store, TableId, TimeRange};

fn append(store: &dyn Store, table: TableId, seed: u64) -> atsdb_core::Result<()> {
    let change = Change { add: vec![Plan::new(seed).chunk(table)], ..Change::default() };
    store.commit(vec![change], NOW_MS)?.remove(0).map(|_| ())
}

fn count(store: &dyn Store, table: TableId) -> usize {
    store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap().len()
}

/// The first address that answers is used, and the next when it is gone.
pub fn the_next_address_is_used_when_one_is_gone(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let url = server.database();
    let (proxy, through) = Proxy::to(&url);
    let (before, address) = url.split_at(url.rfind("127.0.0.1").unwrap());
    let proxied = &through[before.len()..through.rfind('/').unwrap()];
    let store = subject.opened(&format!("{before}127.0.0.1:1,{proxied},{address}"));
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    proxy.take_bytes();
    append(&*store, table, 1).unwrap();
    assert!(proxy.take_bytes() > 0, "the first that answers is used");
    proxy.set(AtCommit::Gone);
    append(&*store, table, 2).unwrap();
    assert_eq!(count(&*store, table), 2);
    assert_eq!(proxy.take_bytes(), 0);
}

/// A server that was set up anew, or another one behind the address, is not mistaken for the store that was opened.
pub fn a_database_that_holds_another_store_is_refused(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let url = server.database();
    let (proxy, through) = Proxy::to(&url);
    let store = subject.opened(&through);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    append(&*store, table, 1).unwrap();
    server.ask(&url, "UPDATE atsdb_store SET value = 'another store...' WHERE name = 'uid'");
    proxy.set(AtCommit::BreakNow);
    let errors = [append(&*store, table, 2).err(), store.snapshot().err(), append(&*store, table, 3).err()];
    for error in errors {
        let error = error.expect("it is another store");
        assert_eq!(error.kind(), ErrorKind::NotAStore, "{error}");
        assert!(error.to_string().contains("another store"), "{error}");
    }
    assert_eq!(count(&*subject.opened(&url), table), 1);
}
