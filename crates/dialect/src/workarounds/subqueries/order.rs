//! The order of a subquery in FROM. PostgreSQL computes what is above a sort in the order of its rows, as far as that
//! are conditions, columns, limits and aggregates: `SELECT array_agg(x) FROM (SELECT x FROM t ORDER BY y) s` collects
//! values in the order of `y`. DataFusion drops sorts without a limit in subqueries. Here an aggregate that collects
//! values gets the order of the subquery below it, and a sort is dropped if nothing above depends on it.
//!
//! No upstream issue known: SQL gives a subquery no order.

use crate::text::plan_walk::DynPlanWalk;
use crate::workarounds::aggregates::collected_order::COLLECTING;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Filter, Limit, Projection, Sort, SubqueryAlias};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, SortExpr};
use datafusion::optimizer::AnalyzerRule;
use std::cell::Cell;
use std::sync::Arc;

/// Runs before all rules that look at sorts.
#[derive(Debug)]
pub(crate) struct SubqueryOrder;

impl AnalyzerRule for SubqueryOrder {
    fn name(&self) -> &str {
        "subquery_order"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_sort(&plan)? {
            return Ok(plan);
        }
        let names = KeyNames::default();
        let ordered = plan.dyn_transform_down_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.iter().any(depends_on_order) => {
                in_order_of_input(aggregate, &names)
            }
            other => Ok(Transformed::no(other)),
        });
        let needed = ordered.data()?.dyn_transform_down_with_subqueries(|plan| match plan {
            // What is above these steps decides. The rows of a statement are returned in their order.
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
                Ok(Transformed::no(plan))
            }
            LogicalPlan::Limit(_) => Ok(Transformed::no(plan)),
            other => other.map_children(without_sort),
        });
        needed.data()
    }
}

fn has_sort(plan: &LogicalPlan) -> Result<bool> {
    let mut has_sort = false;
    plan.dyn_apply_with_subqueries(|plan| {
        has_sort = matches!(plan, LogicalPlan::Sort(_));
        Ok(if has_sort { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_sort)
}

/// The same rows in any order.
fn without_sort(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Sort(Sort { input, fetch: None, .. }) => {
            without_sort(Arc::unwrap_or_clone(input)).map(|unsorted| Transformed::yes(unsorted.data))
        }
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.map_children(without_sort)
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Makes names for keys that become columns.
#[derive(Debug, Default)]
struct KeyNames {
    count: Cell<usize>,
}

impl KeyNames {
    fn next(&self) -> String {
        self.count.set(self.count.get() + 1);
        format!("\u{1}sort key {}", self.count.get())
    }
}

/// A plan whose rows have an order.
struct Ordered {
    plan: LogicalPlan,
    keys: Vec<Key>,
}

/// A column that rows are ordered by.
struct Key {
    column: Column,
    asc: bool,
    nulls_first: bool,
}

impl Key {
    fn sort_expr(&self) -> SortExpr {
        SortExpr::new(Expr::Column(self.column.clone()), self.asc, self.nulls_first)
    }
}

/// Returns whether the result of an aggregate depends on the order of its rows, which it does not name.
fn depends_on_order(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => depends_on_order(&alias.expr),
        Expr::AggregateFunction(call) => {
            let params = &call.params;
            COLLECTING.contains(&call.func.name()) && !params.distinct && params.order_by.is_empty()
        }
        _ => false,
    }
}

/// An aggregate that names the order of its input.
fn in_order_of_input(aggregate: Aggregate, names: &KeyNames) -> Result<Transformed<LogicalPlan>> {
    let Some(Ordered { plan, keys }) = ordered(&aggregate.input, names)? else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    let order: Vec<SortExpr> = keys.iter().map(Key::sort_expr).collect();
    let Aggregate { group_expr, aggr_expr, schema, .. } = aggregate;
    let aggr_expr = aggr_expr.into_iter().map(|expr| in_order(expr, &order)).collect();
    let aggregate = Aggregate::try_new_with_schema(Arc::new(plan), group_expr, aggr_expr, schema)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

/// An aggregate in an order, with the name that it had.
fn in_order(expr: Expr, order: &[SortExpr]) -> Expr {
    if !depends_on_order(&expr) {
        return expr;
    }
    let (relation, name) = expr.qualified_name();
    let mut call = expr.unalias_nested().data;
    if let Expr::AggregateFunction(function) = &mut call {
        function.params.order_by = order.to_vec();
    }
    call.alias_qualified(relation, name)
}

/// The same rows with the columns that they are ordered by; `None` if they have no order.
fn ordered(plan: &LogicalPlan, names: &KeyNames) -> Result<Option<Ordered>> {
    let input = match plan {
        LogicalPlan::Sort(sort) => return sorted(sort, names).map(Some),
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::Limit(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.inputs()[0]
        }
        _ => return Ok(None),
    };
    let Some(Ordered { plan: input, keys }) = ordered(input, names)? else { return Ok(None) };
    let input = Arc::new(input);
    Ok(Some(match plan {
        LogicalPlan::Projection(projection) => projected(projection, input, keys, names)?,
        LogicalPlan::Filter(filter) => {
            let filter = Filter::try_new(filter.predicate.clone(), input)?;
            Ordered { plan: LogicalPlan::Filter(filter), keys }
        }
        LogicalPlan::Limit(limit) => Ordered { plan: LogicalPlan::Limit(Limit { input, ..limit.clone() }), keys },
        LogicalPlan::SubqueryAlias(alias) => aliased(alias, input, keys)?,
        _ => return Ok(None),
    }))
}

/// Sorted rows. Keys that are computed become columns below the sort, and so they are computed once.
fn sorted(sort: &Sort, names: &KeyNames) -> Result<Ordered> {
    let mut columns: Vec<Expr> = sort.input.schema().columns().into_iter().map(Expr::Column).collect();
    let own_count = columns.len();
    let mut keys = Vec::with_capacity(sort.expr.len());
    for by in &sort.expr {
        let column = match &by.expr {
            Expr::Column(column) => column.clone(),
            computed => {
                let name = names.next();
                columns.push(computed.clone().alias(&name));
                Column::new_unqualified(name)
            }
        };
        keys.push(Key { column, asc: by.asc, nulls_first: by.nulls_first });
    }
    let mut input = Arc::clone(&sort.input);
    if columns.len() > own_count {
        input = Arc::new(LogicalPlan::Projection(Projection::try_new(columns, input)?));
    }
    let expr = keys.iter().map(Key::sort_expr).collect();
    Ok(Ordered { plan: LogicalPlan::Sort(Sort { expr, input, fetch: sort.fetch }), keys })
}

/// A projection of ordered rows, which keeps their keys.
fn projected(projection: &Projection, input: Arc<LogicalPlan>, keys: Vec<Key>, names: &KeyNames) -> Result<Ordered> {
    let schema = Arc::clone(input.schema());
    let mut exprs = projection.expr.clone();
    let own_count = exprs.len();
    let mut positions = Vec::with_capacity(keys.len());
    for key in &keys {
        let position = schema.index_of_column(&key.column)?;
        let position_of = |expr: &Expr| schema.maybe_index_of_column(column_of(expr)?);
        let is_key = |expr: &Expr| position_of(expr) == Some(position);
        positions.push(match exprs[..own_count].iter().position(is_key) {
            Some(at) => at,
            None => {
                exprs.push(Expr::Column(key.column.clone()).alias(names.next()));
                exprs.len() - 1
            }
        });
    }
    let projection = Projection::try_new(exprs, input)?;
    let columns = positions.into_iter().map(|at| Column::from(projection.schema.qualified_field(at)));
    let keys = keys.into_iter().zip(columns).map(|(key, column)| Key { column, ..key }).collect();
    Ok(Ordered { plan: LogicalPlan::Projection(projection), keys })
}

/// The column that an expression is, under any name.
fn column_of(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Alias(alias) => column_of(&alias.expr),
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// A relation of ordered rows.
fn aliased(alias: &SubqueryAlias, input: Arc<LogicalPlan>, keys: Vec<Key>) -> Result<Ordered> {
    let below = Arc::clone(input.schema());
    let relation = SubqueryAlias::try_new(input, alias.alias.clone())?;
    let renamed = |key: Key| -> Result<Key> {
        let at = below.index_of_column(&key.column)?;
        Ok(Key { column: Column::from(relation.schema.qualified_field(at)), ..key })
    };
    let keys = keys.into_iter().map(renamed).collect::<Result<Vec<_>>>()?;
    Ok(Ordered { plan: LogicalPlan::SubqueryAlias(relation), keys })
}
