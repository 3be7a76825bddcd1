//! Subqueries in the condition of a join. Each becomes a column of the side whose columns it mentions. If an `EXISTS`
//! mentions both sides, the pairs of their values for which it holds are joined to one side. DataFusion supports no
//! subqueries in the conditions of outer joins.

use super::answers::{Replacement, SubqueryContext, answer};
use super::domain::{Names, is_subquery};
use super::outer_columns::outer_columns;
use super::steps::of_step;
use crate::text::plan_walk::DynWalk;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::logical_plan::{Filter, Join};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr};
use std::sync::Arc;

/// Rewrites a join whose condition has subqueries.
pub(super) fn of_condition(join: Join, names: &Names) -> Result<Transformed<LogicalPlan>> {
    let conditions = join.filter.clone().map(split_conjunction_owned).unwrap_or_default();
    let asks = |condition: &Expr| condition.dyn_exists(|expr| Ok(is_subquery(expr)));
    let (mut asking, mut plain) = (Vec::new(), Vec::new());
    for condition in conditions {
        if asks(&condition)? { asking.push(condition) } else { plain.push(condition) }
    }
    let Some(condition) = conjunction(asking.clone()) else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
    if join.join_type == JoinType::Inner {
        let join = LogicalPlan::Join(Join { filter: conjunction(plain), ..join });
        let filter = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(join))?);
        return of_step(filter, names).map(|step| Transformed::yes(step.data));
    }
    let mut sides = JoinSides { left: join.left.as_ref().clone(), right: join.right.as_ref().clone(), names };
    for condition in asking {
        match sides.settle(condition, join.join_type)? {
            Some(settled) => plain.push(settled),
            None => return Ok(Transformed::no(LogicalPlan::Join(join))),
        }
    }
    let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
    let equalities = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let plan = LogicalPlanBuilder::from(sides.left)
        .join_on(sides.right, join.join_type, equalities.chain(plain))?
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
    /// A condition without subqueries in the place of one with them; `None` if it is not supported.
    fn settle(&mut self, condition: Expr, join_type: JoinType) -> Result<Option<Expr>> {
        if let Expr::Exists(exists) = &condition
            && !self.has_one_side(&condition)?
        {
            return self.pairs(exists, join_type);
        }
        let mut is_possible = true;
        let settled = condition.dyn_transform_up(|expr| {
            if !is_subquery(&expr) {
                return Ok(Transformed::no(expr));
            }
            if !self.has_one_side(&expr)? {
                is_possible = false;
                return Ok(Transformed::no(expr));
            }
            self.as_column(expr).map(Transformed::yes)
        })?;
        Ok(is_possible.then_some(settled.data))
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

    /// Joins the pairs of values for which an EXISTS holds to the side whose rows are not all kept. Returns the
    /// condition that the other side has the other value of the pair.
    fn pairs(&mut self, exists: &Exists, join_type: JoinType) -> Result<Option<Expr>> {
        let columns = mentioned(&Expr::Exists(exists.clone()))?;
        let is_left = |column: &&Column| self.left.schema().maybe_index_of_column(column).is_some();
        let (of_left, of_right): (Vec<&Column>, Vec<&Column>) = columns.iter().partition(is_left);
        if !of_right.iter().all(|column| self.right.schema().maybe_index_of_column(column).is_some()) {
            return Ok(None);
        }
        let distinct = |plan: &LogicalPlan, columns: &[&Column]| {
            let columns: Vec<Expr> = columns.iter().map(|column| Expr::Column((*column).clone())).collect();
            LogicalPlanBuilder::from(plan.clone()).project(columns)?.distinct()?.build()
        };
        let candidates = LogicalPlanBuilder::from(distinct(&self.left, &of_left)?)
            .cross_join(distinct(&self.right, &of_right)?)?
            .build()?;
        let condition = Expr::Exists(exists.clone());
        let found = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(candidates))?);
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
            _ => return Ok(None),
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
}

/// The columns of the join that an expression over a subquery mentions.
fn mentioned(expr: &Expr) -> Result<Vec<Column>> {
    let (value, subquery) = match expr {
        Expr::ScalarSubquery(subquery) => (None, subquery),
        Expr::Exists(Exists { subquery, .. }) => (None, subquery),
        Expr::InSubquery(InSubquery { expr, subquery, .. }) => (Some(expr), subquery),
        Expr::SetComparison(SetComparison { expr, subquery, .. }) => (Some(expr), subquery),
        _ => return Ok(Vec::new()),
    };
    let mut columns: Vec<Column> =
        value.map(|value| value.column_refs().into_iter().cloned().collect()).unwrap_or_default();
    for outer in outer_columns(&subquery.subquery)? {
        if !columns.contains(&outer) {
            columns.push(outer);
        }
    }
    Ok(columns)
}

fn has_all(plan: &LogicalPlan, columns: &[Column]) -> bool {
    columns.iter().all(|column| plan.schema().maybe_index_of_column(column).is_some())
}
