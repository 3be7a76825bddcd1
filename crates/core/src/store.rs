//! The contract of a store: where tables, mappings and chunks lie.
//!
//! A store is blocking, shared by threads and, but for `memory`, by processes. It knows nothing of encodings:
//! pages and descriptors are bytes. Whoever implements it runs the conformance suite of `testkit`.

use crate::chunk::{ChunkDescriptor, ChunkEntry, ChunkId, NewChunk};
use crate::error::{Error, Result};
use crate::id::{ColumnId, TableId};
use crate::limits::BATCH_ID_BYTES_MAX;
use crate::schema::TableDefinition;
use crate::table::{DefinitionVersion, Table};
use crate::time::TimeRange;
use std::fmt;

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// A power cut: acknowledged means on disk.
    #[default]
    Full,
    /// A crash of the program; a power cut may take the last commits, never the store's consistency.
    Normal,
    /// A crash of the program; a power cut may take the store.
    Off,
}

impl Durability {
    /// All of them, safest first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Normal, Self::Off];

    /// `full`, `normal` or `off`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
            Self::Off => "off",
        }
    }

    /// The durability of this [`name`](Self::name).
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|durability| durability.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error::usage(format!("unknown durability {text}")).with_hint("use full, normal or off"))
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A batch's name, chosen by the caller: sent twice, it counts once. Remembered for
/// [`BATCH_MEMORY_MS`](crate::limits::BATCH_MEMORY_MS).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BatchId(String);

impl BatchId {
    /// A name of 1 to 200 bytes.
    pub fn new(id: impl Into<String>) -> Result<Self> {
        let id = id.into();
        match id.len() {
            1..=BATCH_ID_BYTES_MAX => Ok(Self(id)),
            length => {
                Err(Error::usage(format!("a batch id has 1 to {BATCH_ID_BYTES_MAX} bytes; this one has {length}")))
            }
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stage's number in its store; never used again. A stage gathers what one commit will make visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageId(pub i64);

/// What one commit makes visible, and what it takes away.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The batch's name, if it has one.
    pub batch: Option<BatchId>,
    /// A stage whose tables and chunks become visible; it ends with the commit.
    pub stage: Option<StageId>,
    /// Chunks that become visible.
    pub add: Vec<NewChunk>,
    /// Chunks that go. All of them must still be there.
    pub remove: Vec<(TableId, ChunkId)>,
    /// Tables that go, as by [`Store::drop_table`]. Their names are free for the tables of the stage.
    pub drop: Vec<TableId>,
    /// Tables whose definition changes.
    pub redefine: Vec<Redefinition>,
    /// Chunks that get more pages.
    pub amend: Vec<Amendment>,
    /// Tables to which nothing may have been added meanwhile.
    pub guards: Vec<Guard>,
    /// The definitions under which all of this was decided and encoded.
    pub based_on: Vec<BasedOn>,
}

/// A condition of a change: the table's definition is of this version when the change begins. A table of the change's
/// stage counts as there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasedOn {
    /// The table.
    pub table: TableId,
    /// The version of the definition that the change was made under.
    pub version: DefinitionVersion,
}

/// A table's definition takes another's place, as its next version. Its number, mappings and chunks stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redefinition {
    /// The table.
    pub table: TableId,
    /// What it must still be.
    pub from: TableDefinition,
    /// What it becomes. Checked; a name that another visible table has is [`Exists`](crate::ErrorKind::Exists).
    pub to: TableDefinition,
}

/// Pages of indexes are added to a chunk, which keeps its number, its name and its other pages.
#[derive(Debug, Clone)]
pub struct Amendment {
    /// The table the chunk belongs to.
    pub table: TableId,
    /// The chunk.
    pub chunk: ChunkId,
    /// The descriptor that it must still have, as bytes.
    pub from: Vec<u8>,
    /// What is known of it from now on: the same with more pages.
    pub descriptor: ChunkDescriptor,
    /// The same as bytes.
    pub descriptor_bytes: Vec<u8>,
    /// The pages that are new. None of the chunk's has the same number.
    pub pages: Vec<(ColumnId, Vec<u8>)>,
}

/// A condition of a change: no chunk of the table with a number above `newest` is visible, when the change is done.
/// Chunks that the change itself adds do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The table.
    pub table: TableId,
    /// The newest chunk that the change knows of; 0 for none.
    pub newest: ChunkId,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is visible, and as durable as the store was opened for.
    Committed,
    /// A batch of that name was committed before, and is as durable as the store was opened for; this one is dropped, its
    /// stage too.
    Duplicate,
}

/// What one step of reclaiming did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclaimed {
    /// Bytes given back to the file system, or to whatever is below.
    pub byte_count: u64,
    /// Whether another step would find more.
    pub more: bool,
}

/// What a store occupies, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Everything, without what waits to be reclaimed.
    pub total: u64,
    /// Of that, what can be told to be one table's: pages, descriptors, mappings. The rest (indexes, unfilled
    /// space) is everybody's.
    pub tables: Vec<(TableId, u64)>,
}

/// One thing that [`Store::verify`] found wrong, or could not look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where: a table, chunk, page or structure.
    pub place: String,
    /// What is wrong with it, or why it could not be looked at.
    pub problem: String,
    /// Whether it is damaged; else nothing is known of it.
    pub is_damage: bool,
}

impl Finding {
    /// Damage of a place.
    pub fn damage(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into(), is_damage: true }
    }

    /// What an error says of a place: damage, unless [something could not be had](crate::ErrorKind::is_shortage).
    pub fn of_error(place: impl Into<String>, problem: impl Into<String>, error: &Error) -> Self {
        Self { is_damage: !error.kind().is_shortage(), ..Self::damage(place, problem) }
    }

    /// Whether places were left out of these findings, as something could not be had: they say no more than that.
    pub fn is_cut_short(findings: &[Self]) -> bool {
        findings.iter().any(|finding| !finding.is_damage)
    }
}

/// Where tables, mappings and chunks lie.
///
/// Every method is all or nothing: after an error nothing of it is stored, but for what an error's text says.
/// `now_ms` is milliseconds since the Unix epoch, given by the caller, who owns the clock.
pub trait Store: Send + Sync + fmt::Debug {
    /// The URL that opens it again, without secrets.
    fn url(&self) -> &str;

    /// The 128 random bits made when the store was created.
    fn uid(&self) -> [u8; 16];

    /// What an acknowledged commit survives.
    fn durability(&self) -> Durability;

    /// Creates a table, visible at once, or with its stage. The definition is checked. A visible table of the
    /// same name is [`Exists`](crate::ErrorKind::Exists): found at once, or for a staged one when its stage is
    /// committed; another one of the same stage at once.
    fn create_table(&self, definition: &TableDefinition, stage: Option<StageId>) -> Result<Table>;

    /// Drops a table, its mappings and its chunks. What they occupied is given back by [`reclaim`](Self::reclaim).
    /// A table that is not there is [`NotFound`](crate::ErrorKind::NotFound).
    fn drop_table(&self, table: TableId) -> Result<()>;

    /// The indices of strings in the dictionary of a mapped column. Strings that have none get the next free
    /// ones, from 0 without holes, in the order given; everybody sees them when this returns, they reach the disk no
    /// later than any commit that follows, and are never changed or used again. Strings are bytes, and the same for all threads and processes. When more than `capacity`
    /// would be needed, [`Limit`](crate::ErrorKind::Limit) and none is added; the caller names the column.
    fn map_values(&self, table: TableId, column: ColumnId, capacity: u64, values: &[&[u8]]) -> Result<Vec<u32>>;

    /// Opens a stage. One that is neither committed nor touched for
    /// [`STAGE_IDLE_MS_MAX`](crate::limits::STAGE_IDLE_MS_MAX) is given up by [`reclaim`](Self::reclaim), as
    /// [`IdleStages`](crate::clocks::IdleStages) says: not by a clock that is ahead while its own process writes to it.
    fn open_stage(&self, now_ms: i64) -> Result<StageId>;

    /// Writes chunks that nobody sees before their stage is committed. They need not be durable before.
    fn stage(&self, stage: StageId, chunks: Vec<NewChunk>, now_ms: i64) -> Result<()>;

    /// The stages that are open, whoever opened them, by number.
    fn stages(&self) -> Result<Vec<StageId>>;

    /// What lies in a stage now: its tables, its chunks (under numbers that end with the stage), the mappings of its
    /// tables. A stage that is not there is [`NotFound`](crate::ErrorKind::NotFound).
    fn stage_snapshot(&self, stage: StageId) -> Result<Box<dyn Snapshot>>;

    /// Takes chunks out of a stage, by the numbers that [`stage_snapshot`](Self::stage_snapshot) gives. One that is not
    /// there is [`Conflict`](crate::ErrorKind::Conflict), and none is taken out.
    fn unstage(&self, stage: StageId, chunks: &[ChunkId]) -> Result<()>;

    /// Takes a table out of a stage, with its chunks there. One that is not there is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    fn unstage_table(&self, stage: StageId, table: TableId) -> Result<()>;

    /// Gives a stage up: its tables and chunks are gone. One that is not there is passed over.
    fn abandon_stage(&self, stage: StageId) -> Result<()>;

    /// Makes changes visible, together and together durable, each all or nothing on its own: a change that cannot be done
    /// leaves the others. A later one finds what an earlier one did. A table that is gone is [`NotFound`](crate::ErrorKind::NotFound), a name that is taken
    /// [`Exists`](crate::ErrorKind::Exists); a batch that was committed before is a duplicate whatever else its change says; a chunk to remove or amend, a definition, its version or a guard that is no longer as
    /// the change says is [`Conflict`](crate::ErrorKind::Conflict). Within a change conditions are looked at first, then
    /// tables are dropped, definitions changed, chunks removed and amended, and what is new comes last. The outer error means that none
    /// was done.
    fn commit(&self, changes: &[Change], now_ms: i64) -> Result<Vec<Result<Outcome>>>;

    /// The present state, for reading: later changes do not show in it, and what they remove stays readable for
    /// as long as it is held. Holding one does not stop writers.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>>;

    /// Takes or extends a lease until `now_ms + ttl_ms`, if it is free, run out, or the holder's own. Says
    /// whether the holder has it now. No lease is longer than [`LEASE_MS_MAX`](crate::limits::LEASE_MS_MAX), and one that
    /// would last longer, seen from now, has run out.
    fn acquire_lease(&self, name: &str, holder: &str, now_ms: i64, ttl_ms: i64) -> Result<bool>;

    /// Gives a lease back, if the holder has it.
    fn release_lease(&self, name: &str, holder: &str) -> Result<()>;

    /// Gives back what removed chunks, dropped tables, old batch names and forgotten stages occupy: one step of
    /// about `byte_budget` bytes, so that no lock is held long.
    fn reclaim(&self, byte_budget: u64, now_ms: i64) -> Result<Reclaimed>;

    /// What it occupies.
    fn size(&self) -> Result<StoreSize>;

    /// Looks for damage to its own structures: indexes, orphans, copies that disagree. Pages are the engine's
    /// to check. It ends with the first thing that cannot be looked at.
    fn verify(&self) -> Result<Vec<Finding>>;
}

/// A store at one moment.
pub trait Snapshot: Send + Sync {
    /// The visible tables, by number.
    fn tables(&self) -> Result<Vec<Table>>;

    /// A table's visible chunks that have a time in the range, by slice, then by number.
    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>>;

    /// A number that no visible chunk is above, and that chunks of all later commits are above: for a [`Guard`].
    fn newest_chunk(&self) -> Result<ChunkId>;

    /// The dictionary of a mapped column from index `first` on, in order of index. It holds at least the strings
    /// that the snapshot's chunks use; later ones may follow.
    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>>;

    /// The pages of some columns of a chunk, in the order asked; the bytes of others are not read. A page that is
    /// missing is [`Corrupt`](crate::ErrorKind::Corrupt).
    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>>;
}
