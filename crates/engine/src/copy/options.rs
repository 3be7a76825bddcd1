//! How a copy is made, how far it is, and what it did.

use crate::copy::cut::Selection;
use atsdb_core::Result;
use std::fmt;
use std::sync::Arc;

/// What is called again and again while a copy is under way; its error ends the copy.
pub type Watcher = Arc<dyn Fn(&CopyProgress) -> Result<()> + Send + Sync>;

/// How a copy is made.
#[derive(Clone, Default)]
pub struct CopyOptions {
    /// What is copied.
    pub selection: Selection,
    /// Whether tables of the target that have the names of copied ones, or that were changed since they were copied, are
    /// replaced.
    pub overwrite: bool,
    /// Whether the target may have tables of its own, which stay.
    pub allow_non_empty: bool,
    /// Whether the source's structures are checked before, and everything that was written is read back and checked before
    /// it becomes visible. Pages are checked as they are read in any case.
    pub verify: bool,
    /// Who is told how far it is.
    pub watcher: Option<Watcher>,
}

impl fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selection, overwrite, allow_non_empty, verify, .. } = self;
        let mut shown = f.debug_struct("CopyOptions");
        shown.field("selection", selection).field("overwrite", overwrite);
        shown.field("allow_non_empty", allow_non_empty).field("verify", verify).finish_non_exhaustive()
    }
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyProgress {
    /// Bytes of pages moved.
    pub bytes: u64,
    /// Of how many, as far as is known before.
    pub bytes_total: u64,
    /// Rows moved.
    pub rows: u64,
}

/// What a copy did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Tables, views and rollups that were copied.
    pub tables: u64,
    /// Chunks moved.
    pub chunks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Chunks that the target had already.
    pub chunks_kept: u64,
    /// Of these, chunks that an interrupted copy had left there.
    pub chunks_resumed: u64,
    /// Chunks of the target that went.
    pub chunks_removed: u64,
    /// Tables of the target that went.
    pub tables_dropped: u64,
}
