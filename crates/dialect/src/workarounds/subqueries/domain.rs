//! Computes a subquery for many outer rows at once. The distinct values of the outer columns that it mentions, its
//! *domain*, are joined to its input, and stay in its rows up to the top. If it only computes something from each outer
//! row, these rows take the place of its input.

use super::outer_columns::{
    Renaming, expression_subquery_mut, outer_columns, outer_columns_of, renamed, schemas_of_inputs,
};
use crate::functions::numbers::row_bounds::row_bound;
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::DynWalk;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchemaRef, NullEquality, Result, not_impl_err};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::logical_plan::{
    Distinct, DistinctOn, FetchType, Filter, Join, Limit, SkipType, Union, Unnest, Window,
};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprFunctionExt, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, SortExpr, and, binary_expr,
    cast, col, lit,
};
use std::cell::Cell;
use std::sync::Arc;

/// Makes names that are unique in a plan.
#[derive(Debug, Default)]
pub(super) struct Names {
    count: Cell<usize>,
}

impl Names {
    pub(super) fn next(&self, what: &str) -> String {
        self.count.set(self.count.get() + 1);
        format!("\u{1}{what}{}", self.count.get())
    }
}

/// The outer columns that a subquery mentions, and the plan that their values come from.
pub(super) struct Domain<'a> {
    pub(super) columns: Vec<Column>,
    pub(super) outer: &'a LogicalPlan,
    pub(super) names: &'a Names,
    /// Whether all rows of the outer plan count, instead of the distinct values.
    keeps_rows: bool,
}

/// A plan, and those of its columns that hold the values of the domain.
pub(super) struct Spread {
    pub(super) plan: LogicalPlan,
    pub(super) values: Vec<Column>,
}

impl Spread {
    /// The column of a subquery that has one. It may be a value of the domain itself.
    pub(super) fn column(&self) -> Expr {
        let schema = self.plan.schema();
        let own = schema.columns().into_iter().find(|column| !self.values.contains(column));
        Expr::Column(own.unwrap_or_else(|| Column::from(schema.qualified_field(0))))
    }
}

impl<'a> Domain<'a> {
    /// The columns of an outer plan that a subquery mentions.
    pub(super) fn of(subquery: &LogicalPlan, outer: &'a LogicalPlan, names: &'a Names) -> Result<Self> {
        let mut columns = outer_columns(subquery)?;
        columns.retain(|column| outer.schema().has_column(column));
        Ok(Self { columns, outer, names, keeps_rows: false })
    }

    /// All columns of an outer plan, whose rows all count. The subquery must compute its rows from one outer row each.
    pub(super) fn of_rows(outer: &'a LogicalPlan, names: &'a Names) -> Self {
        Self { columns: outer.schema().columns(), outer, names, keeps_rows: true }
    }

    /// The value of a subquery that only computes it from one outer row, such as `(SELECT t.a + 1)`, as an expression
    /// of the outer plan. `None` for other subqueries.
    pub(super) fn value_of_row(
        subquery: &LogicalPlan,
        outer: &'a LogicalPlan,
        names: &'a Names,
    ) -> Result<Option<Expr>> {
        let LogicalPlan::Projection(projection) = subquery else { return Ok(None) };
        let has_one_row = matches!(projection.input.as_ref(), LogicalPlan::EmptyRelation(of) if of.produce_one_row);
        let [value] = projection.expr.as_slice() else { return Ok(None) };
        if !has_one_row || has_subquery(value) {
            return Ok(None);
        }
        let domain = Self::of(subquery, outer, names)?;
        if domain.columns.is_empty() {
            return Ok(None);
        }
        domain.replaced(value.clone().unalias(), &domain.columns, &[]).map(Some)
    }

    /// Returns whether a plan mentions one of the domain's columns.
    fn is_mentioned(&self, plan: &LogicalPlan) -> Result<bool> {
        Ok(!Domain::of(plan, self.outer, self.names)?.columns.is_empty())
    }

    fn is_mentioned_by(&self, expr: &Expr, inputs: &[DFSchemaRef]) -> Result<bool> {
        Ok(outer_columns_of(expr, inputs)?.iter().any(|column| self.columns.contains(column)))
    }

    /// The domain itself: the distinct values of its columns, or all rows.
    fn rows(&self) -> Result<Spread> {
        let alias = self.names.next("outer");
        let names: Vec<String> = self.columns.iter().map(|_| self.names.next("value")).collect();
        let columns = self.columns.iter().zip(&names).map(|(column, name)| Expr::Column(column.clone()).alias(name));
        let plan = LogicalPlanBuilder::from(self.outer.clone()).project(columns.collect::<Vec<_>>())?;
        let plan = if self.keeps_rows { plan } else { plan.distinct()? };
        let plan = plan.alias(alias.clone())?.build()?;
        let values = names.into_iter().map(|name| Column::new(Some(alias.clone()), name)).collect();
        Ok(Spread { plan, values })
    }

    /// Replaces the outer columns in an expression by columns with their values. The subqueries in it mention these
    /// columns then. `inputs` are those of the step before.
    fn replaced(&self, expr: Expr, values: &[Column], inputs: &[DFSchemaRef]) -> Result<Expr> {
        let renamings: Vec<Renaming> = self.columns.iter().cloned().zip(values.iter().cloned()).collect();
        expr.dyn_transform_up(|mut expr| {
            if let Expr::OuterReferenceColumn(_, column) = &expr {
                let at = self.columns.iter().position(|other| other == column);
                return Ok(match at {
                    Some(at) => Transformed::yes(Expr::Column(values[at].clone())),
                    None => Transformed::no(expr),
                });
            }
            if let Some(subquery) = expression_subquery_mut(&mut expr) {
                *subquery = renamed(subquery, &renamings, inputs)?;
                return Ok(Transformed::yes(expr));
            }
            Ok(Transformed::no(expr))
        })
        .data()
    }

    fn all_replaced(&self, exprs: &[Expr], values: &[Column], inputs: &[DFSchemaRef]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.replaced(expr.clone(), values, inputs)).collect()
    }

    /// Computes the plan's rows for each value of the domain; `None` for plans that it does not support.
    pub(super) fn spread(&self, plan: &LogicalPlan) -> Result<Option<Spread>> {
        if !self.is_mentioned(plan)? {
            let rows = self.rows()?;
            let plan = match plan {
                LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => rows.plan,
                plan => LogicalPlanBuilder::from(rows.plan).cross_join(plan.clone())?.build()?,
            };
            return Ok(Some(Spread { plan, values: rows.values }));
        }
        match plan {
            LogicalPlan::Subquery(subquery) => self.spread(&subquery.subquery),
            LogicalPlan::Filter(filter) => self.of_filter(filter),
            LogicalPlan::Projection(projection) => {
                let Some(input) = self.spread(&projection.input)? else { return Ok(None) };
                let mut exprs = self.all_replaced(&projection.expr, &input.values, &schemas_of_inputs(plan))?;
                for (expr, before) in exprs.iter_mut().zip(&projection.expr) {
                    restore_name(expr, before);
                }
                exprs.extend(input.values.iter().cloned().map(Expr::Column));
                let plan = LogicalPlanBuilder::from(input.plan).project(exprs)?.build()?;
                Ok(Some(Spread { plan, values: input.values }))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let Some(input) = self.spread(&alias.input)? else { return Ok(None) };
                let requalified = |value: Column| Column::new(Some(alias.alias.clone()), value.name);
                let values = input.values.into_iter().map(requalified).collect();
                let plan = LogicalPlanBuilder::from(input.plan).alias(alias.alias.clone())?.build()?;
                Ok(Some(Spread { plan, values }))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Some(input) = self.spread(input)? else { return Ok(None) };
                let plan = LogicalPlanBuilder::from(input.plan).distinct()?.build()?;
                Ok(Some(Spread { plan, values: input.values }))
            }
            LogicalPlan::Distinct(Distinct::On(on)) => self.of_distinct_on(on),
            // A sort without a limit does not change the set of rows.
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.spread(&sort.input),
            LogicalPlan::Aggregate(aggregate) => self.of_aggregate(aggregate),
            LogicalPlan::Window(window) => self.of_window(window),
            LogicalPlan::Limit(limit) => self.of_limit(limit),
            LogicalPlan::Join(join) => self.of_join(join),
            LogicalPlan::Union(union) => self.of_union(union),
            LogicalPlan::Unnest(unnest) => {
                let Some(input) = self.spread(&unnest.input)? else { return Ok(None) };
                let (columns, options) = (unnest.exec_columns.clone(), unnest.options.clone());
                let plan = LogicalPlan::Unnest(Unnest::try_new(Arc::new(input.plan), columns, options)?);
                Ok(Some(Spread { plan, values: input.values }))
            }
            _ => Ok(None),
        }
    }

    fn of_filter(&self, filter: &Filter) -> Result<Option<Spread>> {
        let Some(input) = self.spread(&filter.input)? else { return Ok(None) };
        let inputs = [Arc::clone(filter.input.schema())];
        let predicate = self.replaced(filter.predicate.clone(), &input.values, &inputs)?;
        let plan = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input.plan))?);
        Ok(Some(Spread { plan, values: input.values }))
    }

    /// The first row of each key for each value of the domain.
    fn of_distinct_on(&self, on: &DistinctOn) -> Result<Option<Spread>> {
        let Some(input) = self.spread(&on.input)? else { return Ok(None) };
        let inputs = [Arc::clone(on.input.schema())];
        let columns: Vec<Expr> = input.values.iter().cloned().map(Expr::Column).collect();
        // The values of the domain are keys, and a key occurs once.
        let is_other = |key: &Expr| !columns.contains(key);
        let mut keys = self.all_replaced(&on.on_expr, &input.values, &inputs)?;
        keys.retain(is_other);
        keys.extend(columns.iter().cloned());
        let mut exprs = self.all_replaced(&on.select_expr, &input.values, &inputs)?;
        for (expr, before) in exprs.iter_mut().zip(&on.select_expr) {
            restore_name(expr, before);
        }
        exprs.extend(columns.iter().cloned());
        let mut order = None;
        if let Some(before) = &on.sort_expr {
            let replaced = |of: &SortExpr| -> Result<SortExpr> {
                Ok(SortExpr::new(self.replaced(of.expr.clone(), &input.values, &inputs)?, of.asc, of.nulls_first))
            };
            // All keys are first in the order.
            let (of_keys, rest) = before.split_at(on.on_expr.len().min(before.len()));
            let mut by = of_keys.iter().map(replaced).collect::<Result<Vec<SortExpr>>>()?;
            by.retain(|of| is_other(&of.expr));
            by.extend(columns.iter().map(|column| column.clone().sort(true, false)));
            for of in rest {
                by.push(replaced(of)?);
            }
            order = Some(by);
        }
        let on = DistinctOn::try_new(keys, exprs, order, Arc::new(input.plan))?;
        Ok(Some(Spread { plan: LogicalPlan::Distinct(Distinct::On(on)), values: input.values }))
    }

    fn of_aggregate(&self, aggregate: &Aggregate) -> Result<Option<Spread>> {
        let Some(input) = self.spread(&aggregate.input)? else { return Ok(None) };
        // Grouping sets were refused.
        let (groups, functions) = (&aggregate.group_expr, &aggregate.aggr_expr);
        let inputs = [Arc::clone(aggregate.input.schema())];
        let mut grouped = self.all_replaced(groups, &input.values, &inputs)?;
        let mut computed = self.all_replaced(functions, &input.values, &inputs)?;
        let named = groups.iter().zip(&mut grouped).chain(functions.iter().zip(&mut computed));
        for (before, expr) in named {
            restore_name(expr, before);
        }
        let outputs: Vec<Column> =
            computed.iter().map(|expr| Column::new_unqualified(expr.schema_name().to_string())).collect();
        grouped.extend(input.values.iter().cloned().map(Expr::Column));
        let values = input.values;
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input.plan), grouped, computed)?);
        if !groups.is_empty() {
            return Ok(Some(Spread { plan, values }));
        }
        // Without groups there is a row even for values without any input.
        let all = self.rows()?;
        let mut kept: Vec<Expr> = outputs.iter().cloned().map(Expr::Column).collect();
        kept.extend(values.iter().cloned().map(Expr::Column));
        let plan = LogicalPlanBuilder::from(plan).project(kept)?.build()?;
        let plan = LogicalPlanBuilder::from(all.plan).join_detailed(
            plan,
            JoinType::Left,
            (all.values.clone(), values),
            None,
            NullEquality::NullEqualsNull,
        )?;
        let mut exprs = Vec::with_capacity(outputs.len() + all.values.len());
        for ((output, function), field) in outputs.into_iter().zip(functions).zip(aggregate.schema.fields()) {
            let column = Expr::Column(output.clone());
            let empty = match unaliased(function) {
                Expr::AggregateFunction(call) => call.func.default_value(field.data_type())?,
                _ => return Ok(None),
            };
            exprs.push(match empty.is_null() {
                true => column,
                false => coalesce(vec![column, Expr::Literal(empty, None)]).alias(output.name),
            });
        }
        exprs.extend(all.values.iter().cloned().map(Expr::Column));
        Ok(Some(Spread { plan: plan.project(exprs)?.build()?, values: all.values }))
    }

    fn of_window(&self, window: &Window) -> Result<Option<Spread>> {
        let Some(input) = self.spread(&window.input)? else { return Ok(None) };
        let exprs = self.all_replaced(&window.window_expr, &input.values, &[Arc::clone(window.input.schema())])?;
        let mut partitioned = Vec::with_capacity(exprs.len());
        for (expr, before) in exprs.into_iter().zip(&window.window_expr) {
            let name = before.schema_name().to_string();
            let Expr::WindowFunction(mut function) = unaliased(&expr).clone() else { return Ok(None) };
            function.params.partition_by.extend(input.values.iter().cloned().map(Expr::Column));
            partitioned.push(Expr::WindowFunction(function).alias(name));
        }
        let plan = LogicalPlan::Window(Window::try_new(partitioned, Arc::new(input.plan))?);
        Ok(Some(Spread { plan, values: input.values }))
    }

    /// The first rows for each value of the domain.
    fn of_limit(&self, limit: &Limit) -> Result<Option<Spread>> {
        let (order, input) = match limit.input.as_ref() {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.expr.clone(), Arc::clone(&sort.input)),
            // These steps work row by row, so the limit may be applied before them.
            step @ (LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_)) if is_ordered_below(step) => {
                let inner = step.inputs()[0].clone();
                let limited = LogicalPlan::Limit(Limit { input: Arc::new(inner), ..limit.clone() });
                return self.spread(&step.with_new_exprs(step.expressions(), vec![limited])?);
            }
            _ => (Vec::new(), Arc::clone(&limit.input)),
        };
        let inputs = [Arc::clone(input.schema())];
        let Some(input) = self.spread(&input)? else { return Ok(None) };
        let mut by = Vec::with_capacity(order.len());
        for of in order {
            let expr = self.replaced(of.expr, &input.values, &inputs)?;
            by.push(SortExpr { expr, ..of });
        }
        let name = self.names.next("row");
        let partition: Vec<Expr> = input.values.iter().cloned().map(Expr::Column).collect();
        let number = row_number().partition_by(partition);
        // Without an order, any rows are the first.
        let number = if by.is_empty() { number } else { number.order_by(by) };
        let number = number.build()?.alias(name.clone());
        let columns: Vec<Expr> = input.plan.schema().columns().into_iter().map(Expr::Column).collect();
        let condition = self.is_within(limit, col(Column::new_unqualified(name)), &input.values, &inputs)?;
        let plan = LogicalPlanBuilder::from(input.plan).window(vec![number])?.filter(condition)?.project(columns)?;
        Ok(Some(Spread { plan: plan.build()?, values: input.values }))
    }

    /// The condition that the number of a row is within a limit, whose bounds may be computed from the outer row.
    fn is_within(&self, limit: &Limit, row: Expr, values: &[Column], inputs: &[DFSchemaRef]) -> Result<Expr> {
        if let (SkipType::Literal(skip), FetchType::Literal(fetch)) = (limit.get_skip_type()?, limit.get_fetch_type()?)
        {
            let is_after = row.clone().gt(lit(skip as u64));
            return Ok(match fetch {
                Some(fetch) => and(is_after, row.lt_eq(lit(skip.saturating_add(fetch) as u64))),
                None => is_after,
            });
        }
        let bound = |expr: &Expr, clause: &str| -> Result<Expr> {
            Ok(row_bound(cast(self.replaced(expr.clone(), values, inputs)?, DataType::Int64), clause))
        };
        // NULL means no bound.
        let skipped = match &limit.skip {
            Some(skip) => coalesce(vec![bound(skip, "OFFSET")?, lit(0_i64)]),
            None => lit(0_i64),
        };
        let number = binary_expr(cast(row, DataType::Int64), Operator::Minus, skipped);
        let is_after = number.clone().gt(lit(0_i64));
        Ok(match &limit.fetch {
            Some(fetch) => and(is_after, coalesce(vec![number.lt_eq(bound(fetch, "LIMIT")?), lit(true)])),
            None => is_after,
        })
    }

    fn of_join(&self, join: &Join) -> Result<Option<Spread>> {
        let inputs = [Arc::clone(join.left.schema()), Arc::clone(join.right.schema())];
        let equality = match join.null_equality {
            NullEquality::NullEqualsNothing => Operator::Eq,
            NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
        };
        let equalities = join.on.iter().map(|(left, right)| binary_expr(left.clone(), equality, right.clone()));
        let mut conditions: Vec<Expr> = equalities.chain(join.filter.clone()).collect();
        let is_left_asking = self.is_mentioned(&join.left)?;
        let mut in_left = is_left_asking;
        let in_right = self.is_mentioned(&join.right)?;
        for condition in &conditions {
            in_left |= !in_right && self.is_mentioned_by(condition, &inputs)?;
        }
        let (left, right, values) = match join.join_type {
            JoinType::Inner if !in_left => {
                let Some(right) = self.spread(&join.right)? else { return Ok(None) };
                (join.left.as_ref().clone(), right.plan, right.values)
            }
            // Every outer row meets all rows of the side that stays.
            JoinType::Right => {
                let Some(right) = self.spread(&join.right)? else { return Ok(None) };
                let left = self.other_side(&join.left, is_left_asking, &right.values, &mut conditions)?;
                let Some(left) = left else { return Ok(None) };
                (left, right.plan, right.values)
            }
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                let Some(left) = self.spread(&join.left)? else { return Ok(None) };
                let right = self.other_side(&join.right, in_right, &left.values, &mut conditions)?;
                let Some(right) = right else { return Ok(None) };
                (left.plan, right, left.values)
            }
            JoinType::Full => return self.of_full_join(join, conditions).map(Some),
            _ => return Ok(None),
        };
        let conditions = self.all_replaced(&conditions, &values, &inputs)?;
        let condition = conjunction(conditions).unwrap_or_else(|| lit(true));
        let plan = LogicalPlanBuilder::from(left).join_on(right, join.join_type, Some(condition))?.build()?;
        Ok(Some(Spread { plan, values }))
    }

    /// The side of a join whose rows are joined to those of the side with these values. If it mentions outer columns,
    /// its values are compared with them.
    fn other_side(
        &self,
        side: &LogicalPlan,
        is_asking: bool,
        values: &[Column],
        conditions: &mut Vec<Expr>,
    ) -> Result<Option<LogicalPlan>> {
        if !is_asking {
            return Ok(Some(side.clone()));
        }
        let Some(spread) = self.spread(side)? else { return Ok(None) };
        conditions.extend(spread.values.iter().zip(values).map(|(own, value)| is_not_distinct(own, value)));
        Ok(Some(spread.plan))
    }

    /// The rows of both sides for each value of the domain. Those without a partner have the value of their own side.
    fn of_full_join(&self, join: &Join, conditions: Vec<Expr>) -> Result<Spread> {
        let (Some(left), Some(right)) = (self.spread(&join.left)?, self.spread(&join.right)?) else {
            // DataFusion would leave rows out.
            return not_impl_err!("FULL JOIN of this subquery with columns of the query around it");
        };
        let inputs = [Arc::clone(join.left.schema()), Arc::clone(join.right.schema())];
        let mut conditions = self.all_replaced(&conditions, &left.values, &inputs)?;
        let pairs = || left.values.iter().zip(&right.values);
        conditions.extend(pairs().map(|(left, right)| is_not_distinct(left, right)));
        let names: Vec<String> = pairs().map(|_| self.names.next("value")).collect();
        let mut exprs: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
        exprs.extend(pairs().zip(&names).map(|((left, right), name)| {
            coalesce(vec![Expr::Column(left.clone()), Expr::Column(right.clone())]).alias(name)
        }));
        let plan = LogicalPlanBuilder::from(left.plan)
            .join_on(right.plan, JoinType::Full, conditions)?
            .project(exprs)?
            .build()?;
        Ok(Spread { plan, values: names.into_iter().map(Column::new_unqualified).collect() })
    }

    fn of_union(&self, union: &Union) -> Result<Option<Spread>> {
        let names: Vec<String> = self.columns.iter().map(|_| self.names.next("value")).collect();
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let Some(spread) = self.spread(input)? else { return Ok(None) };
            let mut exprs: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            exprs.extend(spread.values.into_iter().zip(&names).map(|(value, name)| Expr::Column(value).alias(name)));
            inputs.push(Arc::new(LogicalPlanBuilder::from(spread.plan).project(exprs)?.build()?));
        }
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?);
        let values = names.into_iter().map(Column::new_unqualified).collect();
        Ok(Some(Spread { plan, values }))
    }
}

/// `left IS NOT DISTINCT FROM right`.
fn is_not_distinct(left: &Column, right: &Column) -> Expr {
    let [left, right] = [left, right].map(|column| Expr::Column(column.clone()));
    binary_expr(left, Operator::IsNotDistinctFrom, right)
}

/// Restores the name that an expression had.
fn restore_name(expr: &mut Expr, before: &Expr) {
    let name = before.schema_name().to_string();
    if !matches!(before, Expr::Column(_)) && (matches!(expr, Expr::Column(_)) || expr.schema_name().to_string() != name)
    {
        *expr = expr.clone().alias(name);
    }
}

/// Returns whether there is a sort below projections and aliases.
fn is_ordered_below(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => is_ordered_below(plan.inputs()[0]),
        _ => false,
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}
