//! The search path: the schemas in which names without one are looked up, and what is visible in them.

use super::context::Context;
use super::find_row::{by_number, look_up};
use super::relation::find;
use super::value::Value;
use crate::pg::error::PgError;
use atsdb::name::same_name;
use atsdb::{PUBLIC_SCHEMA, SearchPath};

/// The schemas that are searched before those of the path, unless it names them.
const IMPLIED: [&str; 2] = ["pg_temp", "pg_catalog"];

const CLASSES: (&str, &str) = ("pg_catalog", "pg_class");

/// The schemas of the path that exist, in order, and with `with_implied` also those that are searched before.
pub(super) fn searched(context: &Context<'_>, with_implied: bool) -> Result<Vec<String>, PgError> {
    let text = context.settings.borrow().get("search_path").unwrap_or_default().to_owned();
    let path = SearchPath::parse(&text).unwrap_or_default();
    let Some(namespaces) = context.source.relation("pg_catalog", "pg_namespace")? else { return Ok(Vec::new()) };
    let name = find(&namespaces.columns, None, "nspname");
    let name_of = |row: &super::relation::Row| row.get(name?)?.shown();
    let all: Vec<String> = namespaces.rows.iter().filter_map(name_of).collect();
    let existing = path.existing(&all).into_iter().map(|schema| schema.unwrap_or(PUBLIC_SCHEMA).to_owned());
    let existing: Vec<String> = existing.collect();
    let is_implied = |name: &&str| {
        with_implied && all.iter().any(|other| other == name) && !existing.iter().any(|other| other == name)
    };
    Ok(IMPLIED.into_iter().filter(is_implied).map(str::to_owned).chain(existing.iter().cloned()).collect())
}

/// The number of the table, view or index with a name, in a schema or else in the first one of the path that has it.
pub(super) fn class_number(context: &Context<'_>, schema: Option<&str>, name: &str) -> Result<Option<i64>, PgError> {
    let schemas = match schema {
        Some("main") => vec![PUBLIC_SCHEMA.to_owned()],
        Some(schema) => vec![schema.to_owned()],
        None => searched(context, true)?,
    };
    for schema in schemas {
        if let Some(number) = class_in(context, &schema, name)? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn class_in(context: &Context<'_>, schema: &str, name: &str) -> Result<Option<i64>, PgError> {
    let is_schema = |value: &Value| value.shown().is_some_and(|name| same_name(&name, schema));
    let namespace = look_up(context, ("pg_catalog", "pg_namespace"), "nspname", is_schema, "oid")?;
    let (Some(namespace), Some(classes)) =
        (namespace.and_then(|number| number.int()), context.source.relation(CLASSES.0, CLASSES.1)?)
    else {
        return Ok(None);
    };
    let at = |column: &str| find(&classes.columns, None, column);
    let (Some(number), Some(relname), Some(owner)) = (at("oid"), at("relname"), at("relnamespace")) else {
        return Ok(None);
    };
    let found = classes.rows.iter().find(|row| {
        row[owner].int() == Some(namespace) && row[relname].shown().is_some_and(|other| same_name(&other, name))
    });
    Ok(found.and_then(|row| row[number].int()))
}

/// Returns whether a table, view or index is found by its name alone; NULL if it does not exist.
pub(super) fn is_visible(context: &Context<'_>, number: &Value) -> Result<Value, PgError> {
    let Some(name) = by_number(context, CLASSES, number, "relname")?.shown() else { return Ok(Value::Null) };
    Ok(Value::Bool(class_number(context, None, &name)? == number.int()))
}

/// The schema of a table, view or index.
pub(super) fn schema_of_class(context: &Context<'_>, number: &Value) -> Result<Option<String>, PgError> {
    let namespace = by_number(context, CLASSES, number, "relnamespace")?;
    Ok(by_number(context, ("pg_catalog", "pg_namespace"), &namespace, "nspname")?.shown())
}
