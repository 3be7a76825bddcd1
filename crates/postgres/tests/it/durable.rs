//! An acknowledged batch is as durable as the server's settings require, in each way of acknowledging it.

use crate::support::open;
use atsdb_core::{BatchId, Change, CommitOutcome, Result, Store, TableId};
use atsdb_testkit::clock::wait_until;
use atsdb_testkit::sample::{Plan, series_table};
use atsdb_testkit::server::{ServerKind, TestServer};

fn send(store: &dyn Store, table: TableId) -> Result<CommitOutcome> {
    let batch = Some(BatchId::new("batch").unwrap());
    let add = vec![Plan::new(1).chunk(table)];
    store.commit(&[Change { batch, add, ..Change::default() }], 1_709_294_400_000)?.remove(0)
}

/// The first sender's commit waits for a standby that never answers, and the server crashes. Afterwards the batch
/// exists, although it was never acknowledged. If it is sent again, it is acknowledged only once the standby has it.
#[test]
fn a_batch_that_is_there_already_is_acknowledged_when_a_commit_would_be() {
    let Some(server) = TestServer::start(ServerKind::Postgres) else { return };
    let url = server.database();
    let first = open(&url).unwrap();
    let table = first.create_table(&series_table("t"), None).unwrap().id;
    let second = open(&url).unwrap();
    let waiting = |count: &str| {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'atsdb'";
        wait_until("the commits wait for the standby", || server.ask(&url, sql).trim() == count);
    };
    let require_standby = |name: &str| {
        server.administer(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'"));
        server.administer("SELECT pg_reload_conf()");
    };
    // Page numbers are assigned in a transaction of their own, which must not wait for the standby.
    first.commit(&[Change { add: vec![Plan::new(7).chunk(table)], ..Change::default() }], 0).unwrap();
    require_standby("none_there");
    let probes = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    std::thread::scope(|scope| {
        // The server's processes apply the new setting one after another.
        wait_until("the setting is in force", || {
            let mut is_in_force = false;
            let probing = scope
                .spawn(|| server.ask(&url, "CREATE TABLE IF NOT EXISTS probe (); INSERT INTO probe DEFAULT VALUES"));
            while !probing.is_finished() {
                is_in_force |= server.ask(&url, probes).trim() == "1";
            }
            is_in_force
        });
        let sending = scope.spawn(|| send(&*first, table));
        waiting("1");
        server.kill();
        server.resume();
        // It checks whether its commit was made, and the answer must wait, too.
        waiting("1");
        let again = scope.spawn(|| send(&*second, table));
        waiting("2");
        require_standby("");
        assert_eq!(sending.join().unwrap().unwrap(), CommitOutcome::Committed);
        assert_eq!(again.join().unwrap().unwrap(), CommitOutcome::Duplicate);
    });
}
