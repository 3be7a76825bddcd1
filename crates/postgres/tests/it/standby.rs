//! A primary and a standby that follows it by streaming replication.

use crate::support::{SUBJECT, open};
use atsdb_core::{Change, ErrorKind, Result, Store, TableId, TimeRange};
use atsdb_postgres::PostgresStore;
use atsdb_sqlstore::{OnNotice, ServerOptions};
use atsdb_testkit::clock::wait_until;
use atsdb_testkit::sample::{Plan, series_table};
use atsdb_testkit::server::{ServerKind, TestServer};
use parking_lot::Mutex;
use std::sync::{Arc, mpsc};

fn append(store: &dyn Store, table: TableId, seed: u64) -> Result<()> {
    let add = vec![Plan::new(seed).chunk(table)];
    store.commit(&[Change { add, ..Change::default() }], 1_709_294_400_000)?.remove(0).map(drop)
}

fn count(store: &dyn Store, table: TableId) -> usize {
    store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap().len()
}

/// Returns a URL of both servers, with the address of `first` in front.
fn both(first: &str, second: &str) -> String {
    let address = second.rsplit_once('@').unwrap().1.split_once('/').unwrap().0;
    let (before, database) = first.rsplit_once('/').unwrap();
    format!("{before},{address}/{database}")
}

#[test]
fn a_standby_that_is_named_first_is_neither_written_nor_read_while_there_is_a_primary() {
    let Some(primary) = TestServer::start(ServerKind::Postgres) else { return };
    let at_primary = primary.database();
    let standby = primary.start_standby();
    let at_standby = standby.url("tester", "pass%2Fword%401", at_primary.rsplit('/').next().unwrap());
    let url = both(&at_standby, &at_primary);
    let store = open(&url).unwrap();
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    append(&*store, table, 1).unwrap();

    // If the URL names only the standby, the store can be opened for reading, and only for reading.
    let has_table = |store: Box<dyn Store>| !store.snapshot().unwrap().tables().unwrap().is_empty();
    wait_until("the standby has the table", || (SUBJECT.open_for_reading)(&at_standby).is_ok_and(has_table));
    let has_notice = |url: &str| {
        let (send, notices) = mpsc::channel();
        let send = Mutex::new(send);
        let on_notice = OnNotice(Arc::new(move |text: &str| drop(send.lock().send(text.to_owned()))));
        let options = ServerOptions { read_only: true, on_notice: Some(on_notice), ..ServerOptions::default() };
        drop((PostgresStore::open(url, None, &options).unwrap(), options));
        notices.iter().any(|text| text.contains("is a standby"))
    };
    assert!(has_notice(&at_standby) && !has_notice(&url));
    let error = open(&at_standby).expect_err("it takes no writes");
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    assert!(error.to_string().contains("standby") && error.hint().unwrap().contains("primary"), "{error:?}");

    // Rows that the standby does not have yet are read from the primary, also by a program that only reads.
    standby.administer("SELECT pg_wal_replay_pause()");
    append(&*store, table, 2).unwrap();
    assert_eq!(count(&*store, table), 2);
    let reader = (SUBJECT.open_for_reading)(&url).unwrap();
    assert_eq!(count(&*reader, table), 2);

    // The servers switch roles: open stores keep working, and newly opened ones find the new primary.
    standby.administer("SELECT pg_wal_replay_resume()");
    let count_at_standby = || standby.ask(&at_standby, "SELECT count(*) FROM atsdb_chunk");
    wait_until("the standby has the second chunk", || count_at_standby().trim() == "2");
    primary.kill();
    assert_eq!(count(&*reader, table), 2, "without a primary the standby is read");
    standby.administer("SELECT pg_promote()");
    append(&*store, table, 3).unwrap();
    for url in [url, both(&at_primary, &at_standby)] {
        let opened = open(&url).unwrap();
        append(&*opened, table, 4).unwrap();
    }
    assert_eq!(count(&*reader, table), 5);
    assert_eq!(store.verify().unwrap(), []);
}

/// During the switch there may be no primary for a moment.
#[test]
fn a_write_waits_for_the_standby_to_become_the_primary() {
    let Some(primary) = TestServer::start(ServerKind::Postgres) else { return };
    let at_primary = primary.database();
    let first = open(&at_primary).unwrap();
    let table = first.create_table(&series_table("t"), None).unwrap().id;
    let standby = primary.start_standby();
    let at_standby = standby.url("tester", "pass%2Fword%401", at_primary.rsplit('/').next().unwrap());
    let store = open(&both(&at_primary, &at_standby)).unwrap();
    append(&*store, table, 1).unwrap();
    wait_until("the standby has the chunk", || {
        standby.ask(&at_standby, "SELECT count(*) FROM atsdb_chunk").trim() == "1"
    });
    primary.kill();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| append(&*store, table, 2));
        // A program that starts now waits, too.
        let opening = scope.spawn(|| append(&*open(&both(&at_primary, &at_standby)).unwrap(), table, 3));
        standby.administer("SELECT pg_promote()");
        writing.join().unwrap().unwrap();
        opening.join().unwrap().unwrap();
    });
    assert_eq!(count(&*store, table), 3);
}
