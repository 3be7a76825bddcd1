//! The schemas and relations of the catalogue.

use super::relation::{Relation, Schemas};
use super::{about_caches, about_columns, about_rollups, about_tables, about_types, constraints, storage};
use atsdb_core::name::nearest_name;

/// The schemas and their relations.
pub(super) const SCHEMAS: Schemas = &[
    (
        "atsdb",
        &[
            about_tables::TABLES,
            about_columns::COLUMNS,
            about_rollups::ROLLUPS,
            about_tables::MATERIALIZED_VIEWS,
            storage::SLICES,
            storage::CHUNKS,
            storage::PAGES,
            storage::MAPPINGS,
            storage::INDEXES,
            constraints::CHECKS,
            constraints::FOREIGN_KEYS,
            about_types::TYPES,
            about_caches::CACHES,
        ],
    ),
    (
        "information_schema",
        &[
            about_tables::STANDARD_SCHEMATA,
            about_tables::STANDARD_TABLES,
            about_columns::STANDARD_COLUMNS,
            about_tables::STANDARD_VIEWS,
            constraints::TABLE_CONSTRAINTS,
            constraints::KEY_COLUMN_USAGE,
            constraints::CHECK_CONSTRAINTS,
            constraints::CONSTRAINT_COLUMN_USAGE,
            constraints::REFERENTIAL_CONSTRAINTS,
        ],
    ),
];

/// The relation with this name, compared without case.
pub(crate) fn find(schema: &str, name: &str) -> Option<&'static Relation> {
    relations_of(schema)?.iter().find(|relation| relation.name.eq_ignore_ascii_case(name))
}

/// The hint for a name that no table has: another relation of the same schema, or the equivalent of a catalogue of
/// SQLite, PostgreSQL or MySQL.
pub(crate) fn hint(schema: Option<&str>, name: &str) -> Option<String> {
    const FOREIGN_SCHEMAS: [&str; 4] = ["pg_catalog", "mysql", "sys", "performance_schema"];
    const FOREIGN_TABLES: [&str; 4] = ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_sequence"];
    const STATEMENTS: [&str; 4] = ["describe", "desc", "show", "summarize"];
    let is_one_of = |names: &[&str], name: &str| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    if let Some(relations) = schema.and_then(relations_of) {
        let names = relations.iter().map(|relation| relation.name);
        return Some(match nearest_name(name, names.clone()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("available: {}", names.collect::<Vec<_>>().join(", ")),
        });
    }
    if schema.is_none() && is_one_of(&STATEMENTS, name) {
        return Some(
            "FROM reads queries and tables, not statements such as DESCRIBE: columns are in \
             information_schema.columns, tables in information_schema.tables"
                .to_owned(),
        );
    }
    let is_foreign = schema.is_some_and(|schema| is_one_of(&FOREIGN_SCHEMAS, schema))
        || is_one_of(&FOREIGN_TABLES, name)
        || (schema.is_none() && name.len() > 3 && name.to_ascii_lowercase().starts_with("pg_"));
    is_foreign.then(|| "ask information_schema.tables and information_schema.columns, or atsdb.tables".to_owned())
}

fn relations_of(schema: &str) -> Option<&'static [Relation]> {
    SCHEMAS.iter().find(|(name, _)| name.eq_ignore_ascii_case(schema)).map(|(_, relations)| *relations)
}
