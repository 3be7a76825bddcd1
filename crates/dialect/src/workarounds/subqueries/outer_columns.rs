//! The outer columns that a plan mentions, by itself or in its subqueries.
//!
//! DataFusion plans a column of a query that is several levels up, but its rules look only one level up. A subquery
//! that mentions such a column waits until the subquery around it is computed for all outer rows at once. Then the
//! values of the column are in the rows of the query that contains it, and it mentions those.
//!
//! Waits for [#5492](https://github.com/apache/datafusion/issues/5492).

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeVisitor};
use datafusion::common::{Column, DFSchemaRef, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::sync::Arc;

/// Returns the subquery of an expression, if it has one.
pub(super) fn expression_subquery(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// Returns the subquery of an expression mutably, if it has one.
pub(super) fn expression_subquery_mut(expr: &mut Expr) -> Option<&mut Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// Returns the subquery of a relation, if it is `LATERAL`.
pub(super) fn subquery_of(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Subquery(subquery) => Some(&subquery.subquery),
        LogicalPlan::SubqueryAlias(_) | LogicalPlan::Projection(_) => subquery_of(plan.inputs()[0]),
        _ => None,
    }
}

/// Returns the outer columns that a plan refers to.
pub(super) fn outer_columns(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut visitor = OuterColumns { of_steps: Vec::new() };
    plan.visit(&mut visitor)?;
    Ok(visitor.of_steps.pop().unwrap_or_default())
}

/// The outer columns that an expression of a step mentions.
pub(super) fn outer_columns_of(expr: &Expr, inputs: &[DFSchemaRef]) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    expr.dyn_apply(|expr| {
        if let Expr::OuterReferenceColumn(_, column) = expr {
            add(&mut columns, [column.clone()]);
        } else if let Some(subquery) = expression_subquery(expr) {
            let mentioned = outer_columns(&subquery.subquery)?;
            add(&mut columns, mentioned.into_iter().filter(|column| !has_column(inputs, column)));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}

/// Returns whether a subquery mentions columns that the inputs of the step that asks it do not have.
pub(super) fn reaches_beyond(subquery: &LogicalPlan, inputs: &[DFSchemaRef]) -> Result<bool> {
    Ok(outer_columns(subquery)?.iter().any(|column| !has_column(inputs, column)))
}

/// Returns whether a subquery in a plan mentions columns beyond the step that asks it.
pub(super) fn has_distant_columns(plan: &LogicalPlan) -> Result<bool> {
    let mut is_found = false;
    plan.dyn_apply_with_subqueries(|plan| {
        let inputs = schemas_of_inputs(plan);
        if let LogicalPlan::Join(join) = plan
            && let Some(subquery) = subquery_of(&join.right)
        {
            is_found = reaches_beyond(subquery, &inputs)?;
        }
        plan.dyn_apply_expressions(|expr| {
            let is_distant = |expr: &Expr| match expression_subquery(expr) {
                Some(subquery) => reaches_beyond(&subquery.subquery, &inputs),
                None => Ok(false),
            };
            is_found = is_found || expr.dyn_exists(is_distant)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if is_found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_found)
}

/// The columns of the inputs of a step.
pub(super) fn schemas_of_inputs(plan: &LogicalPlan) -> Vec<DFSchemaRef> {
    plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect()
}

/// An outer column, and the one that takes its place.
pub(super) type Renaming = (Column, Column);

/// A subquery that mentions other outer columns in the place of some. `inputs` are those of the step that asks it.
pub(super) fn renamed(subquery: &Subquery, renamings: &[Renaming], inputs: &[DFSchemaRef]) -> Result<Subquery> {
    let mentioned = outer_columns(&subquery.subquery)?;
    let is_meant = |(column, _): &&Renaming| mentioned.contains(column) && !has_column(inputs, column);
    let renamings: Vec<Renaming> = renamings.iter().filter(is_meant).cloned().collect();
    if renamings.is_empty() {
        return Ok(subquery.clone());
    }
    let plan = subquery.subquery.as_ref().clone().dyn_transform_down(|plan| renamed_step(plan, &renamings))?.data;
    let outer_ref_columns = plan.all_out_ref_exprs();
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: subquery.spans.clone() })
}

fn renamed_step(plan: LogicalPlan, renamings: &[Renaming]) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Subquery(mut subquery) = plan {
        for expr in &mut subquery.outer_ref_columns {
            *expr = renamed_in(expr.clone(), renamings, &[])?.data;
        }
        return Ok(Transformed::yes(LogicalPlan::Subquery(subquery)));
    }
    let inputs = schemas_of_inputs(&plan);
    let preserver = NamePreserver::new(&plan);
    plan.dyn_map_expressions(|expr| {
        let name = preserver.save(&expr);
        Ok(renamed_in(expr, renamings, &inputs)?.update_data(|expr| name.restore(expr)))
    })
}

/// An expression that mentions other outer columns in the place of some, by itself or in its subqueries.
pub(super) fn renamed_in(expr: Expr, renamings: &[Renaming], inputs: &[DFSchemaRef]) -> Result<Transformed<Expr>> {
    expr.dyn_transform_up(|mut expr| {
        if let Expr::OuterReferenceColumn(_, column) = &mut expr {
            let Some((_, other)) = renamings.iter().find(|(before, _)| before == column) else {
                return Ok(Transformed::no(expr));
            };
            *column = other.clone();
            return Ok(Transformed::yes(expr));
        }
        if let Some(subquery) = expression_subquery_mut(&mut expr) {
            *subquery = renamed(subquery, renamings, inputs)?;
            return Ok(Transformed::yes(expr));
        }
        Ok(Transformed::no(expr))
    })
}

/// Collects outer columns from the inputs upwards.
struct OuterColumns {
    /// The columns of the visited steps whose parents have not been visited.
    of_steps: Vec<Vec<Column>>,
}

impl<'n> TreeNodeVisitor<'n> for OuterColumns {
    type Node = LogicalPlan;

    fn f_up(&mut self, plan: &'n LogicalPlan) -> Result<TreeNodeRecursion> {
        let inputs = schemas_of_inputs(plan);
        let of_inputs = self.of_steps.split_off(self.of_steps.len().saturating_sub(inputs.len()));
        let mut columns = Vec::new();
        plan.dyn_apply_expressions(|expr| {
            add(&mut columns, outer_columns_of(expr, &inputs)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let is_join = matches!(plan, LogicalPlan::Join(_));
        for (at, of_input) in of_inputs.into_iter().enumerate() {
            // If the right side of a join is `LATERAL`, the left side is its outer query.
            let is_of_left = |column: &Column| is_join && at == 1 && inputs[0].has_column(column);
            add(&mut columns, of_input.into_iter().filter(|column| !is_of_left(column)));
        }
        self.of_steps.push(columns);
        Ok(TreeNodeRecursion::Continue)
    }
}

/// Adds the columns that are not there yet.
pub(super) fn add(columns: &mut Vec<Column>, more: impl IntoIterator<Item = Column>) {
    for column in more {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
}

fn has_column(schemas: &[DFSchemaRef], column: &Column) -> bool {
    schemas.iter().any(|schema| schema.has_column(column))
}
