//! The nouns of atsdb: what every other crate speaks of, and nothing that does I/O.
//!
//! Owned here: the schema of a table ([`schema`]), times and the slices they fall in ([`time`], [`mod@slice`]),
//! what a store keeps of a chunk ([`chunk`]), the contract of a store ([`store`]), what it does about wrong clocks
//! ([`clocks`]), the kinds of error
//! ([`error`]) and the limits ([`limits`]). Not owned: bytes of pages (`codec`), how a store keeps them
//! (`sqlite`, `memory`), what is done with them (`engine`).

pub mod byte_size;
pub mod checksum;
pub mod chunk;
pub mod clocks;
pub mod column_type;
pub mod error;
pub mod id;
mod index;
pub mod limits;
pub mod list;
pub mod name;
pub mod origin;
pub mod retention;
pub mod rollup;
pub mod schema;
pub mod slice;
pub mod store;
pub mod table;
pub mod time;
pub mod value;

pub use chunk::{Bound, ChunkDescriptor, ChunkEntry, ChunkId, ChunkUid, ColumnStatistics, NewChunk, PageDescriptor};
pub use column_type::{ColumnType, MapWidth};
pub use error::{Error, ErrorKind, Result};
pub use id::{ColumnId, TableId};
pub use origin::Origin;
pub use retention::Retention;
pub use rollup::{Rollup, RollupState};
pub use schema::{Column, ConflictPolicy, InMemory, Index, TableDefinition, TimeColumn, Unique, View};
pub use slice::{Slice, SliceWidth};
pub use store::{
    Amendment, BasedOn, BatchId, Change, Durability, Guard, Outcome, Redefinition, Snapshot, StageId, Store,
};
pub use table::{DefinitionVersion, Table};
pub use time::{TimeRange, TimeUnit};
pub use value::Value;
