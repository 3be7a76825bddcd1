//! Subqueries in the condition of a join. Each becomes a column of the side whose columns it mentions. If one mentions
//! both sides of an outer join, the pairs of their values for which its condition holds are joined to the side whose
//! rows are not all kept. DataFusion supports no subqueries in the conditions of outer joins.

use super::answers::{Replacement, SubqueryContext, answer};
use super::domain::Names;
use super::outer_columns::{add, expression_subquery, outer_columns, outer_columns_of};
use super::single_value::changes;
use super::steps::of_step;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::plan_subqueries::{has_subquery, is_subquery};
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::logical_plan::{Filter, Join};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr};
use std::sync::Arc;

/// Rewrites a join whose condition has subqueries.
pub(super) fn of_condition(join: Join, names: &Names) -> Result<Transformed<LogicalPlan>> {
    let conditions = join.filter.clone().map(split_conjunction_owned).unwrap_or_default();
    let (mut asking, mut plain) = (Vec::new(), Vec::new());
    for condition in conditions {
        if has_subquery(&condition) { asking.push(condition) } else { plain.push(condition) }
    }
    let Some(condition) = conjunction(asking.clone()) else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
    if join.join_type == JoinType::Inner {
        let join = LogicalPlan::Join(Join { filter: conjunction(plain), ..join });
        let filter = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(join))?);
        return of_step(filter, names).map(|step| Transformed::yes(step.data));
    }
    let mut sides = JoinSides { left: join.left.as_ref().clone(), right: join.right.as_ref().clone(), names };
    let equalities = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let mut settled: Vec<Expr> = equalities.chain(plain).collect();
    for condition in asking {
        match sides.settle(condition, join.join_type, &settled)? {
            Some(condition) => settled.push(condition),
            None => return Ok(Transformed::no(LogicalPlan::Join(join))),
        }
    }
    let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
    let plan = LogicalPlanBuilder::from(sides.left)
        .join_on(sides.right, join.join_type, settled)?
        .project(columns)?
        .build()?;
    Ok(Transformed::yes(plan))
}

/// The sides of an outer join, with the columns that were added.
struct JoinSides<'a> {
    left: LogicalPlan,
    right: LogicalPlan,
    names: &'a Names,
}

impl JoinSides<'_> {
    /// A condition without subqueries in the place of one with them; `None` if it mentions columns of outer queries.
    /// `others` are the conditions of the join that have no subqueries.
    fn settle(&mut self, condition: Expr, join_type: JoinType, others: &[Expr]) -> Result<Option<Expr>> {
        if condition.dyn_exists(|expr| Ok(is_subquery(expr) && !self.has_one_side(expr)?))? {
            return self.pairs(condition, join_type, others);
        }
        let settled = condition.dyn_transform_up(|expr| {
            if !is_subquery(&expr) {
                return Ok(Transformed::no(expr));
            }
            self.as_column(expr).map(Transformed::yes)
        })?;
        Ok(Some(settled.data))
    }

    fn has_one_side(&self, expr: &Expr) -> Result<bool> {
        let columns = mentioned(expr)?;
        Ok(has_all(&self.left, &columns) || has_all(&self.right, &columns))
    }

    /// Adds a column with the subquery's value to the side that it mentions.
    fn as_column(&mut self, expr: Expr) -> Result<Expr> {
        let is_left = !has_all(&self.right, &mentioned(&expr)?);
        let side = if is_left { &mut self.left } else { &mut self.right };
        let context = SubqueryContext { input: side, names: self.names, is_condition: false };
        let Replacement { input, expr } = answer(&expr, &context)?.unwrap_or(Replacement { input: None, expr });
        let name = self.names.next("condition");
        let mut columns: Vec<Expr> = side.schema().columns().into_iter().map(Expr::Column).collect();
        columns.push(expr.alias(name.clone()));
        *side = LogicalPlanBuilder::from(input.unwrap_or_else(|| side.clone())).project(columns)?.build()?;
        Ok(Expr::Column(Column::new_unqualified(name)))
    }

    /// Joins the pairs of values for which a condition holds to the side whose rows are not all kept. Returns the
    /// condition that the other side has the other value of the pair.
    fn pairs(&mut self, condition: Expr, join_type: JoinType, others: &[Expr]) -> Result<Option<Expr>> {
        let schemas = [Arc::clone(self.left.schema()), Arc::clone(self.right.schema())];
        if !outer_columns_of(&condition, &schemas)?.is_empty() {
            return Ok(None);
        }
        let columns = mentioned(&condition)?;
        let is_left = |column: &&Column| self.left.schema().maybe_index_of_column(column).is_some();
        let (of_left, of_right): (Vec<&Column>, Vec<&Column>) = columns.iter().partition(is_left);
        let candidates = self.candidates(&of_left, &of_right, others)?;
        let found = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(candidates))?);
        if !is_repeatable(&found)? {
            let what = "random(), nextval() or the like beside a subquery that mentions both sides of an outer join";
            return Err(external(not_supported(what).with_hint("write the rows to a temporary table first")));
        }
        let found = of_step(found, self.names)?.data;
        let alias = self.names.next("pairs");
        let name_each =
            |columns: &[&Column]| -> Vec<String> { columns.iter().map(|_| self.names.next("value")).collect() };
        let (left_names, right_names) = (name_each(&of_left), name_each(&of_right));
        let named = of_left.iter().zip(&left_names).chain(of_right.iter().zip(&right_names));
        let named = named.map(|(column, name)| Expr::Column((*column).clone()).alias(name));
        let found =
            LogicalPlanBuilder::from(found).project(named.collect::<Vec<_>>())?.alias(alias.clone())?.build()?;
        let of_pair = |names: &[String]| -> Vec<Column> {
            names.iter().map(|name| Column::new(Some(alias.clone()), name)).collect()
        };
        let (left_values, right_values) = (of_pair(&left_names), of_pair(&right_names));
        let owned = |columns: &[&Column]| -> Vec<Column> { columns.iter().map(|column| (*column).clone()).collect() };
        let (side, keys, values, others) = match join_type {
            JoinType::Left => (&mut self.right, owned(&of_right), right_values, of_left.iter().zip(left_values)),
            JoinType::Right => (&mut self.left, owned(&of_left), left_values, of_right.iter().zip(right_values)),
            other => {
                let join = other.to_string().to_uppercase();
                let what = format!("a subquery that mentions both sides in the ON of a {join} JOIN");
                return Err(external(not_supported(what).with_hint("write a LEFT JOIN or a RIGHT JOIN")));
            }
        };
        let equal = |(column, value): (&&Column, Column)| {
            binary_expr(Expr::Column((*column).clone()), Operator::IsNotDistinctFrom, Expr::Column(value))
        };
        let condition = conjunction(others.map(equal));
        *side = LogicalPlanBuilder::from(side.clone())
            .join_detailed(found, JoinType::Inner, (keys, values), None, NullEquality::NullEqualsNull)?
            .build()?;
        Ok(condition)
    }

    /// The pairs of values of both sides, each once, in the rows of the join for which the other conditions hold.
    fn candidates(&self, of_left: &[&Column], of_right: &[&Column], others: &[Expr]) -> Result<LogicalPlan> {
        let distinct = |plan: LogicalPlanBuilder, columns: &[&Column]| {
            let columns: Vec<Expr> = columns.iter().map(|column| Expr::Column((*column).clone())).collect();
            plan.project(columns)?.distinct()
        };
        let (left, right) = (LogicalPlanBuilder::from(self.left.clone()), self.right.clone());
        let others: Vec<Expr> = others.iter().filter(|other| !other.is_volatile()).cloned().collect();
        if others.is_empty() {
            let right = distinct(LogicalPlanBuilder::from(right), of_right)?.build()?;
            return distinct(left, of_left)?.cross_join(right)?.build();
        }
        let columns: Vec<&Column> = of_left.iter().chain(of_right).copied().collect();
        distinct(left.join_on(right, JoinType::Inner, others)?, &columns)?.build()
    }
}

/// Returns whether a plan has the same rows each time that it is computed.
pub(super) fn is_repeatable(plan: &LogicalPlan) -> Result<bool> {
    let mut is_repeatable = true;
    plan.dyn_apply_with_subqueries(|step| {
        step.dyn_apply_expressions(|expr| {
            is_repeatable = is_repeatable && !expr.dyn_exists(|part| Ok(changes(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_repeatable)
}

/// The columns that an expression mentions, also in its subqueries.
fn mentioned(expr: &Expr) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    expr.dyn_apply(|part| {
        if let Expr::Column(column) = part {
            add(&mut columns, [column.clone()]);
        } else if let Some(subquery) = expression_subquery(part) {
            add(&mut columns, outer_columns(&subquery.subquery)?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}

fn has_all(plan: &LogicalPlan, columns: &[Column]) -> bool {
    columns.iter().all(|column| plan.schema().maybe_index_of_column(column).is_some())
}
