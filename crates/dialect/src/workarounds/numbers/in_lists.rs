//! Lists of numbers in `x IN (...)` and `CASE x WHEN ...`. DataFusion compares all items of a list in one type, so one
//! fraction in the list rounds the integers. It also looks floats up by their bits, so 0.0 does not find -0.0.
//!
//! [#22628](https://github.com/apache/datafusion/pull/22628), about zeros in lists among others, was closed unmerged;
//! for the one type no upstream issue is known.

use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, lit};
use datafusion::optimizer::AnalyzerRule;

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A number that no integer equals. It stands for an empty list.
const NO_INTEGER: f64 = 0.5;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct CompareLists;

impl AnalyzerRule for CompareLists {
    fn name(&self) -> &str {
        "compare_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let list = match expr {
        Expr::InList(list) => list,
        Expr::Case(case) => return with_both_zeros(case, schema),
        other => return Ok(Transformed::no(other)),
    };
    let data_type = list.expr.get_type(schema)?;
    if data_type.is_integer() {
        return Ok(of_integers(list));
    }
    let is_compared_as_float = data_type.is_floating() || list.list.iter().any(|item| float(item).is_some());
    if is_compared_as_float && list.list.iter().any(is_zero) {
        let InList { expr, mut list, negated } = list;
        list.extend([lit(0.0), lit(-0.0)]);
        return Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })));
    }
    Ok(Transformed::no(Expr::InList(list)))
}

fn with_both_zeros(mut case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_float = match &case.expr {
        Some(value) => value.get_type(schema)?.is_floating(),
        None => false,
    };
    if !is_float || !case.when_then_expr.iter().any(|(when, _)| is_zero(when)) {
        return Ok(Transformed::no(Expr::Case(case)));
    }
    let mut pairs = Vec::with_capacity(case.when_then_expr.len() + 1);
    for (when, then) in case.when_then_expr {
        match is_zero(&when) {
            true => {
                pairs.push((Box::new(lit(0.0)), then.clone()));
                pairs.push((Box::new(lit(-0.0)), then));
            }
            false => pairs.push((when, then)),
        }
    }
    case.when_then_expr = pairs;
    Ok(Transformed::yes(Expr::Case(case)))
}

/// Converts whole floats in a list for integers to integers, and removes all other floats.
fn of_integers(list: InList) -> Transformed<Expr> {
    if list.list.iter().all(|item| float(item).is_none()) {
        return Transformed::no(Expr::InList(list));
    }
    let InList { expr, list, negated } = list;
    let keep = |item: Expr| match float(&item) {
        None => Some(item),
        Some(value) => whole(value).map(|value| Expr::Literal(value, None)),
    };
    let mut list: Vec<Expr> = list.into_iter().filter_map(keep).collect();
    if list.is_empty() {
        list.push(lit(NO_INTEGER));
    }
    Transformed::yes(Expr::InList(InList { expr, list, negated }))
}

/// A float literal.
fn float(item: &Expr) -> Option<f64> {
    match item {
        Expr::Literal(ScalarValue::Float64(value), _) => *value,
        Expr::Literal(ScalarValue::Float32(value), _) => value.map(f64::from),
        Expr::Negative(inner) => float(inner).map(std::ops::Neg::neg),
        _ => None,
    }
}

/// A float as an integer of 64 bits; `None` if it is not one.
fn whole(value: f64) -> Option<ScalarValue> {
    if value.fract() != 0.0 || !(-TWO_TO_63..TWO_TO_63 * 2.0).contains(&value) {
        return None;
    }
    Some(match value < TWO_TO_63 {
        true => ScalarValue::from(value as i64),
        false => ScalarValue::from(value as u64),
    })
}

fn is_zero(item: &Expr) -> bool {
    match item {
        Expr::Negative(inner) => is_zero(inner),
        Expr::Literal(value, _) => match value.cast_to(&DataType::Float64) {
            Ok(ScalarValue::Float64(Some(value))) => value == 0.0,
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_an_integer_where_it_is_one() {
        assert_eq!(whole(-9_223_372_036_854_775_808.0), Some(ScalarValue::from(i64::MIN)));
        assert_eq!(whole(-0.0), Some(ScalarValue::from(0_i64)));
        assert_eq!(whole(9_223_372_036_854_775_808.0), Some(ScalarValue::from(1_u64 << 63)));
        for value in [2.5, f64::NAN, f64::INFINITY, 1e19 * 2.0, -1e19] {
            assert_eq!(whole(value), None, "{value}");
        }
    }
}
