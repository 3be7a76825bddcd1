//! Changers: transfers between accounts, in transactions, and rows with keys that are inserted, changed and deleted.
//! Each changer has its own keys, so that its journal records the values that they must have.

use super::worker::{Worker, of_journal, report};
use crate::journal::{self, Journal, JournalEntry};
use crate::store::{ACCOUNTS, query};
use atsdb_core::{Error, ErrorKind, Result};
use std::collections::BTreeMap;

/// The number of keys of each changer, and of an operation.
const KEYS: u64 = 10_000;
const KEYS_AT_ONCE: u64 = 20;
/// The time between two operations, in milliseconds.
const PAUSE_MS: u64 = 250;
/// The maximum number of attempts at a transfer while others are faster.
const ATTEMPTS_MAX: usize = 1_000;

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    let (unfinished, mut number) = journal::unfinished(&journal::read(&worker.folder, &worker.name));
    let mut journal = Journal::open(&worker.folder, &worker.name).map_err(of_journal)?;
    if let Some((number, operation)) = unfinished {
        // It may have taken effect. Repeating it gives the same result.
        change(worker, number, &operation)?;
        journal.note(&JournalEntry::Done(number)).map_err(of_journal)?;
    }
    while !worker.is_over() {
        if worker.random.below(4) == 0 {
            worker.timed("transfer", transfer)?;
        } else {
            let verb = ["put", "put", "put", "set", "delete"][worker.random.below(5) as usize];
            let operation = format!("{verb} {}", worker.random.below(KEYS - KEYS_AT_ONCE));
            journal.note(&JournalEntry::Try(number, operation.clone())).map_err(of_journal)?;
            worker.timed("change", |worker| change(worker, number, &operation))?;
            journal.note(&JournalEntry::Done(number)).map_err(of_journal)?;
            number += 1;
        }
        worker.rest(PAUSE_MS);
    }
    Ok(())
}

/// One operation on a changer's keys.
fn change(worker: &mut Worker, number: u64, operation: &str) -> Result<()> {
    let (verb, keys) = parse(operation).ok_or_else(|| Error::internal(format!("what is {operation}?")))?;
    let ids: Vec<String> = keys.map(|key| id(worker.number(), key).to_string()).collect();
    let list = ids.join(", ");
    let text = match verb {
        "put" => {
            let rows: Vec<String> = ids.iter().map(|id| format!("({id}, {number}, 'mark {id} {number}')")).collect();
            format!(
                "INSERT INTO marks VALUES {} ON CONFLICT (id) DO UPDATE SET n = excluded.n, remark = excluded.remark",
                rows.join(", ")
            )
        }
        "set" => format!("UPDATE marks SET n = {number} WHERE id IN ({list})"),
        _ => format!("DELETE FROM marks WHERE id IN ({list})"),
    };
    for _ in 1..ATTEMPTS_MAX {
        match query(&worker.session, &text) {
            Err(error) if error.kind() == ErrorKind::Conflict => report("conflict", 1),
            done => return done.map(drop),
        }
    }
    query(&worker.session, &text).map(drop)
}

/// The values of a changer's keys according to its journal: the number of the last operation that changed each.
pub(crate) fn expected(entries: &[JournalEntry], changer: u64) -> BTreeMap<i64, i64> {
    let mut marks = BTreeMap::new();
    for entry in entries {
        let JournalEntry::Try(number, operation) = entry else { continue };
        let Some((verb, keys)) = parse(operation) else { continue };
        for id in keys.map(|key| id(changer, key)) {
            match verb {
                "put" => drop(marks.insert(id, *number as i64)),
                "set" => drop(marks.get_mut(&id).map(|n| *n = *number as i64)),
                _ => drop(marks.remove(&id)),
            }
        }
    }
    marks
}

/// Parses the verb and the keys of an operation.
fn parse(operation: &str) -> Option<(&str, std::ops::Range<u64>)> {
    let (verb, first) = operation.split_once(' ')?;
    let first: u64 = first.parse().ok()?;
    Some((verb, first..first + KEYS_AT_ONCE))
}

fn id(changer: u64, key: u64) -> i64 {
    (key * 2 + changer % 2) as i64
}

fn transfer(worker: &mut Worker) -> Result<()> {
    let account = |worker: &mut Worker| 1 + worker.random.below(ACCOUNTS as u64);
    let (from, to, amount) = (account(worker), account(worker), 1 + worker.random.below(9));
    let text = format!(
        "BEGIN; UPDATE accounts SET balance = balance - {amount} WHERE id = {from}; \
         UPDATE accounts SET balance = balance + {amount} WHERE id = {to}; COMMIT"
    );
    for _ in 0..ATTEMPTS_MAX {
        match query(&worker.session, &text) {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                report("conflict", 1);
                if worker.session.in_transaction() {
                    query(&worker.session, "ROLLBACK")?;
                }
            }
            done => return done.map(drop),
        }
    }
    Err(Error::new(ErrorKind::Conflict, "a transfer was always too late"))
}
