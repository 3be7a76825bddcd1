//! Parts of values: elements and slices of arrays, fields of records.

use super::context::{Context, Frame};
use super::evaluate::{evaluate, evaluate_int, no_column};
use super::names::ident;
use super::typing::first_subscript;
use super::value::Value;
use crate::pg::error::PgError;
use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Subscript};
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

/// The value of an access.
pub(super) fn access(
    context: &Context<'_>,
    root: &Expr,
    chain: &[AccessExpr],
    frame: &Frame<'_>,
) -> Result<Value, PgError> {
    let (root, chain) = split(root, chain, frame);
    let first = first_subscript(context, &root, frame);
    let value = evaluate(context, &root, frame)?;
    chain.iter().try_fold(value, |value, part| of_part(context, &value, part, first, frame))
}

fn of_part(
    context: &Context<'_>,
    value: &Value,
    part: &AccessExpr,
    first: i64,
    frame: &Frame<'_>,
) -> Result<Value, PgError> {
    match (value, part) {
        (Value::Null, _) => Ok(Value::Null),
        // The records that there are have the fields of _pg_expandarray.
        (Value::Record(parts), AccessExpr::Dot(Expr::Identifier(name))) => match ident(name).as_str() {
            "x" => Ok(parts.first().cloned().unwrap_or(Value::Null)),
            "n" => Ok(parts.get(1).cloned().unwrap_or(Value::Null)),
            other => Err(no_column(other)),
        },
        (Value::Array(items), AccessExpr::Subscript(Subscript::Index { index })) => {
            let index = evaluate_int(context, index, frame)?;
            let position = index.and_then(|index| usize::try_from(index.checked_sub(first)?).ok());
            Ok(position.and_then(|position| items.get(position)).cloned().unwrap_or(Value::Null))
        }
        (Value::Array(items), AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. })) => {
            let bound = |bound: &Option<Expr>, otherwise: i64| match bound {
                Some(bound) => evaluate_int(context, bound, frame).map(|found| found.unwrap_or(otherwise)),
                None => Ok(otherwise),
            };
            let last = first + items.len() as i64 - 1;
            let (lower, upper) = (bound(lower_bound, first)?, bound(upper_bound, last)?);
            let numbered = (first..).zip(items).filter(|(number, _)| (lower..=upper).contains(number));
            Ok(Value::Array(numbered.map(|(_, item)| item.clone()).collect()))
        }
        _ => Err(PgError::not_supported("this access over the catalogue")),
    }
}
