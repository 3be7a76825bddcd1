//! Estimates of the number of rows of a plan, and of the distinct values of its columns.

use crate::scan::provider::SnapshotTable;
use datafusion::common::Column;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::logical_plan::TableScan;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator, SubqueryAlias};
use std::collections::{HashMap, HashSet};

/// The rows of a table about which nothing is known.
const ROWS_UNKNOWN: f64 = 10_000.0;

/// The share of rows for which an equality holds whose column is unknown.
const SHARE_OF_EQUALITY: f64 = 0.1;

/// The share of rows for which any other condition holds.
const SHARE_OF_CONDITION: f64 = 0.33;

/// The share of rows that are groups of their own.
const SHARE_OF_GROUPS: f64 = 0.1;

/// Estimated statistics of a plan's rows.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    pub(super) rows: f64,
    /// The number of distinct values, by column. A column that is not listed has as many as there are rows.
    distinct: HashMap<Column, f64>,
}

impl Estimate {
    /// The estimate of a plan. Only these columns matter.
    pub(super) fn of(plan: &LogicalPlan, needed: &HashSet<Column>) -> Self {
        let mut estimate = match plan {
            LogicalPlan::TableScan(scan) => of_scan(scan, needed),
            LogicalPlan::SubqueryAlias(alias) => of_alias(alias, needed),
            LogicalPlan::Filter(filter) => {
                let mut estimate = Self::of(&filter.input, needed);
                let share: f64 =
                    split_conjunction(&filter.predicate).into_iter().map(|on| estimate.share(on)).product();
                estimate.rows *= share;
                estimate
            }
            LogicalPlan::Join(join) => of_join(join, needed),
            LogicalPlan::Limit(limit) => {
                let mut estimate = Self::of(&limit.input, needed);
                if let Ok(datafusion::logical_expr::FetchType::Literal(Some(count))) = limit.get_fetch_type() {
                    estimate.rows = estimate.rows.min(count as f64);
                }
                estimate
            }
            LogicalPlan::Aggregate(aggregate) => {
                let rows = Self::of(&aggregate.input, &HashSet::new()).rows;
                let rows = if aggregate.group_expr.is_empty() { 1.0 } else { rows * SHARE_OF_GROUPS };
                Self::unknown(rows)
            }
            LogicalPlan::Values(values) => Self::unknown(values.values.len() as f64),
            LogicalPlan::EmptyRelation(empty) => Self::unknown(if empty.produce_one_row { 1.0 } else { 0.0 }),
            LogicalPlan::Union(union) => {
                Self::unknown(union.inputs.iter().map(|input| Self::of(input, &HashSet::new()).rows).sum())
            }
            other => match other.inputs().as_slice() {
                [input] => Self::of(input, needed),
                _ => Self::unknown(ROWS_UNKNOWN),
            },
        };
        estimate.rows = estimate.rows.max(1.0);
        estimate
    }

    fn unknown(rows: f64) -> Self {
        Self { rows, distinct: HashMap::new() }
    }

    /// The estimate of a join under some conditions.
    pub(super) fn joined<'a>(&self, other: &Self, conditions: impl IntoIterator<Item = &'a Expr>) -> Self {
        let mut rows = self.rows * other.rows;
        let mut distinct = self.distinct.clone();
        distinct.extend(other.distinct.iter().map(|(column, count)| (column.clone(), *count)));
        for condition in conditions {
            rows *= match condition {
                Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                    let count = |side: &Expr| self.distinct_of(side).or_else(|| other.distinct_of(side));
                    // A side of which nothing is known may be a key of the smaller part.
                    let unknown = self.rows.min(other.rows);
                    1.0 / count(left).unwrap_or(unknown).max(count(right).unwrap_or(unknown)).max(1.0)
                }
                _ => SHARE_OF_CONDITION,
            };
        }
        Self { rows: rows.max(1.0), distinct }
    }

    /// The number of distinct values of an expression, if it is a known column.
    fn distinct_of(&self, expr: &Expr) -> Option<f64> {
        let Expr::Column(column) = expr else { return None };
        self.distinct.get(column).map(|count| count.min(self.rows))
    }

    /// The share of rows for which a condition holds.
    fn share(&self, condition: &Expr) -> f64 {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                match self.distinct_of(left).or_else(|| self.distinct_of(right)) {
                    Some(count) => 1.0 / count.max(1.0),
                    None => SHARE_OF_EQUALITY,
                }
            }
            Expr::InList(list) if !list.negated => {
                let one = self.distinct_of(&list.expr).map_or(SHARE_OF_EQUALITY, |count| 1.0 / count.max(1.0));
                (one * list.list.len() as f64).min(1.0)
            }
            Expr::IsNotNull(_) => 1.0,
            _ => SHARE_OF_CONDITION,
        }
    }
}

/// The estimate of a relation under another name: only the qualifiers of its columns change.
fn of_alias(alias: &SubqueryAlias, needed: &HashSet<Column>) -> Estimate {
    let inner: HashMap<Column, &Column> = needed
        .iter()
        .filter_map(|column| {
            let at = alias.schema.maybe_index_of_column(column)?;
            Some((Column::from(alias.input.schema().qualified_field(at)), column))
        })
        .collect();
    let found = Estimate::of(&alias.input, &inner.keys().cloned().collect());
    let outer = |(column, count): (Column, f64)| Some(((*inner.get(&column)?).clone(), count));
    Estimate { rows: found.rows, distinct: found.distinct.into_iter().filter_map(outer).collect() }
}

fn of_join(join: &Join, needed: &HashSet<Column>) -> Estimate {
    let conditions: Vec<Expr> = join.on.iter().map(|(left, right)| left.clone().eq(right.clone())).collect();
    let needed: HashSet<Column> =
        needed.iter().cloned().chain(conditions.iter().flat_map(Expr::column_refs).cloned()).collect();
    let (left, right) = (Estimate::of(&join.left, &needed), Estimate::of(&join.right, &needed));
    let mut both = left.joined(&right, conditions.iter().chain(&join.filter));
    match join.join_type {
        JoinType::Left => both.rows = both.rows.max(left.rows),
        JoinType::Right => both.rows = both.rows.max(right.rows),
        JoinType::Full => both.rows = both.rows.max(left.rows + right.rows),
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => both.rows = left.rows,
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => both.rows = right.rows,
        JoinType::Inner => {}
    }
    both
}

fn of_scan(scan: &TableScan, needed: &HashSet<Column>) -> Estimate {
    let provider = source_as_provider(&scan.source).ok();
    let of_table = provider.as_ref().and_then(|provider| {
        let table = provider.as_ref().downcast_ref::<SnapshotTable>()?;
        let positions: Vec<(usize, &Column)> =
            needed.iter().filter_map(|column| Some((position(scan, column)?, column))).collect();
        let counts = table.counts(&scan.filters, &positions.iter().map(|(at, _)| *at).collect::<Vec<_>>())?;
        let named = positions
            .iter()
            .zip(counts.distinct)
            .filter_map(|((_, column), count)| Some(((*column).clone(), count? as f64)));
        Some(Estimate { rows: counts.rows as f64, distinct: named.collect() })
    });
    let mut estimate = of_table.unwrap_or_else(|| {
        let statistics = provider.as_ref().and_then(|provider| provider.statistics());
        let rows = statistics.and_then(|statistics| statistics.num_rows.get_value().copied());
        Estimate::unknown(rows.map_or(ROWS_UNKNOWN, |rows| rows as f64))
    });
    let share: f64 = scan.filters.iter().flat_map(split_conjunction).map(|filter| estimate.share(filter)).product();
    estimate.rows *= share;
    if let Some(fetch) = scan.fetch {
        estimate.rows = estimate.rows.min(fetch as f64);
    }
    estimate
}

/// The position of a column in the table that a scan reads.
fn position(scan: &TableScan, column: &Column) -> Option<usize> {
    scan.projected_schema.maybe_index_of_column(column)?;
    scan.source.schema().index_of(&column.name).ok()
}
