//! The in-memory tables of one store.

use crate::hash::HashSeed;
use crate::state::TableState;
use arrow::datatypes::DataType;
use atsdb_core::{ChunkId, Result, TableDefinition, TableId};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

/// A snapshot of all in-memory tables. It is cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ResidentSnapshot(Arc<BTreeMap<TableId, Arc<TableState>>>);

impl ResidentSnapshot {
    /// Returns a table that has rows or had some.
    pub fn get(&self, id: TableId) -> Option<Arc<TableState>> {
        self.0.get(&id).cloned()
    }

    /// Returns the size of all tables in bytes.
    pub fn byte_count(&self) -> usize {
        self.0.values().map(|state| state.byte_count()).sum()
    }

    pub(crate) fn put(&mut self, id: TableId, state: Arc<TableState>) {
        Arc::make_mut(&mut self.0).insert(id, state);
    }

    pub(crate) fn remove(&mut self, id: TableId) {
        Arc::make_mut(&mut self.0).remove(&id);
    }
}

/// Chunks, and the table that was loaded from them.
type ReadRows = (Vec<ChunkId>, Weak<TableState>);

/// Tables that were dropped in this process. Their numbers are never reused, and none of their rows comes back.
type Dropped = BTreeSet<TableId>;

/// The in-memory tables of one store.
#[derive(Debug)]
pub struct ResidentTables {
    current: RwLock<ResidentSnapshot>,
    /// Held while the next state is created.
    turn: Mutex<Dropped>,
    /// The thread that creates the next state, if there is one.
    maker: Mutex<Option<ThreadId>>,
    /// Odd while the next state is created, incremented afterwards.
    generation: AtomicU64,
    /// The chunks of each table that was loaded from the store, and the rows in them. Loading threads hold the lock.
    read: Mutex<BTreeMap<TableId, ReadRows>>,
    /// States under wanted definitions that were made from tables found under other definitions, as far as both are in
    /// use.
    redefined: Mutex<BTreeMap<TableId, Vec<Redefined>>>,
    seed: HashSeed,
    threads: usize,
}

/// The state of a table under one definition, and the same rows under another.
type Redefined = (Weak<TableState>, Weak<TableState>);

impl ResidentTables {
    /// Creates an empty set of tables. Indexes are built with this number of threads.
    pub fn new(seed: HashSeed, threads: usize) -> Self {
        Self {
            current: RwLock::default(),
            turn: Mutex::default(),
            maker: Mutex::default(),
            generation: AtomicU64::new(0),
            read: Mutex::default(),
            redefined: Mutex::default(),
            seed,
            threads,
        }
    }

    /// Returns the current snapshot of all tables.
    pub fn snapshot(&self) -> ResidentSnapshot {
        self.current.read().clone()
    }

    /// Returns what `take` returns and a snapshot of all tables of the same moment: a commit that changes both is
    /// visible in both or in neither.
    pub fn beside<T>(&self, take: impl Fn() -> Result<T>) -> Result<(T, ResidentSnapshot)> {
        let before = self.generation.load(Ordering::SeqCst);
        if before.is_multiple_of(2) {
            let (residents, taken) = (self.snapshot(), take()?);
            if self.generation.load(Ordering::SeqCst) == before {
                return Ok((taken, residents));
            }
        }
        // A commit is running. If this thread itself runs it, no other commit can be running.
        let is_own = *self.maker.lock() == Some(std::thread::current().id());
        let _turn = (!is_own).then(|| self.turn.lock());
        Ok((take()?, self.snapshot()))
    }

    /// Returns whether the next state is being created, for which [`beside`](Self::beside) waits. That may include a
    /// commit.
    pub fn is_changing(&self) -> bool {
        !self.generation.load(Ordering::SeqCst).is_multiple_of(2)
    }

    /// Creates a table without rows.
    pub fn empty(&self, definition: &TableDefinition, types: Vec<DataType>) -> Arc<TableState> {
        Arc::new(TableState::new(definition, types, self.seed, self.threads))
    }

    /// Loads a saved table that this process has not used before. `read` reads its rows from these chunks, once for all
    /// callers that see the same chunks. The table starts with these rows, unless it has been created in the meantime.
    pub fn begin(
        &self,
        id: TableId,
        definition: &TableDefinition,
        chunks: Vec<ChunkId>,
        read: impl FnOnce() -> Result<Arc<TableState>>,
    ) -> Result<Arc<TableState>> {
        let mut all = self.read.lock();
        let known = all.get(&id).filter(|(of, _)| *of == chunks).and_then(|(_, state)| state.upgrade());
        if let Some(state) = known.filter(|state| state.definition() == definition) {
            return Ok(state);
        }
        let state = read()?;
        all.insert(id, (chunks, Arc::downgrade(&state)));
        let dropped = self.turn.lock();
        let mut current = self.current.write();
        if current.get(id).is_none() && !dropped.contains(&id) {
            current.put(id, Arc::clone(&state));
        }
        Ok(state)
    }

    /// Returns the table under its current definition, as [`under`](Self::under) does. It replaces the outdated state,
    /// unless the table changed in the meantime.
    pub fn adopt(
        &self,
        id: TableId,
        found: &Arc<TableState>,
        definition: &TableDefinition,
        redefine: impl FnOnce() -> Result<TableState>,
    ) -> Result<Arc<TableState>> {
        let state = self.under(id, found, definition, redefine)?;
        let _turn = self.turn.lock();
        let mut current = self.current.write();
        if current.get(id).is_some_and(|current| current.is(found)) {
            current.put(id, Arc::clone(&state));
        }
        Ok(state)
    }

    /// Returns the table under another definition. It is made once for all that find the same state and want the same
    /// definition, so that rows found in one are rows of the others.
    pub fn under(
        &self,
        id: TableId,
        found: &Arc<TableState>,
        definition: &TableDefinition,
        redefine: impl FnOnce() -> Result<TableState>,
    ) -> Result<Arc<TableState>> {
        let mut all = self.redefined.lock();
        let made = all.entry(id).or_default();
        made.retain(|(from, to)| from.strong_count() > 0 && to.strong_count() > 0);
        let of_found = made.iter().filter(|(from, _)| Weak::as_ptr(from) == Arc::as_ptr(found));
        let known = of_found.filter_map(|(_, to)| to.upgrade()).find(|state| state.definition() == definition);
        if let Some(state) = known {
            return Ok(state);
        }
        let state = Arc::new(redefine()?);
        made.push((Arc::downgrade(found), Arc::downgrade(&state)));
        Ok(state)
    }

    /// Removes a table whose chunks have been replaced, if its rows are those that were loaded from them or if others
    /// have begun it anew. Returns whether its rows are now those of its chunks.
    pub fn unload(&self, id: TableId, found: &Arc<TableState>) -> bool {
        let all = self.read.lock();
        let is_loaded = all.get(&id).is_some_and(|(_, loaded)| Weak::as_ptr(loaded) == Arc::as_ptr(found));
        let _turn = self.turn.lock();
        let mut current = self.current.write();
        if current.get(id).is_none_or(|current| !current.is(found)) {
            return true;
        }
        if is_loaded {
            current.remove(id);
        }
        is_loaded
    }

    /// Removes a dropped table permanently.
    pub fn drop_table(&self, id: TableId) {
        let mut dropped = self.turn.lock();
        dropped.insert(id);
        self.current.write().remove(id);
    }

    /// Removes a table's rows.
    pub fn forget(&self, id: TableId) {
        let _turn = self.turn.lock();
        self.current.write().remove(id);
    }

    /// Replaces the current snapshot. `next` also gets the set of dropped tables, to add to it. Readers continue in the
    /// meantime; other writers wait.
    pub(crate) fn replace<T>(
        &self,
        next: impl FnOnce(&ResidentSnapshot, &mut BTreeSet<TableId>) -> Result<(ResidentSnapshot, T)>,
    ) -> Result<T> {
        let mut dropped = self.turn.lock();
        let _making = StateChange::begin(self);
        let current = self.snapshot();
        let (next, done) = next(&current, &mut dropped)?;
        *self.current.write() = next;
        Ok(done)
    }
}

/// Marks that the next state is being created, until it is dropped.
struct StateChange<'a>(&'a ResidentTables);

impl<'a> StateChange<'a> {
    fn begin(residents: &'a ResidentTables) -> Self {
        *residents.maker.lock() = Some(std::thread::current().id());
        residents.generation.fetch_add(1, Ordering::SeqCst);
        Self(residents)
    }
}

impl Drop for StateChange<'_> {
    fn drop(&mut self) {
        self.0.generation.fetch_add(1, Ordering::SeqCst);
        *self.0.maker.lock() = None;
    }
}
