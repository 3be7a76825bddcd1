//! A time-series store over SQL databases.
//!
//! You declare a table once; slicing by time, string-to-index mapping, compression, re-compression, streaming, caching
//! and retention are automatic, in one SQLite file that you can copy.
//!
//! ```
//! #[derive(atsdb::Record)]
//! struct Reading {
//!     #[atsdb(map = "u32")]
//!     sensor: String,
//!     #[atsdb(map = "u8")]
//!     status: String,
//!     count1: i32,
//! }
//!
//! # fn main() -> atsdb::Result<()> {
//! let db = atsdb::open("memory:")?; // or "air.db"
//! let readings = db.table::<Reading>("readings")?; // created at first use, sliced by day
//! let mut appender = readings.appender()?;
//! let reading = Reading { sensor: "s1".into(), status: "ok".into(), count1: 7 };
//! appender.push(1_700_000_000_000_000, &reading)?; // microseconds since 1970; buffered
//! appender.flush()?; // acknowledged: on disk
//!
//! for row in readings.stream(..)? {
//!     let (time, reading) = row?;
//!     assert_eq!((time, reading.count1), (1_700_000_000_000_000, 7));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Owned here: opening by URL ([`open`], [`OpenOptions`]), the handle ([`Database`]) and typed tables ([`TypedTable`]).
//! Everything else is re-exported from the crates below, so that users depend only on this crate.

#[cfg(feature = "archive")]
mod backup;
mod copy;
mod database;
mod foreign_table;
#[cfg(feature = "import")]
mod import;
mod memory_table;
mod open;
mod page_cache;
mod password;
mod typed;

#[cfg(feature = "archive")]
pub use atsdb_archive::{
    Archive, ArchiveReport, BackupReport, BackupSelector, Backups, DamagedBackup, Manifest, is_archive,
};
#[doc(hidden)]
pub use atsdb_core::parallel::{drop_elsewhere, try_threads};
pub use atsdb_core::store::Finding;
pub use atsdb_core::{
    BatchId, Check, Column, ColumnId, ColumnType, CommitOutcome, ConflictPolicy, CurrentTimes, DefaultFunction,
    Durability, ElementType, Enumeration, Error, ErrorKind, ForeignKey, Identity, InMemory, Initially, MapWidth,
    PUBLIC_SCHEMA, QualifiedName, ReferentialAction, Result, Retention, SearchPath, Slice, SliceWidth, StoreWarning,
    Table, TableDefinition, TableId, TextLength, TimeColumn, TimeRange, TimeUnit, Unique, array_text, calendar_text,
    count_text, decimal, duration, escapes, hex, interval, interval_text, json_text, limits, name, size, time,
    time_of_day, time_text, uuid_text,
};
pub use atsdb_derive::Record;
pub use atsdb_engine::{
    Appender, Batch, BuildReport, CacheFigures, CacheStats, ColumnStats, Comparison, ContentHash, CopyOptions,
    CopyProgress, CopyReport, Cut, Engine, Environment, IndexStats, Moment, PageCacheStats, Predicate, PreloadStats,
    ProgressCallback, ReadSnapshot, Record, RetainReport, Rewrite, Scan, ScanRequest, SealReport, Selection,
    SliceStats, SystemEnvironment, TableStats, TemporaryTables, Value, VerifyReport, logical_arrays,
};
pub use atsdb_foreign::{ForeignColumn, ForeignTable};
#[cfg(feature = "archive")]
pub use backup::BackupOptions;
pub use database::Database;
pub use foreign_table::{foreign_table, is_foreign_table};
#[cfg(feature = "import")]
pub use import::ImportReport;
pub use memory_table::{MemoryLookup, MemoryTable};
pub use open::{NewStore, OpenOptions, open};
pub use page_cache::PageCacheFolder;
pub use typed::{TableOptions, TypedAppender, TypedTable, check_same_columns};

/// The types with which a [`Record`] is written and read.
pub mod record {
    pub use atsdb_engine::{ColumnSpec, Field, RowReader, RowWriter};
}

/// The result of a lookup in a table in memory.
pub use atsdb_resident::TableMatches;

/// SQL: sessions, statements, answers.
#[cfg(feature = "sql")]
pub mod sql {
    pub use atsdb_sql::*;
}

/// The files that [`Database::import`] reads, and options for reading them.
#[cfg(feature = "import")]
pub mod import_options {
    pub use atsdb_import::{
        ColumnChoice, DateOrder, Format, Input, Options, PositionedFile, Report, Skipped, TemporarySpace,
        UnpivotChoice, Zone,
    };
}

/// The version of Arrow that batches are made of.
pub use arrow;
pub use atsdb_codec::page::FORMAT_MAX as PAGE_FORMAT_MAX;
pub use atsdb_codec::{
    ColumnValues, arrow_schema, column_type_of, declared_type, dictionary_keys, enumeration_of, is_jsonb, logical_type,
};
