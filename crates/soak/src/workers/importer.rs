//! The importer: a table's rows are replaced by one batch that is too large for memory, so that it is written ahead. Now and
//! then it stops in the middle, to be killed: what it has written is to be reclaimed.

use super::Worker;
use arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use atsdb_core::{ErrorKind, Result};
use std::sync::Arc;

const PAUSE_MS: u64 = 20_000;
const PARTS: i64 = 24;
const PART_BYTES: usize = 1 << 20;

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    let mut is_given_up = worker.random.below(12) == 0;
    while !worker.is_over() {
        match worker.timed("import", |worker| import(worker, is_given_up)) {
            Err(error) if error.kind() == ErrorKind::Conflict => super::report("conflict", 1),
            done => done?,
        }
        is_given_up = worker.random.below(12) == 0;
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
        super::report("kill", 1);
        while !worker.is_over() {
            worker.rest(1_000);
        }
        return Ok(());
    }
    batch.commit().map(drop)
}
