//! Operators between values with an order of their own. A constant beside such a value is read as one. Where the order
//! matters, the keys of values are compared. Other operators than comparisons and `||` do not exist for labels; those
//! of [addresses](super::address_operands) and of [ranges](super::range_operands) have been planned. Networks and
//! addresses are compared as addresses.

use super::own_order::{
    address_type_of, described, name_of_type, no_operator, order_key, ordered_type_of, require_common_type,
    require_order, shown_name,
};
use crate::functions::addresses::address_text::{read, written};
use crate::functions::addresses::functions::{AddressCall, address_function};
use crate::functions::base::arguments::is_text;
use crate::functions::base::text_types::{AddressType, TextType};
use crate::functions::ranges::range_text;
use crate::functions::types::declared::reading;
use crate::functions::types::type_names::name_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use crate::workarounds::declared::texts::compares;
use crate::workarounds::shared::compared_rows::{columns_of_rows, is_row};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList, InSubquery, Like, SetComparison};
use datafusion::logical_expr::{Expr, Operator, Subquery, lit};

pub(super) fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => settle(vec![left, right], *op, schema)?,
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            as_text(left, schema) | as_text(right, schema)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let is_known = matches!(op, Operator::And | Operator::Or);
            if !is_known {
                refuse_operands(left, &op.to_string(), right, schema)?;
            }
            false
        }
        Expr::Between(Between { expr, low, high, .. }) => settle(vec![expr, low, high], Operator::LtEq, schema)?,
        Expr::InList(InList { expr, list, .. }) => {
            settle(std::iter::once(&mut **expr).chain(list).collect(), Operator::Eq, schema)?
        }
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let results = when_then_expr.iter().map(|(_, result)| &**result).chain(else_expr.as_deref());
            require_common_type("CASE", &results.collect::<Vec<_>>(), schema)?;
            match expr {
                Some(expr) => {
                    let whens = when_then_expr.iter_mut().map(|(when, _)| &mut **when);
                    settle(std::iter::once(&mut **expr).chain(whens).collect(), Operator::Eq, schema)?
                }
                None => false,
            }
        }
        Expr::Like(Like { expr, pattern, .. }) | Expr::SimilarTo(Like { expr, pattern, .. }) => {
            refuse_operands(expr, "~~", pattern, schema)?;
            false
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. }) => {
            require_members(expr, subquery, schema)?;
            false
        }
        Expr::SetComparison(SetComparison { expr, op, subquery, .. }) => {
            let of = ordered_type_of(expr, schema);
            if of.as_ref().is_none_or(TextType::excludes_texts) {
                require_members(expr, subquery, schema)?;
            }
            if let Some(of) = of
                && !matches!(op, Operator::Eq | Operator::NotEq)
            {
                let what = format!("the order of {} with ANY or ALL of a query", described(&of));
                return Err(external(not_supported(what).with_hint("compare with min(x) or max(x) of the query")));
            }
            false
        }
        Expr::Cast(cast) => {
            refuse_cast(&cast.expr, cast.field.data_type(), schema)?;
            false
        }
        Expr::TryCast(cast) => {
            if TextType::of(&cast.field).is_some_and(|of| of.has_own_order()) {
                return Err(external(not_supported("TRY_CAST to an enumerated type").with_hint("use CAST")));
            }
            refuse_cast(&cast.expr, cast.field.data_type(), schema)?;
            false
        }
        _ => false,
    };
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Makes a text of an address, as a cast does. Returns whether it was one.
fn as_text(operand: &mut Expr, schema: &DFSchema) -> bool {
    let is_address = address_type_of(operand, schema).is_some();
    if is_address {
        *operand = address_function(AddressCall::Text).call(vec![std::mem::take(operand)]);
    }
    is_address
}

/// Requires that the members of a query have the type of the value that is looked for among them.
fn require_members(value: &Expr, query: &Subquery, schema: &DFSchema) -> Result<()> {
    let fields = query.subquery.schema().fields();
    let members = fields.iter().map(|field| TextType::of(field).filter(TextType::has_own_order));
    let values = match value {
        Expr::ScalarFunction(row) if is_row(value) => row.args.as_slice(),
        value => std::slice::from_ref(value),
    };
    for (value, member) in values.iter().zip(members) {
        let of = ordered_type_of(value, schema);
        let may_differ = |of: &Option<TextType>| of.as_ref().is_none_or(|of| !of.excludes_texts());
        // A label may be looked for among texts.
        if of != member && !(of.is_none() && may_differ(&member)) {
            let name = |of: &Option<TextType>| of.as_ref().map_or("text", shown_name).to_owned();
            return Err(no_operator(&name(&of), "=", &name(&member)));
        }
    }
    Ok(())
}

/// A value with an order of its own is cast to a text alone.
fn refuse_cast(value: &Expr, to: &DataType, schema: &DFSchema) -> Result<()> {
    match ordered_type_of(value, schema).filter(|_| !is_text(to) && !to.is_null()) {
        Some(of) => Err(external(
            sql_error(format!("cannot cast type {} to {}", shown_name(&of), name_of(to)))
                .with_hint("cast it to TEXT first"),
        )),
        None => Ok(()),
    }
}

fn refuse_operands(left: &Expr, operator: &str, right: &Expr, schema: &DFSchema) -> Result<()> {
    match [left, right].iter().any(|operand| ordered_type_of(operand, schema).is_some()) {
        true => Err(no_operator(&name_of_type(left, schema), operator, &name_of_type(right, schema))),
        false => Ok(()),
    }
}

/// Settles expressions that are compared with each other, or rows of them. Returns whether something changed.
pub(super) fn settle(exprs: Vec<&mut Expr>, operator: Operator, schema: &DFSchema) -> Result<bool> {
    if exprs.iter().all(|expr| is_row(expr)) {
        return columns_of_rows(exprs)
            .into_iter()
            .try_fold(false, |changed, column| Ok(settle(column, operator, schema)? | changed));
    }
    let Some(of) = exprs.iter().find_map(|expr| ordered_type_of(expr, schema)) else { return Ok(false) };
    let is_network = |expr: &&mut Expr| address_type_of(expr, schema) == Some(AddressType::Cidr);
    let of = match of {
        // PostgreSQL has operators of `inet` alone.
        TextType::Address(_) if !exprs.iter().all(is_network) => TextType::Address(AddressType::Inet),
        of => of,
    };
    settle_as(&of, exprs, operator, schema)
}

/// Settles expressions that become values of a type. Returns whether something changed.
pub(super) fn settle_as(of: &TextType, exprs: Vec<&mut Expr>, operator: Operator, schema: &DFSchema) -> Result<bool> {
    let is_ordered = matches!(operator, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq);
    if is_ordered {
        require_order(of)?;
    }
    let has_key = is_ordered || of.has_several_texts();
    let types: Vec<String> = exprs.iter().map(|expr| name_of_type(expr, schema)).collect();
    let mut is_changed = false;
    for expr in exprs {
        let own = ordered_type_of(expr, schema);
        let is_constant = matches!(expr, Expr::Literal(..));
        let value = match std::mem::take(expr) {
            value if own.as_ref() == Some(of) => value,
            network if own.as_ref().is_some_and(|own| own.address().is_some()) && of.address().is_some() => {
                reading(of.clone()).call(vec![network])
            }
            value => match constant(value, of)? {
                Some(value) => value,
                None => {
                    let operator = operator.to_string();
                    let right = types.get(1).map_or("unknown", String::as_str);
                    return Err(no_operator(&types[0], &operator, right));
                }
            },
        };
        let is_kept = own.as_ref() == Some(of) || (is_constant && !of.excludes_texts());
        is_changed |= has_key || !is_kept;
        *expr = if has_key { order_key(of, value) } else { value };
    }
    Ok(is_changed)
}

/// A constant or a parameter as a value of a type; `None` for a value of another type.
fn constant(value: Expr, of: &TextType) -> Result<Option<Expr>> {
    Ok(match value {
        // The value of a parameter may have the type of a mapped column.
        Expr::Literal(ScalarValue::Dictionary(_, text), metadata) => {
            return constant(Expr::Literal(*text, metadata), of);
        }
        text @ Expr::Literal(ScalarValue::Utf8(Some(_)) | ScalarValue::Utf8View(Some(_)), _)
            if of.search().is_some() =>
        {
            Some(reading(of.clone()).call(vec![text]))
        }
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            Some(lit(text_of_constant(text, of).map_err(external)?))
        }
        Expr::Literal(value, _) if value.is_null() => Some(lit(ScalarValue::Utf8(None))),
        // Its value is inserted later, into a plan that is kept.
        parameter @ Expr::Placeholder(_) => Some(reading(of.clone()).call(vec![parameter])),
        _ => None,
    })
}

/// The text that a value has, which is written as this text.
fn text_of_constant(text: String, of: &TextType) -> atsdb_core::Result<String> {
    match of {
        TextType::Enum(of) => of.require(&text).map(|()| text),
        TextType::Address(of) => Ok(written(read(&text, *of)?, *of)),
        TextType::Range(of) => Ok(range_text::written(range_text::read(&text, *of)?, *of)),
        TextType::Uuid | TextType::Json | TextType::Jsonb | TextType::Search(_) | TextType::Char(_) => Ok(text),
    }
}
