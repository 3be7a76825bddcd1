//! A group of inner joins: its tables and conditions, and the plan that joins them in another order.

use super::estimate::Estimate;
use atsdb_dialect::text::plan_subqueries::is_subquery;
use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::{Column, DFSchemaRef, NullEquality, Result, internal_datafusion_err};
use datafusion::logical_expr::utils::{can_hash, conjunction, find_valid_equijoin_key_pair, split_conjunction};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, JoinConstraint, JoinType, LogicalPlan, Operator, Projection,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A group of fewer tables has no order to choose.
const TABLES_MIN: usize = 3;

/// Some tables of a group, one bit for each.
type TableSet = u128;

/// Tables that are joined with each other, and the conditions of the joins.
pub(super) struct JoinGroup {
    tables: Vec<LogicalPlan>,
    conditions: Vec<Expr>,
}

/// A condition, and the tables that it needs.
struct Condition {
    expr: Expr,
    tables: TableSet,
    /// The tables of both sides, if it is an equality between different tables.
    sides: Option<(TableSet, TableSet)>,
}

/// Some tables of the group, joined.
struct Joined {
    plan: LogicalPlan,
    tables: TableSet,
    estimate: Estimate,
}

impl JoinGroup {
    /// The group with the plan's topmost step; `None` if that is not a join, or if the order of the group is to stay.
    pub(super) fn of(plan: &LogicalPlan) -> Option<Self> {
        if !matches!(plan, LogicalPlan::Join(join) if is_plain(join)) {
            return None;
        }
        let mut group = Self { tables: Vec::new(), conditions: Vec::new() };
        group.collect(plan);
        let may_move = (TABLES_MIN..=TableSet::BITS as usize).contains(&group.tables.len())
            && !group.conditions.iter().any(|condition| condition.is_volatile() || has_subquery(condition))
            && !group.tables.iter().any(LogicalPlan::contains_outer_reference)
            && has_distinct_names(&group.tables);
        may_move.then_some(group)
    }

    fn collect(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::Join(join) if is_plain(join) => {
                self.collect(&join.left);
                self.collect(&join.right);
                let equal = |(left, right): &(Expr, Expr)| left.clone().eq(right.clone());
                self.conditions.extend(join.on.iter().map(equal));
                self.conditions.extend(join.filter.iter().flat_map(split_conjunction).cloned());
            }
            // DataFusion adds one where it changes the order itself.
            LogicalPlan::Projection(projection) if only_reorders(projection) => self.collect(&projection.input),
            table => self.tables.push(table.clone()),
        }
    }

    pub(super) fn map_tables(self, map: impl FnMut(LogicalPlan) -> Result<LogicalPlan>) -> Result<Self> {
        Ok(Self { tables: self.tables.into_iter().map(map).collect::<Result<_>>()?, ..self })
    }

    /// The joined tables, with the columns of a schema.
    pub(super) fn rebuilt(self, schema: &DFSchemaRef) -> Result<LogicalPlan> {
        let mut conditions = conditions_of(self.conditions, &self.tables);
        let needed: HashSet<Column> =
            conditions.iter().flat_map(|condition| condition.expr.column_refs()).cloned().collect();
        let mut parts = Vec::new();
        for (at, table) in self.tables.into_iter().enumerate() {
            let tables = 1 << at;
            let own = taken(&mut conditions, tables).into_iter().map(|condition| condition.expr);
            let plan = filtered(table, own)?;
            let estimate = Estimate::of(&plan, &needed);
            parts.push(Joined { plan, tables, estimate });
        }
        while parts.len() > 1 {
            let (left, right) = next_pair(&parts, &conditions);
            let (right_part, left_part) = (parts.remove(right), parts.remove(left));
            parts.insert(left, left_part.join(right_part, &mut conditions)?);
        }
        let Some(joined) = parts.pop() else { return Err(internal_datafusion_err!("a group of no tables")) };
        // What needs no table at all.
        let plan = filtered(joined.plan, conditions.into_iter().map(|condition| condition.expr))?;
        if plan.schema() == schema {
            return Ok(plan);
        }
        let columns = schema.columns().into_iter().map(Expr::Column).collect();
        Projection::try_new_with_schema(columns, Arc::new(plan), Arc::clone(schema)).map(LogicalPlan::Projection)
    }
}

impl Joined {
    fn join(self, other: Self, conditions: &mut Vec<Condition>) -> Result<Self> {
        let tables = self.tables | other.tables;
        let estimate = self.estimate.joined(&other.estimate, between(conditions, self.tables, other.tables));
        let (mut keys, mut filters) = (Vec::new(), Vec::new());
        let (left, right) = (self.plan.schema(), other.plan.schema());
        for Condition { expr, .. } in taken(conditions, tables) {
            let key = match &expr {
                Expr::BinaryExpr(BinaryExpr { left: a, op: Operator::Eq, right: b }) => {
                    find_valid_equijoin_key_pair(a, b, left, right)?
                }
                _ => None,
            };
            match key {
                Some((a, b)) if can_hash(&a.get_type(left)?) && a.get_type(left)? == b.get_type(right)? => {
                    keys.push((a, b));
                }
                _ => filters.push(expr),
            }
        }
        let join = Join::try_new(
            Arc::new(self.plan),
            Arc::new(other.plan),
            keys,
            conjunction(filters),
            JoinType::Inner,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        )?;
        Ok(Self { plan: LogicalPlan::Join(join), tables, estimate })
    }
}

/// Returns whether a join is one of a group: inner or implicit, and without NULLs that equal each other.
fn is_plain(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.null_equality == NullEquality::NullEqualsNothing && !join.null_aware
}

fn only_reorders(projection: &Projection) -> bool {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
    let columns = projection.input.schema().columns();
    let kept: HashSet<Column> = projection.expr.iter().flat_map(Expr::column_refs).cloned().collect();
    matches!(projection.input.as_ref(), LogicalPlan::Join(join) if is_plain(join))
        && projection.expr.iter().all(is_column)
        && projection.expr.len() == columns.len()
        && kept.len() == columns.len()
        && projection.schema.columns().iter().all(|column| kept.contains(column))
}

fn has_subquery(expr: &Expr) -> bool {
    let is_one = |part: &Expr| Ok(is_subquery(part) || matches!(part, Expr::OuterReferenceColumn(..)));
    expr.dyn_exists(is_one).unwrap_or(true)
}

/// Returns whether each column has a name of its own, so that a name means the same in every order.
fn has_distinct_names(tables: &[LogicalPlan]) -> bool {
    let mut names = HashMap::new();
    for column in tables.iter().flat_map(|table| table.schema().columns()) {
        let qualifiers: &mut Vec<_> = names.entry(column.name).or_default();
        // A name without qualifier could mean any of them.
        let is_ambiguous = qualifiers.contains(&column.relation)
            || qualifiers.contains(&None)
            || (column.relation.is_none() && !qualifiers.is_empty());
        if is_ambiguous {
            return false;
        }
        qualifiers.push(column.relation);
    }
    true
}

fn conditions_of(conditions: Vec<Expr>, tables: &[LogicalPlan]) -> Vec<Condition> {
    let of_expr = |expr: &Expr| -> TableSet {
        let of_column = |column: &&Column| tables.iter().position(|table| table.schema().has_column(column));
        expr.column_refs().iter().filter_map(of_column).fold(0, |set, at| set | 1 << at)
    };
    let condition = |expr: Expr| {
        let sides = match &expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                let (left, right) = (of_expr(left), of_expr(right));
                (left != 0 && right != 0 && left & right == 0).then_some((left, right))
            }
            _ => None,
        };
        Condition { tables: of_expr(&expr), sides, expr }
    };
    let mut known = HashSet::new();
    conditions.into_iter().filter(|expr| known.insert(expr.clone())).map(condition).collect()
}

/// Takes the conditions that need these tables at most.
fn taken(conditions: &mut Vec<Condition>, tables: TableSet) -> Vec<Condition> {
    let (own, others) = std::mem::take(conditions)
        .into_iter()
        .partition(|condition| condition.tables != 0 && condition.tables & !tables == 0);
    *conditions = others;
    own
}

/// The conditions that a join of two parts can check.
fn between(conditions: &[Condition], left: TableSet, right: TableSet) -> impl Iterator<Item = &Expr> {
    conditions.iter().filter(move |condition| condition.tables & !(left | right) == 0).map(|condition| &condition.expr)
}

/// The two parts that are joined next: those with the fewest rows among the ones with an equality, otherwise the
/// smallest two.
fn next_pair(parts: &[Joined], conditions: &[Condition]) -> (usize, usize) {
    let part_of = |tables: TableSet| parts.iter().position(|part| tables & !part.tables == 0);
    let mut best: Option<(f64, (usize, usize))> = None;
    let mut seen = HashSet::new();
    for condition in conditions {
        let Some((left, right)) = condition.sides else { continue };
        let (Some(left), Some(right)) = (part_of(left), part_of(right)) else { continue };
        let pair = (left.min(right), left.max(right));
        if left == right || !seen.insert(pair) {
            continue;
        }
        let (a, b) = (&parts[pair.0], &parts[pair.1]);
        let rows = a.estimate.joined(&b.estimate, between(conditions, a.tables, b.tables)).rows;
        let is_better = best.is_none_or(|(fewest, first)| rows < fewest || (rows == fewest && pair < first));
        if is_better {
            best = Some((rows, pair));
        }
    }
    if let Some((_, pair)) = best {
        return pair;
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| parts[*a].estimate.rows.total_cmp(&parts[*b].estimate.rows));
    (order[0].min(order[1]), order[0].max(order[1]))
}

fn filtered(plan: LogicalPlan, conditions: impl IntoIterator<Item = Expr>) -> Result<LogicalPlan> {
    match conjunction(conditions) {
        Some(condition) => Filter::try_new(condition, Arc::new(plan)).map(LogicalPlan::Filter),
        None => Ok(plan),
    }
}
