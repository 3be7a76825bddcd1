//! `has_table_privilege` and similar functions: the privileges of a role, according to the catalogue's roles.

use super::context::Context;
use super::databases::is_own_database;
use super::find_row::{by_number, look_up};
use super::lookup::number_of;
use super::relation::{Row, find};
use super::value::Value;
use crate::pg::error::PgError;
use atsdb::name::same_name;

/// PostgreSQL's numbers of the roles that may read and change all data.
pub(super) const READ_ALL: i64 = 6_181;
pub(super) const WRITE_ALL: i64 = 6_182;

/// The rights of a role, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Nothing,
    Read,
    Write,
    Everything,
}

/// The rights that a privilege requires, or `None` if such objects do not have this privilege.
fn needed(kind: &str, privilege: &str) -> Option<Level> {
    let privilege = privilege.trim().to_uppercase();
    let (privilege, with_grant) = match privilege.strip_suffix(" WITH GRANT OPTION") {
        Some(privilege) => (privilege, true),
        None => (privilege.as_str(), false),
    };
    let level = match (kind, privilege) {
        ("table" | "column" | "any_column" | "sequence", "SELECT") => Level::Read,
        ("table" | "column" | "any_column", "INSERT" | "UPDATE") | ("table", "DELETE" | "TRUNCATE") => Level::Write,
        ("table" | "column" | "any_column", "REFERENCES") | ("table", "TRIGGER") => Level::Everything,
        ("sequence", "USAGE" | "UPDATE") => Level::Everything,
        ("schema" | "type" | "language", "USAGE") | ("database", "CONNECT") | ("function", "EXECUTE") => Level::Nothing,
        ("schema" | "tablespace", "CREATE") | ("database", "CREATE" | "TEMP" | "TEMPORARY") => Level::Everything,
        ("foreign_data_wrapper" | "server", "USAGE") | ("parameter", "ALTER SYSTEM") => Level::Everything,
        ("parameter", "SET") => Level::Nothing,
        _ => return None,
    };
    Some(if with_grant { Level::Everything } else { level })
}

/// `has_table_privilege([user,] object, privilege)` and similar functions.
pub(super) fn has_privilege(context: &Context<'_>, name: &str, arguments: &[Value]) -> Result<Value, PgError> {
    let kind = name.strip_prefix("has_").and_then(|name| name.strip_suffix("_privilege")).unwrap_or_default();
    let object_count = if kind == "column" { 2 } else { 1 };
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (user, objects, privileges) = match arguments {
        [objects @ .., privileges] if objects.len() == object_count => (None, objects, privileges),
        [user, objects @ .., privileges] if objects.len() == object_count => (Some(user), objects, privileges),
        _ => return Err(PgError::error("42883", format!("function {name} does not exist with these arguments"))),
    };
    let level = match user {
        Some(user) => level_of(context, user)?,
        None => level_of(context, &Value::text(context.user))?,
    };
    if !exists(context, kind, &objects[0])? {
        return Ok(Value::Null);
    }
    if let [table, column] = objects
        && !has_column(context, table, column)?
    {
        return Ok(Value::Null);
    }
    if kind == "database" && !is_own_database(context, &objects[0])? {
        // Users of one database have no rights in another.
        return Ok(Value::Bool(false));
    }
    let privileges = privileges.shown().unwrap_or_default();
    let mut may = false;
    for privilege in privileges.split(',') {
        let needed = needed(kind, privilege)
            .ok_or_else(|| PgError::error("22023", format!("unrecognized privilege type: \"{}\"", privilege.trim())))?;
        may |= level >= needed;
    }
    Ok(Value::Bool(may))
}

/// `pg_has_role([user,] role, privilege)`: whether the user is that role, or a member of it.
pub(super) fn has_role(context: &Context<'_>, arguments: &[Value]) -> Result<Value, PgError> {
    if arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let own = Value::text(context.user);
    let (user, role) = match arguments {
        [role, _] => (&own, role),
        [user, role, _] => (user, role),
        _ => return Err(PgError::error("42883", "function pg_has_role does not exist with these arguments")),
    };
    let (user, role) = (role_number(context, user)?, role_number(context, role)?);
    let is_member = user == role || is_super(context, user)? || memberships(context, user)?.contains(&role);
    Ok(Value::Bool(is_member))
}

/// `acldefault(kind, owner)`: the privileges on an object of this kind while nobody has granted or revoked any.
pub(super) fn default_privileges(context: &Context<'_>, kind: &Value, owner: &Value) -> Result<Value, PgError> {
    let (Some(kind), Some(number)) = (kind.shown(), owner.int()) else { return Ok(Value::Null) };
    let (of_all, of_owner) = match kind.as_str() {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        "p" => ("", "sA"),
        _ => return Err(PgError::error("XX000", format!("unrecognized objtype abbreviation: {kind}"))),
    };
    let role = by_number(context, ("pg_catalog", "pg_roles"), owner, "rolname")?.shown();
    let role = in_privileges(&role.unwrap_or_else(|| number.to_string()));
    let of_all = (!of_all.is_empty()).then(|| format!("={of_all}/{role}"));
    let of_owner = (!of_owner.is_empty()).then(|| format!("{role}={of_owner}/{role}"));
    Ok(Value::Array(of_all.into_iter().chain(of_owner).map(Value::Text).collect()))
}

/// The name of a role as it is written in a privilege.
fn in_privileges(role: &str) -> String {
    let is_plain = role.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain { role.to_owned() } else { format!("\"{}\"", role.replace('"', "\"\"")) }
}

/// Returns whether an object exists. As in PostgreSQL, an unknown name is an error, but not an unknown number.
fn exists(context: &Context<'_>, kind: &str, object: &Value) -> Result<bool, PgError> {
    let (table, column, code) = match kind {
        "table" | "column" | "any_column" | "sequence" => ("pg_class", "relname", "42P01"),
        "schema" => ("pg_namespace", "nspname", "3F000"),
        "database" => ("pg_database", "datname", "3D000"),
        _ => return Ok(true),
    };
    let number = match (object, kind) {
        (Value::Text(name), "schema" | "database") => {
            look_up(context, ("pg_catalog", table), column, |value| value.shown().as_deref() == Some(name), "oid")?
                .and_then(|number| number.int())
        }
        (Value::Text(name), _) => number_of(context, "regclass", name)?,
        (number, _) => number.int(),
    };
    let there =
        look_up(context, ("pg_catalog", table), "oid", |value| value.int() == number && number.is_some(), "oid")?;
    match (there, object) {
        (Some(_), _) => Ok(true),
        (None, Value::Text(name)) => {
            let kind = if code == "42P01" { "relation" } else { kind };
            Err(PgError::error(code, format!("{kind} \"{name}\" does not exist")))
        }
        (None, _) => Ok(false),
    }
}

/// Returns whether a table that exists has a column. As in PostgreSQL, an unknown name is an error, but not an unknown
/// number.
fn has_column(context: &Context<'_>, table: &Value, column: &Value) -> Result<bool, PgError> {
    let number = match table {
        Value::Text(name) => number_of(context, "regclass", name)?,
        number => number.int(),
    };
    let Some(attributes) = context.source.relation("pg_catalog", "pg_attribute")? else { return Ok(false) };
    let at = |name: &str| find(&attributes.columns, None, name);
    let (Some(owner), Some(name), Some(position)) = (at("attrelid"), at("attname"), at("attnum")) else {
        return Ok(false);
    };
    let is_it = |row: &Row| match column {
        Value::Text(wanted) => row[name].shown().is_some_and(|name| same_name(&name, wanted)),
        number => row[position].int() == number.int(),
    };
    match column {
        _ if attributes.rows.iter().any(|row| row[owner].int() == number && is_it(row)) => Ok(true),
        Value::Text(wanted) => {
            let table = table.shown().unwrap_or_default();
            Err(PgError::error("42703", format!("column \"{wanted}\" of relation \"{table}\" does not exist")))
        }
        _ => Ok(false),
    }
}

fn level_of(context: &Context<'_>, role: &Value) -> Result<Level, PgError> {
    let number = role_number(context, role)?;
    if is_super(context, number)? {
        return Ok(Level::Everything);
    }
    let memberships = memberships(context, number)?;
    let is_in = |role: i64| number == role || memberships.contains(&role);
    Ok(match (is_in(READ_ALL), is_in(WRITE_ALL)) {
        (_, true) => Level::Write,
        (true, false) => Level::Read,
        _ => Level::Nothing,
    })
}

/// The number of a role, given its name or number. `public`, which is not a role, has 0.
fn role_number(context: &Context<'_>, role: &Value) -> Result<i64, PgError> {
    match role {
        Value::Text(name) if name == "public" => Ok(0),
        Value::Text(name) => {
            let named = |value: &Value| value.shown().as_deref() == Some(name);
            let number = look_up(context, ("pg_catalog", "pg_roles"), "rolname", named, "oid")?;
            number
                .and_then(|number| number.int())
                .ok_or_else(|| PgError::error("42704", format!("role \"{name}\" does not exist")))
        }
        number => Ok(number.int().unwrap_or(0)),
    }
}

fn is_super(context: &Context<'_>, number: i64) -> Result<bool, PgError> {
    let is_it = |value: &Value| value.int() == Some(number);
    Ok(look_up(context, ("pg_catalog", "pg_roles"), "oid", is_it, "rolsuper")?.is_some_and(|value| value.is_true()))
}

fn memberships(context: &Context<'_>, number: i64) -> Result<Vec<i64>, PgError> {
    let Some(members) = context.source.relation("pg_catalog", "pg_auth_members")? else { return Ok(Vec::new()) };
    let of = members.rows.iter().filter(|row| row.get(1).and_then(Value::int) == Some(number));
    Ok(of.filter_map(|row| row.first()?.int()).collect())
}
