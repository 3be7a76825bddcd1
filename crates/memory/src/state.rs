//! The contents of the store.

use atsdb_core::{ChunkEntry, ChunkId, ColumnId, Counter, DefinitionVersion, StageId, TableDefinition, TableId};
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The state that snapshots see. It is shared with them, and copied when it changes while a snapshot holds it.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) tables: BTreeMap<TableId, Arc<StoredTable>>,
    pub(crate) chunks: BTreeMap<ChunkId, Arc<StoredChunk>>,
}

/// A table with its chunks, by slice and number.
#[derive(Debug, Clone)]
pub(crate) struct StoredTable {
    pub(crate) version: DefinitionVersion,
    pub(crate) definition: TableDefinition,
    pub(crate) chunks: BTreeMap<(i64, ChunkId), Arc<StoredChunk>>,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) counters: Counters,
}

impl StoredTable {
    /// Returns the table without its chunks.
    pub(crate) fn without_chunks(&self) -> Self {
        Self {
            version: self.version,
            definition: self.definition.clone(),
            chunks: BTreeMap::new(),
            dictionaries: Arc::clone(&self.dictionaries),
            counters: Arc::clone(&self.counters),
        }
    }
}

/// A chunk with its pages, by column. All versions of the chunk share them.
#[derive(Debug, Clone)]
pub(crate) struct StoredChunk {
    pub(crate) entry: ChunkEntry,
    pub(crate) pages: Vec<(ColumnId, Arc<Vec<u8>>)>,
}

/// The dictionaries of a table's columns. They only grow, so that snapshots share them with writers.
pub(crate) type Dictionaries = Arc<RwLock<BTreeMap<ColumnId, Dictionary>>>;

/// The counters of a table's identity columns. They only advance, so that snapshots share them with writers.
pub(crate) type Counters = Arc<RwLock<BTreeMap<ColumnId, Counter>>>;

/// Strings to indices, and back.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    pub(crate) indices: HashMap<Arc<[u8]>, u32>,
    pub(crate) values: Vec<Arc<[u8]>>,
}

/// An uncommitted stage.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) touched_ms: i64,
    pub(crate) tables: BTreeMap<TableId, Arc<StoredTable>>,
    pub(crate) chunks: BTreeMap<ChunkId, Arc<StoredChunk>>,
}

/// A lease.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) holder: String,
    pub(crate) expires_ms: i64,
}

/// The whole state. The last assigned numbers are kept so that none is reused.
#[derive(Debug, Default)]
pub(crate) struct StoreState {
    pub(crate) view: Arc<View>,
    pub(crate) stages: BTreeMap<StageId, Stage>,
    pub(crate) batches: HashMap<String, i64>,
    pub(crate) leases: HashMap<String, Lease>,
    /// The time at which idle stages or old batch ids were first observed.
    pub(crate) expired_since_ms: Option<i64>,
    pub(crate) table_last: i64,
    pub(crate) chunk_last: i64,
    pub(crate) stage_last: i64,
}

impl StoreState {
    /// Returns the view for modification.
    pub(crate) fn view_mut(&mut self) -> &mut View {
        Arc::make_mut(&mut self.view)
    }
}
