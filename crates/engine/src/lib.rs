//! The operations on chunks over any [`Store`](atsdb_core::Store): append, map, read, seal, retain, copy, verify.
//!
//! Rooms, from the top. Each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `engine` | the facade: an [`Engine`] and its options |
//! | `inspect` | contents, sizes and integrity of a store |
//! | `copy` | copying tables from one store to another without decoding them |
//! | `upkeep` | sealing, retention, re-slicing, building indexes, preloading, background maintenance |
//! | `batch` | writing rows: batches, appenders, keys, savepoints, rollups |
//! | `read` | snapshots, scans, pruning, rewriting one chunk |
//! | `shared` | the store with its caches, dictionaries, clock, locks and threads |
//! | `chunk` | the rows of one chunk: converting, sorting, encoding |
//!
//! Not owned: the bytes of pages (`codec`), their storage (`sqlite`, `memory` and the stores on servers), SQL (`sql`).

pub mod batch;
mod chunk;
pub mod copy;
pub mod engine;
mod inspect;
mod read;
mod shared;
mod upkeep;

pub use atsdb_core::Value;
pub use atsdb_pagecache::{OnWarning, PageCache, PageCacheOptions, PageCacheStats};
pub use batch::Batch;
pub use batch::appender::Appender;
pub use batch::keys::conflicting_rows::{ConflictingRows, RowSource};
pub use batch::keys::index::KeyIndex;
pub use batch::keys::key::KeyValue;
pub use batch::record::{ColumnSpec, Field, Record, RowReader, RowWriter};
pub use chunk::coerce::logical_arrays;
pub use chunk::times;
pub use copy::cut::{Cut, CutChunk, CutTable, Moment, Selection};
pub use copy::options::{CopyOptions, CopyProgress, CopyReport, ProgressCallback};
pub use engine::{ConditionCompiler, Engine, EngineOptions, MaintenanceTask};
pub use inspect::caches::CacheFigures;
pub use inspect::content_hash::ContentHash;
pub use inspect::stats::{ColumnStats, IndexStats, SliceStats, TableStats};
pub use inspect::verify::VerifyReport;
pub use read::condition::is_exact;
pub use read::groups::{
    BucketOf, GroupKey, GroupPartition, Groups, KeyBounds, Measure, MeasureKind, Measured, Moments,
};
pub use read::latest::LatestRows;
pub use read::located_rows::LocatedRows;
pub use read::predicate::{Comparison, Predicate};
pub use read::rewrite::Rewrite;
pub use read::scan::{Scan, ScanRequest};
pub use read::scan_chunk::ScanChunk;
pub use read::snapshot::ReadSnapshot;
pub use shared::cache::CacheStats;
pub use shared::environment::{Environment, SystemEnvironment};
pub use shared::hold::SealingHold;
pub use shared::listed_tables::SharedTable;
pub use shared::machine::machine_memory_bytes;
pub use shared::preload::PreloadStats;
pub use shared::row_checks::RowCondition;
pub use shared::session_numbers::SessionNumbers;
pub use shared::temporary::{OnCommit, TemporaryTables};
pub use upkeep::build_index::BuildReport;
pub use upkeep::maintenance::Maintenance;
pub use upkeep::retain::RetainReport;
pub use upkeep::seal::SealReport;
