//! Expressions whose values are labels: their types, and their positions, by which they are sorted.

use crate::functions::base::text_types::TextType;
use crate::functions::types::declared::text_type_of;
use crate::functions::types::enumerations::{EnumCall, enum_call};
use crate::functions::types::type_names::type_name;
use crate::text::datafusion_errors::external;
use crate::text::errors::{not_supported, sql_error};
use crate::text::plan_walk::DynWalk;
use atsdb_core::Enumeration;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, ExprSchemable};
use std::sync::Arc;

/// The enumerated type of an expression's values.
pub(super) fn enumeration_of(expr: &Expr, schema: &DFSchema) -> Option<Arc<Enumeration>> {
    text_type_of(expr, schema).and_then(TextType::enumeration)
}

/// The position of a value in the order of its type.
pub(super) fn rank(of: &Arc<Enumeration>, value: Expr) -> Expr {
    enum_call(EnumCall::Rank, of).call(vec![value])
}

/// A key by which rows are sorted: for a label, its position.
pub(super) fn ranked(key: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Some(of) = enumeration_of(&key, schema) {
        return Ok(Transformed::yes(rank(&of, key.unalias())));
    }
    let is_nested = key.get_type(schema).is_ok_and(|of| of.is_nested());
    let has_label = || key.dyn_exists(|part| Ok(enumeration_of(part, schema).is_some())).unwrap_or(false);
    match is_nested && has_label() {
        true => Err(external(
            not_supported("ORDER BY a row with a value of an enumerated type").with_hint("ORDER BY its columns"),
        )),
        false => Ok(Transformed::no(key)),
    }
}

/// Replaces labels among keys by their positions. Returns whether there were any.
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
    match enumeration_of(expr, schema) {
        Some(of) => of.shown_name().to_owned(),
        None => expr.to_field(schema).map_or_else(|_| "unknown".to_owned(), |(_, field)| type_name(&field)),
    }
}

/// The error for an operator that values of enumerated types do not have.
pub(super) fn no_operator(left: &str, operator: &str, right: &str) -> DataFusionError {
    let error = sql_error(format!("operator does not exist: {left} {operator} {right}"));
    external(error.with_hint("compare labels of one type, or their texts: CAST(x AS TEXT)"))
}
