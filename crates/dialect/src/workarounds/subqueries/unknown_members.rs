//! `x IN (SELECT ...)` that may be NULL. DataFusion turns it into a join whose mark is true or false. That is right
//! where a condition selects rows, but not under `NOT`, `IS NULL` or in a `CASE`. There it becomes
//! `x IN q OR (NULL AND (x IS NULL AND EXISTS q OR EXISTS (q WHERE its column IS NULL)))`. A `NOT IN` whose subquery
//! mentions outer columns becomes so everywhere, because DataFusion's join for `NOT IN` accepts no second key.
//!
//! Waits for [#8241](https://github.com/apache/datafusion/issues/8241) and
//! [#25347](https://github.com/apache/datafusion/issues/25347).
//! [#21309](https://github.com/apache/datafusion/issues/21309), about marks that may be NULL, is closed upstream.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::logical_plan::{Filter, Subquery};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, and, lit, not, or,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct UnknownMembers;

impl AnalyzerRule for UnknownMembers {
    fn name(&self) -> &str {
        "unknown_members"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let predicate = condition(predicate, input.schema(), TruthContext::Conjunct)?;
                Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
            }
            other => Ok(Transformed::no(other)),
        })
        .data()
    }
}

/// How the truth value of a condition is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TruthContext {
    /// A row is kept only if this condition is true. DataFusion's join is right here for `NOT IN`, too.
    Conjunct,
    /// A context in which false and NULL have the same effect.
    Positive,
    /// A context in which false and NULL may have different effects.
    Other,
}

fn condition(expr: Expr, schema: &DFSchema, context: TruthContext) -> Result<Expr> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let below = match (context, op) {
                (TruthContext::Conjunct, Operator::Or) => TruthContext::Positive,
                (context, _) => context,
            };
            let (left, right) = (condition(*left, schema, below)?, condition(*right, schema, below)?);
            Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) })
        }
        Expr::Not(inner) => match (*inner, context) {
            (Expr::InSubquery(member), TruthContext::Conjunct) => {
                let negated = !member.negated;
                condition(Expr::InSubquery(InSubquery { negated, ..member }), schema, context)?
            }
            (inner, _) => not(condition(inner, schema, TruthContext::Other)?),
        },
        Expr::InSubquery(member) => {
            let is_correlated = !member.subquery.outer_ref_columns.is_empty();
            let is_right = match context {
                TruthContext::Conjunct => !(member.negated && is_correlated),
                TruthContext::Positive => !member.negated,
                TruthContext::Other => false,
            };
            if is_right { Expr::InSubquery(member) } else { three_valued(member, schema)? }
        }
        other => {
            let below = |expr: Expr| match expr {
                Expr::InSubquery(member) => three_valued(member, schema).map(Transformed::yes),
                other => Ok(Transformed::no(other)),
            };
            other.dyn_transform_up(below)?.data
        }
    })
}

fn three_valued(member: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = member;
    let (qualifier, field) = subquery.subquery.schema().qualified_field(0);
    let column = Expr::Column(Column::from((qualifier, field)));
    let (may_miss, may_lack) = (expr.nullable(schema).unwrap_or(true), field.is_nullable());
    let exists = |subquery: Subquery| Expr::Exists(Exists { subquery, negated: false });
    let mut unknown = None;
    if may_miss {
        unknown = Some(and(expr.as_ref().clone().is_null(), exists(subquery.clone())));
    }
    if may_lack {
        let nulls = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone()).filter(column.is_null())?.build()?;
        let nulls = exists(Subquery { subquery: Arc::new(nulls), ..subquery.clone() });
        unknown = Some(match unknown {
            Some(other) => or(other, nulls),
            None => nulls,
        });
    }
    let is_correlated = !subquery.outer_ref_columns.is_empty();
    let found = Expr::InSubquery(InSubquery { expr, subquery, negated: false });
    // `IS TRUE` keeps the optimizer from moving a negation into it.
    let found = if is_correlated { found.is_true() } else { found };
    let known = match unknown {
        Some(unknown) => or(found, and(lit(ScalarValue::Boolean(None)), unknown)),
        None => found,
    };
    Ok(if negated { not(known) } else { known })
}
