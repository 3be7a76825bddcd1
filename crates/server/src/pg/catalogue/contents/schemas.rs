//! `pg_namespace`: the schemas and their numbers.

use super::super::relation::Row;
use super::super::value::Value;
use super::roles::{DATABASE_OWNER, OWNER};
use super::row::row;
use super::shapes::number_of;
use atsdb::PUBLIC_SCHEMA;

/// The number of `public`.
const PUBLIC_NUMBER: i64 = 2_200;

/// The privileges on `public` in a new database of PostgreSQL.
const PUBLIC_PRIVILEGES: [&str; 2] = ["pg_database_owner=UC/pg_database_owner", "=U/pg_database_owner"];

/// The schema of temporary tables.
pub(super) const TEMPORARY: &str = "pg_temp";

/// The number of the schema of temporary tables.
pub(super) const TEMPORARY_NUMBER: i64 = 13_001;

/// The numbers of created schemas begin here, after those of tables and before those of keys and indexes.
const CREATED_FROM: i64 = 1 << 27;

/// The number of numbers for created schemas.
const CREATED_NUMBERS: i64 = 1 << 27;

/// The schemas with their numbers. That of temporary tables exists while the session has some. The number of a created
/// schema follows from its name, so that it stays the same while others come and go.
pub(super) fn numbered(created: Vec<String>, has_temporary: bool) -> Vec<(String, i64)> {
    let fixed = [("pg_catalog", 11), ("pg_toast", 99), (PUBLIC_SCHEMA, PUBLIC_NUMBER), ("information_schema", 13_000)];
    let fixed = fixed.into_iter().chain(has_temporary.then_some((TEMPORARY, TEMPORARY_NUMBER)));
    let mut all: Vec<(String, i64)> = fixed.map(|(name, number)| (name.to_owned(), number)).collect();
    for name in created {
        let mut number = CREATED_FROM + place_of(&name);
        while all.iter().any(|(_, taken)| *taken == number) {
            number = CREATED_FROM + (number - CREATED_FROM + 1) % CREATED_NUMBERS;
        }
        all.push((name, number));
    }
    all
}

/// A number below [`CREATED_NUMBERS`] for a name, by the hash function FNV-1a.
fn place_of(name: &str) -> i64 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    i64::from(hash) % CREATED_NUMBERS
}

pub(super) fn namespaces(schemas: &[(String, i64)]) -> Vec<Row> {
    let schema = |(name, number): &(String, i64)| {
        let is_public = name == PUBLIC_SCHEMA;
        let owner = if is_public { DATABASE_OWNER } else { OWNER };
        let name = Value::text(name.as_str());
        let privileges = is_public.then(|| Value::Array(PUBLIC_PRIVILEGES.map(Value::text).into()));
        row(
            "pg_catalog",
            "pg_namespace",
            &[
                ("oid", Value::Int(*number)),
                ("nspname", name),
                ("nspowner", Value::Int(owner)),
                ("nspacl", privileges.unwrap_or(Value::Null)),
            ],
        )
    };
    schemas.iter().map(schema).collect()
}

/// The comments on schemas: the one on `public` that every database of PostgreSQL begins with.
pub(super) fn comments() -> Vec<Row> {
    let of_public = [
        ("objoid", Value::Int(PUBLIC_NUMBER)),
        ("classoid", Value::Int(number_of("pg_namespace"))),
        ("objsubid", Value::Int(0)),
        ("description", Value::text("standard public schema")),
    ];
    vec![row("pg_catalog", "pg_description", &of_public)]
}
