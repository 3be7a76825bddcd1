//! The values of a plan's terms as a request to the engine.
//!
//! SQLite tests each row again, by its own rules for types. So a request may return too many rows, but must not omit a
//! matching one: a term is left out if SQLite would compare its operand by a rule that this module does not know.

use crate::plan::{Operator, Plan, Term};
use crate::time_format::{Side, StoredBounds, TimeFormat, TimeScale, number_bounds};
use atsdb_core::{ColumnType, Table, TimeRange, Value};
use atsdb_engine::{Comparison, Predicate, ScanRequest};
use rusqlite::types::{Value as Operand, ValueRef};
use std::ops::RangeInclusive;

/// Integers up to this are exact as floating point numbers.
const EXACT_IN_FLOAT: i64 = 1 << 53;

/// The operands of a term: one, or those of an IN.
#[derive(Debug)]
pub(crate) enum Operands {
    None,
    One(Operand),
    Many(Vec<Operand>),
}

/// The request for a scan.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) scan: ScanRequest,
    pub(crate) rowids: RangeInclusive<i64>,
}

/// The request for a plan, or `None` if no row can match.
pub(crate) fn request(table: &Table, format: TimeFormat, plan: &Plan, operands: &[Operands]) -> Option<Request> {
    let scan = ScanRequest {
        columns: plan.columns.clone(),
        range: TimeRange::ALL,
        predicates: Vec::new(),
        // A query that reads only a part may read it again, in a join for instance.
        use_cache: !plan.terms.is_empty(),
    };
    let mut request = Request { scan, rowids: i64::MIN..=i64::MAX };
    for (term, operands) in plan.terms.iter().zip(operands) {
        request.narrow(table, format, *term, operands)?;
    }
    Some(request)
}

impl Request {
    /// Adds a term. `None` if no row can match.
    fn narrow(&mut self, table: &Table, format: TimeFormat, term: Term, operands: &Operands) -> Option<()> {
        let side = match (term.operator, operands) {
            (Operator::IsNull | Operator::IsNotNull, _) => return self.narrow_nulls(table, term),
            (Operator::In, Operands::Many(operands)) => return self.narrow_list(table, format, term, operands),
            (Operator::Is, Operands::One(Operand::Null)) => {
                return self.narrow_nulls(table, Term { operator: Operator::IsNull, ..term });
            }
            // A comparison with NULL is never true.
            (_, Operands::One(Operand::Null)) => return None,
            (Operator::Equal | Operator::Is, _) => Side::Equal,
            (Operator::Greater, _) => Side::Greater,
            (Operator::GreaterOrEqual, _) => Side::GreaterOrEqual,
            (Operator::Less, _) => Side::Less,
            (Operator::LessOrEqual, _) => Side::LessOrEqual,
            (Operator::In, _) => return Some(()),
        };
        let Operands::One(operand) = operands else { return Some(()) };
        let Some(position) = term.column else { return self.narrow_rowids(side, operand.into()) };
        let column = table.definition.columns.get(position)?;
        if let Some(bounds) = bounds_of(column.column_type, side, operand.into(), format) {
            return self.narrow_bounds(table, position, bounds?);
        }
        if let Some(value) = value_of(column.column_type, operand) {
            let comparison = match side {
                Side::Equal => Comparison::Equal,
                Side::Greater => Comparison::Greater,
                Side::GreaterOrEqual => Comparison::GreaterOrEqual,
                Side::Less => Comparison::Less,
                Side::LessOrEqual => Comparison::LessOrEqual,
            };
            self.scan.predicates.push(Predicate::new(position, comparison, value));
        }
        Some(())
    }

    fn narrow_nulls(&mut self, table: &Table, term: Term) -> Option<()> {
        let Some(position) = term.column else { return (term.operator == Operator::IsNotNull).then_some(()) };
        let column = table.definition.columns.get(position)?;
        let operator = if term.operator == Operator::IsNull { Comparison::IsNull } else { Comparison::IsNotNull };
        // A NaN is NULL in SQLite.
        let is_float = matches!(column.column_type, ColumnType::Float32 | ColumnType::Float64);
        if !is_float || operator == Comparison::IsNotNull {
            self.scan.predicates.push(Predicate { column: position, operator, values: Vec::new() });
        }
        Some(())
    }

    fn narrow_rowids(&mut self, side: Side, operand: ValueRef<'_>) -> Option<()> {
        if let Some(bounds) = number_bounds(side, operand) {
            let StoredBounds { first, last } = bounds?;
            self.rowids = *self.rowids.start().max(&first)..=*self.rowids.end().min(&last);
        }
        (!self.rowids.is_empty()).then_some(())
    }

    fn narrow_list(&mut self, table: &Table, format: TimeFormat, term: Term, operands: &[Operand]) -> Option<()> {
        let Some(position) = term.column else { return Some(()) };
        let column = table.definition.columns.get(position)?;
        let (mut hull, mut values): (Option<StoredBounds>, Vec<Value>) = (None, Vec::new());
        for operand in operands.iter().filter(|operand| **operand != Operand::Null) {
            match bounds_of(column.column_type, Side::Equal, operand.into(), format) {
                Some(Some(bounds)) => {
                    let joined = |hull: StoredBounds| StoredBounds {
                        first: hull.first.min(bounds.first),
                        last: hull.last.max(bounds.last),
                    };
                    hull = Some(hull.map_or(bounds, joined));
                    // An IN list cannot contain bounds of several values.
                    if bounds.first != bounds.last {
                        return Some(());
                    }
                    values.extend(stored_value(column.column_type, bounds.first));
                }
                Some(None) => {}
                None => match value_of(column.column_type, operand) {
                    Some(value) => values.push(value),
                    None => return Some(()),
                },
            }
        }
        if values.is_empty() {
            return None;
        }
        if let Some(hull) = hull.filter(|_| is_time(table, position)) {
            self.narrow_bounds(table, position, hull)?;
        }
        self.scan.predicates.push(Predicate { column: position, operator: Comparison::In, values });
        Some(())
    }

    /// Keeps the rows with stored values in these bounds.
    fn narrow_bounds(&mut self, table: &Table, position: usize, bounds: StoredBounds) -> Option<()> {
        if is_time(table, position) {
            let scale = table.definition.time_scale();
            let end = bounds.last.checked_add(1).and_then(|end| end.checked_mul(scale));
            let start = (bounds.first > i64::MIN).then(|| bounds.first.saturating_mul(scale));
            let range = self.scan.range.intersect(&TimeRange { start, end });
            self.scan.range = range;
            return (range.end.is_none_or(|end| range.start.is_none_or(|start| start < end))).then_some(());
        }
        let column_type = table.definition.columns.get(position)?.column_type;
        let mut push = |comparison, bound| {
            let value = stored_value(column_type, bound);
            self.scan.predicates.extend(value.map(|value| Predicate::new(position, comparison, value)));
        };
        // Unsigned integers may exceed the largest bound, so it excludes nothing.
        if bounds.first == bounds.last && bounds.last < i64::MAX {
            push(Comparison::Equal, bounds.first);
            return Some(());
        }
        if bounds.first > i64::MIN {
            push(Comparison::GreaterOrEqual, bounds.first);
        }
        if bounds.last < i64::MAX {
            push(Comparison::LessOrEqual, bounds.last);
        }
        Some(())
    }
}

fn is_time(table: &Table, position: usize) -> bool {
    let time = table.definition.time_column().map(|column| column.id);
    table.definition.columns.get(position).map(|column| column.id) == time
}

/// The stored values of an integer or time column for which a comparison can be true. The outer `None` means that the
/// column has another type, or that the operand sets no bound.
fn bounds_of(
    column: ColumnType,
    side: Side,
    operand: ValueRef<'_>,
    format: TimeFormat,
) -> Option<Option<StoredBounds>> {
    use ColumnType as T;
    if let Some(scale) = TimeScale::of(column) {
        return scale.bounds(side, operand, format);
    }
    match (column, operand) {
        (T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32, operand) => {
            number_bounds(side, operand)
        }
        // Values above the largest integer of SQLite are text, which is greater than any number.
        (T::UInt64, ValueRef::Integer(_)) => number_bounds(side, operand),
        _ => None,
    }
}

/// A stored integer or time as an operand of the engine. `None` if no value of the column is that small.
fn stored_value(column: ColumnType, value: i64) -> Option<Value> {
    use ColumnType as T;
    match column {
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => u64::try_from(value).ok().map(Value::UInt),
        _ => Some(Value::Int(value)),
    }
}

/// An operand for a column whose values SQLite and the engine compare in the same way.
fn value_of(column: ColumnType, operand: &Operand) -> Option<Value> {
    use ColumnType as T;
    match (column, operand) {
        // A UUID is stored as the text that SQLite gets.
        (T::Text | T::Uuid, Operand::Text(text)) => Some(Value::Text(text.clone())),
        (T::Binary, Operand::Blob(bytes)) => Some(Value::Bytes(bytes.clone())),
        (T::Float32 | T::Float64, Operand::Real(value)) => Some(Value::Float(*value)),
        (T::Float32 | T::Float64, Operand::Integer(value)) => {
            (-EXACT_IN_FLOAT..=EXACT_IN_FLOAT).contains(value).then_some(Value::Float(*value as f64))
        }
        (T::Bool, Operand::Integer(value @ (0 | 1))) => Some(Value::Bool(*value == 1)),
        _ => None,
    }
}
