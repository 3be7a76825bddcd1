//! Computing rollups in the background, on the maintenance thread of the engine.
//!
//! Buckets that have not ended are left: they would be stale again with the next row, and are computed where the rollup
//! is asked. A rollup rests ten times as long as it was computed, so that late rows that keep coming cost a tenth of a
//! processor at most.

use super::refresh::{Effort, Refresh, rollups_named};
use crate::run::interrupt::Interrupt;
use crate::run::options::SessionOptions;
use crate::run::worker::Worker;
use atsdb_core::{Result, TableId};
use atsdb_engine::{Engine, MaintenanceTask};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many times as long as it was computed a rollup rests.
const REST_FACTOR: u32 = 10;

/// What computes rollups in the background. It has one thread for queries.
pub(crate) struct RollupMaintenance {
    options: SessionOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Made for the first rollup, gone with the last.
    worker: Option<Arc<Worker>>,
    /// Until when each rollup rests, by the engine's uptime.
    rests: HashMap<TableId, Duration>,
}

impl RollupMaintenance {
    /// With what a session may use.
    pub(crate) fn new(options: &SessionOptions) -> Self {
        let options =
            SessionOptions { threads: 1, file_access: false, time_limit: None, read_only: false, ..options.clone() };
        Self { options, state: Mutex::default() }
    }
}

impl MaintenanceTask for RollupMaintenance {
    fn run(&self, engine: &Engine, go_on: &dyn Fn() -> bool) -> Result<bool> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = engine.snapshot()?;
        let mut rollups = Vec::new();
        for rollup in rollups_named(&snapshot, None)? {
            // Of a copy that nobody has changed the store that it came from computes them.
            let source = rollup.definition.rollup.as_ref().and_then(|rollup| snapshot.source_of(rollup).ok());
            if !source.map_or(Ok(false), |source| snapshot.is_unchanged_copy(source))? {
                rollups.push(rollup);
            }
        }
        if rollups.is_empty() {
            *state = State::default();
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
            // One that cannot be computed does not keep the others from it; whoever asks it gets the error.
            if let Err(error) = refresh.run(table, Effort::Ended, go_on) {
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
