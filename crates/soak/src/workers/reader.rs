//! Readers: queries whose answers are checked, and snapshots that are held for a while and must not change.

use super::worker::{Worker, report};
use crate::store::{ACCOUNTS, BALANCE, numbers, query};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use atsdb_core::{Error, Result};
use atsdb_engine::{ReadSnapshot, ScanRequest};

const PAUSE_MS: u64 = 500;
/// The longest time that a snapshot is held.
const HOLD_MS_MAX: u64 = 20_000;
/// A snapshot is held once in this many rounds.
const HOLD_EVERY: u64 = 12;

/// Queries that are read to the end, without checking their answers.
const QUERIES: [&str; 6] = [
    "SELECT sensor, count(*), avg(value), max(time) FROM readings GROUP BY sensor ORDER BY 1",
    "SELECT time_bucket('5 minutes', time) AS b, count(*), max(value) FROM readings \
     WHERE time > (SELECT max(time) FROM readings) - INTERVAL '2 hours' GROUP BY b ORDER BY b",
    "SELECT * FROM readings WHERE sensor = 'sensor-7' ORDER BY time DESC LIMIT 10",
    "SELECT sensor, sum(n) FROM summary GROUP BY sensor ORDER BY 2 DESC LIMIT 20",
    "SELECT count(*), sum(length(remark)) FROM marks WHERE n % 3 = 0",
    "SELECT r.writer, count(*) FROM readings r JOIN events e ON r.writer = e.writer AND r.batch = e.batch \
     WHERE e.batch % 100 = 3 GROUP BY 1",
];

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    for round in 1.. {
        if worker.is_over() {
            return Ok(());
        }
        let text = QUERIES[worker.random.below(QUERIES.len() as u64) as usize];
        worker.timed("query", |worker| query(&worker.session, text))?;
        if round % 3 == 0 {
            worker.timed("check", check_accounts)?;
        }
        if round % HOLD_EVERY == 0 {
            hold(worker)?;
        }
        worker.rest(PAUSE_MS);
    }
    Ok(())
}

fn check_accounts(worker: &mut Worker) -> Result<()> {
    let found = numbers(&worker.session, "SELECT count(*), sum(balance) FROM accounts")?;
    match found == [[ACCOUNTS, ACCOUNTS * BALANCE]] {
        true => Ok(()),
        false => Err(Error::internal(format!("money came or went: {found:?}"))),
    }
}

fn hold(worker: &mut Worker) -> Result<()> {
    let snapshot = worker.engine.snapshot()?;
    let before = sums(&snapshot)?;
    report("rows", before.0);
    let milliseconds = worker.random.below(HOLD_MS_MAX);
    worker.rest(milliseconds);
    let after = sums(&snapshot)?;
    match before == after {
        true => Ok(()),
        false => Err(Error::internal(format!("a snapshot changed: {before:?}, then {after:?}"))),
    }
}

/// Returns the number of rows, and the sum of their batches' numbers.
fn sums(snapshot: &ReadSnapshot) -> Result<(u64, i64)> {
    let table = snapshot.table("readings")?;
    let batch = table.definition.columns.iter().position(|column| column.name == "batch");
    let columns = vec![batch.ok_or_else(|| Error::internal("there is no column batch"))?];
    let scan = snapshot.scan(table, &ScanRequest { columns, ..ScanRequest::all(table) })?;
    let mut sums = (0, 0_i64);
    for rows in scan.batches() {
        let rows = rows?;
        sums.0 += rows.num_rows() as u64;
        sums.1 = sums.1.wrapping_add(rows.column(0).as_primitive::<Int64Type>().iter().flatten().sum());
    }
    Ok(sums)
}
