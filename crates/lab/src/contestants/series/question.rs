//! A question about one table: its values, conditions and groups.

use super::catalogue::SeriesTable;
use crate::contestants::line_protocol::Role;
use crate::failure::Failure;

/// A question whose names all exist in the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The columns of the answer.
    pub(crate) items: Vec<Item>,
    /// The tag of which only the last row of each value is wanted.
    pub(crate) last_of: Option<String>,
    /// Conditions on tags: each must have one of some values.
    pub(crate) tags: Vec<(String, Vec<String>)>,
    /// The range of times, from the first on and before the second, in units of the table.
    pub(crate) times: (Option<i64>, Option<i64>),
    /// Conditions on fields: each must be above a number.
    pub(crate) above: Vec<Bound>,
    /// The groups, if the question is about groups.
    pub(crate) groups: Vec<GroupKey>,
    /// The maximum number of rows, the latest ones or the earliest.
    pub(crate) limit: Option<Limit>,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A column of the table, unchanged.
    Column(String),
    /// The start of a bucket of times.
    Bucket,
    /// An aggregate of a field, or of all rows.
    Aggregate(Aggregate, Option<String>),
}

/// An aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
    Mean,
}

/// The key of a group of rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GroupKey {
    /// The value of a tag.
    Tag(String),
    /// Buckets of this many seconds, which begin at multiples of the width.
    Seconds(i64),
}

/// A field and the number above which it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    pub(crate) field: String,
    pub(crate) number: f64,
}

/// The rows of an answer that are wanted, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) rows: u64,
    pub(crate) latest: bool,
}

impl Question {
    /// The seconds of a bucket, if times are grouped.
    pub(crate) fn bucket_seconds(&self) -> Option<i64> {
        self.groups.iter().find_map(|key| if let GroupKey::Seconds(seconds) = key { Some(*seconds) } else { None })
    }

    /// The tags by which rows are grouped.
    pub(crate) fn group_tags(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().filter_map(|key| if let GroupKey::Tag(name) = key { Some(name.as_str()) } else { None })
    }

    /// Returns whether the question asks for aggregates instead of rows.
    pub(crate) fn is_aggregate(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Aggregate(..)))
    }
}

impl SeriesTable {
    /// The role of a column.
    pub(super) fn role(&self, name: &str) -> Result<Role, Failure> {
        Ok(self.column(name)?.role)
    }
}
