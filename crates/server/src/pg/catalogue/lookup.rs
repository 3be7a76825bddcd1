//! Looks up objects by number and by name.

use super::context::Context;
use super::find_row::{by_number, look_up};
use super::relation::find;
use super::search_path::{class_number, is_visible, schema_of_class};
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::types::known;
use atsdb::PUBLIC_SCHEMA;
use atsdb::name::same_name;
use atsdb::sql::identifier;

/// The table and the column that contain the names of a kind of objects.
fn names_of(kind: &str) -> ((&'static str, &'static str), &'static str) {
    match kind {
        "regnamespace" => (("pg_catalog", "pg_namespace"), "nspname"),
        "regrole" => (("pg_catalog", "pg_roles"), "rolname"),
        "regproc" | "regprocedure" => (("pg_catalog", "pg_proc"), "proname"),
        _ => (("pg_catalog", "pg_class"), "relname"),
    }
}

/// The name of an object, quoted if necessary.
pub(super) fn name_of(context: &Context<'_>, kind: &str, number: i64) -> Result<Option<String>, PgError> {
    if number == 0 {
        return Ok(Some("-".to_owned()));
    }
    if kind == "regtype" {
        return Ok(u32::try_from(number).ok().and_then(known::sql_name));
    }
    let (table, column) = names_of(kind);
    let name = by_number(context, table, &Value::Int(number), column)?;
    let Some(name) = name.shown() else { return Ok(None) };
    if kind == "regclass" && !is_visible(context, &Value::Int(number))?.is_true() {
        let schema = schema_of_class(context, &Value::Int(number))?.unwrap_or_default();
        return Ok(Some(format!("{}.{}", identifier(&schema), identifier(&name))));
    }
    Ok(Some(identifier(&name)))
}

/// The number of an object by its name, which may be quoted and qualified with a schema.
pub(super) fn number_of(context: &Context<'_>, kind: &str, name: &str) -> Result<Option<i64>, PgError> {
    if let Ok(number) = name.trim().parse() {
        return Ok(Some(number));
    }
    if kind == "regtype" {
        return Ok(type_number(name));
    }
    let (table, column) = names_of(kind);
    let mut parts = parts(name);
    let last = parts.pop().unwrap_or_default();
    if kind == "regclass" {
        return class_number(context, parts.last().map(String::as_str), &last);
    }
    let named = |value: &Value| value.shown().is_some_and(|name| same_name(&name, &last));
    let found = look_up(context, table, column, named, "oid")?;
    Ok(found.and_then(|value| value.int()))
}

/// The name of the sequence of a table's identity column. NULL if the column has none.
pub(super) fn sequence_of(context: &Context<'_>, table: &Value, column: &Value) -> Result<Value, PgError> {
    let (Some(name), Some(wanted)) = (table.shown(), column.shown()) else { return Ok(Value::Null) };
    let number = number_of(context, "regclass", &name)?;
    let Some(number) = number else {
        return Err(PgError::error("42P01", format!("relation \"{name}\" does not exist")));
    };
    let Some(attributes) = context.source.relation("pg_catalog", "pg_attribute")? else { return Ok(Value::Null) };
    let at = |column: &str| find(&attributes.columns, None, column);
    let (Some(owner), Some(column), Some(identity)) = (at("attrelid"), at("attname"), at("attidentity")) else {
        return Ok(Value::Null);
    };
    let found = attributes.rows.iter().find(|row| {
        row[owner].int() == Some(number) && row[column].shown().is_some_and(|name| same_name(&name, &wanted))
    });
    let Some(row) = found else {
        return Err(PgError::error("42703", format!("column \"{wanted}\" of relation \"{name}\" does not exist")));
    };
    if row[identity].shown().is_none_or(|identity| identity.is_empty()) {
        return Ok(Value::Null);
    }
    let table = by_number(context, ("pg_catalog", "pg_class"), &Value::Int(number), "relname")?;
    let (table, column) = (table.shown().unwrap_or_default(), row[column].shown().unwrap_or_default());
    let schema = schema_of_class(context, &Value::Int(number))?.unwrap_or_default();
    Ok(Value::Text(format!("{}.{}", identifier(&schema), identifier(&identity_sequence_name(&table, &column)))))
}

/// The name of the sequence of an identity column.
pub(in crate::pg) fn identity_sequence_name(table: &str, column: &str) -> String {
    format!("{table}_{column}_seq")
}

/// An expression of the catalogue, as text. The name of a sequence in it has its schema if the search path does not
/// find it.
pub(super) fn expression(context: &Context<'_>, expression: &Value) -> Result<Value, PgError> {
    let Value::Text(text) = expression else { return Ok(expression.clone()) };
    let name = text.strip_prefix("nextval('").and_then(|rest| rest.strip_suffix("'::regclass)"));
    let Some(name) = name else { return Ok(expression.clone()) };
    let exact = if parts(name).len() > 1 { name.to_owned() } else { format!("{PUBLIC_SCHEMA}.{name}") };
    let shown = match number_of(context, "regclass", &exact)? {
        Some(number) => name_of(context, "regclass", number)?,
        None => None,
    };
    Ok(shown.map_or_else(|| expression.clone(), |name| Value::Text(format!("nextval('{name}'::regclass)"))))
}

/// The comment on an object of a table of the catalogue; NULL if there is none. Without a table, on any object with
/// this number.
pub(super) fn description(context: &Context<'_>, number: &Value, table: &Value) -> Result<Value, PgError> {
    let (Some(number), Some(comments)) = (number.int(), context.source.relation("pg_catalog", "pg_description")?)
    else {
        return Ok(Value::Null);
    };
    let class = match table.shown() {
        Some(table) => Some(class_number(context, Some("pg_catalog"), &table)?),
        None => None,
    };
    let at = |column: &str| find(&comments.columns, None, column);
    let (Some(object), Some(of_class), Some(text)) = (at("objoid"), at("classoid"), at("description")) else {
        return Ok(Value::Null);
    };
    let found = comments
        .rows
        .iter()
        .find(|row| row[object].int() == Some(number) && class.is_none_or(|class| row[of_class].int() == class));
    Ok(found.map_or(Value::Null, |row| row[text].clone()))
}

/// The number of a type by its name in SQL.
pub(super) fn type_number(name: &str) -> Option<i64> {
    let folded = name.trim().to_lowercase().replace("pg_catalog.", "").replace('"', "");
    let (name, is_array) = match folded.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (folded.as_str(), false),
    };
    let name = match name.split_once('(') {
        Some((before, rest)) => format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after)),
        None => name.to_owned(),
    };
    let name = name.trim();
    let of_array = name.strip_prefix('_').and_then(known::by_name).map(|element| element.array);
    let found = match (known::by_name(name), is_array) {
        (Some(element), true) => Some(element.array),
        (Some(known), false) => Some(known.id),
        (None, _) => of_array,
    };
    found.filter(|id| *id != 0).map(i64::from)
}

/// The parts of a qualified name, without quotes.
pub(super) fn parts(name: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = name.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => part.push('"'),
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            letter if is_quoted => part.push(letter),
            // There may be spaces around a dot.
            letter
                if letter.is_whitespace()
                    && (part.is_empty() || letters.clone().find(|next| !next.is_whitespace()) == Some('.')) => {}
            letter => part.extend(letter.to_lowercase()),
        }
    }
    parts.push(part);
    parts
}

/// A type's name with its modifier, as `format_type` returns it. The modifier is the number of fractional digits of a
/// second, or the digits of a decimal.
pub(super) fn format_type(number: &Value, modifier: &Value) -> Value {
    match number.int().and_then(|number| u32::try_from(number).ok()) {
        None => Value::Null,
        Some(0) => Value::text("-"),
        Some(id) => {
            let name = known::sql_name(id).unwrap_or_else(|| "???".to_owned());
            if let Some(digits) = modifier.int().filter(|digits| id == known::NUMERIC && *digits >= 4) {
                let (precision, scale) = ((digits - 4) >> 16, (digits - 4) & 0x7ff);
                return Value::Text(format!("{name}({precision},{scale})"));
            }
            let is_time = matches!(id, known::TIMESTAMP | known::TIMESTAMPTZ | known::TIME);
            match (modifier.int().filter(|digits| is_time && (0..6).contains(digits)), name.split_once(' ')) {
                (Some(digits), Some((word, rest))) => Value::Text(format!("{word}({digits}) {rest}")),
                _ => Value::Text(name),
            }
        }
    }
}
