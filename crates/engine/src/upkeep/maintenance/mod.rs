//! Background maintenance: while a thread holds the store's maintenance lease, it seals slices that get no new rows,
//! drops expired slices and returns space.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::background::{Background, Wakeups};
use crate::shared::holds::{LEASE, SealTrigger};
use crate::upkeep::reslice::reslice;
use crate::upkeep::retain::retain_tables;
use crate::upkeep::seal::Sealer;
use crate::upkeep::sealing_failures::{SealingFailures, SliceKey};
use atsdb_core::{ChunkEntry, ChunkId, Result, Table, TableId, TimeRange};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The pause between two runs after a commit of this process.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause between two runs otherwise, for the work that other processes left.
const LONG_PAUSE: Duration = Duration::from_secs(30);
/// The duration of the lease, in milliseconds. Each run renews it.
const LEASE_MS: i64 = 60_000;
/// A slice that is still being written is sealed once it has this many fresh chunks.
const FRESH_CHUNKS_MAX: usize = 64;
/// Maximum number of chunks of one table that one run re-slices.
const RESLICED_MAX: usize = 64;
/// The number of slices in a row that cannot be sealed after which a run skips the other slices: the store itself may
/// be failing.
const FAILURES_MAX: usize = 3;

/// A [`MaintenanceTask`](crate::engine::MaintenanceTask) as this room calls it. It returns whether it should run
/// again soon.
pub(crate) type TaskCall = Box<dyn Fn(&Arc<Shared>, &dyn Fn() -> bool) -> Result<bool> + Send>;

/// Starts the thread. A wakeup means that something was committed. It stops between two slices.
pub(crate) fn start(shared: &Arc<Shared>, task: TaskCall) -> Result<Background> {
    let (maintenance, wakeups) = (Maintenance::new(shared, task), Arc::clone(&shared.maintenance));
    Background::start("atsdb-maintenance", wakeups, move |wakeups| maintenance.run(wakeups))
}

/// Background maintenance, one run at a time, with what it remembers between two runs. Callers that have switched the
/// thread off decide themselves when to run it.
pub struct Maintenance {
    shared: Weak<Shared>,
    task: TaskCall,
    /// The newest chunk of each slice with fresh chunks, as of the last run.
    seen: HashMap<SliceKey, ChunkId>,
    /// Slices that could not be sealed.
    failures: SealingFailures,
}

impl Maintenance {
    /// Does all work that is due, and returns whether another run should follow soon. It does nothing while another
    /// process holds the lease.
    pub fn run_once(&mut self) -> Result<bool> {
        match self.shared.upgrade() {
            Some(shared) => self.run_all(&shared, &Wakeups::default(), false),
            None => Ok(false),
        }
    }

    pub(crate) fn new(shared: &Arc<Shared>, task: TaskCall) -> Self {
        let shared = Arc::downgrade(shared);
        Self { shared, task, seen: HashMap::new(), failures: SealingFailures::default() }
    }

    fn run(mut self, wakeups: &Wakeups) {
        let mut busy = false;
        loop {
            let Some(has_writers) = wakeups.wait(if busy { PAUSE } else { LONG_PAUSE }, PAUSE) else { return };
            let Some(shared) = self.shared.upgrade() else { return };
            // Work that fails (the disk is full, the store is busy) is retried in the next run. Callers of the same
            // operations get the error themselves.
            busy = self.run_all(&shared, wakeups, has_writers).unwrap_or(true) || has_writers;
        }
    }

    /// Does all work that is due, and returns whether another run should follow soon. A step that fails does not stop
    /// the others, least of all reclaiming, which may be the remedy. The first error is returned at the end. With
    /// `has_writers`, space that they will soon need is kept.
    fn run_all(&mut self, shared: &Arc<Shared>, wakeups: &Wakeups, has_writers: bool) -> Result<bool> {
        if !self.has_lease(shared)? {
            self.seen.clear();
            return Ok(false);
        }
        // An error of the task does not stop the rest: callers of the same operation get the error themselves.
        let may_continue = || self.has_lease(shared).unwrap_or(false) && !wakeups.are_over();
        let task_waits = (self.task)(shared, &may_continue).unwrap_or(false);
        let own = own_tables(shared)?;
        let retained = retain_tables(shared, |table| own.iter().any(|own| own.id == table.id)).map(drop);
        let mut resliced = 0;
        let reslice_table = |table: &Table| {
            reslice(shared, table.id, RESLICED_MAX, SealTrigger::Background).map(|(count, _)| resliced += count)
        };
        let all_resliced = all_done(own.iter().map(reslice_table));
        let sealed = self.seal_due(shared, wakeups);
        let reclaimed = self.reclaim(shared, wakeups, has_writers);
        let more = [retained, all_resliced].into_iter().collect::<Result<()>>().and(sealed)? | reclaimed?;
        let waiting = more || !self.seen.is_empty() || resliced > 0 || task_waits;
        if !more && !shared.holds.need_lease() {
            shared.store.release_lease(LEASE, &shared.holder)?;
        }
        Ok(waiting)
    }

    /// Seals the slices that are due. Returns true if some are left because a transaction is open, the lease is lost or
    /// the thread is to end.
    fn seal_due(&mut self, shared: &Arc<Shared>, wakeups: &Wakeups) -> Result<bool> {
        let (mut failed, mut failures) = (Ok(()), 0);
        let mut sealers: Option<(TableId, Sealer<'_>)> = None;
        for (key, newest) in self.due_slices(shared)? {
            if shared.holds.any(shared.environment.uptime()) || !self.has_lease(shared)? || wakeups.are_over() {
                return Ok(true);
            }
            let (table, slice_start) = key;
            let sealer = match sealers.take().filter(|(of, _)| *of == table) {
                Some((_, sealer)) => sealer,
                None => Sealer::new(shared, table, SealTrigger::Background),
            };
            let (_, sealer) = sealers.insert((table, sealer));
            let sealed = sealer.seal(slice_start, |entry| entry.id <= newest);
            self.seen.remove(&key);
            match sealed {
                Ok(_) => {
                    self.failures.forget(&key);
                    failures = 0;
                }
                Err(error) => {
                    self.failures.note(key, newest, &error, shared.environment.now_ms());
                    failed = failed.and(Err(error));
                    failures += 1;
                    if failures == FAILURES_MAX {
                        break;
                    }
                }
            }
        }
        failed.map(|()| false)
    }

    /// Gives space back. Returns true if some is left because the lease is lost or the thread is to end.
    fn reclaim(&self, shared: &Shared, wakeups: &Wakeups, has_writers: bool) -> Result<bool> {
        let step = || if has_writers { shared.reclaim_step_beside_writers() } else { shared.reclaim_step() };
        while step()? {
            if !self.has_lease(shared)? || wakeups.are_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_lease(&self, shared: &Shared) -> Result<bool> {
        shared.store.acquire_lease(LEASE, &shared.holder, shared.environment.now_ms(), LEASE_MS)
    }

    /// The slices that are due: those without new rows since the last run, and those with too many fresh chunks. Each
    /// comes with the newest chunk to seal.
    fn due_slices(&mut self, shared: &Arc<Shared>) -> Result<Vec<(SliceKey, ChunkId)>> {
        let snapshot = ReadSnapshot::take(shared)?;
        let now_ms = shared.environment.now_ms();
        let mut due = Vec::new();
        let mut seen = HashMap::new();
        for table in &own_tables(shared)? {
            let definition = &table.definition;
            let entries = snapshot.inner.store.chunks(table.id, TimeRange::ALL)?;
            for slice in entries.chunk_by(|a, b| a.slice_start == b.slice_start) {
                let fresh: Vec<&ChunkEntry> = slice.iter().filter(|entry| !entry.sealed).collect();
                let Some(newest) = fresh.iter().map(|entry| entry.id).max() else { continue };
                let unit_ms = |time: i64| i128::from(time) * 1_000 / i128::from(definition.time_unit().per_second());
                let last = definition.slice_of(slice[0].time_min).last;
                let is_past = definition.time.is_some() && unit_ms(last) < i128::from(now_ms);
                let key = (table.id, slice[0].slice_start);
                if self.failures.must_skip(&key, newest, now_ms) {
                    continue;
                }
                let is_quiet = self.seen.get(&key) == Some(&newest);
                if fresh.len() >= FRESH_CHUNKS_MAX || (is_quiet && (is_past || definition.time.is_none())) {
                    due.push((key, newest));
                }
                // A slice whose time has not passed is checked again when rows are added to it.
                if is_past || definition.time.is_none() {
                    seen.insert(key, newest);
                }
            }
        }
        self.seen = seen;
        Ok(due)
    }
}

/// Takes all steps, and returns the first error.
fn all_done(work: impl Iterator<Item = Result<()>>) -> Result<()> {
    let mut first = Ok(());
    for done in work {
        first = first.and(done);
    }
    first
}

/// The tables that this store maintains: all but unchanged copies of another store's tables.
fn own_tables(shared: &Arc<Shared>) -> Result<Vec<Table>> {
    let snapshot = ReadSnapshot::take(shared)?;
    let mut own = Vec::new();
    for table in snapshot.tables() {
        if !snapshot.is_unchanged_copy(table)? {
            own.push(table.clone());
        }
    }
    Ok(own)
}

#[cfg(test)]
mod tests;
