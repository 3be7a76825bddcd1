//! The importer: a table's rows are replaced by one batch that is too large for memory, so that it is written ahead. At
//! regular intervals it stops in the middle, to be killed; the space that it has used is reclaimed a day later, by the
//! store's clock. If it were killed at random, the amount of leftover data would vary, and the file size could not be
//! flat.

use super::worker::{Worker, of_journal, report};
use crate::journal::{self, Journal, JournalEntry};
use arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use atsdb_core::{ErrorKind, Result};
use std::sync::Arc;

const PAUSE_MS: u64 = 20_000;
const PARTS: i64 = 24;
const PART_BYTES: usize = 1 << 20;
/// The number of imports of which one is abandoned.
const GIVEN_UP_EVERY: u64 = 16;

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    let (_, mut number) = journal::unfinished(&journal::read(&worker.folder, &worker.name));
    let mut journal = Journal::open(&worker.folder, &worker.name).map_err(of_journal)?;
    while !worker.is_over() {
        journal.note(&JournalEntry::Try(number, String::new())).map_err(of_journal)?;
        let is_given_up = number % GIVEN_UP_EVERY == GIVEN_UP_EVERY - 1;
        match worker.timed("import", |worker| import(worker, is_given_up)) {
            Err(error) if error.kind() == ErrorKind::Conflict => report("conflict", 1),
            done => done?,
        }
        number += 1;
        worker.rest(PAUSE_MS);
    }
    Ok(())
}

fn import(worker: &mut Worker, is_given_up: bool) -> Result<()> {
    let table = worker.engine.table("bulk")?;
    let mut batch = worker.engine.batch(None);
    batch.truncate(&table)?;
    for part in 0..PARTS {
        let payload = BinaryArray::from_iter_values([worker.random.bytes(PART_BYTES)]);
        let columns: [(&str, ArrayRef); 2] =
            [("part", Arc::new(Int64Array::from(vec![part]))), ("payload", Arc::new(payload))];
        batch.append(&table, &RecordBatch::try_from_iter(columns).expect("columns of one length"))?;
    }
    if is_given_up {
        report("kill", 1);
        while !worker.is_over() {
            worker.rest(1_000);
        }
        return Ok(());
    }
    batch.commit().map(drop)
}
