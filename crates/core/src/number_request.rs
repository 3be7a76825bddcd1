//! A request for numbers of an identity column, and which numbers a counter gives for it. Stores only keep the counter.

use crate::column_type::ColumnType;
use crate::error::{Error, ErrorKind, Result};
use crate::id::{ColumnId, TableId};
use crate::identity::{Counter, Identity};
use crate::table::Table;

/// A request for numbers of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRequest {
    /// The table.
    pub table: TableId,
    /// The column.
    pub column: ColumnId,
    /// The identity, by the definition that the caller knows.
    pub identity: Identity,
    /// The column's type, which bounds the numbers.
    pub column_type: ColumnType,
    /// The number of requested numbers. With 0 the counter only restarts, if the definition requires it.
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
    /// The number of reserved numbers: at least 1, unless none was wanted.
    pub count: u64,
}

impl NumberRequest {
    /// A request for numbers of the column at a position of a table. `None` if it is not an identity.
    pub fn of(table: &Table, position: usize, count: u64) -> Option<Self> {
        let column = table.definition.columns.get(position)?;
        let identity = column.identity?;
        Some(Self { table: table.id, column: column.id, identity, column_type: column.column_type, count })
    }

    /// Returns a request that sets a counter. `counter` is its present state. `number` becomes the last number given
    /// or, unless it `is_called`, the next one.
    ///
    /// Errors: [`InvalidValue`](ErrorKind::InvalidValue) for a number that the counter could not give.
    pub fn set_to(self, counter: Option<Counter>, number: i64, is_called: bool) -> Result<Self> {
        let Identity { increment, restarts, .. } = self.identity;
        let (least, greatest) = self.identity.bounds(self.column_type).unwrap_or((i64::MIN, i64::MAX));
        let after = number.checked_sub(increment).filter(|_| (least..=greatest).contains(&number));
        let after = after.ok_or_else(|| {
            Error::invalid(format!("setval: value {number} is out of range for the sequence ({least}..{greatest})"))
        })?;
        let restarts = counter.map_or(restarts, |counter| counter.restarts.max(restarts)).saturating_add(1);
        let identity = Identity { after: Some(after), restarts, ..self.identity };
        Ok(Self { identity, count: u64::from(is_called), ..self })
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
            Error::new(ErrorKind::Limit, format!("reached {bound} value of sequence ({last})")).with_hint(
                "use a wider type, or RESTART WITH a number that is free: by ALTER SEQUENCE, or for a column by ALTER \
                     TABLE ... ALTER COLUMN",
            )
        };
        let (least, greatest) = Identity::range(self.column_type).ok_or_else(ended)?;
        // A counter with a later restart also serves requests that do not know of the restart.
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
        let count = self.count.min((left / increment.unsigned_abs()).saturating_add(1));
        let distance = i128::from(increment) * (i128::from(count) - 1);
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
    fn a_counter_is_set_forwards_and_backwards() {
        let requested = request(Identity::by_default(), ColumnType::Int16, 9);
        let counter = Some(Counter { restarts: 3, last: 500 });
        for number in [600, 7] {
            let (_, next) = requested.set_to(counter, number, false).unwrap().take(counter).unwrap();
            assert_eq!(next, Counter { restarts: 4, last: number - 1 }, "no number is taken");
            let (block, counter) = requested.set_to(counter, number, true).unwrap().take(counter).unwrap();
            assert_eq!((block.first, block.count), (number, 1));
            assert_eq!(counter, Counter { restarts: 4, last: number });
            // Requests by the definition, which does not know of it, follow.
            assert_eq!(taken(requested, Some(counter)), Some((number + 1, 9, number + 9)));
            // A copy does, too.
            assert_eq!(requested.identity.continued(Some(counter)).first(), Some(number + 1));
        }
        for number in [0, -1, 40_000] {
            assert!(requested.set_to(counter, number, true).is_err(), "{number}");
        }
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
