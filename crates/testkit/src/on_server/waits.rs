//! Bounded waits: servers that restart or fall silent, and clients that vanish.

use super::proxy::{AtCommit, Proxy};
use super::subject::{Limits, NOW_MS, Subject, append, count};
use crate::sample::{Plan, series_table};
use crate::server::{self, TestServer};
use atsdb_core::ErrorKind;
use std::sync::mpsc;

/// Opening a store while its server is away reports that and waits.
pub fn a_server_that_starts_again_is_waited_for_while_a_store_is_opened(subject: Subject) {
    let Some(server) = TestServer::start(subject.kind) else { return };
    let url = server.database();
    let table = subject.opened(&url).create_table(&series_table("t"), None).unwrap().id;
    server.kill();
    let (notices, waits) = mpsc::channel();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            let store = (subject.open_with)(&url, Limits { notices: Some(notices), ..Limits::seconds(300, 60) })?;
            append(&*store, Plan::new(1).chunk(table)).map(|()| count(&*store, table))
        });
        let why = waits.recv().expect("it says that it waits");
        assert!(why.contains("waiting up to 300 s for the server"), "{why}");
        server.resume();
        assert_eq!(opening.join().unwrap().unwrap(), 1);
    });
}

/// A server that keeps its connections open without answering, as behind a network that drops everything: no call
/// hangs.
pub fn a_call_to_a_silent_server_ends(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let direct = server.database();
    // Creating tables takes a while on a busy machine.
    let table = subject.opened(&direct).create_table(&series_table("t"), None).unwrap().id;
    let (proxy, url) = Proxy::to(&direct);
    let store = (subject.open_with)(&url, Limits::seconds(3, 3)).unwrap();
    let held = store.snapshot().unwrap();
    proxy.set(AtCommit::Mute);
    let errors = [
        held.tables().err(),
        append(&*store, Plan::new(1).chunk(table)).err(),
        store.snapshot().err(),
        (subject.open_with)(&url, Limits::seconds(3, 3)).err(),
    ];
    for error in errors {
        let error = error.expect("nobody answers");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    proxy.set(AtCommit::Pass);
    let before = count(&*store, table);
    append(&*store, Plan::new(2).chunk(table)).unwrap();
    assert_eq!(count(&*store, table), before + 1);
}

/// A process is suspended, or its machine disappears, while it holds the lock that every change takes: the server ends
/// its transaction before the others time out. If it comes back, its change is applied, exactly once.
pub fn a_client_that_vanishes_in_a_transaction_does_not_block_others_for_long(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let direct = server.database();
    let (proxy, url) = Proxy::to(&direct);
    let other = (subject.open_with)(&direct, Limits::seconds(60, 60)).unwrap();
    // Half of this passes until the server ends its transaction. In the other half it has to come back.
    let vanishing = (subject.open_with)(&url, Limits::seconds(16, 60)).unwrap();
    let table = other.create_table(&series_table("t"), None).unwrap().id;
    // Page numbers are reserved in a separate transaction.
    append(&*vanishing, Plan::new(1).chunk(table)).unwrap();
    std::thread::scope(|scope| {
        proxy.set(AtCommit::Freeze);
        let coming_back = scope.spawn(|| append(&*vanishing, Plan::new(2).chunk(table)));
        proxy.wait_until_frozen();
        let done = append(&*other, Plan::new(3).chunk(table));
        proxy.set(AtCommit::Pass);
        done.unwrap();
        coming_back.join().unwrap().unwrap();
    });
    assert_eq!(count(&*other, table), 3);
    // This also holds if it has locked a row and changed nothing.
    std::thread::scope(|scope| {
        proxy.set(AtCommit::FreezeLease);
        let coming_back = scope.spawn(|| vanishing.acquire_lease("one", "me", NOW_MS, 1_000));
        proxy.wait_until_frozen();
        let done = other.acquire_lease("another", "you", NOW_MS, 1_000);
        proxy.set(AtCommit::Pass);
        assert!(done.unwrap() && coming_back.join().unwrap().unwrap());
    });
}
