//! Translates conditions of a query for the engine: to a time range and predicates on single columns. With them, the
//! engine skips chunks and rows. If the engine evaluates a condition exactly as DataFusion does, DataFusion does not
//! filter again, so that a read can stop when it has enough rows.

use atsdb_core::{ColumnType, TableDefinition, TimeRange, decimal};
use atsdb_engine::{Comparison, Predicate, Value, is_exact as is_exact_read};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// The part of a conjunction that the engine can use.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pushdown {
    pub(crate) range: TimeRange,
    pub(crate) predicates: Vec<Predicate>,
}

impl Pushdown {
    pub(crate) fn of(filters: &[Expr], definition: &TableDefinition) -> Self {
        let mut pushdown = Self::default();
        for predicate in filters.iter().filter_map(|filter| predicates(filter, definition)).flatten() {
            match time_range(&predicate, definition) {
                Some(range) => pushdown.range = pushdown.range.intersect(&range),
                None => pushdown.predicates.push(predicate),
            }
        }
        pushdown
    }
}

/// A condition as predicates, if it can be expressed like that.
pub(crate) fn predicates(filter: &Expr, definition: &TableDefinition) -> Option<Vec<Predicate>> {
    match filter {
        Expr::Alias(alias) => predicates(&alias.expr, definition),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut both = predicates(left, definition)?;
            both.extend(predicates(right, definition)?);
            Some(both)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            one_of(predicates(left, definition)?, predicates(right, definition)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (left.as_ref(), right.as_ref()) {
            (Expr::Column(column), Expr::Literal(literal, _)) => compare(column, *op, literal, definition),
            (Expr::Literal(literal, _), Expr::Column(column)) => compare(column, op.swap()?, literal, definition),
            _ => None,
        },
        Expr::Between(Between { expr, negated: false, low, high }) => {
            match (expr.as_ref(), low.as_ref(), high.as_ref()) {
                (Expr::Column(column), Expr::Literal(low, _), Expr::Literal(high, _)) => {
                    let mut both = compare(column, Operator::GtEq, low, definition)?;
                    both.extend(compare(column, Operator::LtEq, high, definition)?);
                    Some(both)
                }
                _ => None,
            }
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let Expr::Column(column) = expr.as_ref() else { return None };
            let value = |item: &Expr| match item {
                Expr::Literal(literal, _) => value_for(literal, column_of(column, definition)?),
                _ => None,
            };
            let values = list.iter().map(value).collect::<Option<Vec<_>>>()?;
            Some(vec![Predicate { column: position(column, definition)?, operator: Comparison::In, values }])
        }
        Expr::IsNull(expr) => null_test(expr, Comparison::IsNull, definition),
        Expr::IsNotNull(expr) => null_test(expr, Comparison::IsNotNull, definition),
        Expr::Column(column) => truth(column, true, definition),
        Expr::Not(expr) => match expr.as_ref() {
            Expr::Column(column) => truth(column, false, definition),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether the engine leaves out exactly the rows that DataFusion would.
pub(crate) fn is_exact(filter: &Expr, definition: &TableDefinition) -> bool {
    predicates(filter, definition).is_some_and(|predicates| {
        predicates.iter().all(|predicate| {
            let column = &definition.columns[predicate.column];
            let is_float = matches!(column.column_type, ColumnType::Float32 | ColumnType::Float64);
            match predicate.operator {
                // In lists, DataFusion compares floats by their bits.
                Comparison::In if is_float => false,
                // A list of times becomes a range here.
                Comparison::In if time_range(predicate, definition).is_some() => false,
                _ => time_range(predicate, definition).is_some() || is_exact_read(predicate, column),
            }
        })
    })
}

fn position(column: &Column, definition: &TableDefinition) -> Option<usize> {
    definition.position(&column.name).ok()
}

fn column_of<'a>(column: &Column, definition: &'a TableDefinition) -> Option<&'a atsdb_core::Column> {
    position(column, definition).map(|position| &definition.columns[position])
}

fn compare(
    column: &Column,
    operator: Operator,
    literal: &ScalarValue,
    definition: &TableDefinition,
) -> Option<Vec<Predicate>> {
    let operator = match operator {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    let value = value_for(literal, column_of(column, definition)?)?;
    Some(vec![Predicate::new(position(column, definition)?, operator, value)])
}

fn null_test(expr: &Expr, operator: Comparison, definition: &TableDefinition) -> Option<Vec<Predicate>> {
    match expr {
        Expr::Column(column) => {
            Some(vec![Predicate { column: position(column, definition)?, operator, values: Vec::new() }])
        }
        _ => None,
    }
}

fn truth(column: &Column, wanted: bool, definition: &TableDefinition) -> Option<Vec<Predicate>> {
    Some(vec![Predicate::new(position(column, definition)?, Comparison::Equal, Value::Bool(wanted))])
}

/// `x = a OR x = b` is `x IN (a, b)`, which is what short IN lists are simplified to.
fn one_of(left: Vec<Predicate>, right: Vec<Predicate>) -> Option<Vec<Predicate>> {
    let is_membership = |predicate: &Predicate| matches!(predicate.operator, Comparison::Equal | Comparison::In);
    match (left.as_slice(), right.as_slice()) {
        ([a], [b]) if a.column == b.column && is_membership(a) && is_membership(b) => {
            let values = a.values.iter().chain(&b.values).cloned().collect();
            Some(vec![Predicate { column: a.column, operator: Comparison::In, values }])
        }
        _ => None,
    }
}

/// The value to compare a column's stored values with; `None` if they are not compared as the column's values are.
fn value_for(literal: &ScalarValue, column: &atsdb_core::Column) -> Option<Value> {
    match (column.column_type, literal) {
        (ColumnType::Decimal { scale, .. }, ScalarValue::Decimal128(Some(value), _, of)) => {
            if *of != scale.cast_signed() {
                return None;
            }
            match column.column_type.stored() {
                ColumnType::Int64 => i64::try_from(*value).ok().map(Value::Int),
                _ => Some(Value::Bytes(decimal::to_bytes(*value).to_vec())),
            }
        }
        (ColumnType::Time, ScalarValue::Time64Microsecond(Some(time))) => Some(Value::Int(*time)),
        (ColumnType::Decimal { .. } | ColumnType::Time | ColumnType::Interval | ColumnType::Array(_), _) => None,
        _ => value_of(literal),
    }
}

/// The value of a literal. After DataFusion's coercion, a literal that is compared with a plain column has the column's
/// type.
pub(crate) fn value_of(literal: &ScalarValue) -> Option<Value> {
    Some(match literal {
        ScalarValue::Boolean(Some(value)) => Value::Bool(*value),
        ScalarValue::Int8(Some(value)) => Value::Int(i64::from(*value)),
        ScalarValue::Int16(Some(value)) => Value::Int(i64::from(*value)),
        ScalarValue::Int32(Some(value)) | ScalarValue::Date32(Some(value)) => Value::Int(i64::from(*value)),
        ScalarValue::Int64(Some(value)) => Value::Int(*value),
        ScalarValue::UInt8(Some(value)) => Value::UInt(u64::from(*value)),
        ScalarValue::UInt16(Some(value)) => Value::UInt(u64::from(*value)),
        ScalarValue::UInt32(Some(value)) => Value::UInt(u64::from(*value)),
        ScalarValue::UInt64(Some(value)) => Value::UInt(*value),
        ScalarValue::Float32(Some(value)) => Value::Float(f64::from(*value)),
        ScalarValue::Float64(Some(value)) => Value::Float(*value),
        ScalarValue::Utf8(Some(value)) | ScalarValue::LargeUtf8(Some(value)) | ScalarValue::Utf8View(Some(value)) => {
            Value::Text(value.clone())
        }
        ScalarValue::Binary(Some(value)) => Value::Bytes(value.clone()),
        ScalarValue::TimestampSecond(Some(value), _)
        | ScalarValue::TimestampMillisecond(Some(value), _)
        | ScalarValue::TimestampMicrosecond(Some(value), _)
        | ScalarValue::TimestampNanosecond(Some(value), _) => Value::Int(*value),
        ScalarValue::Dictionary(_, value) => value_of(value)?,
        _ => return None,
    })
}

/// The times that satisfy a predicate on the time column, in the table's unit.
fn time_range(predicate: &Predicate, definition: &TableDefinition) -> Option<TimeRange> {
    let time = definition.time?;
    if definition.columns[predicate.column].id != time.column {
        return None;
    }
    let scale = definition.time_scale();
    let values = predicate.values.iter().map(|value| match value {
        Value::Int(value) => Some(*value),
        Value::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    });
    let values = values.collect::<Option<Vec<i64>>>()?;
    let (least, greatest) = (*values.iter().min()?, *values.iter().max()?);
    let from = |value: i64| Some(value.saturating_mul(scale));
    let after = |value: i64| value.checked_add(1).map(|next| next.saturating_mul(scale));
    Some(match predicate.operator {
        Comparison::Equal | Comparison::In => TimeRange { start: from(least), end: after(greatest) },
        Comparison::Less => TimeRange { start: None, end: from(least) },
        Comparison::LessOrEqual => TimeRange { start: None, end: after(least) },
        // No time is later than the last possible one: an empty range.
        Comparison::Greater if least == i64::MAX => TimeRange { start: Some(i64::MAX), end: Some(i64::MAX) },
        Comparison::Greater => TimeRange { start: after(least), end: None },
        Comparison::GreaterOrEqual => TimeRange { start: from(least), end: None },
        Comparison::NotEqual | Comparison::IsNull | Comparison::IsNotNull => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnType, TimeUnit};
    use datafusion::logical_expr::{col, lit};

    fn readings() -> TableDefinition {
        TableDefinition::new("readings")
            .with_column("time", ColumnType::Int64, None)
            .with_column("value", ColumnType::Float64, None)
            .with_time("time", TimeUnit::Second)
            .unwrap()
    }

    #[test]
    fn conditions_on_the_time_are_one_range() {
        let filters = [col("time").gt_eq(lit(10_i64)), col("time").lt_eq(lit(20_i64)), lit(15_i64).gt(col("time"))];
        let pushdown = Pushdown::of(&filters, &readings());
        assert_eq!(pushdown, Pushdown { range: (10..15).into(), predicates: vec![] });
        let last = Pushdown::of(&[col("time").gt(lit(i64::MAX))], &readings());
        assert!(!last.range.contains(i64::MAX));
        let all = Pushdown::of(&[col("time").lt_eq(lit(i64::MAX))], &readings());
        assert!(all.range.contains(i64::MAX));
    }

    #[test]
    fn only_what_the_engine_decides_alone_is_exact() {
        let exact = |filter: Expr| is_exact(&filter, &readings());
        assert!(exact(col("time").gt(lit(3_i64)).and(col("time").lt(lit(9_i64)))) && exact(col("value").lt(lit(0.0))));
        assert!(exact(col("value").is_null()) && exact(col("time").eq(lit(3_i64))));
        assert!(!exact(col("time").in_list(vec![lit(3_i64), lit(9_i64)], false)), "a list of times is a range");
        assert!(!exact(col("value").eq(lit(0.0)).or(col("value").eq(lit(1.0)))), "bits or numbers");
        assert!(!exact((col("value") + lit(1.0)).gt(lit(3.0))));
    }

    #[test]
    fn short_lists_become_membership_and_the_rest_stays_with_datafusion() {
        let either = col("value").eq(lit(1.0)).or(col("value").eq(lit(2.0)));
        let pushdown = Pushdown::of(&[either, (col("value") + lit(1.0)).gt(lit(3.0))], &readings());
        let values = vec![Value::Float(1.0), Value::Float(2.0)];
        assert_eq!(pushdown.predicates, [Predicate { column: 1, operator: Comparison::In, values }]);
        assert!(predicates(&col("value").eq(lit(ScalarValue::Float64(None))), &readings()).is_none());
    }
}
