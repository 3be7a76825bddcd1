//! Origin: where a copied table came from, and its state after the copy.
//!
//! Owned here: the type. `engine` decides what counts as a change since the copy, and what a further copy does about
//! it.

use crate::id::TableId;
use crate::time::TimeRange;
use serde::{Deserialize, Serialize};

/// The origin of a copied table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The uid of the source store: 128 bits in hexadecimal.
    pub store: String,
    /// The table's number in the source store.
    pub table: TableId,
    /// The time at which the latest copy began, in milliseconds since the Unix epoch, by the clock of the process that
    /// copied.
    pub copied_ms: i64,
    /// The earliest time that was copied; `None` if the range starts at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The end of the copied times, exclusive; `None` if the range is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
    /// The number of times that the table was copied again since its first copy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub later_copies: u32,
    /// The fingerprint of the table after the copy. As long as it is the same, the table has not been changed since.
    /// `None` while the copy is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<u64>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Origin {
    /// The range of times that was copied.
    pub fn range(&self) -> TimeRange {
        TimeRange { start: self.from, end: self.to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_comes_back_from_json_with_all_its_bits() {
        let store = "0f".repeat(16);
        let origin = Origin {
            store,
            table: TableId(7),
            copied_ms: -1,
            from: Some(i64::MIN),
            to: None,
            later_copies: 3,
            fingerprint: Some(u64::MAX),
        };
        let json = serde_json::to_string(&origin).unwrap();
        assert_eq!(serde_json::from_str::<Origin>(&json).unwrap(), origin);
        assert!(serde_json::from_str::<Origin>(&json.replacen('{', "{\"more\":1,", 1)).is_err());
    }
}
