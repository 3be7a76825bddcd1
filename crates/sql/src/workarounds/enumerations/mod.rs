//! Values of enumerated types, which are texts for DataFusion: they have the order of their labels, and are compared
//! with values of their own type alone. What would treat them as texts is refused, as in PostgreSQL, so that a value
//! cannot lose its type and get another order without notice.
//!
//! DataFusion 55.2 has no enumerated types. No upstream issue known.

mod calls;
mod comparison;
pub(super) mod types;

use crate::functions::base::text_types::TextType;
use crate::functions::types::declared::text_type_of;
use crate::functions::types::enumerations::{EnumCall, enum_call};
use crate::functions::types::type_names::type_name;
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use crate::workarounds::shared::expressions::names_its_columns;
use atsdb_core::Enumeration;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs after the types of results have been declared, and before types are made equal.
#[derive(Debug)]
pub(crate) struct EnumValues;

impl AnalyzerRule for EnumValues {
    fn name(&self) -> &str {
        "enum_values"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_changed = false;
        plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let (names, is_sort) = (NamePreserver::new(&plan), matches!(plan, LogicalPlan::Sort(_)));
            let plan = match plan {
                LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
                    // The first keys of its order are those that rows differ in.
                    is_changed |= rank_keys(distinct.sort_expr.iter_mut().flatten(), &schema)?;
                    for key in &mut distinct.on_expr {
                        *key = ranked(std::mem::take(key), &schema)?.data;
                    }
                    LogicalPlan::Distinct(Distinct::On(distinct))
                }
                plan => plan,
            };
            let settled = plan.map_expressions(|expr| {
                if names_its_columns(&expr) {
                    return Ok(Transformed::no(expr));
                }
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| rewrite(expr, &schema))?;
                match is_sort {
                    // The keys of a sort are not columns, so that they need no names.
                    true => rewritten.transform_data(|expr| ranked(expr, &schema)),
                    false => Ok(rewritten.update_data(|expr| name.restore(expr))),
                }
            })?;
            is_changed |= settled.transformed;
            // The types of columns below may have changed.
            match is_changed && !matches!(settled.data, LogicalPlan::Union(_)) {
                true => settled.map_data(LogicalPlan::recompute_schema),
                false => Ok(settled),
            }
        })
        .data()
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(_) | Expr::AggregateFunction(_) | Expr::WindowFunction(_) => calls::rewrite(expr, schema),
        expr => comparison::rewrite(expr, schema),
    }
}

/// The enumerated type of an expression's values.
fn enumeration_of(expr: &Expr, schema: &DFSchema) -> Option<Arc<Enumeration>> {
    text_type_of(expr, schema).and_then(TextType::enumeration)
}

/// The position of a value in the order of its type.
fn rank(of: &Arc<Enumeration>, value: Expr) -> Expr {
    enum_call(EnumCall::Rank, of).call(vec![value])
}

/// A key by which rows are sorted: for a label, its position.
fn ranked(key: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Some(of) = enumeration_of(&key, schema) {
        return Ok(Transformed::yes(rank(&of, key.unalias())));
    }
    let is_nested = key.get_type(schema).is_ok_and(|of| of.is_nested());
    let has_label = || key.exists(|part| Ok(enumeration_of(part, schema).is_some())).unwrap_or(false);
    match is_nested && has_label() {
        true => Err(external(
            not_supported("ORDER BY a row with a value of an enumerated type").with_hint("ORDER BY its columns"),
        )),
        false => Ok(Transformed::no(key)),
    }
}

/// Replaces labels among keys by their positions. Returns whether there were any.
fn rank_keys<'a>(keys: impl Iterator<Item = &'a mut Sort>, schema: &DFSchema) -> Result<bool> {
    let mut is_changed = false;
    for key in keys {
        let settled = ranked(std::mem::take(&mut key.expr), schema)?;
        is_changed |= settled.transformed;
        key.expr = settled.data;
    }
    Ok(is_changed)
}

/// PostgreSQL's name of the type of an expression, for messages.
fn name_of_type(expr: &Expr, schema: &DFSchema) -> String {
    match enumeration_of(expr, schema) {
        Some(of) => of.shown_name().to_owned(),
        None => expr.to_field(schema).map_or_else(|_| "unknown".to_owned(), |(_, field)| type_name(&field)),
    }
}

/// The error for an operator that values of enumerated types do not have.
fn no_operator(left: &str, operator: &str, right: &str) -> DataFusionError {
    let error = sql_error(format!("operator does not exist: {left} {operator} {right}"));
    external(error.with_hint("compare labels of one type, or their texts: CAST(x AS TEXT)"))
}
