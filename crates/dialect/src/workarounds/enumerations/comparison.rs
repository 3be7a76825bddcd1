//! Operators between values of enumerated types. A constant beside such a value is read as a label. Where the order
//! matters, the positions of labels are compared. Other operators than comparisons and `||` do not exist.

use super::labels::{enumeration_of, name_of_type, no_operator, rank};
use crate::functions::base::text_types::TextType;
use crate::functions::types::declared::reading;
use crate::functions::types::type_names::name_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use crate::workarounds::declared::texts::compares;
use atsdb_core::Enumeration;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList, InSubquery, Like, SetComparison};
use datafusion::logical_expr::{Expr, Operator, lit};
use std::sync::Arc;

pub(super) fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => settle(vec![left, right], *op, schema)?,
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let is_known = matches!(op, Operator::StringConcat | Operator::And | Operator::Or);
            if !is_known {
                refuse_labels(left, &op.to_string(), right, schema)?;
            }
            false
        }
        Expr::Between(Between { expr, low, high, .. }) => settle(vec![expr, low, high], Operator::LtEq, schema)?,
        Expr::InList(InList { expr, list, .. }) => {
            settle(std::iter::once(&mut **expr).chain(list).collect(), Operator::Eq, schema)?
        }
        Expr::Case(Case { expr: Some(expr), when_then_expr, .. }) => {
            let whens = when_then_expr.iter_mut().map(|(when, _)| &mut **when);
            settle(std::iter::once(&mut **expr).chain(whens).collect(), Operator::Eq, schema)?
        }
        Expr::Like(Like { expr, pattern, .. }) | Expr::SimilarTo(Like { expr, pattern, .. }) => {
            refuse_labels(expr, "~~", pattern, schema)?;
            false
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. }) => {
            let of_members = TextType::of(subquery.subquery.schema().field(0)).and_then(TextType::enumeration);
            if let Some(of) = enumeration_of(expr, schema)
                && of_members.as_ref() != Some(&of)
            {
                let other = of_members.map_or_else(|| "text".to_owned(), |of| of.shown_name().to_owned());
                return Err(no_operator(of.shown_name(), "=", &other));
            }
            false
        }
        Expr::SetComparison(SetComparison { expr, op, .. }) => {
            if !matches!(op, Operator::Eq | Operator::NotEq) && enumeration_of(expr, schema).is_some() {
                let error = not_supported("the order of an enumerated type with ANY or ALL of a query");
                return Err(external(error.with_hint("compare with min(x) or max(x) of the query")));
            }
            false
        }
        Expr::Cast(cast) => {
            refuse_cast(&cast.expr, cast.field.data_type(), schema)?;
            false
        }
        Expr::TryCast(cast) => {
            if TextType::of(&cast.field).is_some_and(|of| matches!(of, TextType::Enum(_))) {
                return Err(external(not_supported("TRY_CAST to an enumerated type").with_hint("use CAST")));
            }
            refuse_cast(&cast.expr, cast.field.data_type(), schema)?;
            false
        }
        _ => false,
    };
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// A label is cast to a text alone.
fn refuse_cast(value: &Expr, to: &DataType, schema: &DFSchema) -> Result<()> {
    let is_text = match to {
        DataType::Dictionary(_, values) => values.is_string(),
        to => to.is_string() || to.is_null(),
    };
    match enumeration_of(value, schema).filter(|_| !is_text) {
        Some(of) => Err(external(
            sql_error(format!("cannot cast type {} to {}", of.shown_name(), name_of(to)))
                .with_hint("cast it to TEXT first"),
        )),
        None => Ok(()),
    }
}

fn refuse_labels(left: &Expr, operator: &str, right: &Expr, schema: &DFSchema) -> Result<()> {
    match [left, right].iter().any(|operand| enumeration_of(operand, schema).is_some()) {
        true => Err(no_operator(&name_of_type(left, schema), operator, &name_of_type(right, schema))),
        false => Ok(()),
    }
}

/// Settles expressions that are compared with each other, or rows of them. Returns whether something changed.
pub(super) fn settle(exprs: Vec<&mut Expr>, operator: Operator, schema: &DFSchema) -> Result<bool> {
    if exprs.iter().all(|expr| is_row(expr)) {
        let mut columns: Vec<Vec<&mut Expr>> = Vec::new();
        for expr in exprs {
            let Expr::ScalarFunction(row) = expr else { continue };
            columns.resize_with(columns.len().max(row.args.len()), Vec::new);
            columns.iter_mut().zip(&mut row.args).for_each(|(column, member)| column.push(member));
        }
        return columns.into_iter().try_fold(false, |changed, column| Ok(settle(column, operator, schema)? | changed));
    }
    let Some(of) = exprs.iter().find_map(|expr| enumeration_of(expr, schema)) else { return Ok(false) };
    let is_ordered = matches!(operator, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq);
    let types: Vec<String> = exprs.iter().map(|expr| name_of_type(expr, schema)).collect();
    let mut is_changed = false;
    for expr in exprs {
        let own = enumeration_of(expr, schema);
        let is_constant = matches!(expr, Expr::Literal(..));
        let label = match std::mem::take(expr) {
            value if own.as_ref() == Some(&of) => value,
            value => match constant(value, &of)? {
                Some(value) => value,
                None => {
                    let operator = operator.to_string();
                    let right = types.get(1).map_or("unknown", String::as_str);
                    return Err(no_operator(&types[0], &operator, right));
                }
            },
        };
        is_changed |= is_ordered || !is_constant && own.is_none();
        *expr = if is_ordered { rank(&of, label) } else { label };
    }
    Ok(is_changed)
}

/// A constant or a parameter as a label; `None` for a value of another type.
fn constant(value: Expr, of: &Arc<Enumeration>) -> Result<Option<Expr>> {
    Ok(match value {
        // The value of a parameter may have the type of a mapped column.
        Expr::Literal(ScalarValue::Dictionary(_, text), metadata) => {
            return constant(Expr::Literal(*text, metadata), of);
        }
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            of.require(&text).map_err(external)?;
            Some(lit(text))
        }
        Expr::Literal(value, _) if value.is_null() => Some(lit(ScalarValue::Utf8(None))),
        // Its value is inserted later, into a plan that is kept.
        parameter @ Expr::Placeholder(_) => Some(reading(TextType::Enum(Arc::clone(of))).call(vec![parameter])),
        _ => None,
    })
}

/// Whether it is `(a, b)`.
fn is_row(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == "struct")
}
