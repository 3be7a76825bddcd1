//! Rows of the catalogue's tables, by the value of a column.

use super::context::Context;
use super::relation::find;
use super::value::Value;
use crate::pg::error::PgError;

/// Finds the first row of a table of the catalogue with a value in one column, and returns another column of it.
pub(super) fn look_up(
    context: &Context<'_>,
    table: (&str, &str),
    by: &str,
    wanted: impl Fn(&Value) -> bool,
    column: &str,
) -> Result<Option<Value>, PgError> {
    let Some(relation) = context.source.relation(table.0, table.1)? else { return Ok(None) };
    let (Some(by), Some(column)) = (find(&relation.columns, None, by), find(&relation.columns, None, column)) else {
        return Ok(None);
    };
    Ok(relation.rows.iter().find(|row| wanted(&row[by])).map(|row| row[column].clone()))
}

/// Like [`look_up`], by the object's number.
pub(super) fn by_number(
    context: &Context<'_>,
    table: (&str, &str),
    number: &Value,
    column: &str,
) -> Result<Value, PgError> {
    let number = number.int();
    let found = look_up(context, table, "oid", |value| value.int() == number && number.is_some(), column)?;
    Ok(found.unwrap_or(Value::Null))
}
