//! Computing rollups in the background, on the maintenance thread of the engine. Buckets that have not ended are
//! skipped: the next row would make them stale again, and queries compute them. After a computation, a rollup is left
//! alone for ten times as long as the computation took, so that a constant flow of late rows costs at most a tenth of a
//! processor.

use super::refresh::{Effort, Refresh, rollups_named};
use crate::run::interrupt::Interrupt;
use crate::run::options::SessionOptions;
use crate::run::worker::Worker;
use atsdb_core::{Result, TableId};
use atsdb_engine::{Engine, MaintenanceTask};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The pause after a computation, as a multiple of its duration.
const REST_FACTOR: u32 = 10;

/// Computes rollups in the background, with one thread for queries.
pub(crate) struct RollupMaintenance {
    options: SessionOptions,
    state: Mutex<MaintenanceState>,
}

#[derive(Default)]
struct MaintenanceState {
    /// Created for the first rollup, and dropped with the last.
    worker: Option<Arc<Worker>>,
    /// The end of each rollup's pause, by the engine's uptime.
    rests: HashMap<TableId, Duration>,
}

impl RollupMaintenance {
    /// Creates it with the resources of a session.
    pub(crate) fn new(options: &SessionOptions) -> Self {
        let options =
            SessionOptions { threads: 1, file_access: false, time_limit: None, read_only: false, ..options.clone() };
        Self { options, state: Mutex::default() }
    }
}

impl MaintenanceTask for RollupMaintenance {
    fn run(&self, engine: &Engine, may_continue: &dyn Fn() -> bool) -> Result<bool> {
        let mut state = self.state.lock();
        let snapshot = engine.snapshot()?;
        let mut rollups = Vec::new();
        for rollup in rollups_named(&snapshot, None)? {
            // The rollups of an unchanged copy are computed in the store that it was copied from.
            let source = rollup.definition.rollup.as_ref().and_then(|rollup| snapshot.source_of(rollup).ok());
            if !source.map_or(Ok(false), |source| snapshot.is_unchanged_copy(source))? {
                rollups.push(rollup);
            }
        }
        if rollups.is_empty() {
            *state = MaintenanceState::default();
            return Ok(false);
        }
        let worker = state.worker.take().unwrap_or_else(|| Arc::new(Worker::new(&self.options)));
        let interrupt = Interrupt::default();
        let refresh = Refresh { engine, worker: &worker, interrupt: &interrupt };
        let (mut waits, mut first_error) = (false, None);
        for table in rollups.iter().map(|table| table.id) {
            if state.rests.get(&table).is_some_and(|until| *until > engine.uptime()) {
                waits = true;
                continue;
            }
            let started = engine.uptime();
            // A rollup that cannot be computed does not stop the others. Queries of it get the error.
            if let Err(error) = refresh.run(table, Effort::Ended, may_continue) {
                first_error.get_or_insert(error);
            }
            let ended = engine.uptime();
            state.rests.insert(table, ended + ended.saturating_sub(started) * REST_FACTOR);
        }
        state.rests.retain(|table, _| rollups.iter().any(|rollup| rollup.id == *table));
        state.worker = Some(worker);
        first_error.map_or(Ok(waits), Err)
    }
}
