//! Tests with several addresses in a URL, and servers that change behind an address.

use super::proxy::{AtCommit, Proxy};
use super::subject::{Subject, append, count};
use crate::sample::{Plan, series_table};
use crate::server;
use atsdb_core::ErrorKind;

/// The first address that answers is used, and the next one when it becomes unavailable.
pub fn the_next_address_is_used_when_one_is_unavailable(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let url = server.database();
    let (proxy, through) = Proxy::to(&url);
    let (before, address) = url.split_at(url.rfind("127.0.0.1").unwrap());
    let proxied = &through[before.len()..through.rfind('/').unwrap()];
    let store = subject.opened(&format!("{before}127.0.0.1:1,{proxied},{address}"));
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    proxy.take_bytes();
    append(&*store, Plan::new(1).chunk(table)).unwrap();
    assert!(proxy.take_bytes() > 0, "the first that answers is used");
    proxy.set(AtCommit::Gone);
    append(&*store, Plan::new(2).chunk(table)).unwrap();
    assert_eq!(count(&*store, table), 2);
    assert_eq!(proxy.take_bytes(), 0);
}

/// A new server at an address is not mistaken for the store that was opened.
pub fn a_database_that_holds_another_store_is_refused(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let url = server.database();
    let (proxy, through) = Proxy::to(&url);
    let store = subject.opened(&through);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    append(&*store, Plan::new(1).chunk(table)).unwrap();
    server.ask(&url, "UPDATE atsdb_store SET value = 'another store...' WHERE name = 'uid'");
    proxy.set(AtCommit::BreakNow);
    let errors = [
        append(&*store, Plan::new(2).chunk(table)).err(),
        store.snapshot().err(),
        append(&*store, Plan::new(3).chunk(table)).err(),
    ];
    for error in errors {
        let error = error.expect("it is another store");
        assert_eq!(error.kind(), ErrorKind::NotAStore, "{error}");
        assert!(error.to_string().contains("another store"), "{error}");
    }
    assert_eq!(count(&*subject.opened(&url), table), 1);
}
