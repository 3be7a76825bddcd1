//! Simple conditions on one column, by which chunks and rows are passed over.

use atsdb_core::{Bound, ColumnStatistics, Value};
use std::cmp::Ordering;

/// How a column is compared.
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

/// A condition on one column. Rows for which it is not true may be passed over; whoever needs exactly the others
/// filters again.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// The column's position in the table's definition.
    pub column: usize,
    /// How it is compared.
    pub operator: Comparison,
    /// With what: one value, several for [`Comparison::In`], none for the NULL tests.
    pub values: Vec<Value>,
}

impl Predicate {
    /// `column operator value`.
    pub fn new(column: usize, operator: Comparison, value: Value) -> Self {
        Self { column, operator, values: vec![value] }
    }

    /// Whether rows with these statistics can make it true.
    pub(crate) fn can_match(&self, statistics: &ColumnStatistics, row_count: u32) -> bool {
        match self.operator {
            Comparison::IsNull => statistics.null_count > 0,
            _ if statistics.null_count >= row_count => false,
            Comparison::IsNotNull | Comparison::NotEqual => true,
            _ => self.values.iter().any(|value| self.value_can_match(value, statistics)),
        }
    }

    fn value_can_match(&self, value: &Value, statistics: &ColumnStatistics) -> bool {
        // An unknown order is a possible match.
        let min = statistics.min.as_ref().and_then(|min| compare(min, value, End::Min));
        let max = statistics.max.as_ref().and_then(|max| compare(max, value, End::Max));
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
enum End {
    Min,
    Max,
}

/// How a bound compares with a value, where both are of one kind.
fn compare(bound: &Bound, value: &Value, end: End) -> Option<Ordering> {
    match (bound, value) {
        (Bound::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Bound::Int(a), Value::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Bound::Int(a), Value::Bool(b)) => Some(a.cmp(&i64::from(*b))),
        (Bound::UInt(a), Value::UInt(b)) => Some(a.cmp(b)),
        (Bound::UInt(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        // Comparing puts -0.0 below 0.0, finding the bounds may not have.
        (Bound::Float(a), Value::Float(b)) if *a == 0.0 => Some(
            match end {
                End::Min => -0.0_f64,
                End::Max => 0.0,
            }
            .total_cmp(b),
        ),
        (Bound::Float(a), Value::Float(b)) => Some(a.total_cmp(b)),
        (Bound::Bytes(a), Value::Bytes(b)) => Some(a.as_slice().cmp(b)),
        (Bound::Bytes(a), Value::Text(b)) => Some(a.as_slice().cmp(b.as_bytes())),
        _ => None,
    }
}

/// Whether a string makes a comparison true: how predicates on mapped columns are decided once for each string.
pub(crate) fn text_matches(text: &str, predicate: &Predicate) -> bool {
    let against = |wanted: fn(Ordering) -> bool| {
        predicate.values.iter().any(|value| match value {
            Value::Text(value) => wanted(text.cmp(value)),
            // Not comparable here: let it through.
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
        let statistics = ColumnStatistics { null_count: 0, min: Some(min), max: Some(max) };
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
