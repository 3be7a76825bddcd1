//! The domain types of atsdb, which every other crate uses. Nothing here does I/O.
//!
//! Owned here:
//!
//! - tables: their schema ([`schema`]), names ([`name`], [`search_path`]) and identity columns ([`identity`],
//!   [`number_request`])
//! - times, and the slices that they fall in ([`time`], [`mod@slice`])
//! - the metadata of a chunk ([`chunk`])
//! - the contract of a store and its errors ([`store`], [`redefinition`], [`refusal`]), and rules against wrong clocks
//!   ([`clock_skew`])
//! - the text forms of times, sizes, counts, durations and intervals ([`time_text`], [`calendar_text`], [`size`],
//!   [`count_text`], [`duration`], [`interval_text`]), backslash escapes ([`escapes`]) and hexadecimal digits ([`hex`])
//! - error kinds ([`error`]), limits ([`limits`]) and work on several threads ([`parallel`])
//!
//! Not owned: the bytes of pages (`codec`), how a store keeps them (`sqlite`, `sqlstore`, `memory`), and what is done
//! with them (`engine`).

pub mod array_text;
pub mod calendar_text;
mod check;
mod check_constraints;
pub mod checksum;
pub mod chunk;
pub mod chunk_list;
pub mod clock_skew;
mod column;
pub mod column_type;
pub mod count_text;
pub mod decimal;
mod default_function;
mod definition_check;
pub mod duration;
pub mod element_type;
pub mod enumeration;
mod enumeration_definition;
pub mod error;
pub mod escapes;
mod foreign_key;
mod foreign_keys;
mod given_columns;
pub mod hex;
pub mod id;
pub mod identity;
mod identity_columns;
mod index;
pub mod interval;
pub mod interval_text;
pub mod json_text;
mod key;
pub mod limits;
pub mod list;
pub mod name;
pub mod number_request;
pub mod origin;
pub mod parallel;
mod qualified_name;
mod quantity;
pub mod redefinition;
pub mod refusal;
pub mod retention;
pub mod rollup;
pub mod schema;
pub mod search_path;
pub mod size;
pub mod slice;
pub mod store;
mod store_warning;
pub mod stored_table;
pub mod table;
mod table_schema;
mod text_length;
mod text_length_definition;
pub mod time;
pub mod time_of_day;
pub mod time_text;
pub mod uuid_text;
pub mod value;
mod view;
mod view_definition;

pub use check::Check;
pub use chunk::{
    Bound, ChunkDescriptor, ChunkEntry, ChunkId, ChunkUid, ColumnStatistics, NewChunk, PageDescriptor, Sum,
};
pub use column::Column;
pub use column_type::{ColumnType, MapWidth};
pub use default_function::{CurrentTimes, DefaultFunction};
pub use element_type::ElementType;
pub use enumeration::Enumeration;
pub use error::{Error, ErrorKind, Result};
pub use foreign_key::{ForeignKey, Initially, ReferentialAction};
pub use id::{ColumnId, TableId};
pub use identity::{Counter, Identity};
pub use number_request::{NumberBlock, NumberRequest};
pub use origin::Origin;
pub use qualified_name::{PUBLIC_SCHEMA, QualifiedName};
pub use retention::Retention;
pub use rollup::{Rollup, RollupState};
pub use schema::{ConflictPolicy, InMemory, Index, TableDefinition, TimeColumn, Unique};
pub use search_path::SearchPath;
pub use slice::{Slice, SliceWidth};
pub use store::{
    Amendment, BatchId, Change, ChunkGuard, CommitOutcome, DefinitionGuard, Durability, Redefinition, Snapshot,
    StageId, Store,
};
pub use store_warning::StoreWarning;
pub use table::{DefinitionVersion, LastTables, Table, TablesRecord};
pub use text_length::TextLength;
pub use time::{TimeRange, TimeUnit};
pub use value::Value;
pub use view::{MaterializedView, View};
