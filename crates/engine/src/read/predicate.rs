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
    /// Not NULL; no values.
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

    /// Whether a row of a chunk with these statistics can satisfy it.
    pub(crate) fn can_match(&self, statistics: &ColumnStatistics, row_count: u32) -> bool {
        match self.operator {
            Comparison::IsNull => statistics.null_count > 0,
            _ if statistics.null_count >= row_count => false,
            Comparison::IsNotNull | Comparison::NotEqual => true,
            _ => self.values.iter().any(|value| self.value_can_match(value, statistics)),
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

/// Whether a string satisfies a predicate. Predicates on mapped columns are evaluated once per string.
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

    #[test]
    fn negative_zero_is_below_zero_and_is_not_ruled_out() {
        assert!(can(Comparison::Less, Value::Float(0.0), Bound::Float(0.0), Bound::Float(0.0)));
        assert!(can(Comparison::Greater, Value::Float(-0.0), Bound::Float(-0.0), Bound::Float(-0.0)));
    }
}
