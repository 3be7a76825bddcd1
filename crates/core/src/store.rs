//! The contract of a store, which keeps tables, mappings and chunks.
//!
//! A store is blocking, and shared by threads and, except for `memory`, by processes. It does not know encodings: pages
//! and descriptors are bytes. Every implementation must pass the conformance suite of `testkit`.

use crate::chunk::{ChunkDescriptor, ChunkEntry, ChunkId, NewChunk};
use crate::error::{Error, Result};
use crate::id::{ColumnId, TableId};
use crate::identity::Counter;
use crate::limits::BATCH_ID_BYTES_MAX;
use crate::name::{parse_name, same_name};
use crate::number_request::{NumberBlock, NumberRequest};
use crate::schema::TableDefinition;
use crate::table::{DefinitionVersion, Table, TablesRecord};
use crate::time::TimeRange;
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// The event that an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Durability {
    /// A power cut: acknowledged means on disk.
    #[default]
    Full,
    /// A crash of the program. A power cut may lose the last commits, but the store stays consistent.
    Normal,
    /// A crash of the program. A power cut may destroy the store.
    Off,
}

impl Durability {
    /// All durabilities, safest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// `full`, `normal` or `off`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a [`name`](Self::name) in either case. Everything else is a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        parse_name("durability", text)
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The id of a batch, chosen by the caller: a batch that is sent twice is stored once. A store remembers it for
/// [`BATCH_ID_RETENTION_MS`](crate::limits::BATCH_ID_RETENTION_MS), by the rules of
/// [`ExpiredEntries`](crate::clock_skew::ExpiredEntries).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BatchId(String);

impl BatchId {
    /// Creates an id of 1 to 200 bytes. Other lengths are a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn new(id: impl Into<String>) -> Result<Self> {
        let id = id.into();
        match id.len() {
            1..=BATCH_ID_BYTES_MAX => Ok(Self(id)),
            length => {
                Err(Error::usage(format!("a batch id has 1 to {BATCH_ID_BYTES_MAX} bytes; this one has {length}")))
            }
        }
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stage's number in its store. It is never reused. A stage collects what one commit will make visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageId(pub i64);

/// A set of changes that are committed together: what becomes visible, and what is removed.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The batch's id, if it has one.
    pub batch: Option<BatchId>,
    /// The ids of the batch's parts, which are recorded with it: a part that is sent later by itself is a duplicate. If
    /// one of them was committed before, the change is refused as a [`Conflict`](crate::ErrorKind::Conflict).
    pub parts: Vec<BatchId>,
    /// A stage whose tables and chunks become visible. It ends with the commit.
    pub stage: Option<StageId>,
    /// New chunks, which become visible.
    pub add: Vec<NewChunk>,
    /// Chunks to remove. All of them must still exist.
    pub remove: Vec<(TableId, ChunkId)>,
    /// Tables to drop, as by [`Store::drop_table`]. The tables of the stage may take their names.
    pub drop: Vec<TableId>,
    /// Tables to redefine.
    pub redefine: Vec<Redefinition>,
    /// Chunks to extend by pages.
    pub amend: Vec<Amendment>,
    /// Tables to which no chunk may have been added in the meantime.
    pub guards: Vec<ChunkGuard>,
    /// The versions of the definitions under which the change was prepared.
    pub based_on: Vec<DefinitionGuard>,
}

/// A precondition of a change: the table's definition still has this version. It also applies to tables in the change's
/// stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionGuard {
    /// The table.
    pub table: TableId,
    /// The required version of its definition.
    pub version: DefinitionVersion,
    /// The table's name in this version, for errors.
    pub name: String,
}

impl DefinitionGuard {
    /// The precondition that a table still has this definition.
    pub fn of(table: &Table) -> Self {
        Self { table: table.id, version: table.version, name: table.definition.name.clone() }
    }
}

impl Change {
    /// The name of a table under which the change was prepared, for errors.
    pub fn table_name(&self, table: TableId) -> String {
        let based_on = self.based_on.iter().find(|based_on| based_on.table == table);
        based_on.map_or_else(|| format!("number {}", table.0), |based_on| based_on.name.clone())
    }
}

/// A new definition of a table, which becomes its next version. Its number, mappings and chunks stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redefinition {
    /// The table.
    pub table: TableId,
    /// The definition that the table must still have.
    pub from: TableDefinition,
    /// The new definition. It is checked; a name that another visible table has is an
    /// [`Exists`](crate::ErrorKind::Exists) error.
    pub to: TableDefinition,
}

/// The addition of index pages to a chunk, which keeps its number, its name and its other pages. Without pages it is a
/// precondition: the chunk still exists, with this descriptor.
#[derive(Debug, Clone)]
pub struct Amendment {
    /// The table that the chunk belongs to.
    pub table: TableId,
    /// The chunk.
    pub chunk: ChunkId,
    /// The encoded descriptor that the chunk must still have.
    pub from: Vec<u8>,
    /// The new descriptor: the same with more pages.
    pub descriptor: ChunkDescriptor,
    /// The encoded new descriptor.
    pub descriptor_bytes: Vec<u8>,
    /// The new pages. The chunk has no pages with these numbers yet.
    pub pages: Vec<(ColumnId, Vec<u8>)>,
}

impl Amendment {
    /// Refuses an amendment that contradicts its own descriptor.
    pub fn check(&self) -> Result<()> {
        let described = self.pages.iter().all(|(column, bytes)| {
            self.descriptor.page(*column).is_some_and(|page| page.byte_count as usize == bytes.len())
        });
        if described { Ok(()) } else { Err(self.contradiction()) }
    }

    /// The error for an amended chunk that would not have the pages that the new descriptor lists.
    pub fn contradiction(&self) -> Error {
        let uid = self.descriptor.uid;
        Error::internal(format!("chunk {uid} does not have the pages that its new descriptor lists"))
    }
}

/// A precondition of a change: no chunk of the table with a number above `newest` is visible when the change is
/// applied. Chunks that the change itself adds do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkGuard {
    /// The table.
    pub table: TableId,
    /// The newest chunk that the change takes into account; 0 for none.
    pub newest: ChunkId,
}

/// The outcome of a committed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The change is visible, and as durable as the store was opened for.
    Committed,
    /// A batch with this id was committed before, and is as durable as the store was opened for. This change and its
    /// stage are discarded.
    Duplicate,
}

/// The result of one step of reclaiming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// The bytes that were returned to the file system, or to the layer below.
    pub byte_count: u64,
    /// Whether another step would free more.
    pub more: bool,
}

/// The size of a store in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// The total size, without what is about to be reclaimed.
    pub total: u64,
    /// The part of it that belongs to each table: pages, descriptors, mappings. The rest (indexes, unused space) is
    /// shared.
    pub tables: Vec<(TableId, u64)>,
}

/// A problem that [`Store::verify`] found, or something that it could not check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The affected table, chunk, page or structure.
    pub location: String,
    /// The damage, or the reason why it could not be checked.
    pub problem: String,
    /// Whether it is damaged. Otherwise nothing is known about it.
    pub is_damage: bool,
}

impl Finding {
    /// Creates a finding of damage.
    pub fn damage(location: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { location: location.into(), problem: problem.into(), is_damage: true }
    }

    /// Creates a finding from an error: damage, unless [a resource was unavailable](crate::ErrorKind::is_shortage).
    pub fn from_error(location: impl Into<String>, problem: impl Into<String>, error: &Error) -> Self {
        Self { is_damage: !error.kind().is_shortage(), ..Self::damage(location, problem) }
    }

    /// Returns whether the check is incomplete because a resource was unavailable.
    pub fn is_incomplete(findings: &[Self]) -> bool {
        findings.iter().any(|finding| !finding.is_damage)
    }
}

/// A store of tables, mappings and chunks. Every method is atomic: after an error the call has stored nothing, unless
/// the error's message states something else. `now_ms` is milliseconds since the Unix epoch. The caller provides it,
/// because stores do not read the clock.
pub trait Store: Send + Sync + fmt::Debug {
    /// Returns the URL that opens the store again, without secrets.
    fn url(&self) -> &str;

    /// Returns the 128 random bits that were generated when the store was created.
    fn uid(&self) -> [u8; 16];

    /// The durability of acknowledged commits.
    fn durability(&self) -> Durability;

    /// Creates a table, visible immediately or with its stage. The definition is checked. If a visible table has the
    /// same name, it is an [`Exists`](crate::ErrorKind::Exists) error: immediately, or for a staged table when its
    /// stage is committed. A second table of that name in the same stage is refused immediately.
    fn create_table(&self, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table>;

    /// Drops a table, its mappings and its chunks. [`reclaim`](Self::reclaim) frees their space. An unknown table is a
    /// [`NotFound`](crate::ErrorKind::NotFound) error.
    fn drop_table(&self, table: TableId) -> Result<()>;

    /// Returns the indices of strings in the dictionary of a mapped column. Unknown strings get consecutive indices in
    /// the given order, starting at 0. They are visible to all processes when this returns. They reach the disk no
    /// later than any commit that follows, and are never changed or reused. Strings are bytes, and the same for all
    /// threads and processes. If more than `capacity` strings would be needed, it is a
    /// [`Limit`](crate::ErrorKind::Limit) error and none is added; the caller adds the column's name.
    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>>;

    /// Reserves numbers of the counter of an identity column, by the rules of [`NumberRequest::take`]. No number is
    /// returned twice, to any thread or process, also if the transaction that wanted it is undone. The reservation
    /// reaches the disk no later than any commit that follows. An unknown table is a
    /// [`NotFound`](crate::ErrorKind::NotFound) error.
    fn reserve_numbers(&self, request: &NumberRequest) -> Result<NumberBlock>;

    /// Opens a stage. [`reclaim`](Self::reclaim) discards a stage that is neither committed nor written to for
    /// [`STAGE_IDLE_MS_MAX`](crate::limits::STAGE_IDLE_MS_MAX), by the rules of
    /// [`ExpiredEntries`](crate::clock_skew::ExpiredEntries): a wrong clock cannot discard a stage that its own process
    /// still writes to.
    fn open_stage(&self, now_ms: i64) -> Result<StageId>;

    /// Writes chunks that become visible with their stage. They need not be durable before.
    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()>;

    /// Returns the open stages of all processes, by number.
    fn stages(&self) -> Result<Vec<StageId>>;

    /// Returns a snapshot of a stage: its tables, its chunks (with numbers that end with the stage), and the mappings
    /// of its tables. An unknown stage is a [`NotFound`](crate::ErrorKind::NotFound) error.
    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>>;

    /// Removes chunks from a stage, by the numbers that [`stage_snapshot`](Self::stage_snapshot) returns. If one does
    /// not exist, it is a [`Conflict`](crate::ErrorKind::Conflict), and none is removed.
    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()>;

    /// Removes a table and its chunks from a stage. An unknown table is a [`NotFound`](crate::ErrorKind::NotFound)
    /// error.
    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()>;

    /// Discards a stage with its tables and chunks. An unknown stage is ignored.
    fn abandon_stage(&self, stage: StageId) -> Result<()>;

    /// Commits changes and makes them durable together. Each change is atomic on its own: one that fails does not
    /// affect the others, and a later one sees the effects of an earlier one. Errors of a change:
    /// [`NotFound`](crate::ErrorKind::NotFound) for a missing table; [`Exists`](crate::ErrorKind::Exists) for a name
    /// that is taken; [`Conflict`](crate::ErrorKind::Conflict) for a chunk to remove or amend, a definition, its
    /// version or a guard that no longer holds. A batch that was committed before is a duplicate, even if its change
    /// has other errors. Within a change, preconditions are checked first. Then tables are dropped, definitions
    /// changed, chunks removed and amended, and new chunks are added last. The outer error means that no change was
    /// applied.
    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<CommitOutcome>>>;

    /// Returns a snapshot of the current state. Later changes do not affect it, and what they remove stays readable as
    /// long as it is held. A snapshot does not block writers.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>>;

    /// Returns whether a snapshot and its lists are read without waiting for another process or machine, so that a
    /// thread that must not wait may read them.
    fn is_at_hand(&self) -> bool {
        false
    }

    /// Takes or extends a lease until `now_ms + ttl_ms`, if it is free, expired, or the holder's own. Returns whether
    /// the holder has it now. No lease lasts longer than [`LEASE_MS_MAX`](crate::limits::LEASE_MS_MAX); one that would
    /// last longer from now counts as expired.
    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool>;

    /// Releases a lease, if the holder has it.
    fn release_lease(&self, name: &str, holder: &str) -> Result<()>;

    /// Frees the space of removed chunks, dropped tables, old batch ids and idle stages, in one step of about
    /// `byte_budget` bytes, so that no lock is held for long.
    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed>;

    /// [`reclaim`](Self::reclaim) for maintenance beside writers: space that their rows will soon need may be kept.
    fn reclaim_beside_writers(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
        self.reclaim(byte_budget, now_ms)
    }

    /// Fails with [`Unavailable`](crate::ErrorKind::Unavailable) if the store is no longer where it was opened, because
    /// its file was deleted, moved or replaced. It is cheap, and never waits for another caller or a server. Stores
    /// that have no files make no check.
    fn check_location(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the size of the store.
    fn size(&self) -> Result<StoreSize>;

    /// Checks the store's own structures for damage: indexes, orphans, copies that disagree. The engine checks pages.
    /// The check ends with the first thing that cannot be read.
    fn verify(&self) -> Result<Vec<Finding>>;
}

/// A consistent view of a store at one moment.
pub trait Snapshot: Send + Sync {
    /// Returns the visible tables, by number.
    fn tables(&self) -> Result<Vec<Table>>;

    /// Returns the integrity record of the list of visible tables, if that is read faster than the list. Snapshots of a
    /// store with the same record see the same tables.
    fn tables_recorded(&self) -> Result<Option<TablesRecord>> {
        Ok(None)
    }

    /// Returns the visible table with this name, compared without case.
    fn table_named(&self, name: &str) -> Result<Option<Table>> {
        Ok(self.tables()?.into_iter().find(|table| same_name(&table.definition.name, name)))
    }

    /// Returns a table's visible chunks with a time in the range, by slice, then by number.
    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>>;

    /// Returns the number of a table's visible chunks. Stores that record it do not read the chunks.
    fn chunk_count(&self, table: TableId) -> Result<usize> {
        Ok(self.chunks(table, TimeRange::ALL)?.len())
    }

    /// Returns a table's visible chunks with a number above `newest`, by slice, then by number. Stores that can find
    /// these without the others read only these.
    fn chunks_since(&self, table: TableId, newest: ChunkId) -> Result<Vec<ChunkEntry>> {
        let mut entries = self.chunks(table, TimeRange::ALL)?;
        entries.retain(|entry| entry.id > newest);
        Ok(entries)
    }

    /// Returns a number such that no visible chunk has a higher one, and all chunks of later commits have: for a
    /// [`ChunkGuard`].
    fn newest_chunk(&self) -> Result<ChunkId>;

    /// Returns the strings of a mapped column's dictionary, starting at index `first`. They include at least those that
    /// the snapshot's chunks use; later ones may follow.
    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>>;

    /// Returns the state of the counter of an identity column, also of a table that is still in a stage: all numbers of
    /// the snapshot's chunks that it gave are reserved in it. `None` if it never gave any.
    fn counter(&self, table: TableId, column: ColumnId) -> Result<Option<Counter>>;

    /// Returns the pages of some columns of a chunk, in the given order. The bytes of other pages are not read. A
    /// missing page is a [`Corrupt`](crate::ErrorKind::Corrupt) error.
    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>>;
}
