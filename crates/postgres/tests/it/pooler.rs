//! Connections through a pooler.

use crate::support::open;
use atsdb_core::{Change, Error, ErrorKind, Result, Store, TableId, TimeRange};
use atsdb_testkit::sample::{Plan, series_table};
use atsdb_testkit::server::{self, Pooler, ServerKind};

fn append(store: &dyn Store, table: TableId, seed: u64) -> Result<()> {
    let add = vec![Plan::new(seed).chunk(table)];
    store.commit(&[Change { add, ..Change::default() }], 1_709_294_400_000)?.remove(0).map(drop)
}

/// Two programs write in turn. Returns the number of chunks in the end.
fn work(url: &str) -> Result<usize> {
    let one = open(url)?;
    let table = one.create_table(&series_table("t"), None)?.id;
    append(&*one, table, 1)?;
    let other = open(url)?;
    append(&*other, table, 2)?;
    // The other program may have got this one's session, with which its prepared statements and settings were lost.
    append(&*one, table, 3)?;
    Ok(one.snapshot()?.chunks(table, TimeRange::ALL)?.len())
}

#[test]
fn a_pooler_that_shares_sessions_among_transactions_is_refused() {
    let Some(server) = server::shared(ServerKind::Postgres) else { return };
    let Some(pooler) = Pooler::start(server, "transaction") else { return };
    let error: Error = work(&pooler.through(&server.database())).expect_err("its settings are not kept");
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("a pooler uses another one for each transaction"), "{error}");
    assert!(error.hint().unwrap().contains("pool_mode = session"), "{error:?}");
}

#[test]
fn a_pooler_that_gives_each_connection_a_session_serves() {
    let Some(server) = server::shared(ServerKind::Postgres) else { return };
    let Some(pooler) = Pooler::start(server, "session") else { return };
    assert_eq!(work(&pooler.through(&server.database())).unwrap(), 3);
}
