//! Several processes on one store. Each runs a test of this program, which does its work.

use super::subject::Subject;
use crate::sample::{Plan, series_table};
use crate::server::{self, Cluster};
use atsdb_core::{BatchId, Change, ColumnId, ErrorKind, Result, Store, TimeRange};
use std::process::{Child, Command, Stdio};

const STEPS: u64 = 20;
const PROCESSES: u64 = 4;
/// The maximum number of times that a process tries a call while others keep it from writing. On a busy machine each
/// may take a while.
const ATTEMPTS_MAX: u64 = 50;

fn other_processes(test: &str, urls: &[String]) -> Vec<Child> {
    let start = |number: u64| {
        let url = &urls[number as usize % urls.len()];
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture", "--test-threads=1"]).stdout(Stdio::null());
        command.env("ATSDB_TEST_URL", url).env("ATSDB_TEST_NUMBER", number.to_string()).spawn().unwrap()
    };
    (0..PROCESSES).map(start).collect()
}

fn as_other_process() -> Option<(String, u64)> {
    Some((std::env::var("ATSDB_TEST_URL").ok()?, std::env::var("ATSDB_TEST_NUMBER").ok()?.parse().ok()?))
}

/// Runs four writers. `one` names the test that calls [`one_writer_of_many`].
pub fn four_processes_write_and_nothing_is_lost(subject: Subject, one: &str) {
    let Some(server) = server::shared(subject.kind) else { return };
    processes_write_and_nothing_is_lost(subject, &[server.database()], one);
}

/// Like [`four_processes_write_and_nothing_is_lost`] on a cluster, where each process prefers a different node.
pub fn processes_on_all_nodes_write_and_nothing_is_lost(subject: Subject, cluster: &Cluster, one: &str) {
    processes_write_and_nothing_is_lost(subject, &cluster.database(), one);
}

/// Like [`four_processes_write_and_nothing_is_lost`], for processes that can each reach only one node, so the writer
/// node changes all the time. It is repeated several times, because failures depend on timing.
pub fn processes_that_reach_different_nodes_lose_nothing(subject: Subject, cluster: &Cluster, one: &str) {
    let only_first = |url: &String| {
        let (from, to) = (url.find(',').unwrap(), url.rfind('/').unwrap());
        format!("{}{}", &url[..from], &url[to..])
    };
    for _ in 0..4 {
        let urls: Vec<String> = cluster.database().iter().map(only_first).collect();
        processes_write_and_nothing_is_lost(subject, &urls, one);
    }
}

/// The processes take turns in using the URLs, all of the same store.
fn processes_write_and_nothing_is_lost(subject: Subject, urls: &[String], one: &str) {
    let store = subject.opened(&urls[0]);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let mut writers = other_processes(one, urls);
    // Meanwhile this process reads and reclaims.
    let (mut seen, mut last) = (0, 0);
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        let entries = store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap();
        assert!(entries.len() >= seen, "a chunk vanished");
        let new = entries.iter().map(|entry| entry.id.0).filter(|id| *id > last).count();
        assert_eq!(new, entries.len() - seen, "a chunk came late below one that was there");
        (seen, last) = (entries.len(), entries.iter().map(|entry| entry.id.0).max().unwrap_or(0));
        store.reclaim(1 << 20, 0).unwrap();
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.chunks(table, TimeRange::ALL).unwrap().len() as u64, (PROCESSES + 1) * STEPS);
    assert_eq!(snapshot.mapping(table, ColumnId(1), 0).unwrap().len() as u64, (PROCESSES + 1) * STEPS);
    drop(snapshot);
    while store.reclaim(1 << 20, 0).unwrap().more {}
    assert_eq!(store.verify().unwrap(), []);
}

/// The work of one of these processes; it does nothing if it is run as an ordinary test.
pub fn one_writer_of_many(subject: Subject) {
    let Some((url, number)) = as_other_process() else { return };
    let store = subject.opened(&url);
    let table = store.snapshot().unwrap().tables().unwrap()[0].id;
    for step in 0..STEPS {
        let add = vec![Plan::new(number * 1_000 + step).with_pages(3, 5_000).chunk(table)];
        commit(&*store, Change { add, ..Change::default() });
        let (shared, own) = (format!("shared {step}"), format!("{number} {step}"));
        retried(|| store.map_values(table, ColumnId(1), 1 << 32, &[shared.as_bytes(), own.as_bytes()]));
        // All four send the same batch, and one of them commits it.
        let stage = retried(|| store.open_stage(0));
        retried(|| store.stage(stage, vec![Plan::new(10_000 + step).chunk(table)], 0));
        let batch = Some(BatchId::new(format!("batch {step}")).unwrap());
        commit(&*store, Change { batch, stage: Some(stage), ..Change::default() });
    }
}

fn commit(store: &dyn Store, change: Change) {
    let changes = [change];
    retried(|| store.commit(&changes, 0)).remove(0).unwrap();
}

/// Retries a call that others kept from writing for longer than it waits, as its error says. Nothing of it is stored
/// then, so nothing is counted twice.
fn retried<T>(call: impl Fn() -> Result<T>) -> T {
    for _ in 0..ATTEMPTS_MAX {
        match call() {
            Err(error) if error.kind() == ErrorKind::Busy => {}
            result => return result.unwrap(),
        }
    }
    panic!("others kept this process from writing {ATTEMPTS_MAX} times");
}

/// Runs several creators. `one` names the test that calls [`one_creator_of_many`].
pub fn processes_that_create_one_store_together_all_succeed(subject: Subject, one: &str) {
    let Some(server) = server::shared(subject.kind) else { return };
    for _ in 0..3 {
        let url = server.database();
        for mut creator in other_processes(one, std::slice::from_ref(&url)) {
            assert!(creator.wait().unwrap().success());
        }
        let store = subject.opened(&url);
        assert_eq!(store.snapshot().unwrap().tables().unwrap().len() as u64, PROCESSES);
        assert_eq!(store.verify().unwrap(), []);
    }
}

/// The work of one of these processes; it does nothing if it is run as an ordinary test.
pub fn one_creator_of_many(subject: Subject) {
    let Some((url, number)) = as_other_process() else { return };
    subject.opened(&url).create_table(&series_table(&format!("t{number}")), None).unwrap();
}
