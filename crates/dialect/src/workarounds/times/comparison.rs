//! Comparisons of times with literals and dates, in the unit of the time. DataFusion would convert both to nanoseconds,
//! whose range ends in the years 1677 and 2262.
//!
//! No upstream issue known.

use crate::functions::times::types::{is_utc, timestamp};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::text::time_text::{RoundedFraction, WrittenTime, parse_date, read_time};
use crate::workarounds::shared::expressions::rewrite_expressions;
use atsdb_codec::time_unit_of;
use atsdb_core::TimeUnit;
use atsdb_core::time::DAY_SECONDS;
use datafusion::arrow::datatypes::{DataType, TimeUnit as ArrowUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, cast};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct CompareTimes;

impl AnalyzerRule for CompareTimes {
    fn name(&self) -> &str {
        "compare_times"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => compared(left, *op, right, schema)?,
        Expr::Between(between) => within(between, schema)?,
        Expr::InList(list) => one_of(list, schema)?,
        _ => None,
    };
    Ok(changed.map_or(Transformed::no(expr), Transformed::yes))
}

/// The unit and zone of a time.
struct TimeType {
    unit: TimeUnit,
    zone: Option<Arc<str>>,
}

impl TimeType {
    fn of(expr: &Expr, schema: &DFSchema) -> Option<Self> {
        let DataType::Timestamp(unit, zone) = expr.get_type(schema).ok()? else { return None };
        Some(Self { unit: time_unit_of(unit), zone })
    }

    /// A literal time of this type: an instant if it has an offset or the type is in UTC, else a local time.
    fn written(&self, count: i64, has_offset: bool) -> Expr {
        let is_instant = has_offset || self.zone.as_deref().is_some_and(is_utc);
        self.literal(count, self.zone.clone().filter(|_| is_instant))
    }

    /// The last time that the unit can count.
    fn last(&self) -> Expr {
        self.literal(i64::MAX, self.zone.clone())
    }

    fn literal(&self, count: i64, zone: Option<Arc<str>>) -> Expr {
        Expr::Literal(timestamp(self.unit, count, zone), None)
    }
}

/// A literal that a time may be compared with.
enum TimeLiteral<'a> {
    Time(&'a str),
    Day(&'a str),
    Integer(&'a ScalarValue),
}

impl<'a> TimeLiteral<'a> {
    fn of(expr: &'a Expr) -> Option<Self> {
        let (inner, field) = match expr {
            Expr::Literal(value, _) if value.data_type().is_integer() && !value.is_null() => {
                return Some(Self::Integer(value));
            }
            Expr::Cast(cast) => (cast.expr.as_ref(), Some(&cast.field)),
            Expr::TryCast(cast) => (cast.expr.as_ref(), Some(&cast.field)),
            other => (other, None),
        };
        let Expr::Literal(
            ScalarValue::Utf8(Some(text)) | ScalarValue::LargeUtf8(Some(text)) | ScalarValue::Utf8View(Some(text)),
            _,
        ) = inner
        else {
            return None;
        };
        match field.map(|field| field.data_type()) {
            None | Some(DataType::Timestamp(ArrowUnit::Nanosecond, None)) => Some(Self::Time(text)),
            // A cast to a unit rounds what the unit cannot count, so only texts that it can are read.
            Some(DataType::Timestamp(unit, zone)) if zone.as_deref().is_none_or(is_utc) && is_exact(text, *unit) => {
                Some(Self::Time(text))
            }
            Some(DataType::Date32) => Some(Self::Day(text)),
            _ => None,
        }
    }

    /// Reads the literal as a time; `None` if it is left to DataFusion.
    fn read(&self, unit: TimeUnit) -> Option<WrittenTime> {
        match self {
            Self::Time(text) => read_time(text, unit),
            Self::Day(text) => {
                let day = i128::from(DAY_SECONDS) * i128::from(unit.per_second());
                let count = i128::from(parse_date(text)?) * day;
                Some(WrittenTime { count, rest: RoundedFraction::Nothing, has_offset: false })
            }
            Self::Integer(_) => None,
        }
    }
}

/// Rewrites `left operator right` if one side is a time and the other a literal.
fn compared(left: &Expr, operator: Operator, right: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    if !matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq) {
        return Ok(None);
    }
    let (time, turned, written) = match (TimeLiteral::of(right), TimeLiteral::of(left), operator.swap()) {
        (Some(written), ..) => (left, operator, written),
        (None, Some(written), Some(swapped)) => (right, swapped, written),
        _ => return Ok(beside_date(left, operator, right, schema)),
    };
    let Some(kind) = TimeType::of(time, schema) else { return Ok(beside_date(left, operator, right, schema)) };
    refuse_integer(time, &written)?;
    Ok(written.read(kind.unit).and_then(|written| against(time, turned, written, &kind)))
}

/// Returns whether a unit counts a written time without a rest. A text that is not read here has none.
fn is_exact(text: &str, unit: ArrowUnit) -> bool {
    read_time(text, time_unit_of(unit)).is_none_or(|time| time.rest == RoundedFraction::Nothing)
}

/// Compares a time with a date, which becomes the time of its midnight; `None` for operands of other types.
fn beside_date(left: &Expr, operator: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let is_date = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Date32));
    let midnight = |time: &Expr, date: &Expr| match time.get_type(schema) {
        Ok(DataType::Timestamp(unit, zone)) if is_date(date) && zone.as_deref().is_none_or(is_utc) => {
            Some(cast(date.clone(), DataType::Timestamp(unit, zone)))
        }
        _ => None,
    };
    if let Some(date) = midnight(left, right) {
        return Some(binary_expr(left.clone(), operator, date));
    }
    midnight(right, left).map(|date| binary_expr(date, operator, right.clone()))
}

/// Compares a time with a literal. A literal between two counts of the unit, or outside its range, equals no time, but
/// is still less or greater than each.
fn against(time: &Expr, operator: Operator, written: WrittenTime, kind: &TimeType) -> Option<Expr> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let always = || binary_expr(time.clone(), LtEq, kind.last());
    let never = || binary_expr(time.clone(), Gt, kind.last());
    let exact = written.rest == RoundedFraction::Nothing;
    let literal = |count| kind.written(count, written.has_offset);
    Some(match (i64::try_from(written.count), operator) {
        (Ok(count), _) if exact => binary_expr(time.clone(), operator, literal(count)),
        (_, Eq) => never(),
        (_, NotEq) => always(),
        (Ok(count), Lt | LtEq) => binary_expr(time.clone(), LtEq, literal(count)),
        (Ok(count), Gt | GtEq) => binary_expr(time.clone(), Gt, literal(count)),
        (Err(_), Lt | LtEq) => {
            if written.count > 0 {
                always()
            } else {
                never()
            }
        }
        (Err(_), Gt | GtEq) => {
            if written.count > 0 {
                never()
            } else {
                always()
            }
        }
        _ => return None,
    })
}

fn within(between: &Between, schema: &DFSchema) -> Result<Option<Expr>> {
    let Between { expr, negated, low, high } = between;
    let (lower, upper) = if *negated { (Operator::Lt, Operator::Gt) } else { (Operator::GtEq, Operator::LtEq) };
    let (from, to) = (compared(expr, lower, low, schema)?, compared(expr, upper, high, schema)?);
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let from = from.unwrap_or_else(|| binary_expr(expr.as_ref().clone(), lower, low.as_ref().clone()));
    let to = to.unwrap_or_else(|| binary_expr(expr.as_ref().clone(), upper, high.as_ref().clone()));
    Ok(Some(if *negated { from.or(to) } else { from.and(to) }))
}

fn one_of(list: &InList, schema: &DFSchema) -> Result<Option<Expr>> {
    if !list.list.iter().any(|item| TimeLiteral::of(item).is_some()) {
        return Ok(None);
    }
    let Some(kind) = TimeType::of(&list.expr, schema) else { return Ok(None) };
    let mut items = Vec::with_capacity(list.list.len());
    for item in &list.list {
        let Some(written) = TimeLiteral::of(item) else {
            items.push(item.clone());
            continue;
        };
        refuse_integer(&list.expr, &written)?;
        match written.read(kind.unit) {
            Some(WrittenTime { count, rest: RoundedFraction::Nothing, has_offset }) => {
                // A literal outside the unit's range equals no time.
                items.extend(i64::try_from(count).ok().map(|count| kind.written(count, has_offset)));
            }
            Some(_) => {}
            None => items.push(item.clone()),
        }
    }
    if items.is_empty() {
        let operator = if list.negated { Operator::LtEq } else { Operator::Gt };
        return Ok(Some(binary_expr(list.expr.as_ref().clone(), operator, kind.last())));
    }
    Ok(Some(Expr::InList(InList { expr: list.expr.clone(), list: items, negated: list.negated })))
}

fn refuse_integer(time: &Expr, written: &TimeLiteral<'_>) -> Result<()> {
    let TimeLiteral::Integer(value) = written else { return Ok(()) };
    let name = match time {
        Expr::Column(column) => column.name.clone(),
        other => other.to_string(),
    };
    Err(external(sql_error(format!("{name} is a TIMESTAMP and {value} an integer without a unit")).with_hint(format!(
        "compare with text such as '2024-03-01', or with to_timestamp_seconds({value}), ..._millis, ..._micros"
    ))))
}
