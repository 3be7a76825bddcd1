//! The keeper: maintenance that people and cron jobs do. Background maintenance runs in the other workers, too.

use super::worker::{Worker, report};
use crate::store::query;
use atsdb_core::limits::BATCH_ID_RETENTION_MS;
use atsdb_core::{ErrorKind, Result};
use atsdb_engine::Environment;

const PAUSE_MS: u64 = 3_000;
const STEP_BYTES: u64 = 8 << 20;
/// The milliseconds by which a wrong clock is ahead.
const AHEAD_MS: i64 = 2 * BATCH_ID_RETENTION_MS;

pub(super) fn work(worker: &mut Worker) -> Result<()> {
    while !worker.is_over() {
        let task = worker.random.below(8);
        match worker.timed("keep", |worker| keep(worker, task)) {
            // Another worker was faster. This is repeated later.
            Err(error) if error.kind() == ErrorKind::Conflict => report("conflict", 1),
            done => done?,
        }
        worker.rest(PAUSE_MS);
    }
    Ok(())
}

fn keep(worker: &mut Worker, task: u64) -> Result<()> {
    match task {
        0 => worker.engine.recompress(None).map(drop),
        1 => worker.engine.retain(None).map(drop),
        2 => reclaim(worker, 0),
        // A stage is idle, and a batch id old, only if no process with a right clock disagrees.
        3 => reclaim(worker, AHEAD_MS),
        4 => query(&worker.session, "REFRESH ROLLUP summary").map(drop),
        5 => {
            let width = ["hour", "day"][worker.random.below(2) as usize];
            query(&worker.session, &format!("ALTER TABLE events SET (slice = '{width}')"))?;
            worker.engine.recompress(Some(&worker.engine.table("events")?)).map(drop)
        }
        6 => {
            let index = "DROP INDEX IF EXISTS readings_batch; CREATE INDEX readings_batch ON readings (batch)";
            query(&worker.session, index).map(drop)
        }
        _ => {
            let passing = "DROP TABLE IF EXISTS passing;
                CREATE TABLE passing (name TEXT, n BIGINT) WITH (map = 'name:u32');
                INSERT INTO passing SELECT 'name ' || value, value FROM generate_series(1, 5000)";
            query(&worker.session, passing).map(drop)
        }
    }
}

/// Acts like a process whose clock is this far ahead.
fn reclaim(worker: &mut Worker, ahead_ms: i64) -> Result<()> {
    let now_ms = worker.clock.now_ms() + ahead_ms;
    while worker.engine.store().reclaim(STEP_BYTES, now_ms)?.more && !worker.is_over() {}
    Ok(())
}
