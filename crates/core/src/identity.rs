//! Identity columns: columns that number the rows of a table by themselves, and the counters that they draw from.
//!
//! A counter belongs to one column of one table in one store, which keeps its last number. Numbers are reserved in
//! blocks, each in a transaction of its own that is never undone, so no number is given twice; those of a block that a
//! process does not use are lost. The definition says where counting begins. A restart is a change of the definition:
//! it counts the restarts, and the counter begins anew when it first hears of a higher count. So a restart is undone
//! with its transaction, and blocks that other processes hold end when they learn of the new definition.
//!
//! Not owned: where a store keeps counters, and the blocks that a process holds (`engine`).

use crate::column_type::ColumnType;
use crate::error::{Error, ErrorKind, Result};
use crate::id::{ColumnId, TableId};
use crate::table::Table;
use serde::{Deserialize, Serialize};

/// How a column numbers its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Whether SQL refuses other values than the counter's, unless a statement overrides this (`GENERATED ALWAYS`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// The first number, as declared.
    pub start: i64,
    /// The distance from one number to the next. It is not 0.
    pub increment: i64,
    /// Counting continues after this number, since the last restart or since the table was copied into this store. If
    /// `None`, it begins with `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// How often counting was restarted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Identity {
    /// An identity that counts 1, 2, 3 and accepts other values.
    pub fn by_default() -> Self {
        Self { always: false, start: 1, increment: 1, after: None, restarts: 0 }
    }

    /// Whether a column of this type can be an identity: a signed integer of 16 bits or more.
    pub fn fits(column_type: ColumnType) -> bool {
        Self::range(column_type).is_some()
    }

    /// The least and the greatest number of a column of this type.
    fn range(column_type: ColumnType) -> Option<(i64, i64)> {
        Some(match column_type {
            ColumnType::Int16 => (i16::MIN.into(), i16::MAX.into()),
            ColumnType::Int32 => (i32::MIN.into(), i32::MAX.into()),
            ColumnType::Int64 => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }

    /// The first number that the counter can give. `None` if there is no number after [`after`](Self::after).
    pub fn first(&self) -> Option<i64> {
        match self.after {
            Some(after) => after.checked_add(self.increment),
            None => Some(self.start),
        }
    }

    /// The same identity, counting anew from a number.
    ///
    /// Errors: [`InvalidValue`](ErrorKind::InvalidValue) for a number at the very end of 64 bits.
    pub fn restarted(self, from: i64) -> Result<Self> {
        let after = match from == self.start {
            true => None,
            false => Some(from.checked_sub(self.increment).ok_or_else(|| {
                Error::invalid(format!("RESTART WITH {from} is out of range for the increment {}", self.increment))
            })?),
        };
        Ok(Self { after, restarts: self.restarts.saturating_add(1), ..self })
    }

    /// The same identity for a copy of the table: it continues after this counter.
    #[must_use]
    pub fn continued(self, counter: Option<Counter>) -> Self {
        match counter.filter(|counter| counter.restarts >= self.restarts) {
            Some(counter) => {
                let after = self.after.map_or(counter.last, |after| self.later(after, counter.last));
                Self { after: Some(after), ..self }
            }
            None => self,
        }
    }

    /// The number that comes later.
    fn later(&self, one: i64, other: i64) -> i64 {
        if self.increment > 0 { one.max(other) } else { one.min(other) }
    }

    /// Refuses an identity that a column of this type cannot have.
    pub fn check(&self, column_type: ColumnType) -> Result<()> {
        let Some((least, greatest)) = Self::range(column_type) else {
            return Err(Error::usage("identity column type must be smallint, integer, or bigint")
                .with_hint("declare it as SMALLINT, INT or BIGINT"));
        };
        if self.increment == 0 {
            return Err(Error::usage("INCREMENT must not be zero"));
        }
        match (least..=greatest).contains(&self.start) {
            true => Ok(()),
            false => Err(Error::usage(format!("START {} does not fit the type {column_type}", self.start))),
        }
    }
}

/// The state of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// The restarts of the definition under which it last began.
    pub restarts: u32,
    /// The last number that was reserved.
    pub last: i64,
}

/// A request for numbers of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRequest {
    /// The table.
    pub table: TableId,
    /// The column.
    pub column: ColumnId,
    /// The identity, by the definition that the caller knows.
    pub identity: Identity,
    /// The column's type, whose numbers end.
    pub column_type: ColumnType,
    /// How many numbers are wanted, at least 1.
    pub count: u64,
}

/// Reserved numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberBlock {
    /// The restarts of the counter that gave them.
    pub restarts: u32,
    /// The first number.
    pub first: i64,
    /// The distance from one to the next.
    pub increment: i64,
    /// How many, at least 1.
    pub count: u64,
}

impl NumberRequest {
    /// A request for numbers of the column at a position of a table. `None` if it is not an identity.
    pub fn of(table: &Table, position: usize, count: u64) -> Option<Self> {
        let column = table.definition.columns.get(position)?;
        let identity = column.identity?;
        Some(Self { table: table.id, column: column.id, identity, column_type: column.column_type, count })
    }

    /// Takes numbers from a counter in this state; `None` if it never gave any. Returns the numbers and the new state.
    /// Near the last number of the type they may be fewer than requested.
    ///
    /// Errors: [`Limit`](ErrorKind::Limit) if there is no further number.
    pub fn take(&self, counter: Option<Counter>) -> Result<(NumberBlock, Counter)> {
        let Identity { increment, restarts, .. } = self.identity;
        let ended = || {
            let (bound, last) = match Identity::range(self.column_type) {
                Some((_, greatest)) if increment > 0 => ("maximum", greatest),
                Some((least, _)) => ("minimum", least),
                None => ("maximum", 0),
            };
            Error::new(ErrorKind::Limit, format!("reached {bound} value of sequence ({last})"))
                .with_hint("use a wider type, or ALTER TABLE ... ALTER COLUMN ... RESTART WITH a number that is free")
        };
        let (least, greatest) = Identity::range(self.column_type).ok_or_else(ended)?;
        // A counter that has begun later serves requests that do not know of it, too.
        let current = counter.filter(|counter| counter.restarts >= restarts);
        let first = match current {
            Some(counter) if counter.restarts > restarts => counter.last.checked_add(increment),
            _ => self.identity.continued(current).first(),
        };
        let first = first.ok_or_else(ended)?;
        if !(least..=greatest).contains(&first) {
            return Err(ended());
        }
        let left = if increment > 0 { greatest.abs_diff(first) } else { first.abs_diff(least) };
        let count = self.count.clamp(1, left / increment.unsigned_abs() + 1);
        let distance = i128::from(increment) * i128::from(count - 1);
        let last = i64::try_from(i128::from(first) + distance).map_err(|_| ended())?;
        let restarts = current.map_or(restarts, |counter| counter.restarts);
        Ok((NumberBlock { restarts, first, increment, count }, Counter { restarts, last }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(identity: Identity, column_type: ColumnType, count: u64) -> NumberRequest {
        NumberRequest { table: TableId(1), column: ColumnId(0), identity, column_type, count }
    }

    fn taken(request: NumberRequest, counter: Option<Counter>) -> Option<(i64, u64, i64)> {
        request.take(counter).ok().map(|(block, counter)| (block.first, block.count, counter.last))
    }

    #[test]
    fn blocks_follow_each_other() {
        let identity = Identity { start: 10, increment: 5, ..Identity::by_default() };
        let three = request(identity, ColumnType::Int64, 3);
        assert_eq!(taken(three, None), Some((10, 3, 20)));
        assert_eq!(taken(three, Some(Counter { restarts: 0, last: 20 })), Some((25, 3, 35)));
        let down = Identity { start: -1, increment: -2, ..identity };
        assert_eq!(taken(request(down, ColumnType::Int16, 2), None), Some((-1, 2, -3)));
    }

    #[test]
    fn numbers_end_with_their_type() {
        let many = request(Identity::by_default(), ColumnType::Int16, 100);
        assert_eq!(taken(many, Some(Counter { restarts: 0, last: 32_764 })), Some((32_765, 3, 32_767)));
        let error = many.take(Some(Counter { restarts: 0, last: 32_767 })).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("reached maximum value of sequence"), "{error}");
        let wide = request(Identity { increment: i64::MAX, ..Identity::by_default() }, ColumnType::Int64, 9);
        assert_eq!(taken(wide, None), Some((1, 1, 1)));
        assert_eq!(taken(wide, Some(Counter { restarts: 0, last: 1 })), None);
        let down = Identity { start: i64::MIN + 1, increment: -1, ..Identity::by_default() };
        assert_eq!(taken(request(down, ColumnType::Int64, 9), None), Some((i64::MIN + 1, 2, i64::MIN)));
        assert_eq!(taken(request(down, ColumnType::Int64, 9), Some(Counter { restarts: 0, last: i64::MIN })), None);
    }

    #[test]
    fn a_restart_begins_anew_and_late_requests_follow_it() {
        let old = Identity::by_default();
        let new = old.restarted(100).unwrap();
        let counter = Some(Counter { restarts: 0, last: 7 });
        assert_eq!(taken(request(new, ColumnType::Int64, 1), counter), Some((100, 1, 100)));
        let counter = Some(Counter { restarts: 1, last: 100 });
        assert_eq!(taken(request(old, ColumnType::Int64, 1), counter), Some((101, 1, 101)));
        assert_eq!(old.restarted(1).unwrap().after, None, "the declared start is not written twice");
        assert!(old.restarted(i64::MIN).is_err());
    }

    #[test]
    fn a_copy_continues_and_never_goes_back() {
        let counter = Some(Counter { restarts: 0, last: 41 });
        let copy = Identity::by_default().continued(counter);
        assert_eq!(copy.first(), Some(42));
        assert_eq!(taken(request(copy, ColumnType::Int64, 1), None), Some((42, 1, 42)));
        // The target's own counter is behind, or ahead.
        assert_eq!(
            taken(request(copy, ColumnType::Int64, 1), Some(Counter { restarts: 0, last: 3 })),
            Some((42, 1, 42))
        );
        let ahead = Some(Counter { restarts: 0, last: 50 });
        assert_eq!(taken(request(copy, ColumnType::Int64, 1), ahead), Some((51, 1, 51)));
        assert_eq!(copy.continued(None), copy);
        let full = Identity::by_default().continued(Some(Counter { restarts: 0, last: i64::MAX }));
        assert_eq!(taken(request(full, ColumnType::Int64, 1), None), None, "the last number is not given again");
        let restarted = Identity::by_default().restarted(5).unwrap();
        assert_eq!(restarted.continued(counter), restarted, "a counter of before the restart says nothing");
    }
}
