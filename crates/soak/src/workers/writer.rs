//! Writers: batches with ids for two tables, some of them late. A batch that a killed writer was sending is sent again.

use super::worker::{Worker, of_journal};
use crate::journal::{self, Journal, JournalEntry};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use atsdb_core::{BatchId, Error, Result};
use atsdb_engine::Environment;
use std::sync::Arc;

/// The number of rows of a batch.
pub(crate) const ROWS: usize = 400;
/// The time between two batches, in milliseconds.
const PAUSE_MS: u64 = 200;
/// The number of batches of which one is late, by up to two hours.
const LATE_EVERY: u64 = 20;
const LATE_MS_MAX: u64 = 2 * 3_600_000;

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    let (unfinished, mut number) = journal::unfinished(&journal::read(&worker.folder, &worker.name));
    let mut journal = Journal::open(&worker.folder, &worker.name).map_err(of_journal)?;
    if let Some((number, time_ms)) = unfinished {
        let time_ms = time_ms.parse().map_err(|_| Error::internal("the journal holds no time"))?;
        send(worker, number, time_ms)?;
        journal.note(&JournalEntry::Done(number)).map_err(of_journal)?;
    }
    while !worker.is_over() {
        let late = if number % LATE_EVERY == 7 { worker.random.below(LATE_MS_MAX) } else { 0 };
        let time_ms = worker.clock.now_ms() - late as i64;
        journal.note(&JournalEntry::Try(number, time_ms.to_string())).map_err(of_journal)?;
        worker.timed("append", |worker| send(worker, number, time_ms))?;
        journal.note(&JournalEntry::Done(number)).map_err(of_journal)?;
        number += 1;
        worker.rest(PAUSE_MS);
    }
    Ok(())
}

/// Sends a batch, whose contents follow from its writer, number and time.
fn send(worker: &mut Worker, number: u64, time_ms: i64) -> Result<()> {
    let id = BatchId::new(format!("{}:{number}", worker.name))?;
    let mut batch = worker.engine.batch(Some(id));
    let readings = worker.engine.table("readings")?;
    batch.append(&readings, &rows(&worker.name, number, time_ms, ROWS, true))?;
    let events = worker.engine.table("events")?;
    batch.append(&events, &rows(&worker.name, number, time_ms, 1, false))?;
    batch.commit().map(drop)
}

fn rows(writer: &str, number: u64, time_ms: i64, count: usize, whole: bool) -> RecordBatch {
    let times = (0..count as i64).map(|row| time_ms * 1_000 + row);
    let texts = |text: &dyn Fn(u64) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..count as u64).map(text)))
    };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("time", Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC"))),
        ("writer", texts(&|_| writer.to_owned())),
        ("batch", Arc::new(Int64Array::from_iter_values(std::iter::repeat_n(number as i64, count)))),
    ];
    if whole {
        columns.push(("sensor", texts(&|row| format!("sensor-{}", (number * 13 + row) % 500))));
        columns.push(("status", texts(&|row| if row % 50 == 0 { "late" } else { "ok" }.to_owned())));
        let value = |row: u64| (number * 31 + row * 17) as f64 % 1_000.0;
        columns.push(("value", Arc::new(Float64Array::from_iter_values((0..count as u64).map(value)))));
        columns.push(("note", texts(&|row| format!("{writer} {number} {row}"))));
    }
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}
