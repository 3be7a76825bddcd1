//! Checks the store at the end against the journals of acknowledged work.

use crate::journal::{self, JournalEntry};
use crate::store::{self, ACCOUNTS, BALANCE, Clock, RETENTION_MS, numbers, query};
use crate::workers::{NAMES, changer, writer};
use atsdb_core::Result;
use atsdb_engine::Environment;
use atsdb_sql::Session;
use std::collections::BTreeMap;
use std::path::Path;

/// The problems found, as sentences; empty if all is well.
pub(crate) fn check(folder: &Path, clock: Clock) -> Result<Vec<String>> {
    let engine = store::open(&store::path(folder), clock, false)?;
    let session = store::session(&engine)?;
    let mut wrong: Vec<String> =
        engine.verify(None)?.findings.iter().map(|finding| format!("verify: {finding:?}")).collect();
    check_batches(&session, folder, clock, &mut wrong)?;
    check_marks(&session, folder, &mut wrong)?;
    let accounts = numbers(&session, "SELECT count(*), sum(balance) FROM accounts")?;
    if accounts != [[ACCOUNTS, ACCOUNTS * BALANCE]] {
        wrong.push(format!("money came or went: {accounts:?}"));
    }
    check_summary(&session, &mut wrong)?;
    Ok(wrong)
}

/// Each acknowledged batch that retention keeps exists exactly once and completely, in both tables, and no other batch
/// exists.
fn check_batches(session: &Session, folder: &Path, clock: Clock, wrong: &mut Vec<String>) -> Result<()> {
    let kept_from_ms = clock.now_ms() - RETENTION_MS;
    for name in NAMES.iter().filter(|name| name.starts_with("writer")) {
        let counts = |table: &str| -> Result<BTreeMap<u64, i64>> {
            let text = format!(
                "SELECT batch, count(*), count(DISTINCT time) FROM {table} WHERE writer = '{name}' GROUP BY batch"
            );
            let rows = numbers(session, &text)?;
            Ok(rows.into_iter().map(|row| (row[0] as u64, if row[1] == row[2] { row[1] } else { -1 })).collect())
        };
        let (mut readings, mut events) = (counts("readings")?, counts("events")?);
        let mut checked = 0;
        for entry in journal::read(folder, name) {
            let JournalEntry::Try(number, time_ms) = entry else { continue };
            let found = (readings.remove(&number).unwrap_or(0), events.remove(&number).unwrap_or(0));
            let is_kept = time_ms.parse::<i64>().is_ok_and(|time_ms| time_ms > kept_from_ms);
            checked += u64::from(is_kept);
            if is_kept && found != (writer::ROWS as i64, 1)
                || found.0 > writer::ROWS as i64
                || found.1 > 1
                || found.0 < 0
            {
                wrong.push(format!("batch {number} of {name}: {found:?} rows"));
            }
        }
        println!("{name}: {checked} batches checked");
        if let Some(number) = readings.keys().chain(events.keys()).next() {
            wrong.push(format!("batch {number} of {name} was never sent"));
        }
    }
    Ok(())
}

fn check_marks(session: &Session, folder: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let rows = numbers(session, "SELECT id, n FROM marks")?;
    let found: BTreeMap<i64, i64> = rows.iter().map(|row| (row[0], row[1])).collect();
    if found.len() != rows.len() {
        wrong.push("a key of marks is there twice".into());
    }
    for (number, name) in NAMES.iter().filter(|name| name.starts_with("changer")).enumerate() {
        let entries = journal::read(folder, name);
        let mut expected = vec![changer::expected(&entries, number as u64)];
        // Unacknowledged work may or may not have been done.
        if let Some(JournalEntry::Try(..)) = entries.last() {
            expected.push(changer::expected(&entries[..entries.len() - 1], number as u64));
        }
        let own: BTreeMap<i64, i64> =
            found.iter().filter(|(id, _)| **id % 2 == number as i64).map(|(id, n)| (*id, *n)).collect();
        println!("{name}: {} keys checked", own.len());
        if !expected.contains(&own) {
            let differs = |(id, n): &(&i64, &i64)| own.get(id) != Some(n);
            let first = expected[0].iter().find(differs);
            wrong.push(format!("marks of {name}: {} rows, not {}; first {first:?}", own.len(), expected[0].len()));
        }
    }
    Ok(())
}

/// The rollup answers what its query would.
fn check_summary(session: &Session, wrong: &mut Vec<String>) -> Result<()> {
    query(session, "REFRESH ROLLUP summary")?;
    let own =
        "SELECT sum(n), sum(batches) FROM summary WHERE time > (SELECT max(time) FROM readings) - INTERVAL '5 hours'";
    let raw = "SELECT count(*), sum(batch) FROM readings WHERE time_bucket('10 minutes', time) > \
               (SELECT max(time) FROM readings) - INTERVAL '5 hours'";
    let (own, raw) = (numbers(session, own)?, numbers(session, raw)?);
    if own != raw {
        wrong.push(format!("the rollup says {own:?}, its query {raw:?}"));
    }
    Ok(())
}
