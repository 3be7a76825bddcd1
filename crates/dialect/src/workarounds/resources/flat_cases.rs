//! `CASE WHEN a THEN x ELSE CASE WHEN b THEN y ELSE z END END`, which becomes one `CASE` with both conditions.
//!
//! DataFusion 55.2 renumbers the columns of a `CASE` when it builds one, and builds those inside it anew for that. Of
//! thirty `CASE`s in each other, over different columns, the innermost one would be built a billion times. Those in
//! another place than `ELSE` are counted ([`repeated_parts`](super::repeated_parts)).
//!
//! No upstream issue known: DataFusion does so since [#18329](https://github.com/apache/datafusion/pull/18329).

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Runs after projections have been merged, which puts expressions into each other.
#[derive(Debug)]
pub(crate) struct FlatCases;

impl OptimizerRule for FlatCases {
    fn name(&self) -> &str {
        "flat_cases"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let names = NamePreserver::new(&plan);
        plan.dyn_map_expressions(|expr| {
            if !expr.dyn_exists(|part| Ok(matches!(part, Expr::Case(case) if continues(case))))? {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let flat = expr.dyn_transform_up(|part| Ok(flattened(part)))?;
            Ok(flat.update_data(|expr| name.restore(expr)))
        })
    }
}

/// Returns whether the `ELSE` of a `CASE` is a `CASE` that continues it: both have conditions, and no operand.
pub(super) fn continues(case: &Case) -> bool {
    case.expr.is_none() && matches!(case.else_expr.as_deref(), Some(Expr::Case(inner)) if inner.expr.is_none())
}

/// Makes one `CASE` of an expression and the one that continues it, which is flat itself.
fn flattened(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::Case(Case { expr: operand, mut when_then_expr, else_expr: Some(other) }) => match (operand, *other) {
            (None, Expr::Case(Case { expr: None, when_then_expr: later, else_expr })) => {
                when_then_expr.extend(later);
                Transformed::yes(Expr::Case(Case::new(None, when_then_expr, else_expr)))
            }
            (operand, other) => Transformed::no(Expr::Case(Case::new(operand, when_then_expr, Some(Box::new(other))))),
        },
        other => Transformed::no(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};
    use datafusion::optimizer::OptimizerContext;

    fn case(condition: Expr, result: Expr, other: Expr) -> Expr {
        Expr::Case(Case::new(None, vec![(Box::new(condition), Box::new(result))], Some(Box::new(other))))
    }

    #[test]
    fn thirty_nested_cases_become_one() -> Result<()> {
        let names: Vec<String> = (0..30).map(|at| format!("c{at}")).collect();
        let columns =
            (1..=30).map(|at| col(format!("column{at}"))).zip(&names).map(|(column, name)| column.alias(name));
        let rows = LogicalPlanBuilder::values(vec![vec![lit(1); 30]])?.project(columns)?;
        let nested = names.iter().rev().fold(lit(0), |inner, name| case(col(name).eq(lit(2)), col(name), inner));
        let plan = rows.project(vec![nested.alias("x")])?.build()?;

        let flat = FlatCases.rewrite(plan, &OptimizerContext::new())?;
        assert!(flat.transformed);
        let LogicalPlan::Projection(projection) = &flat.data else { panic!("{}", flat.data) };
        let Expr::Alias(alias) = &projection.expr[0] else { panic!("{}", projection.expr[0]) };
        let Expr::Case(case) = alias.expr.as_ref() else { panic!("{}", alias.expr) };
        assert_eq!((case.when_then_expr.len(), case.else_expr.as_deref()), (30, Some(&lit(0))));

        let again = FlatCases.rewrite(flat.data, &OptimizerContext::new())?;
        assert!(!again.transformed);
        Ok(())
    }

    #[test]
    fn one_with_an_operand_stays() {
        let inner = case(col("a").eq(lit(1)), lit(1), lit(2));
        let whens = vec![(Box::new(lit(3)), Box::new(lit(4)))];
        let outer = Expr::Case(Case::new(Some(Box::new(col("b"))), whens, Some(Box::new(inner))));
        let flat = flattened(outer.clone());
        assert!(!flat.transformed);
        assert_eq!(flat.data, outer);
    }
}
