//! Subqueries in the expressions of `DISTINCT ON`: they become columns of its input.

use super::domain::Names;
use crate::text::plan_subqueries::has_subquery;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::DistinctOn;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use std::sync::Arc;

/// The input with the columns, and the step without subqueries over it.
pub(super) fn computed_below(on: &DistinctOn, names: &Names) -> Result<(LogicalPlan, DistinctOn)> {
    let mut computed = ComputedColumns { columns: Vec::new(), names };
    let on_expr = on.on_expr.iter().map(|expr| computed.column_for(expr)).collect();
    let named = |expr: &Expr, computed: &mut ComputedColumns<'_>| -> Expr {
        let (relation, name) = expr.qualified_name();
        let column = computed.column_for(expr);
        if column == *expr { column } else { column.alias_qualified(relation, name) }
    };
    let select_expr = on.select_expr.iter().map(|expr| named(expr, &mut computed)).collect();
    let sorted = |by: &SortExpr, computed: &mut ComputedColumns<'_>| -> SortExpr {
        SortExpr::new(computed.column_for(&by.expr), by.asc, by.nulls_first)
    };
    let sort_expr = on.sort_expr.as_ref().map(|keys| keys.iter().map(|by| sorted(by, &mut computed)).collect());
    let own = on.input.schema().columns().into_iter().map(Expr::Column);
    let added = computed.columns.into_iter().map(|(expr, name)| expr.alias(name));
    let input = LogicalPlanBuilder::from(on.input.as_ref().clone()).project(own.chain(added).collect::<Vec<_>>())?;
    let input = input.build()?;
    let schema = Arc::clone(&on.schema);
    let on = DistinctOn { on_expr, select_expr, sort_expr, input: Arc::clone(&on.input), schema };
    Ok((input, on))
}

/// Expressions over subqueries, and the names of their columns.
struct ComputedColumns<'a> {
    columns: Vec<(Expr, String)>,
    names: &'a Names,
}

impl ComputedColumns<'_> {
    /// The column that an expression becomes; the expression itself if it has no subquery.
    fn column_for(&mut self, expr: &Expr) -> Expr {
        if !has_subquery(expr) {
            return expr.clone();
        }
        let known = self.columns.iter().find(|(other, _)| other == expr).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = self.names.next("computed");
            self.columns.push((expr.clone(), name.clone()));
            name
        });
        Expr::Column(Column::new_unqualified(name))
    }
}
