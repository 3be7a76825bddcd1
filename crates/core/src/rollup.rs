//! Rollup: a table whose rows are computed from another table, time bucket by time bucket.
//!
//! Owned here: the definition of a rollup, and the record of its progress. `engine` detects the changes of the source
//! table, and `sql` runs the query.

use crate::chunk::ChunkId;
use crate::id::TableId;
use serde::{Deserialize, Serialize};

/// The source of a rollup's rows, and how far it has been processed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollup {
    /// The number of the source table.
    pub source: TableId,
    /// The source table's name.
    pub table: String,
    /// The source table's schema, if it is another one than `public`: its name then begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The width of the buckets, as written: `1 hour`.
    pub every: String,
    /// The query, which groups by the bucket.
    pub query: String,
    /// The progress.
    pub state: RollupState,
}

/// The rows of its source that a rollup covers. Times are in the source's unit; both ends are inclusive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollupState {
    /// Chunks of the source with a higher number are not covered.
    pub accounted: ChunkId,
    /// Time ranges whose rows, old and new, are not covered; in ascending order and not adjacent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<(i64, i64)>,
    /// Buckets before this time are closed: their rows in the source may have been deleted, and the summary stays as it
    /// is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_before: Option<i64>,
}

impl RollupState {
    /// The state of an empty rollup, whose source has no chunk above `newest`.
    pub fn new(newest: ChunkId) -> Self {
        Self { accounted: newest, stale: vec![(i64::MIN, i64::MAX)], closed_before: None }
    }

    /// Returns the part of an inclusive time range that is not closed.
    pub fn open_part(&self, times: (i64, i64)) -> Option<(i64, i64)> {
        let (first, last) = times;
        let first = self.closed_before.map_or(first, |closed| first.max(closed));
        (first <= last).then_some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_from_json_and_knows_what_is_closed() {
        let state = RollupState { closed_before: Some(-5), ..RollupState::new(ChunkId(7)) };
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<RollupState>(&json).unwrap(), state);
        assert!(serde_json::from_str::<RollupState>(&json.replacen('{', "{\"more\":1,", 1)).is_err());
        assert_eq!(state.open_part((i64::MIN, 3)), Some((-5, 3)));
        assert_eq!(state.open_part((-9, -6)), None);
    }
}
