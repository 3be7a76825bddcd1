//! Simple conditions on one column, used to skip chunks and rows.

use atsdb_core::{Bound, ColumnStatistics, Value};
use std::cmp::Ordering;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=` the one value.
    Equal,
    /// `<>` the one value.
    NotEqual,
    /// `<` the one value.
    Less,
    /// `<=` the one value.
    LessOrEqual,
    /// `>` the one value.
    Greater,
    /// `>=` the one value.
    GreaterOrEqual,
    /// Equal to one of the values.
    In,
    /// NULL; no values.
    IsNull,
    /// The value is not NULL. The predicate has no values.
    IsNotNull,
}

/// A condition on one column. A read may skip the rows that do not satisfy it; a caller that needs exactly the rows
/// that do must filter again.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// The column's position in the table's definition.
    pub column: usize,
    /// How it is compared.
    pub operator: Comparison,
    /// The values to compare with: one, several for [`Comparison::In`], none for the NULL tests.
    pub values: Vec<Value>,
}

impl Predicate {
    /// `column operator value`.
    pub fn new(column: usize, operator: Comparison, value: Value) -> Self {
        Self { column, operator, values: vec![value] }
    }

    /// Returns whether a row of a chunk with these statistics can satisfy it.
    pub(crate) fn can_match(&self, statistics: &ColumnStatistics, row_count: u32) -> bool {
        match self.operator {
            Comparison::IsNull => statistics.null_count > 0,
            _ if statistics.null_count >= row_count => false,
            Comparison::IsNotNull => true,
            Comparison::NotEqual => !self
                .values
                .iter()
                .any(|value| sides_of(value, statistics).is_some_and(|(min, max)| min.is_eq() && max.is_eq())),
            _ => self.values.iter().any(|value| self.value_can_match(value, statistics)),
        }
    }

    /// Returns whether every row of a chunk with these statistics satisfies it. False if the statistics do not show it.
    pub(crate) fn matches_all(&self, statistics: &ColumnStatistics, row_count: u32) -> bool {
        let matches = |value: &Value| {
            sides_of(value, statistics).is_some_and(|(min, max)| match self.operator {
                Comparison::Equal | Comparison::In => min.is_eq() && max.is_eq(),
                Comparison::NotEqual => min.is_gt() || max.is_lt(),
                Comparison::Less => max.is_lt(),
                Comparison::LessOrEqual => max.is_le(),
                Comparison::Greater => min.is_gt(),
                Comparison::GreaterOrEqual => min.is_ge(),
                Comparison::IsNull | Comparison::IsNotNull => false,
            })
        };
        match self.operator {
            Comparison::IsNull => statistics.null_count == row_count,
            _ if statistics.null_count > 0 => false,
            Comparison::IsNotNull => true,
            Comparison::NotEqual => self.values.iter().all(matches),
            _ => self.values.iter().any(matches),
        }
    }

    fn value_can_match(&self, value: &Value, statistics: &ColumnStatistics) -> bool {
        // If a bound and the value are not comparable, a match is possible.
        let min = statistics.min.as_ref().and_then(|min| compare(min, value, BoundSide::Min));
        let max = statistics.max.as_ref().and_then(|max| compare(max, value, BoundSide::Max));
        let min_is = |wanted: fn(Ordering) -> bool| min.is_none_or(wanted);
        let max_is = |wanted: fn(Ordering) -> bool| max.is_none_or(wanted);
        match self.operator {
            Comparison::Equal | Comparison::In => min_is(Ordering::is_le) && max_is(Ordering::is_ge),
            Comparison::Less => min_is(Ordering::is_lt),
            Comparison::LessOrEqual => min_is(Ordering::is_le),
            Comparison::Greater => max_is(Ordering::is_gt),
            Comparison::GreaterOrEqual => max_is(Ordering::is_ge),
            Comparison::NotEqual | Comparison::IsNull | Comparison::IsNotNull => true,
        }
    }
}

#[derive(Clone, Copy)]
enum BoundSide {
    Min,
    Max,
}

/// Compares the smallest and the largest integer of a chunk with a value. `None` if the bounds are not integers: those
/// of texts may be prefixes, and those of floats do not distinguish 0.0 from -0.0.
fn sides_of(value: &Value, statistics: &ColumnStatistics) -> Option<(Ordering, Ordering)> {
    let (min, max) = (statistics.min.as_ref()?, statistics.max.as_ref()?);
    let is_integer = |bound: &Bound| matches!(bound, Bound::Int(_) | Bound::UInt(_));
    let sides = (compare(min, value, BoundSide::Min)?, compare(max, value, BoundSide::Max)?);
    (is_integer(min) && is_integer(max)).then_some(sides)
}

/// Compares a bound with a value. `None` if they are not comparable.
fn compare(bound: &Bound, value: &Value, side: BoundSide) -> Option<Ordering> {
    match (bound, value) {
        (Bound::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Bound::Int(a), Value::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Bound::Int(a), Value::Bool(b)) => Some(a.cmp(&i64::from(*b))),
        (Bound::UInt(a), Value::UInt(b)) => Some(a.cmp(b)),
        (Bound::UInt(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        // `total_cmp` orders -0.0 before 0.0, but the bounds may have been computed otherwise.
        (Bound::Float(a), Value::Float(b)) if *a == 0.0 => Some(
            match side {
                BoundSide::Min => -0.0_f64,
                BoundSide::Max => 0.0,
            }
            .total_cmp(b),
        ),
        (Bound::Float(a), Value::Float(b)) => Some(a.total_cmp(b)),
        (Bound::Bytes(a), Value::Bytes(b)) => Some(a.as_slice().cmp(b)),
        (Bound::Bytes(a), Value::Text(b)) => Some(a.as_slice().cmp(b.as_bytes())),
        _ => None,
    }
}

/// Returns whether a string satisfies a predicate. Predicates on mapped columns are evaluated once per string.
pub(crate) fn text_matches(text: &str, predicate: &Predicate) -> bool {
    let against = |wanted: fn(Ordering) -> bool| {
        predicate.values.iter().any(|value| match value {
            Value::Text(value) => wanted(text.cmp(value)),
            // Not comparable: it may match.
            _ => true,
        })
    };
    match predicate.operator {
        Comparison::Equal | Comparison::In => against(Ordering::is_eq),
        Comparison::NotEqual => against(Ordering::is_ne),
        Comparison::Less => against(Ordering::is_lt),
        Comparison::LessOrEqual => against(Ordering::is_le),
        Comparison::Greater => against(Ordering::is_gt),
        Comparison::GreaterOrEqual => against(Ordering::is_ge),
        Comparison::IsNull => false,
        Comparison::IsNotNull => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can(operator: Comparison, value: Value, min: Bound, max: Bound) -> bool {
        let statistics = ColumnStatistics { min: Some(min), max: Some(max), ..ColumnStatistics::default() };
        Predicate::new(0, operator, value).can_match(&statistics, 10)
    }

    #[test]
    fn bounds_rule_out_what_lies_outside_and_nothing_else() {
        use Comparison::*;
        let ints = |operator, value| can(operator, Value::Int(value), Bound::Int(5), Bound::Int(9));
        assert!(ints(Equal, 5) && ints(Equal, 9) && !ints(Equal, 4) && !ints(Equal, 10));
        assert!(!ints(Less, 5) && ints(Less, 6) && ints(LessOrEqual, 5) && !ints(LessOrEqual, 4));
        assert!(!ints(Greater, 9) && ints(GreaterOrEqual, 9) && ints(NotEqual, 5));
        assert!(can(Greater, Value::Text("x".into()), Bound::Int(0), Bound::Int(1)), "unlike kinds are let through");
    }

    /// Every column of three integers from 3 to 6 or NULLs, compared with values within and beyond its bounds.
    #[test]
    fn integers_that_all_match_or_of_which_none_does_are_recognised() {
        use Comparison::*;
        let cells = [None, Some(3), Some(4), Some(6)];
        let columns = cells.iter().flat_map(|a| cells.iter().flat_map(move |b| cells.map(|c| [*a, *b, c])));
        for column in columns {
            let present = || column.iter().copied().flatten();
            let statistics = ColumnStatistics {
                min: present().min().map(Bound::Int),
                max: present().max().map(Bound::Int),
                null_count: 3 - present().count() as u32,
                ..ColumnStatistics::default()
            };
            for with in 2..8_i64 {
                for operator in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, In, IsNull, IsNotNull] {
                    let matches = |cell: &Option<i64>| match (operator, cell) {
                        (IsNull, cell) => cell.is_none(),
                        (_, None) => false,
                        (Equal | In, Some(cell)) => *cell == with,
                        (NotEqual, Some(cell)) => *cell != with,
                        (Less, Some(cell)) => *cell < with,
                        (LessOrEqual, Some(cell)) => *cell <= with,
                        (Greater, Some(cell)) => *cell > with,
                        (GreaterOrEqual, Some(cell)) => *cell >= with,
                        (IsNotNull, Some(_)) => true,
                    };
                    let predicate = Predicate::new(0, operator, Value::Int(with));
                    let case = format!("{column:?} {operator:?} {with}");
                    if predicate.matches_all(&statistics, 3) {
                        assert!(column.iter().all(matches), "{case}");
                    }
                    if !predicate.can_match(&statistics, 3) {
                        assert!(!column.iter().any(matches), "{case}");
                    }
                    // Neither is missed if the bounds show it.
                    if !matches!(operator, IsNull) && column.iter().all(|cell| *cell == column[0] && cell.is_some()) {
                        assert_eq!(predicate.matches_all(&statistics, 3), matches(&column[0]), "{case}");
                        assert_eq!(predicate.can_match(&statistics, 3), matches(&column[0]), "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn floats_and_texts_are_not_taken_for_equal_to_their_bounds() {
        for (value, bound) in
            [(Value::Float(1.0), Bound::Float(1.0)), (Value::Text("a".into()), Bound::Bytes(b"a".to_vec()))]
        {
            let statistics =
                ColumnStatistics { min: Some(bound.clone()), max: Some(bound), ..ColumnStatistics::default() };
            assert!(Predicate::new(0, Comparison::NotEqual, value.clone()).can_match(&statistics, 10));
            assert!(!Predicate::new(0, Comparison::Equal, value).matches_all(&statistics, 10));
        }
    }

    #[test]
    fn negative_zero_is_below_zero_and_is_not_ruled_out() {
        assert!(can(Comparison::Less, Value::Float(0.0), Bound::Float(0.0), Bound::Float(0.0)));
        assert!(can(Comparison::Greater, Value::Float(-0.0), Bound::Float(-0.0), Bound::Float(-0.0)));
    }
}
