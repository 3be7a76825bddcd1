//! Rows of values that are compared with each other: `(a, b) = (c, d)`.

use datafusion::logical_expr::Expr;

/// Returns whether an expression is a row, such as `(a, b)`.
pub(crate) fn is_row(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == "struct")
}

/// The members of rows, column by column: those that are compared with each other.
pub(crate) fn columns_of_rows(rows: Vec<&mut Expr>) -> Vec<Vec<&mut Expr>> {
    let mut columns: Vec<Vec<&mut Expr>> = Vec::new();
    for row in rows {
        let Expr::ScalarFunction(row) = row else { continue };
        columns.resize_with(columns.len().max(row.args.len()), Vec::new);
        columns.iter_mut().zip(&mut row.args).for_each(|(column, member)| column.push(member));
    }
    columns
}
