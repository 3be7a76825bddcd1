//! The store itself: one lock around the state, and calls to the modules.

use crate::snapshot::MemorySnapshot;
use crate::state::StoreState;
use crate::{commit, counter, lease, mapping, reclaim, size, stage, table, verify};
use atsdb_core::store::{Finding, Reclaimed, StoreSize};
use atsdb_core::{
    Change, ChunkId, ColumnId, CommitOutcome, Durability, NewChunk, NumberBlock, NumberRequest, Result, Snapshot,
    StageId, Store, Table, TableDefinition, TableId,
};
use parking_lot::{Mutex, MutexGuard};

/// A store in memory. It ends with its last user.
#[derive(Debug)]
pub struct MemoryStore {
    uid: [u8; 16],
    state: Mutex<StoreState>,
}

impl MemoryStore {
    /// Creates an empty store with this uid.
    pub fn new(uid: [u8; 16]) -> Self {
        Self { uid, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        // Every change is checked before its first step is applied, so a panic leaves no partial change.
        self.state.lock()
    }
}

impl Store for MemoryStore {
    fn url(&self) -> &str {
        "memory:"
    }

    fn uid(&self) -> [u8; 16] {
        self.uid
    }

    /// A crash destroys the store.
    fn durability(&self) -> Durability {
        Durability::Off
    }

    fn create_table(&self, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table> {
        definition.check()?;
        table::create(&mut self.state(), definition, stage)
    }

    fn drop_table(&self, table: TableId) -> Result<()> {
        table::drop(&mut self.state(), table)
    }

    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>> {
        mapping::map_values(&self.state(), table, column, capacity, values)
    }

    fn reserve_numbers(&self, request: &NumberRequest) -> Result<NumberBlock> {
        counter::reserve(&self.state(), request)
    }

    fn open_stage(&self, now_ms: i64) -> Result<StageId> {
        Ok(stage::open(&mut self.state(), now_ms))
    }

    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()> {
        chunks.iter().try_for_each(NewChunk::check)?;
        stage::write(&mut self.state(), stage, chunks, now_ms)
    }

    fn stages(&self) -> Result<Vec<StageId>> {
        Ok(self.state().stages.keys().copied().collect())
    }

    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>> {
        let (view, tables) = stage::view(&self.state(), stage)?;
        Ok(Box::new(MemorySnapshot::of_tables(view, tables)))
    }

    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()> {
        stage::remove_chunks(&mut self.state(), stage, chunks)
    }

    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()> {
        stage::remove_table(&mut self.state(), stage, table)
    }

    fn abandon_stage(&self, stage: StageId) -> Result<()> {
        self.state().stages.remove(&stage);
        Ok(())
    }

    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<CommitOutcome>>> {
        let mut state = self.state();
        Ok(changes.iter().map(|change| commit::commit(&mut state, change, now_ms)).collect())
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(MemorySnapshot::new(&self.state())))
    }

    fn is_at_hand(&self) -> bool {
        true
    }

    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool> {
        Ok(lease::acquire(&mut self.state(), name, holder, now_ms, ttl_ms))
    }

    fn release_lease(&self, name: &str, holder: &str) -> Result<()> {
        lease::release(&mut self.state(), name, holder);
        Ok(())
    }

    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        Ok(reclaim::reclaim(&mut self.state(), byte_budget, now_ms))
    }

    fn size(&self) -> Result<StoreSize> {
        Ok(size::size(&self.state()))
    }

    fn verify(&self) -> Result<Vec<Finding>> {
        Ok(verify::verify(&self.state().view))
    }
}
