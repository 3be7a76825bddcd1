//! Resolves `a.b[1]`: an element of a column, or a field of a record.

use super::context::Frame;
use super::names::ident;
use datafusion::sql::sqlparser::ast::{AccessExpr, Expr};
use std::borrow::Cow;

/// Returns the accessed expression and the accesses to apply to it. The parser reads `a.b[1]` as the field `b` of `a`;
/// if `a.b` is a column, it is an element of that column.
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
