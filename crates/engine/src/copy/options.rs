//! Options, progress and report of a copy.

use crate::copy::cut::Selection;
use atsdb_core::Result;
use std::fmt;
use std::sync::Arc;

/// A function that is called repeatedly during a copy. If it returns an error, the copy ends with that error.
pub type ProgressCallback = Arc<dyn Fn(&CopyProgress) -> Result<()> + Send + Sync>;

/// The options of a copy.
#[derive(Clone, Default)]
pub struct CopyOptions {
    /// The tables and times to copy.
    pub selection: Selection,
    /// Whether to replace tables of the target that have the name of a copied table or were changed since they were
    /// copied.
    pub overwrite: bool,
    /// Whether the target may have other tables. They are not changed.
    pub allow_non_empty: bool,
    /// Whether to check the source's structures first, and to read back and check everything written before it becomes
    /// visible. Pages are always checked when they are read.
    pub verify: bool,
    /// Called with the progress.
    pub on_progress: Option<ProgressCallback>,
}

impl fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selection, overwrite, allow_non_empty, verify, .. } = self;
        let mut shown = f.debug_struct("CopyOptions");
        shown.field("selection", selection).field("overwrite", overwrite);
        shown.field("allow_non_empty", allow_non_empty).field("verify", verify).finish_non_exhaustive()
    }
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyProgress {
    /// Bytes of pages transferred.
    pub bytes: u64,
    /// Bytes of pages to transfer, as far as they are known in advance.
    pub bytes_total: u64,
    /// Rows transferred.
    pub rows: u64,
}

/// The result of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Tables, views and rollups copied.
    pub tables: u64,
    /// Chunks transferred.
    pub chunks: u64,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Chunks that the target had already.
    pub chunks_kept: u64,
    /// Chunks left by an interrupted copy, which are part of `chunks_kept`.
    pub chunks_resumed: u64,
    /// Chunks removed from the target.
    pub chunks_removed: u64,
    /// Tables dropped from the target.
    pub tables_dropped: u64,
}
