//! What happens by itself: a thread seals slices that have gone quiet, drops expired ones and gives space back,
//! while it holds the store's lease.

use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::background::{Background, Nudges};
use crate::shared::holds::{LEASE, Order};
use crate::upkeep::reslice::reslice;
use crate::upkeep::retain::retain_tables;
use crate::upkeep::seal::Sealer;
use crate::upkeep::sealing_failures::{SealingFailures, SliceKey};
use atsdb_core::{ChunkEntry, ChunkId, Result, Table, TableId, TimeRange};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The pause between two looks, when something was committed here.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause between two looks otherwise: for what other processes left.
const LONG_PAUSE: Duration = Duration::from_secs(30);
/// The lease outlives a look by this much, in milliseconds.
const LEASE_MS: i64 = 60_000;
/// A slice that is still being written is sealed in part once so many small chunks have gathered in it.
const FRESH_CHUNKS_MAX: usize = 64;
/// Chunks of one table that are cut for its new slice width in one look.
const RESLICED_MAX: usize = 64;
/// So many slices that cannot be sealed, one after the other, and the look goes on to what comes after sealing: it may be
/// the store that fails.
const FAILURES_MAX: usize = 3;

/// Work of the layers above that the thread does while it holds the lease, and whether another look should follow soon. The
/// function says between two steps whether the lease is still held and the engine in use.
pub(crate) type MoreWork = Box<dyn Fn(&Arc<Shared>, &dyn Fn() -> bool) -> Result<bool> + Send>;

/// Starts the thread. It ends between two slices; a nudge says that something was committed.
pub(crate) fn start(shared: &Arc<Shared>, more_work: MoreWork) -> Result<Background> {
    let (caretaker, nudges) = (Caretaker::new(shared, more_work), Arc::clone(&shared.maintenance));
    Background::start("atsdb-maintenance", nudges, move |nudges| caretaker.run(nudges))
}

/// The thread's work, one look at a time: for who has switched the thread off and decides when it is done. It is also what
/// the thread remembers between two looks.
pub struct Caretaker {
    shared: Weak<Shared>,
    more_work: MoreWork,
    /// The newest chunk of each slice with fresh chunks, at the last look.
    seen: HashMap<SliceKey, ChunkId>,
    /// Slices that could not be sealed.
    failures: SealingFailures,
}

impl Caretaker {
    /// One look at everything; whether another should follow soon.
    pub fn look_once(&mut self) -> Result<bool> {
        match self.shared.upgrade() {
            Some(shared) => self.look(&shared, &Nudges::default()),
            None => Ok(false),
        }
    }

    pub(crate) fn new(shared: &Arc<Shared>, more_work: MoreWork) -> Self {
        let shared = Arc::downgrade(shared);
        Self { shared, more_work, seen: HashMap::new(), failures: SealingFailures::default() }
    }

    fn run(mut self, nudges: &Nudges) {
        let mut busy = false;
        loop {
            if nudges.wait(if busy { PAUSE } else { LONG_PAUSE }, PAUSE).is_none() {
                return;
            }
            let Some(shared) = self.shared.upgrade() else { return };
            // What fails now (the disk is full, the store is busy) is tried again at the next look; whoever
            // appends or asks gets the error itself.
            busy = self.look(&shared, nudges).unwrap_or(true);
        }
    }

    /// One look at everything; whether another should follow soon. What fails does not keep the rest from being done, least
    /// of all reclaiming, which may be what is needed; the first error is given at the end.
    fn look(&mut self, shared: &Arc<Shared>, nudges: &Nudges) -> Result<bool> {
        if !self.has_lease(shared)? {
            self.seen.clear();
            return Ok(false);
        }
        // What it meets with does not stop the rest; whoever asks for its work gets the error itself.
        let go_on = || self.has_lease(shared).unwrap_or(false) && !nudges.are_over();
        let work_waits = (self.more_work)(shared, &go_on).unwrap_or(false);
        let own = own_tables(shared)?;
        let retained = retain_tables(shared, |table| own.iter().any(|own| own.id == table.id)).map(drop);
        let mut resliced = 0;
        let recut = |table: &Table| {
            reslice(shared, table.id, RESLICED_MAX, Order::ByItself).map(|(count, _)| resliced += count)
        };
        let recut = all_done(own.iter().map(recut));
        let sealed = self.seal_due(shared, nudges);
        let reclaimed = self.reclaim(shared, nudges);
        let more = [retained, recut].into_iter().collect::<Result<()>>().and(sealed)? | reclaimed?;
        let waiting = more || !self.seen.is_empty() || resliced > 0 || work_waits;
        if !more && !shared.holds.need_lease() {
            shared.store.release_lease(LEASE, &shared.holder)?;
        }
        Ok(waiting)
    }

    /// Seals the slices that are due; whether some are left, as a transaction is open or the thread is to end.
    fn seal_due(&mut self, shared: &Arc<Shared>, nudges: &Nudges) -> Result<bool> {
        let (mut failed, mut failures) = (Ok(()), 0);
        let mut sealers: Option<(TableId, Sealer<'_>)> = None;
        for (key, newest) in self.due_slices(shared)? {
            if shared.holds.are_there(shared.environment.uptime()) || !self.has_lease(shared)? || nudges.are_over() {
                return Ok(true);
            }
            let (table, slice_start) = key;
            let sealer = match sealers.take().filter(|(of, _)| *of == table) {
                Some((_, sealer)) => sealer,
                None => Sealer::new(shared, table, Order::ByItself),
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

    /// Gives space back; whether some is left, as the lease is somebody else's or the thread is to end.
    fn reclaim(&self, shared: &Shared, nudges: &Nudges) -> Result<bool> {
        while shared.reclaim_step()? {
            if !self.has_lease(shared)? || nudges.are_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_lease(&self, shared: &Shared) -> Result<bool> {
        shared.store.acquire_lease(LEASE, &shared.holder, shared.environment.now_ms(), LEASE_MS)
    }

    /// Slices that got nothing new since the last look, and those where too many small chunks have gathered; with
    /// the newest chunk that takes part.
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
                if self.failures.keep_away(&key, newest, now_ms) {
                    continue;
                }
                let is_quiet = self.seen.get(&key) == Some(&newest);
                if fresh.len() >= FRESH_CHUNKS_MAX || (is_quiet && (is_past || definition.time.is_none())) {
                    due.push((key, newest));
                }
                // A slice whose time has not passed is looked at again when something is added.
                if is_past || definition.time.is_none() {
                    seen.insert(key, newest);
                }
            }
        }
        self.seen = seen;
        Ok(due)
    }
}

/// Does all of it, and gives the first error.
fn all_done(work: impl Iterator<Item = Result<()>>) -> Result<()> {
    let mut first = Ok(());
    for done in work {
        first = first.and(done);
    }
    first
}

/// The tables that are this store's to care for: not those that are copies of another's.
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
