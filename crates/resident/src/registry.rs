//! The tables of one store that live in this process.

use crate::hash::Seed;
use crate::state::TableState;
use arrow::datatypes::DataType;
use atsdb_core::{ChunkId, Result, TableDefinition, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::thread::ThreadId;

/// All tables in memory at one moment. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ResidentSnapshot(Arc<BTreeMap<TableId, Arc<TableState>>>);

impl ResidentSnapshot {
    /// A table that holds rows, or held some.
    pub fn get(&self, id: TableId) -> Option<Arc<TableState>> {
        self.0.get(&id).cloned()
    }

    /// The bytes of all tables.
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

/// Chunks, and the table that they were read as.
type ReadRows = (Vec<ChunkId>, Weak<TableState>);

/// Tables that were dropped here: their numbers are never used again, and no row comes back.
type Dropped = BTreeSet<TableId>;

/// The tables of one store that live in this process.
#[derive(Debug)]
pub struct Residents {
    current: RwLock<ResidentSnapshot>,
    /// Held while the next state is made.
    turn: Mutex<Dropped>,
    /// The thread that makes the next state, if one does.
    maker: Mutex<Option<ThreadId>>,
    /// Odd while the next state is made, and one more afterwards.
    generation: AtomicU64,
    /// What was read of the store, for each table: the chunks, and the rows in them. Held by who reads.
    read: Mutex<BTreeMap<TableId, ReadRows>>,
    /// What a table was when it was found under another definition than its own, and what became of it.
    redefined: Mutex<BTreeMap<TableId, (Weak<TableState>, Weak<TableState>)>>,
    seed: Seed,
    threads: usize,
}

impl Residents {
    /// No tables. `threads` build indexes.
    pub fn new(seed: Seed, threads: usize) -> Self {
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

    /// All tables as they are now.
    pub fn snapshot(&self) -> ResidentSnapshot {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All tables, and what `take` gives, at one moment: no commit over both shows in one of them only.
    pub fn beside<T>(&self, take: impl Fn() -> Result<T>) -> Result<(T, ResidentSnapshot)> {
        let before = self.generation.load(Ordering::SeqCst);
        if before.is_multiple_of(2) {
            let (residents, taken) = (self.snapshot(), take()?);
            if self.generation.load(Ordering::SeqCst) == before {
                return Ok((taken, residents));
            }
        }
        // A commit is under way. Where it is this thread's own, nothing else can be.
        let is_own = *self.maker.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id());
        let _turn = (!is_own).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((take()?, self.snapshot()))
    }

    /// A table without rows.
    pub fn empty(&self, definition: &TableDefinition, types: Vec<DataType>) -> Arc<TableState> {
        Arc::new(TableState::new(definition, types, self.seed, self.threads))
    }

    /// The rows of a table that this process had not used when somebody looked, read from these chunks: once for all
    /// who find the same ones. The table begins with them, unless it has begun meanwhile.
    pub fn begin(
        &self,
        id: TableId,
        definition: &TableDefinition,
        chunks: Vec<ChunkId>,
        read: impl FnOnce() -> Result<Arc<TableState>>,
    ) -> Result<Arc<TableState>> {
        let mut all = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&id).filter(|(of, _)| *of == chunks).and_then(|(_, state)| state.upgrade());
        if let Some(state) = known.filter(|state| state.definition() == definition) {
            return Ok(state);
        }
        let state = read()?;
        all.insert(id, (chunks, Arc::downgrade(&state)));
        let dropped = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.get(id).is_none() && !dropped.contains(&id) {
            current.put(id, Arc::clone(&state));
        }
        Ok(state)
    }

    /// A table that somebody found under another definition than its present one, as it is under that: made once for all
    /// who find the same state, so that rows that one of them finds are rows for the others. It takes the place of what
    /// was found, unless the table changed meanwhile.
    pub fn adopt(
        &self,
        id: TableId,
        found: &Arc<TableState>,
        definition: &TableDefinition,
        redefine: impl FnOnce() -> Result<TableState>,
    ) -> Result<Arc<TableState>> {
        let mut all = self.redefined.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&id).filter(|(from, _)| Weak::as_ptr(from) == Arc::as_ptr(found));
        let known = known.and_then(|(_, to)| to.upgrade()).filter(|state| state.definition() == definition);
        let state = match known {
            Some(state) => state,
            None => Arc::new(redefine()?),
        };
        all.insert(id, (Arc::downgrade(found), Arc::downgrade(&state)));
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.get(id).is_some_and(|current| current.is(found)) {
            current.put(id, Arc::clone(&state));
        }
        Ok(state)
    }

    /// Forgets a table that was dropped, for good.
    pub fn drop_table(&self, id: TableId) {
        let mut dropped = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        dropped.insert(id);
        self.current.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Forgets a table's rows.
    pub fn forget(&self, id: TableId) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Puts another snapshot in the place of the current one; `next` gets the tables that were dropped, to add to them.
    /// Readers go on meanwhile; who else would replace it waits.
    pub(crate) fn replace<T>(
        &self,
        next: impl FnOnce(&ResidentSnapshot, &mut BTreeSet<TableId>) -> Result<(ResidentSnapshot, T)>,
    ) -> Result<T> {
        let mut dropped = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _making = Making::begin(self);
        let current = self.snapshot();
        let (next, done) = next(&current, &mut dropped)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(done)
    }
}

/// Marks that the next state is being made, until it is dropped.
struct Making<'a>(&'a Residents);

impl<'a> Making<'a> {
    fn begin(residents: &'a Residents) -> Self {
        *residents.maker.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
        residents.generation.fetch_add(1, Ordering::SeqCst);
        Self(residents)
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.generation.fetch_add(1, Ordering::SeqCst);
        *self.0.maker.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
