//! The state of reclaiming page files.

use crate::log_position::LogPosition;

/// The state that a process keeps between two steps of reclaiming.
#[derive(Debug, Default)]
pub(crate) struct ReclaimState {
    pub(crate) swept_ms: Option<i64>,
    pub(crate) pending: Option<PendingRemoval>,
}

/// Retired files, and the log position that a checkpoint must reach before they can be removed.
#[derive(Debug)]
pub(crate) struct PendingRemoval {
    pub(crate) files: Vec<i64>,
    pub(crate) position: LogPosition,
}
