//! A request with lines, and its result.

use super::body::HeldBody;
use atsdb::BatchId;
use atsdb_lineproto::{LineError, LineOptions};

/// The lines of one request.
#[derive(Debug)]
pub(crate) struct LineRequest {
    pub(crate) body: HeldBody,
    pub(crate) options: LineOptions,
    /// Whether the other lines are stored if one is refused.
    pub(crate) accept_partial: bool,
    /// A request with an id is stored in its own commit, and only once.
    pub(crate) batch: Option<BatchId>,
}

/// The result of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineReport {
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    /// The first refused lines.
    pub(crate) errors: Vec<LineError>,
    /// Whether the accepted lines are stored.
    pub(crate) is_stored: bool,
}
