//! A question about one table: what is asked of which points, by which groups.

use super::catalogue::SeriesTable;
use super::question_reader;
use crate::contestants::line_protocol::Role;
use crate::failure::Failure;

/// A question, whose names are all in the table.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::contestants) struct Question {
    /// The columns of the answer.
    pub(in crate::contestants) items: Vec<Item>,
    /// Only the last row of each value of this tag.
    pub(in crate::contestants) last_of: Option<String>,
    /// Tags that have one of some values.
    pub(in crate::contestants) tags: Vec<(String, Vec<String>)>,
    /// The time, from the first on and before the second, in units of the table.
    pub(in crate::contestants) times: (Option<i64>, Option<i64>),
    /// Fields that are above some number.
    pub(in crate::contestants) above: Vec<Bound>,
    /// The groups, if the question is about groups.
    pub(in crate::contestants) groups: Vec<GroupKey>,
    /// Only so many rows, the latest ones or the earliest.
    pub(in crate::contestants) limit: Option<Limit>,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::contestants) enum Item {
    /// A column of the table, as it is.
    Column(String),
    /// The beginning of the times that are together.
    Bucket,
    /// An aggregate of a field, or of all rows.
    Aggregate(Aggregate, Option<String>),
}

/// An aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::contestants) enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
    Mean,
}

/// What rows of a group have in common.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::contestants) enum GroupKey {
    /// The value of a tag.
    Tag(String),
    /// So many seconds, which begin at a multiple of them.
    Seconds(i64),
}

/// A field and the number above which it is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::contestants) struct Bound {
    pub(in crate::contestants) field: String,
    pub(in crate::contestants) number: f64,
}

/// How many rows of an answer are wanted, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::contestants) struct Limit {
    pub(in crate::contestants) rows: u64,
    pub(in crate::contestants) latest: bool,
}

impl Question {
    /// Reads a question in the SQL of [`Dialect::Series`](crate::contestant::Dialect::Series). `table` finds a table.
    ///
    /// # Errors
    ///
    /// [`Failure::Cannot`] if it is not of this form, or the table has no such columns.
    pub(in crate::contestants) fn read<'a>(
        sql: &str,
        table: impl FnOnce(&str) -> Result<&'a SeriesTable, Failure>,
    ) -> Result<(Self, &'a SeriesTable), Failure> {
        let text = question_reader::read(sql)?;
        let table = table(&text.table)?;
        Ok((text.on(table)?, table))
    }

    /// The seconds of a bucket, if times are grouped.
    pub(in crate::contestants) fn bucket_seconds(&self) -> Option<i64> {
        self.groups.iter().find_map(|key| if let GroupKey::Seconds(seconds) = key { Some(*seconds) } else { None })
    }

    /// The tags by which rows are grouped.
    pub(in crate::contestants) fn group_tags(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().filter_map(|key| if let GroupKey::Tag(name) = key { Some(name.as_str()) } else { None })
    }

    /// Whether it asks for aggregates.
    pub(in crate::contestants) fn is_aggregate(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Aggregate(..)))
    }
}

impl SeriesTable {
    /// The role of a column.
    pub(super) fn role(&self, name: &str) -> Result<Role, Failure> {
        Ok(self.column(name)?.role)
    }
}
