//! Origin: of a table that was copied from another store, where it came from and what the copy left.
//!
//! Owned here: the noun. What counts as a change since the copy, and what a further copy makes of it, is `engine`'s.

use crate::id::TableId;
use crate::time::TimeRange;
use serde::{Deserialize, Serialize};

/// Where a table was copied from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The 128 bits that name the store it came from, in hexadecimal.
    pub store: String,
    /// The table's number there.
    pub table: TableId,
    /// When the latest copy began, in milliseconds since the Unix epoch, by the clock of who copied.
    pub copied_ms: i64,
    /// The earliest time that was copied; `None` is from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The time before which rows were copied; `None` is to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
    /// What the copy left, in short: as long as the table has the same, nobody has changed it since. `None` while the
    /// copy is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<u64>,
}

impl Origin {
    /// The times that were copied.
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
            fingerprint: Some(u64::MAX),
        };
        let json = serde_json::to_string(&origin).unwrap();
        assert_eq!(serde_json::from_str::<Origin>(&json).unwrap(), origin);
        assert!(serde_json::from_str::<Origin>(&json.replacen('{', "{\"more\":1,", 1)).is_err());
    }
}
