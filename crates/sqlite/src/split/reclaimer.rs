//! What reclaiming page files remembers.

use crate::log_position::LogPosition;

/// What one process remembers from one step of reclaiming to the next.
#[derive(Debug, Default)]
pub(crate) struct Reclaimer {
    pub(crate) swept_ms: Option<i64>,
    pub(crate) waiting: Option<Waiting>,
}

/// Retired files, and how far a checkpoint must come before they can go.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) files: Vec<i64>,
    pub(crate) position: LogPosition,
}
