//! What is done with chunks, over any [`Store`](atsdb_core::Store): append, map, read, seal, retain, verify.
//!
//! Owned here: how rows become chunks ([`batch`], [`appender`], [`record`]), how chunks become rows ([`snapshot`],
//! [`scan`]), and what happens by itself ([`maintenance`], [`seal`], [`retain`]). Not owned: bytes of pages
//! (`codec`), where they lie (`sqlite`, `memory`), SQL (`sql`).

pub mod appender;
pub mod batch;
pub mod build_index;
mod cache;
mod caches;
mod catalogue;
mod change;
pub mod change_log;
mod coerce;
mod commit;
pub mod content_hash;
pub mod copy;
mod dictionary;
mod encode;
pub mod engine;
pub mod environment;
mod holds;
mod interner;
mod keys;
pub mod latest;
pub mod maintenance;
mod membership;
mod missing;
mod overlay;
mod pages;
pub mod predicate;
mod preload;
mod preload_thread;
pub mod record;
mod resident;
mod resident_save;
pub mod reslice;
pub mod retain;
pub mod rewrite;
pub mod rollup;
mod row_buffer;
mod savepoint;
pub mod scan;
pub mod seal;
mod series_key;
mod slice_buffer;
pub mod snapshot;
mod sort;
pub mod stats;
pub mod verify;
mod workers;

pub use appender::Appender;
pub use atsdb_core::Value;
pub use atsdb_pagecache::{OnWarning, PageCache, PageCacheOptions, PageCacheStats};
pub use batch::Batch;
pub use build_index::BuildReport;
pub use cache::CacheStats;
pub use caches::CacheFigures;
pub use content_hash::ContentHash;
pub use copy::cut::{Cut, CutTable, Moment, Piece, Selection};
pub use copy::{CopyOptions, CopyProgress, CopyReport, Watcher};
pub use engine::{Engine, EngineOptions};
pub use environment::{Environment, SystemEnvironment};
pub use holds::Hold;
pub use keys::{HeldRows, Holders, KeyIndex, KeyValue};
pub use latest::Latest;
pub use maintenance::Chore;
pub use predicate::{Comparison, Predicate};
pub use preload::PreloadStats;
pub use record::{ColumnSpec, Field, Record, RowReader, RowWriter};
pub use retain::RetainReport;
pub use rewrite::Rewrite;
pub use scan::{Scan, ScanChunk, ScanRequest, is_exact};
pub use seal::SealReport;
pub use snapshot::ReadSnapshot;
pub use stats::{ColumnStats, IndexStats, SliceStats, TableStats};
pub use verify::VerifyReport;
