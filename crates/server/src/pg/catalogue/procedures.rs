//! Looks up functions by name and by the types of their arguments.

use super::context::Context;
use super::name_parts::parts;
use super::relation::find;
use super::type_names::type_number;
use super::value::Value;
use crate::pg::error::PgError;

/// The SQLSTATE of a name that several functions have.
pub(super) const AMBIGUOUS_FUNCTION: &str = "42725";

/// The number of a function by its name, or for `regprocedure` by its name and the types of its arguments.
pub(super) fn function_number(context: &Context<'_>, kind: &str, name: &str) -> Result<Option<i64>, PgError> {
    let (called, arguments) = match name.trim().strip_suffix(')').and_then(|name| name.split_once('(')) {
        Some((called, arguments)) if kind == "regprocedure" => (called, Some(arguments)),
        _ => (name, None),
    };
    let mut wanted = None;
    if let Some(arguments) = arguments {
        let types = arguments.split(',').filter(|argument| !argument.trim().is_empty()).map(type_number);
        match types.collect::<Option<Vec<i64>>>() {
            Some(types) => wanted = Some(types),
            None => return Ok(None),
        }
    }
    let Some(functions) = context.source.relation("pg_catalog", "pg_proc")? else { return Ok(None) };
    let at = |column: &str| find(&functions.columns, None, column);
    let (Some(number), Some(named), Some(types)) = (at("oid"), at("proname"), at("proargtypes")) else {
        return Ok(None);
    };
    let mut names = parts(called);
    let last = names.pop().unwrap_or_default();
    // All functions are in one schema.
    if names.pop().is_some_and(|schema| schema != "pg_catalog") {
        return Ok(None);
    }
    let has_types = |value: &Value| match (&wanted, value) {
        (None, _) => true,
        (Some(wanted), Value::Array(types)) => types.iter().map(Value::int).eq(wanted.iter().map(|id| Some(*id))),
        (Some(wanted), _) => wanted.is_empty(),
    };
    let is_meant = |row: &&Vec<Value>| row[named].shown().is_some_and(|name| name == last) && has_types(&row[types]);
    let mut found = functions.rows.iter().filter(is_meant).map(|row| row[number].int());
    let first = found.next().flatten();
    if wanted.is_none() && found.next().is_some() {
        return Err(PgError::error(AMBIGUOUS_FUNCTION, format!("more than one function named \"{last}\"")));
    }
    Ok(first)
}
