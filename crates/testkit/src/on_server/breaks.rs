//! Connections that break.

use super::proxy::{AtCommit, Proxy};
use super::subject::{NOW_MS, Subject, append, count};
use crate::sample::{Plan, series_table};
use crate::server;
use atsdb_core::{BatchId, Change, ColumnId, CommitOutcome};

/// A commit may have taken effect before the connection broke, or not. In the end it has taken effect once.
pub fn a_commit_whose_answer_is_lost_counts_once(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let (proxy, url) = Proxy::to(&server.database());
    let store = subject.opened(&url);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let mut expected = 0;
    for round in 0..6 {
        for what in [AtCommit::BreakBefore, AtCommit::BreakAfter] {
            // Payload numbers are reserved ahead, in a separate transaction, which may be the one that breaks.
            proxy.set(what);
            let batch = (round % 2 == 0).then(|| BatchId::new(format!("{round} {what:?}")).unwrap());
            let add = vec![Plan::new(expected).chunk(table), Plan::new(expected + 1_000).chunk(table)];
            let change = Change { batch, add, ..Change::default() };
            let outcome = store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
            assert!(proxy.is_done(), "no COMMIT passed");
            assert_eq!(outcome, CommitOutcome::Committed, "{round} {what:?}");
            expected += 2;
            assert_eq!(count(&*store, table) as u64, expected, "{round} {what:?}");
        }
    }
    for what in [AtCommit::BreakBefore, AtCommit::BreakAfter] {
        proxy.set(what);
        let name = format!("created {what:?}");
        store.create_table(&series_table(&name), None).unwrap();
        proxy.set(what);
        let stage = store.open_stage(NOW_MS).unwrap();
        proxy.set(what);
        store.stage(stage, vec![Plan::new(7).chunk(table)], NOW_MS).unwrap();
        proxy.set(what);
        store.map_values(table, ColumnId(1), 10, &[name.as_bytes()]).unwrap();
        proxy.set(what);
        store.commit(&[Change { stage: Some(stage), ..Change::default() }], NOW_MS).unwrap().remove(0).unwrap();
        expected += 1;
        assert_eq!(count(&*store, table) as u64, expected, "{what:?}");
        proxy.set(AtCommit::Pass);
    }
    assert_eq!(store.snapshot().unwrap().mapping(table, ColumnId(1), 0).unwrap().len(), 2);
    assert_eq!(store.verify().unwrap(), []);
}

/// A lost connection is noticed at its next use, and replaced; a snapshot on it reports an error.
pub fn a_connection_that_breaks_is_replaced(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let (proxy, url) = Proxy::to(&server.database());
    let store = subject.opened(&url);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    for seed in 0..5 {
        proxy.set(AtCommit::BreakNow);
        append(&*store, Plan::new(seed).chunk(table)).unwrap();
        proxy.set(AtCommit::BreakNow);
        assert_eq!(count(&*store, table) as u64, seed + 1);
    }
    let held = store.snapshot().unwrap();
    proxy.set(AtCommit::BreakNow);
    let error = held.tables().unwrap_err();
    assert_eq!(error.kind(), atsdb_core::ErrorKind::Unavailable, "{error}");
    assert!(held.tables().unwrap_err().to_string().contains("retry the query"));
    assert_eq!(count(&*store, table), 5);
}
