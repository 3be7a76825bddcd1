//! The values of a plan's terms as a request to the engine.
//!
//! SQLite tests each row again, by its own rules for types. So a request may return too many rows, but must not omit a
//! matching one: a term is left out if SQLite would compare its operand by a rule that this module does not know.

use crate::clock_text::clock_bounds;
use crate::decimal_bounds::decimal_bounds;
use crate::plan::{Operator, Plan, Term};
use crate::time_format::{BoundSide, StoredBounds, TimeFormat, TimeScale, number_bounds};
use atsdb_core::{ColumnType, Table, TimeRange, Value, decimal};
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
            (operator, _) => operator.side(),
        };
        let (Some(side), Operands::One(operand)) = (side, operands) else { return Some(()) };
        let Some(position) = term.column else { return self.narrow_rowids(side, operand.into()) };
        let column = table.definition.columns.get(position)?;
        if is_time(table, position) {
            return match bounds_of(column.column_type, side, operand.into(), format) {
                Some(bounds) => self.narrow_time(table, bounds?),
                None => Some(()),
            };
        }
        if let Some(range) = range_of(column.column_type, side, operand.into(), format) {
            self.narrow_range(position, range?);
            return Some(());
        }
        if let Some(value) = value_of(column.column_type, operand)
            && !may_exceed_numbers(column.column_type, side, &value)
        {
            let comparison = match side {
                BoundSide::Equal => Comparison::Equal,
                BoundSide::Greater => Comparison::Greater,
                BoundSide::GreaterOrEqual => Comparison::GreaterOrEqual,
                BoundSide::Less => Comparison::Less,
                BoundSide::LessOrEqual => Comparison::LessOrEqual,
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

    fn narrow_rowids(&mut self, side: BoundSide, operand: ValueRef<'_>) -> Option<()> {
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
            if is_time(table, position)
                && let Some(Some(bounds)) = bounds_of(column.column_type, BoundSide::Equal, operand.into(), format)
            {
                let joined = |hull: StoredBounds| StoredBounds {
                    first: hull.first.min(bounds.first),
                    last: hull.last.max(bounds.last),
                };
                hull = Some(hull.map_or(bounds, joined));
            }
            match range_of(column.column_type, BoundSide::Equal, operand.into(), format) {
                Some(Some(range)) => match range.only_value() {
                    Some(value) => values.push(value),
                    // An IN list cannot contain ranges of several values.
                    None => return Some(()),
                },
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
        if let Some(hull) = hull {
            self.narrow_time(table, hull)?;
        }
        self.scan.predicates.push(Predicate { column: position, operator: Comparison::In, values });
        Some(())
    }

    /// Keeps the rows whose time, as it is stored, is in these bounds.
    fn narrow_time(&mut self, table: &Table, bounds: StoredBounds) -> Option<()> {
        let scale = table.definition.time_scale();
        let end = bounds.last.checked_add(1).and_then(|end| end.checked_mul(scale));
        let start = (bounds.first > i64::MIN).then(|| bounds.first.saturating_mul(scale));
        let range = self.scan.range.intersect(&TimeRange { start, end });
        self.scan.range = range;
        (range.end.is_none_or(|end| range.start.is_none_or(|start| start < end))).then_some(())
    }

    /// Keeps the rows with values of a column in this range.
    fn narrow_range(&mut self, position: usize, range: ValueRange) {
        let mut push = |comparison, value| self.scan.predicates.push(Predicate::new(position, comparison, value));
        if let Some(value) = range.only_value() {
            return push(Comparison::Equal, value);
        }
        if let Some(least) = range.least {
            push(Comparison::GreaterOrEqual, least);
        }
        if let Some(greatest) = range.greatest {
            push(Comparison::LessOrEqual, greatest);
        }
    }
}

/// The stored values of a column for which a comparison can be true.
struct ValueRange {
    /// `None` if there is no smallest one.
    least: Option<Value>,
    greatest: Option<Value>,
}

impl ValueRange {
    /// The value, if there is only one.
    fn only_value(&self) -> Option<Value> {
        self.least.clone().filter(|_| self.least == self.greatest)
    }
}

/// The stored values of a column of integers, times or decimals for which a comparison can be true. `None` if there are
/// none. The outer `None` means that the column has another type, or that the operand sets no bound.
fn range_of(
    column: ColumnType,
    side: BoundSide,
    operand: ValueRef<'_>,
    format: TimeFormat,
) -> Option<Option<ValueRange>> {
    if let ColumnType::Decimal { precision, scale } = column {
        let (first, last) = decimal_bounds(side, operand, scale)?;
        let greatest = 10_i128.pow(precision.into()) - 1;
        let is_empty = first > last || first > greatest || last < -greatest;
        let stored = |value: i128| stored_decimal(column, value);
        return Some((!is_empty).then(|| ValueRange {
            least: if first > -greatest { stored(first) } else { None },
            greatest: if last < greatest { stored(last) } else { None },
        }));
    }
    let bounds = bounds_of(column, side, operand, format)?;
    Some(bounds.map(|StoredBounds { first, last }| ValueRange {
        least: if first > i64::MIN { stored_value(column, first) } else { None },
        // Unsigned integers may exceed the largest bound, so it excludes nothing.
        greatest: if last < i64::MAX { stored_value(column, last) } else { None },
    }))
}

fn is_time(table: &Table, position: usize) -> bool {
    let time = table.definition.time_column().map(|column| column.id);
    table.definition.columns.get(position).map(|column| column.id) == time
}

/// The stored values of a column of integers, times or times of day for which a comparison can be true. The outer
/// `None` means that the column has another type, or that the operand sets no bound.
fn bounds_of(
    column: ColumnType,
    side: BoundSide,
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
        (T::Time, operand) => clock_bounds(side, operand),
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

/// A decimal without its point as an operand of the engine. `None` if no decimal of the column is that large.
fn stored_decimal(column: ColumnType, value: i128) -> Option<Value> {
    match column.stored() {
        ColumnType::Int64 => i64::try_from(value).ok().map(Value::Int),
        _ => Some(Value::Bytes(decimal::to_bytes(value).to_vec())),
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

/// Whether texts can be less than the operand although they are greater as texts. If the operand is a text in a column
/// of numbers, SQLite compares texts that are numbers as numbers, which are less than any text. They all begin with a
/// character before the colon.
fn may_exceed_numbers(column: ColumnType, side: BoundSide, operand: &Value) -> bool {
    let Value::Text(text) = operand else { return false };
    column == ColumnType::Text && matches!(side, BoundSide::Less | BoundSide::LessOrEqual) && text.as_str() < ":"
}
