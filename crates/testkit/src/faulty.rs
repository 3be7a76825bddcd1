//! A store in which one chosen call fails, or another process acts before one chosen call. Its calls are counted. The
//! code above it must lose nothing that was acknowledged, and must not store part of anything that was not.

use atsdb_core::store::{Finding, Reclaimed, StoreSize};
use atsdb_core::{
    Change, ChunkEntry, ChunkId, ColumnId, CommitOutcome, Counter, Durability, Error, ErrorKind, NewChunk, NumberBlock,
    NumberRequest, Result, Snapshot, StageId, Store, Table, TableDefinition, TableId, TimeRange,
};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The time at which a call fails: before or after it takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fails {
    /// The call fails before it did anything.
    Before,
    /// The call fails after it took effect, as if its answer were lost.
    After,
}

/// An action before or after a call.
struct Action(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Action")
    }
}

/// The call that fails, and how. Shared by the store and its snapshots.
#[derive(Debug)]
pub struct Faults {
    fails: Mutex<Fails>,
    /// The number of calls before the one that fails. If negative, no call fails.
    left: AtomicI64,
    failed: Mutex<Option<&'static str>>,
    is_armed: AtomicBool,
    /// Whether the store has become unreachable.
    is_severed: AtomicBool,
    /// The action that replaces a failure, before or after the call.
    act: Mutex<Option<Action>>,
    /// Held for reading while a call decides whether to act, and acts.
    acting: RwLock<()>,
    /// The number of calls of each method.
    calls: Mutex<BTreeMap<&'static str, u64>>,
    /// A chunk whose pages cannot be read, and the number of attempts.
    unreadable: Mutex<Option<(ChunkId, u64)>>,
}

impl Faults {
    /// No call fails before [`arm`](Self::arm).
    pub fn new(fails: Fails) -> Arc<Self> {
        let (left, failed, is_armed) = (AtomicI64::new(-1), Mutex::new(None), AtomicBool::new(false));
        let (act, calls, unreadable) = (Mutex::default(), Mutex::default(), Mutex::default());
        let acting = RwLock::default();
        let (fails, is_severed) = (Mutex::new(fails), AtomicBool::new(false));
        Arc::new(Self { fails, left, failed, is_armed, is_severed, act, acting, calls, unreadable })
    }

    /// Runs an action before the call with this number, counted from 0. Then the call is made as usual.
    pub fn intervene(&self, number: i64, act: impl FnOnce() + Send + 'static) {
        *self.act.lock() = Some(Action(Box::new(act)));
        self.arm(number);
    }

    /// Like [`intervene`](Self::intervene), but runs the action before or after the call, depending on `when`. After
    /// the call, its effects exist.
    pub fn act(&self, number: i64, when: Fails, act: impl FnOnce() + Send + 'static) {
        *self.fails.lock() = when;
        self.intervene(number, act);
    }

    /// Makes the call with this number, counted from 0, fail in the given way.
    pub fn fail(&self, number: i64, fails: Fails) {
        *self.fails.lock() = fails;
        self.arm(number);
    }

    /// Ends failures and actions.
    pub fn disarm(&self) {
        self.is_armed.store(false, Ordering::SeqCst);
        *self.act.lock() = None;
        *self.failed.lock() = None;
    }

    /// Makes all further calls fail to reach the store, as if the calling process were dead.
    pub fn sever(&self) {
        self.is_severed.store(true, Ordering::SeqCst);
    }

    /// Returns whether the store has become unreachable.
    pub fn is_severed(&self) -> bool {
        self.is_severed.load(Ordering::SeqCst)
    }

    /// Makes the call with this number, counted from 0, fail.
    pub fn arm(&self, number: i64) {
        self.left.store(number, Ordering::SeqCst);
        self.is_armed.store(true, Ordering::SeqCst);
    }

    /// Until the returned value is dropped, calls are not counted and do not fail. Waits for an action in progress,
    /// which a call by a background thread may have begun; so actions must not call this.
    pub fn pause(&self) -> Pause<'_> {
        let was_armed = self.is_armed.swap(false, Ordering::SeqCst);
        drop(self.acting.write());
        Pause { faults: self, was_armed }
    }

    /// The method whose call failed, if one did.
    pub fn failed(&self) -> Option<&'static str> {
        *self.failed.lock()
    }

    /// Returns the number of calls of a method.
    pub fn calls(&self, method: &str) -> u64 {
        self.calls.lock().get(method).copied().unwrap_or(0)
    }

    /// Makes the pages of this chunk unreadable, for a reason other than damage.
    pub fn make_unreadable(&self, chunk: ChunkId) {
        *self.unreadable.lock() = Some((chunk, 0));
    }

    /// Returns the number of attempts to read the unreadable chunk.
    pub fn unreadable_reads(&self) -> u64 {
        self.unreadable.lock().map_or(0, |(_, reads)| reads)
    }

    fn read(&self, chunk: ChunkId) -> Result<()> {
        match self.unreadable.lock().as_mut().filter(|(unreadable, _)| *unreadable == chunk) {
            None => Ok(()),
            Some((_, reads)) => {
                *reads += 1;
                Err(Error::new(ErrorKind::Unavailable, format!("chunk {} cannot be read now", chunk.0)))
            }
        }
    }

    fn call<T>(&self, method: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.is_severed() {
            return Err(Error::new(ErrorKind::Unavailable, format!("{method}: the process is gone")));
        }
        *self.calls.lock().entry(method).or_default() += 1;
        let acting = self.acting.read_recursive();
        let fails = self.is_armed.load(Ordering::SeqCst) && self.left.fetch_sub(1, Ordering::SeqCst) == 0;
        if !fails {
            drop(acting);
            return work();
        }
        let (act, fails) = (self.act.lock().take(), *self.fails.lock());
        if let Some(Action(act)) = act {
            if fails == Fails::Before {
                act();
                drop(acting);
                return work();
            }
            let done = work();
            act();
            return done;
        }
        *self.failed.lock() = Some(method);
        if fails == Fails::After {
            work()?;
        }
        Err(Error::new(ErrorKind::Unavailable, format!("{method} failed, as the test wants it")))
    }
}

/// While this exists, no call fails.
pub struct Pause<'a> {
    faults: &'a Faults,
    was_armed: bool,
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.faults.is_armed.store(self.was_armed, Ordering::SeqCst);
    }
}

/// A store whose calls can fail.
#[derive(Debug)]
pub struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Arc<Faults>,
}

impl FaultyStore {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>, faults: &Arc<Faults>) -> Self {
        Self { inner, faults: Arc::clone(faults) }
    }

    fn snapshot_of(&self, inner: Box<dyn Snapshot>) -> Box<dyn Snapshot> {
        Box::new(FaultySnapshot { inner, faults: Arc::clone(&self.faults) })
    }
}

struct FaultySnapshot {
    inner: Box<dyn Snapshot>,
    faults: Arc<Faults>,
}

impl Store for FaultyStore {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn uid(&self) -> [u8; 16] {
        self.inner.uid()
    }

    fn durability(&self) -> Durability {
        self.inner.durability()
    }

    fn create_table(&self, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
        self.faults.call("create_table", || self.inner.create_table(definition, stage))
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        self.faults.call("drop_table", || self.inner.drop_table(table))
    }

    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>> {
        self.faults.call("map_values", || self.inner.map_values(table, column, capacity, values))
    }

    fn reserve_numbers(&self, request: &NumberRequest) -> Result<NumberBlock> {
        self.faults.call("reserve_numbers", || self.inner.reserve_numbers(request))
    }

    fn open_stage(&self, now_ms: i64) -> Result<StageId> {
        self.faults.call("open_stage", || self.inner.open_stage(now_ms))
    }

    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
        self.faults.call("stage", || self.inner.stage(stage, chunks, now_ms))
    }

    fn stages(&self) -> Result<Vec<StageId>> {
        self.faults.call("stages", || self.inner.stages())
    }

    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>> {
        self.faults.call("stage_snapshot", || self.inner.stage_snapshot(stage)).map(|inner| self.snapshot_of(inner))
    }

    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        self.faults.call("unstage", || self.inner.unstage(stage, chunks))
    }

    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()> {
        self.faults.call("unstage_table", || self.inner.unstage_table(stage, table))
    }

    fn abandon_stage(&self, stage: StageId) -> Result<()> {
        self.faults.call("abandon_stage", || self.inner.abandon_stage(stage))
    }

    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<CommitOutcome>>> {
        self.faults.call("commit", || self.inner.commit(changes, now_ms))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.faults.call("snapshot", || self.inner.snapshot()).map(|inner| self.snapshot_of(inner))
    }

    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool> {
        self.faults.call("acquire_lease", || self.inner.acquire_lease(name, holder, now_ms, ttl_ms))
    }

    fn release_lease(&self, name: &str, holder: &str) -> Result<()> {
        self.faults.call("release_lease", || self.inner.release_lease(name, holder))
    }

    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        self.faults.call("reclaim", || self.inner.reclaim(byte_budget, now_ms))
    }

    fn reclaim_beside_writers(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        self.faults.call("reclaim", || self.inner.reclaim_beside_writers(byte_budget, now_ms))
    }

    fn check_location(&self) -> Result<()> {
        self.inner.check_location()
    }

    fn size(&self) -> Result<StoreSize> {
        self.faults.call("size", || self.inner.size())
    }

    fn verify(&self) -> Result<Vec<Finding>> {
        self.faults.call("verify", || self.inner.verify())
    }
}

impl Snapshot for FaultySnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        self.faults.call("Snapshot::tables", || self.inner.tables())
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        self.faults.call("Snapshot::chunks", || self.inner.chunks(table, range))
    }

    fn chunk_count(&self, table: TableId) -> Result<usize> {
        self.faults.call("Snapshot::chunk_count", || self.inner.chunk_count(table))
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        self.faults.call("Snapshot::newest_chunk", || self.inner.newest_chunk())
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        self.faults.call("Snapshot::mapping", || self.inner.mapping(table, column, first))
    }

    fn counter(&self, table: TableId, column: ColumnId) -> Result<Option<Counter>> {
        self.faults.call("Snapshot::counter", || self.inner.counter(table, column))
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        self.faults.read(chunk)?;
        self.faults.call("Snapshot::read_pages", || self.inner.read_pages(chunk, columns))
    }
}
