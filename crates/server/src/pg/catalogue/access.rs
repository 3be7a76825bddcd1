//! What `a.b[1]` means: an element of a column, or a field of a record.

use super::context::Frame;
use super::names::ident;
use datafusion::sql::sqlparser::ast::{AccessExpr, Expr};
use std::borrow::Cow;

/// What is accessed, and how. `a.b[1]` is read as the field `b` of `a`, where it is an element of the column `a.b`.
pub(super) fn split<'a>(
    root: &'a Expr,
    chain: &'a [AccessExpr],
    frame: &Frame<'_>,
) -> (Cow<'a, Expr>, &'a [AccessExpr]) {
    if let (Expr::Identifier(table), [AccessExpr::Dot(Expr::Identifier(column)), rest @ ..]) = (root, chain)
        && frame.column(Some(&ident(table)), &ident(column)).is_some()
    {
        return (Cow::Owned(Expr::CompoundIdentifier(vec![table.clone(), column.clone()])), rest);
    }
    (Cow::Borrowed(root), chain)
}
