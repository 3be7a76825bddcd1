//! A question about one table: which values, of which points, by which groups.

use super::catalogue::SeriesTable;
use crate::contestants::line_protocol::Role;
use crate::failure::Failure;

/// A question, whose names are all in the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The columns of the answer.
    pub(crate) items: Vec<Item>,
    /// Only the last row of each value of this tag.
    pub(crate) last_of: Option<String>,
    /// Tags that have one of some values.
    pub(crate) tags: Vec<(String, Vec<String>)>,
    /// The time, from the first on and before the second, in units of the table.
    pub(crate) times: (Option<i64>, Option<i64>),
    /// Fields that are above some number.
    pub(crate) above: Vec<Bound>,
    /// The groups, if the question is about groups.
    pub(crate) groups: Vec<GroupKey>,
    /// Only so many rows, the latest ones or the earliest.
    pub(crate) limit: Option<Limit>,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// A column of the table, as it is.
    Column(String),
    /// The beginning of the times that are together.
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
    /// So many seconds, which begin at a multiple of them.
    Seconds(i64),
}

/// A field and the number above which it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    pub(crate) field: String,
    pub(crate) number: f64,
}

/// How many rows of an answer are wanted, in the order of time.
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

    /// Whether the question asks for aggregates instead of rows.
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
