//! Looks up objects by number and by name.

use super::context::Context;
use super::find_row::{by_number, look_up};
use super::name_parts::parts;
use super::procedures::function_number;
use super::relation::find;
use super::search_path::{class_number, is_visible, schema_of_class, searched};
use super::type_names::type_number;
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::types::enumerations::{array_of, is_enumeration, number_of as number_of_enumeration};
use crate::pg::types::known;
use atsdb::name::same_name;
use atsdb::sql::identifier;
use atsdb::{PUBLIC_SCHEMA, QualifiedName};

/// The table and the column that contain the names of a kind of objects.
fn names_of(kind: &str) -> ((&'static str, &'static str), &'static str) {
    match kind {
        "regnamespace" => (("pg_catalog", "pg_namespace"), "nspname"),
        "regrole" => (("pg_catalog", "pg_roles"), "rolname"),
        "regproc" | "regprocedure" => (("pg_catalog", "pg_proc"), "proname"),
        _ => (("pg_catalog", "pg_class"), "relname"),
    }
}

/// The name of an object, quoted if necessary. A `regprocedure` has the types of its arguments, too.
pub(super) fn name_of(context: &Context<'_>, kind: &str, number: i64) -> Result<Option<String>, PgError> {
    if number == 0 {
        return Ok(Some("-".to_owned()));
    }
    if kind == "regtype" {
        return match u32::try_from(number).ok().and_then(known::sql_name) {
            Some(name) => Ok(Some(name)),
            None => name_of_enumeration(context, number),
        };
    }
    let (table, column) = names_of(kind);
    let name = by_number(context, table, &Value::Int(number), column)?;
    let Some(name) = name.shown() else { return Ok(None) };
    if kind == "regclass" && !is_visible(context, &Value::Int(number))?.is_true() {
        let schema = schema_of_class(context, &Value::Int(number))?.unwrap_or_default();
        return Ok(Some(format!("{}.{}", identifier(&schema), identifier(&name))));
    }
    if kind == "regprocedure" {
        let types = by_number(context, table, &Value::Int(number), "proargtypes")?;
        return Ok(Some(format!("{}({})", identifier(&name), names_of_types(context, &types)?)));
    }
    Ok(Some(identifier(&name)))
}

/// The names of the types of a function's arguments.
fn names_of_types(context: &Context<'_>, types: &Value) -> Result<String, PgError> {
    let Value::Array(types) = types else { return Ok(String::new()) };
    let mut names = Vec::with_capacity(types.len());
    for number in types.iter().filter_map(Value::int) {
        names.push(name_of(context, "regtype", number)?.unwrap_or_else(|| number.to_string()));
    }
    Ok(names.join(","))
}

/// The number of an object by its name, which may be quoted and qualified with a schema.
pub(super) fn number_of(context: &Context<'_>, kind: &str, name: &str) -> Result<Option<i64>, PgError> {
    if let Ok(number) = name.trim().parse() {
        return Ok(Some(number));
    }
    if kind == "regtype" {
        return match type_number(name) {
            Some(number) => Ok(Some(number)),
            None => enumeration_number(context, name),
        };
    }
    let (table, column) = names_of(kind);
    let mut parts = parts(name);
    let last = parts.pop().unwrap_or_default();
    if matches!(kind, "regproc" | "regprocedure") {
        return function_number(context, kind, name);
    }
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

/// An expression of the catalogue, as text. The name of a sequence or of an enumerated type in it has its schema if the
/// search path does not find it.
pub(super) fn expression(context: &Context<'_>, expression: &Value) -> Result<Value, PgError> {
    let Value::Text(text) = expression else { return Ok(expression.clone()) };
    if let Some(label) = label_with_type(context, text)? {
        return Ok(Value::Text(label));
    }
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

/// A type's name with its modifier, as `format_type` returns it. The modifier is the number of fractional digits of a
/// second, the digits of a decimal, or the length of a text. That of an array is its elements'.
pub(super) fn format_type(context: &Context<'_>, number: &Value, modifier: &Value) -> Result<Value, PgError> {
    Ok(match number.int().and_then(|number| u32::try_from(number).ok()) {
        None => Value::Null,
        Some(0) => Value::text("-"),
        Some(id) => {
            let element = known::element_of(id);
            let (id, brackets) = element.map_or((id, ""), |element| (element.id, "[]"));
            let name = match known::sql_name(id) {
                Some(name) => Some(name),
                None => name_of_enumeration(context, i64::from(id))?,
            };
            let name = name.unwrap_or_else(|| "???".to_owned());
            let name = match (id, modifier.int().unwrap_or(-1)) {
                (known::NUMERIC, digits @ 4..) => {
                    let (precision, scale) = ((digits - 4) >> 16, (digits - 4) & 0x7ff);
                    format!("{name}({precision},{scale})")
                }
                // `character` would be `character(1)`. Without a modifier, as in the type of an argument, it is not.
                (known::BPCHAR, ..0) if modifier.int().is_some() => "bpchar".to_owned(),
                (known::VARCHAR | known::BPCHAR, length @ 5..) => format!("{name}({})", length - 4),
                (known::TIMESTAMP | known::TIMESTAMPTZ | known::TIME, digits @ 0..=6) => match name.split_once(' ') {
                    Some((word, rest)) => format!("{word}({digits}) {rest}"),
                    None => name,
                },
                _ => name,
            };
            Value::Text(name + brackets)
        }
    })
}

const TYPES: (&str, &str) = ("pg_catalog", "pg_type");

/// The name of an enumerated type or of its arrays, with its schema if the search path does not find it.
fn name_of_enumeration(context: &Context<'_>, number: i64) -> Result<Option<String>, PgError> {
    let number = Value::Int(number);
    let (name, kind) = (by_number(context, TYPES, &number, "typname")?, by_number(context, TYPES, &number, "typtype")?);
    let element = by_number(context, TYPES, &number, "typelem")?.int().unwrap_or(0);
    if kind.shown().as_deref() != Some("e") {
        let is_array = u32::try_from(element).is_ok_and(is_enumeration);
        let element = if is_array { name_of_enumeration(context, element)? } else { None };
        return Ok(element.map(|element| format!("{element}[]")));
    }
    let Some(name) = name.shown() else { return Ok(None) };
    let namespace = by_number(context, TYPES, &number, "typnamespace")?;
    let schema = by_number(context, ("pg_catalog", "pg_namespace"), &namespace, "nspname")?;
    let schema = schema.shown().unwrap_or_default();
    let is_visible = enumeration_number(context, &identifier(&name))? == number.int();
    let name = identifier(&name);
    Ok(Some(if is_visible { name } else { format!("{}.{name}", identifier(&schema)) }))
}

/// The number of an enumerated type by its name, which may be quoted and qualified with a schema.
fn enumeration_number(context: &Context<'_>, name: &str) -> Result<Option<i64>, PgError> {
    let (name, is_array) = name.trim().strip_suffix("[]").map_or((name, false), |name| (name, true));
    let mut parts = parts(name);
    let last = parts.pop().unwrap_or_default();
    let schemas = match parts.pop() {
        Some(schema) => vec![schema],
        None => searched(context, true)?,
    };
    for schema in schemas {
        let schema = (!same_name(&schema, PUBLIC_SCHEMA)).then_some(schema);
        let number = number_of_enumeration(&QualifiedName { schema, name: last.clone() });
        let number = i64::from(if is_array { array_of(number) } else { number });
        if !by_number(context, TYPES, &Value::Int(number), "oid")?.is_null() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// A label with its type, `'sad'::mood`, if an expression is one.
fn label_with_type(context: &Context<'_>, expression: &str) -> Result<Option<String>, PgError> {
    let Some((label, name)) = expression.rsplit_once("'::") else { return Ok(None) };
    let exact = if parts(name).len() > 1 { name.to_owned() } else { format!("{PUBLIC_SCHEMA}.{name}") };
    let Some(number) = enumeration_number(context, &exact)? else { return Ok(None) };
    Ok(name_of_enumeration(context, number)?.map(|name| format!("{label}'::{name}")))
}

/// Returns whether a type is found by its name alone; NULL if it does not exist.
pub(super) fn is_visible_type(context: &Context<'_>, number: &Value) -> Result<Value, PgError> {
    let name = by_number(context, TYPES, number, "typname")?;
    let Some(name) = name.shown() else { return Ok(Value::Null) };
    let is_enumeration = number.int().and_then(|number| u32::try_from(number).ok()).is_some_and(is_enumeration);
    Ok(Value::Bool(!is_enumeration || enumeration_number(context, &identifier(&name))? == number.int()))
}
