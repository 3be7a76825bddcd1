//! Expressions whose values have an order of their own: their types, and the keys by which they are sorted.

use crate::functions::addresses::functions::{AddressCall, address_function};
use crate::functions::base::text_types::{AddressType, RangeType, TextType};
use crate::functions::ranges::calls::RangeCall;
use crate::functions::ranges::functions::range_function;
use crate::functions::types::declared::{is_untyped, text_type_of};
use crate::functions::types::enumerations::{EnumCall, enum_call};
use crate::functions::types::type_names::{CHAR_NAME, type_name};
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use crate::text::plan_walk::DynWalk;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, ExprSchemable};

/// The type of an expression's values, if it has an order of its own.
pub(super) fn ordered_type_of(expr: &Expr, schema: &DFSchema) -> Option<TextType> {
    text_type_of(expr, schema).filter(TextType::has_own_order)
}

/// The type of an expression's values, if they are ranges.
pub(super) fn range_type_of(expr: &Expr, schema: &DFSchema) -> Option<RangeType> {
    text_type_of(expr, schema)?.range()
}

/// The type of an expression's values, if they are addresses.
pub(super) fn address_type_of(expr: &Expr, schema: &DFSchema) -> Option<AddressType> {
    text_type_of(expr, schema)?.address()
}

/// PostgreSQL's name of a type that has an order of its own.
pub(super) fn shown_name(of: &TextType) -> &str {
    match of {
        TextType::Enum(of) => of.shown_name(),
        TextType::Address(of) => of.name(),
        TextType::Range(of) => of.name(),
        TextType::Search(of) => of.name(),
        TextType::Uuid => "uuid",
        TextType::Json => "json",
        TextType::Jsonb => "jsonb",
        TextType::Char(_) => CHAR_NAME,
    }
}

/// Returns the words for a type with an order of its own in messages, such as `the enumerated type mood`.
pub(super) fn described(of: &TextType) -> String {
    match of {
        TextType::Enum(of) => format!("the enumerated type {}", of.shown_name()),
        of => format!("the type {}", shown_name(of)),
    }
}

/// Refuses an order of values that have none here.
pub(super) fn require_order(of: &TextType) -> Result<()> {
    match of {
        TextType::Search(of) => Err(external(
            not_supported(format_args!("the order of values of the type {}", of.name()))
                .with_hint("order by ts_rank(...), or by the text: CAST(x AS TEXT)"),
        )),
        _ => Ok(()),
    }
}

/// The key of a value in the order of its type: the position of a label, or the bytes of an address or range.
pub(super) fn order_key(of: &TextType, value: Expr) -> Expr {
    match of {
        TextType::Enum(of) => enum_call(EnumCall::Rank, of).call(vec![value]),
        TextType::Address(_) => address_function(AddressCall::Key).call(vec![value]),
        TextType::Range(of) => range_function(RangeCall::Key, Some(*of)).call(vec![value]),
        TextType::Uuid | TextType::Json | TextType::Jsonb | TextType::Search(_) | TextType::Char(_) => value,
    }
}

/// The value with a key. Ranges are chosen by functions of their own.
pub(super) fn of_order_key(of: &TextType, key: Expr) -> Expr {
    match of {
        TextType::Enum(of) => enum_call(EnumCall::Label, of).call(vec![key]),
        TextType::Address(of) => address_function(AddressCall::OfKey(*of)).call(vec![key]),
        TextType::Uuid
        | TextType::Json
        | TextType::Jsonb
        | TextType::Range(_)
        | TextType::Search(_)
        | TextType::Char(_) => key,
    }
}

/// A key by which rows are sorted: for a value with an order of its own, its key in that order.
pub(super) fn ranked(key: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Some(of) = ordered_type_of(&key, schema) {
        require_order(&of)?;
        return Ok(Transformed::yes(order_key(&of, key.unalias())));
    }
    let mut found = None;
    if key.get_type(schema).is_ok_and(|of| of.is_nested()) {
        key.dyn_exists(|part| {
            found = ordered_type_of(part, schema);
            Ok(found.is_some())
        })?;
    }
    match found {
        Some(of) => Err(external(
            not_supported(format_args!("ORDER BY a row with a value of {}", described(&of)))
                .with_hint("ORDER BY its columns"),
        )),
        None => Ok(Transformed::no(key)),
    }
}

/// Replaces values among keys by their keys in the order of their type. Returns whether there were any.
pub(super) fn rank_keys<'a>(keys: impl Iterator<Item = &'a mut Sort>, schema: &DFSchema) -> Result<bool> {
    let mut is_changed = false;
    for key in keys {
        let settled = ranked(std::mem::take(&mut key.expr), schema)?;
        is_changed |= settled.transformed;
        key.expr = settled.data;
    }
    Ok(is_changed)
}

/// PostgreSQL's name of the type of an expression, for messages.
pub(super) fn name_of_type(expr: &Expr, schema: &DFSchema) -> String {
    match ordered_type_of(expr, schema) {
        Some(of) => shown_name(&of).to_owned(),
        None => expr.to_field(schema).map_or_else(|_| "unknown".to_owned(), |(_, field)| type_name(&field)),
    }
}

/// The error for an operator that values with an order of their own do not have.
pub(super) fn no_operator(left: &str, operator: &str, right: &str) -> DataFusionError {
    let error = sql_error(format!("operator does not exist: {left} {operator} {right}"));
    external(error.with_hint("compare values of one type, or their texts: CAST(x AS TEXT)"))
}

/// The error for values of two types where they must have one in common.
pub(super) fn no_common_type(what: &str, left: &str, right: &str) -> DataFusionError {
    let error = sql_error(format!("{what} types {left} and {right} cannot be matched"));
    external(error.with_hint(format!("cast both to one type, as in CAST(x AS {})", left.to_uppercase())))
}

/// Refuses results of several types, which would be texts, if one of them excludes texts.
pub(super) fn require_common_type(what: &str, results: &[&Expr], schema: &DFSchema) -> Result<()> {
    let typed: Vec<&&Expr> = results.iter().filter(|result| !is_untyped(result)).collect();
    let first = typed.iter().find(|result| text_type_of(result, schema).is_some_and(|of| of.excludes_texts()));
    let Some(first) = first else { return Ok(()) };
    let of = text_type_of(first, schema);
    match typed.iter().find(|result| text_type_of(result, schema) != of) {
        Some(other) => Err(no_common_type(what, &name_of_type(first, schema), &name_of_type(other, schema))),
        None => Ok(()),
    }
}
