//! Identity columns, which number the rows of a table, and the counters that supply the numbers.
//!
//! A counter belongs to one column of one table in one store, which keeps its last number. Numbers are reserved in
//! blocks, each in a separate transaction that is never undone. So no number is given twice, and unused numbers of a
//! block are lost. The definition states where counting begins. A restart changes the definition, which counts the
//! restarts: the counter restarts when it first receives a request with a higher count. Other processes discard their
//! blocks when they see the new definition. An uncommitted restart never reaches the counter of the store: until the
//! commit, the transaction has its own counter, and the committed definition records where that one ended. So rolling
//! the transaction back undoes the restart.
//!
//! Not owned: the numbers that a counter gives ([`number_request`](crate::number_request)), where a store keeps
//! counters, and the blocks that a process holds (`engine`).

use crate::column_type::ColumnType;
use crate::error::{Error, Result};
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
    /// The number of times that counting was restarted.
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

    /// Returns whether a column of this type can be an identity: a signed integer of 16 bits or more.
    pub fn fits(column_type: ColumnType) -> bool {
        Self::range(column_type).is_some()
    }

    /// The least and the greatest number of a column of this type.
    pub fn range(column_type: ColumnType) -> Option<(i64, i64)> {
        Some(match column_type {
            ColumnType::Int16 => (i16::MIN.into(), i16::MAX.into()),
            ColumnType::Int32 => (i32::MIN.into(), i32::MAX.into()),
            ColumnType::Int64 => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }

    /// Returns whether a column of this type can have the number.
    pub fn is_in_range(column_type: ColumnType, number: i64) -> bool {
        Self::range(column_type).is_some_and(|(least, greatest)| (least..=greatest).contains(&number))
    }

    /// The least and the greatest number of the sequence, as PostgreSQL has them: counting up begins with 1 and
    /// counting down with -1, unless it was declared to begin beyond. `None` if the column cannot be an identity.
    pub fn bounds(&self, column_type: ColumnType) -> Option<(i64, i64)> {
        let (least, greatest) = Self::range(column_type)?;
        Some(match self.increment > 0 {
            true => (self.start.min(1), greatest),
            false => (least, self.start.max(-1)),
        })
    }

    /// The first number that the counter can give. `None` if there is no number after [`after`](Self::after).
    pub fn first(&self) -> Option<i64> {
        match self.after {
            Some(after) => after.checked_add(self.increment),
            None => Some(self.start),
        }
    }

    /// Returns the identity with its counter restarted from a number.
    ///
    /// Errors: [`InvalidValue`](crate::ErrorKind::InvalidValue) for a number at the very end of 64 bits.
    pub fn restarted(self, from: i64) -> Result<Self> {
        let after = match from == self.start {
            true => None,
            false => Some(from.checked_sub(self.increment).ok_or_else(|| {
                Error::invalid(format!("RESTART WITH {from} is out of range for the increment {}", self.increment))
            })?),
        };
        Ok(Self { after, restarts: self.restarts.saturating_add(1), ..self })
    }

    /// Returns the identity for a copy of the table: it continues after this counter.
    #[must_use]
    pub fn continued(self, counter: Option<Counter>) -> Self {
        match counter.filter(|counter| counter.restarts >= self.restarts) {
            Some(counter) => {
                // A counter that was set to a number does not rely on the definition any more.
                let declared = self.after.filter(|_| counter.restarts == self.restarts);
                let after = declared.map_or(counter.last, |after| self.later(after, counter.last));
                Self { after: Some(after), ..self }
            }
            None => self,
        }
    }

    /// Returns the identity after a change of its increment: it continues from the last number, or begins with the next
    /// number if none was given since counting began. `counter` is its present state.
    #[must_use]
    pub fn turned(self, before: Self, counter: Option<Counter>) -> Self {
        let after = match counter.filter(|counter| counter.restarts >= before.restarts) {
            Some(_) => before.continued(counter).after,
            None => before.first().and_then(|next| next.checked_sub(self.increment)),
        };
        Self { after, restarts: before.restarts.saturating_add(1), ..self }
    }

    /// Returns the number that is counted later.
    pub(crate) fn later(&self, one: i64, other: i64) -> i64 {
        if self.increment > 0 { one.max(other) } else { one.min(other) }
    }

    /// Refuses an identity that a column of this type cannot have.
    pub fn check(&self, column_type: ColumnType) -> Result<()> {
        if !Self::fits(column_type) {
            return Err(Error::usage("identity column type must be smallint, integer, or bigint")
                .with_hint("declare it as SMALLINT, INT or BIGINT"));
        }
        if self.increment == 0 {
            return Err(Error::usage("INCREMENT must not be zero"));
        }
        match Self::is_in_range(column_type, self.start) {
            true => Ok(()),
            false => {
                Err(Error::usage(format!("START {} does not fit the type {}", self.start, column_type.sql_name())))
            }
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
