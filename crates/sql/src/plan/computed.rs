//! Finds out which columns of a query are computed. A column of a table keeps its type in `CREATE TABLE ... AS`, and a
//! cast says one, but the type of a computed decimal follows from the numbers in the expression only.

use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};

/// For each column of a plan that was not optimized yet, whether it is computed.
pub(crate) fn computed_columns(plan: &LogicalPlan) -> Vec<bool> {
    (0..plan.schema().fields().len()).map(|column| is_computed(plan, column)).collect()
}

fn is_computed(plan: &LogicalPlan, column: usize) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => of_expression(&projection.expr[column], &projection.input),
        LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.get(column) {
            Some(group) => of_expression(group, &aggregate.input),
            None => true,
        },
        LogicalPlan::Window(window) => {
            column >= window.input.schema().fields().len() || is_computed(&window.input, column)
        }
        LogicalPlan::Join(join) => {
            let left_columns = join.left.schema().fields().len();
            match (column.checked_sub(left_columns), join.join_type) {
                (_, JoinType::RightSemi | JoinType::RightAnti) => is_computed(&join.right, column),
                (Some(column), _) if column < join.right.schema().fields().len() => is_computed(&join.right, column),
                (Some(_), _) => true,
                (None, _) => is_computed(&join.left, column),
            }
        }
        LogicalPlan::Union(union) => {
            let data_type = |input: &LogicalPlan| input.schema().field(column).data_type().clone();
            let first = union.inputs.first().map(|input| data_type(input));
            union.inputs.iter().any(|input| is_computed(input, column) || Some(data_type(input)) != first)
        }
        LogicalPlan::Distinct(Distinct::On(distinct)) => of_expression(&distinct.select_expr[column], &distinct.input),
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => is_computed(plan.inputs()[0], column),
        LogicalPlan::Values(_) => true,
        _ => false,
    }
}

fn of_expression(expr: &Expr, input: &LogicalPlan) -> bool {
    match expr {
        Expr::Alias(alias) => of_expression(&alias.expr, input),
        Expr::Column(column) => match input.schema().maybe_index_of_column(column) {
            Some(at) => is_computed(input, at),
            None => true,
        },
        Expr::Cast(_) | Expr::TryCast(_) => false,
        _ => true,
    }
}
