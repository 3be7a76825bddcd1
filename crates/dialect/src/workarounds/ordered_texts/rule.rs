//! The rule of the analyzer for values with an order of their own.

use super::own_order::{no_common_type, no_operator, rank_keys, ranked, shown_name};
use super::{calls, comparison};
use crate::functions::base::text_types::TextType;
use crate::functions::types::declared::{is_untyped_column, text_type_of};
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::workarounds::declared::results::with_new_schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Runs after the types of results have been declared, and before types are made equal.
#[derive(Debug)]
pub(crate) struct OrderedTexts;

impl AnalyzerRule for OrderedTexts {
    fn name(&self) -> &str {
        "ordered_texts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_changed = false;
        plan.dyn_transform_up_with_subqueries(|plan| {
            require_one_type(&plan)?;
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
            let settled = plan.dyn_map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.dyn_transform_up(|expr| rewrite(expr, &schema))?;
                match is_sort {
                    // The keys of a sort are not columns, so that they need no names.
                    true => rewritten.transform_data(|expr| ranked(expr, &schema)),
                    false => Ok(rewritten.update_data(|expr| name.restore(expr))),
                }
            })?;
            is_changed |= settled.transformed;
            // The types of columns below may have changed.
            if is_changed { settled.map_data(with_new_schema) } else { Ok(settled) }
        })
        .data()
    }
}

/// Refuses columns that are united or joined by equal texts where some of them are addresses or ranges and others of
/// another type.
fn require_one_type(plan: &LogicalPlan) -> Result<()> {
    let differ = |left: &Option<TextType>, right: &Option<TextType>| {
        let excludes_texts = [left, right].into_iter().flatten().any(TextType::excludes_texts);
        excludes_texts && left != right
    };
    let name = |of: &Option<TextType>| of.as_ref().map_or("text", shown_name).to_owned();
    match plan {
        LogicalPlan::Union(union) => {
            for at in 0..union.schema.fields().len() {
                let typed = union.inputs.iter().filter(|input| !is_untyped_column(input, at));
                let types: Vec<_> =
                    typed.filter_map(|input| Some(TextType::of(input.schema().fields().get(at)?))).collect();
                if let Some(pair) = types.windows(2).find(|pair| differ(&pair[0], &pair[1])) {
                    return Err(no_common_type("UNION", &name(&pair[0]), &name(&pair[1])));
                }
            }
        }
        LogicalPlan::Join(join) => {
            for (left, right) in &join.on {
                let left = text_type_of(left, join.left.schema());
                let right = text_type_of(right, join.right.schema());
                if differ(&left, &right) {
                    return Err(no_operator(&name(&left), "=", &name(&right)));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(_) | Expr::AggregateFunction(_) | Expr::WindowFunction(_) => calls::rewrite(expr, schema),
        expr => comparison::rewrite(expr, schema),
    }
}
