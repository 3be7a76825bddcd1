//! Rollup: a table whose rows are computed from another's, bucket of time by bucket of time.
//!
//! Owned here: what a rollup is, and what is remembered of how far it is. How the changes of the other table are known
//! is `engine`'s, the query is `sql`'s.

use crate::chunk::ChunkId;
use crate::id::TableId;
use serde::{Deserialize, Serialize};

/// What a rollup's rows are computed from, and how far that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollup {
    /// The table it summarises.
    pub source: TableId,
    /// That table's name, as the query says it.
    pub table: String,
    /// How wide its buckets are, as written: `1 hour`.
    pub every: String,
    /// The query, which groups by the bucket.
    pub query: String,
    /// How far it is.
    pub state: RollupState,
}

/// For which rows of its source a rollup accounts. Times are in the source's unit; both ends are included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollupState {
    /// What came with a chunk above this one is not in it.
    pub accounted: ChunkId,
    /// Times whose rows, older ones too, are not in it; in order, none touches another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<(i64, i64)>,
    /// Buckets before this time are closed: their rows in the source may be gone, and the summary stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_before: Option<i64>,
}

impl RollupState {
    /// Of a rollup that is still empty.
    pub fn new(newest: ChunkId) -> Self {
        Self { accounted: newest, stale: vec![(i64::MIN, i64::MAX)], closed_before: None }
    }

    /// Those of some times that are not closed.
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
