//! The properties of indexes. All are those of PostgreSQL's `btree`, with columns in ascending order and NULLs last.

use super::contents::BTREE;
use super::context::Context;
use super::find_row::by_number;
use super::value::Value;
use crate::pg::error::PgError;

/// `pg_index_column_has_property(index, column, property)`, by the column's number from 1.
pub(super) fn has_column_property(context: &Context<'_>, arguments: &[Value]) -> Result<Value, PgError> {
    let [index, column, property] = arguments else { return Ok(Value::Null) };
    let Value::Array(columns) = by_number(context, ("internal", "indexes"), index, "columns")? else {
        return Ok(Value::Null);
    };
    if !column.int().is_some_and(|column| (1..=columns.len() as i64).contains(&column)) {
        return Ok(Value::Null);
    }
    let present = ["asc", "nulls_last", "orderable", "returnable", "search_array", "search_nulls"];
    Ok(is_among(property, &present, &["desc", "nulls_first", "distance_orderable"]))
}

/// `pg_index_has_property(index, property)`.
pub(super) fn has_index_property(context: &Context<'_>, arguments: &[Value]) -> Result<Value, PgError> {
    let [index, property] = arguments else { return Ok(Value::Null) };
    if by_number(context, ("internal", "indexes"), index, "oid")?.is_null() {
        return Ok(Value::Null);
    }
    Ok(is_among(property, &["clusterable", "index_scan", "bitmap_scan", "backward_scan"], &[]))
}

/// `pg_indexam_has_property(method, property)`.
pub(super) fn has_method_property(arguments: &[Value]) -> Value {
    match arguments {
        [method, property] if method.int() == Some(BTREE) => {
            is_among(property, &["can_order", "can_unique", "can_multi_col", "can_exclude", "can_include"], &[])
        }
        _ => Value::Null,
    }
}

/// TRUE for a property that is present, FALSE for one that is absent, and NULL for an unknown one.
fn is_among(property: &Value, present: &[&str], absent: &[&str]) -> Value {
    let Some(name) = property.shown() else { return Value::Null };
    let is_in = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(&name));
    match (is_in(present), is_in(absent)) {
        (true, _) => Value::Bool(true),
        (_, true) => Value::Bool(false),
        _ => Value::Null,
    }
}
