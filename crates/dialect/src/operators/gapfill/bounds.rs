//! The time range in which gaps are filled. It comes from the arguments, or else from conditions on the time in WHERE,
//! or else from the rows.

use super::steps::{Steps, Ticks};
use crate::functions::base::arguments::per_second;
use crate::functions::times::types::is_shifted;
use crate::text::errors::sql_error;
use crate::text::plan_subqueries::has_subquery;
use crate::text::time_text::{RoundedFraction, read_time};
use atsdb_core::{Result, TimeUnit};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::expr::Between;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

/// One end of the range: `time operator value`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bound {
    pub operator: Operator,
    /// The value, which contains no column.
    pub value: Expr,
}

impl Bound {
    pub(super) fn is_start(&self) -> bool {
        matches!(self.operator, Operator::Gt | Operator::GtEq)
    }

    /// The first time inside, or for an end the first one outside; `None` if the value is NULL.
    fn time(&self, value: &ScalarValue, ticks: Ticks) -> Result<Option<i64>> {
        let Some((floor, exact)) = count_of(value, ticks)? else { return Ok(None) };
        let is_next = !exact || matches!(self.operator, Operator::Gt | Operator::LtEq);
        let time = floor + i128::from(is_next);
        Ok(Some(time.clamp(i64::MIN.into(), i64::MAX.into()) as i64))
    }
}

/// The conditions on `time` below an aggregate that all its rows satisfy.
pub(super) fn bounds_below(plan: &LogicalPlan, time: &Expr) -> Vec<Bound> {
    let (mut plan, mut time, mut bounds) = (plan, bare(time, plan.schema()).clone(), Vec::new());
    loop {
        let below = match plan {
            LogicalPlan::Filter(filter) => {
                let time = (&time, filter.input.schema().as_ref());
                split_conjunction(&filter.predicate).into_iter().for_each(|part| collect(part, time, &mut bounds));
                &filter.input
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let Some(at) = position(&alias.schema, &time) else { return bounds };
                time = Expr::Column(Column::from(alias.input.schema().qualified_field(at)));
                &alias.input
            }
            LogicalPlan::Projection(projection) => {
                let Some(at) = position(&projection.schema, &time) else { return bounds };
                time = bare(&projection.expr[at], projection.input.schema()).clone();
                &projection.input
            }
            _ => return bounds,
        };
        plan = below.as_ref();
    }
}

fn position(schema: &DFSchema, time: &Expr) -> Option<usize> {
    match time {
        Expr::Column(column) => schema.maybe_index_of_column(column),
        _ => None,
    }
}

/// Removes casts that type coercion has added.
fn bare<'a>(expr: &'a Expr, schema: &DFSchema) -> &'a Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr, schema),
        Expr::Cast(cast) => match cast.expr.get_type(schema) {
            Ok(from) if is_widened(&from, cast.field.data_type()) => bare(&cast.expr, schema),
            _ => expr,
        },
        other => other,
    }
}

/// Returns whether a cast preserves the meaning of each value, as the same time or the same integer.
fn is_widened(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(from, from_zone), DataType::Timestamp(to, to_zone)) => {
            per_second(*to) >= per_second(*from) && !is_shifted(from_zone.as_deref(), to_zone.as_deref())
        }
        (from, DataType::Int64) => from.is_integer(),
        _ => false,
    }
}

fn collect(condition: &Expr, (time, schema): (&Expr, &DFSchema), bounds: &mut Vec<Bound>) {
    let is_time = |expr: &Expr| bare(expr, schema) == time;
    let mut add = |operator: Operator, value: &Expr| {
        if !value.any_column_refs() && !has_subquery(value) {
            bounds.push(Bound { operator, value: value.clone() });
        }
    };
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (operator, value) = match op.swap() {
                _ if is_time(left) => (*op, right),
                Some(swapped) if is_time(right) => (swapped, left),
                _ => return,
            };
            match operator {
                Operator::Gt | Operator::GtEq | Operator::Lt | Operator::LtEq => add(operator, value),
                Operator::Eq => {
                    add(Operator::GtEq, value);
                    add(Operator::LtEq, value);
                }
                _ => {}
            }
        }
        Expr::Between(Between { expr, negated: false, low, high }) if is_time(expr) => {
            add(Operator::GtEq, low);
            add(Operator::LtEq, high);
        }
        _ => {}
    }
}

/// The first bucket, and the time before which the last one begins, as far as bounds determine them.
pub(super) fn range(
    bounds: &[(Bound, ScalarValue)],
    steps: &Steps,
    ticks: Ticks,
) -> Result<(Option<i64>, Option<i64>)> {
    let (mut start, mut end): (Option<i64>, Option<i64>) = (None, None);
    for (bound, value) in bounds {
        let Some(time) = bound.time(value, ticks)? else { continue };
        match bound.is_start() {
            true => start = Some(start.map_or(time, |start| start.max(time))),
            false => end = Some(end.map_or(time, |end| end.min(time))),
        }
    }
    let start = match start {
        Some(time) => Some(steps.bucket_of(time).ok_or_else(|| super::functions::beyond(time))?),
        None => None,
    };
    Ok((start, end))
}

/// A value rounded down to a tick, and whether it is exact.
fn count_of(value: &ScalarValue, ticks: Ticks) -> Result<Option<(i128, bool)>> {
    let wrong = || {
        sql_error(format!("{value} is not a time")).with_hint(match ticks {
            Ticks::Of(_) => "write '2024-03-01' or '2024-03-01T12:30:00Z'",
            Ticks::Plain => "the time is an integer: so are start and finish",
        })
    };
    if value.is_null() {
        return Ok(None);
    }
    let Ticks::Of(unit) = ticks else {
        return match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(count))) if value.data_type().is_integer() => Ok(Some((count.into(), true))),
            _ => Err(wrong()),
        };
    };
    let scaled = |count: i64, of: TimeUnit| {
        let nanos = i128::from(count) * i128::from(1_000_000_000 / of.per_second());
        let tick = i128::from(1_000_000_000 / unit.per_second());
        Some((nanos.div_euclid(tick), nanos.rem_euclid(tick) == 0))
    };
    Ok(match value {
        ScalarValue::TimestampSecond(Some(count), _) => scaled(*count, TimeUnit::Second),
        ScalarValue::TimestampMillisecond(Some(count), _) => scaled(*count, TimeUnit::Millisecond),
        ScalarValue::TimestampMicrosecond(Some(count), _) => scaled(*count, TimeUnit::Microsecond),
        ScalarValue::TimestampNanosecond(Some(count), _) => scaled(*count, TimeUnit::Nanosecond),
        ScalarValue::Date32(Some(days)) => scaled(i64::from(*days) * atsdb_core::time::DAY_SECONDS, TimeUnit::Second),
        value => {
            let text = value.try_as_str().flatten().ok_or_else(wrong)?;
            let written = read_time(text, unit).ok_or_else(wrong)?;
            Some((written.count, written.rest == RoundedFraction::Nothing))
        }
    })
}
