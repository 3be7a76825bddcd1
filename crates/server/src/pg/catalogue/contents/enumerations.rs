//! `pg_enum`, and the enumerated types of the store.

use super::super::relation::Row;
use super::super::value::Value;
use super::row::row;
use crate::pg::types::enumerations::{number_of, number_of_label};
use atsdb::sql::identifier;
use atsdb::{Enumeration, PUBLIC_SCHEMA, Table};

/// An enumerated type.
pub(super) struct EnumObject {
    pub(super) number: u32,
    /// The number of its schema.
    pub(super) namespace: i64,
    pub(super) of: Enumeration,
}

impl EnumObject {
    /// The name in its schema.
    pub(super) fn name(&self) -> &str {
        &self.of.type_name.name
    }

    pub(super) fn schema(&self) -> &str {
        schema_of(&self.of)
    }
}

fn schema_of(of: &Enumeration) -> &str {
    of.type_name.schema.as_deref().unwrap_or(PUBLIC_SCHEMA)
}

/// The types of entries. `schemas` are those of the catalogue, with their numbers.
pub(super) fn objects(entries: &[Table], schemas: &[(String, i64)]) -> Vec<EnumObject> {
    let object = |entry: &Table| {
        let of = entry.definition.enumeration()?;
        let namespace = schemas.iter().find(|(name, _)| name == schema_of(&of)).map_or(0, |(_, number)| *number);
        Some(EnumObject { number: number_of(&of.type_name), namespace, of })
    };
    entries.iter().filter_map(object).collect()
}

/// A label as the catalogue writes it: `'sad'::mood`.
pub(super) fn label_text(of: &Enumeration, label: &str) -> String {
    let schema = of.type_name.schema.as_ref().map_or_else(String::new, |schema| format!("{}.", identifier(schema)));
    format!("'{}'::{schema}{}", label.replace('\'', "''"), identifier(&of.type_name.name))
}

/// The labels of all types, in their order.
pub(super) fn labels(enumerations: &[EnumObject]) -> Vec<Row> {
    let of_type = |object: &EnumObject| -> Vec<Row> {
        let label = |(at, label): (u16, &String)| {
            row(
                "pg_catalog",
                "pg_enum",
                &[
                    ("oid", Value::Int(i64::from(number_of_label(&object.of.type_name, label)))),
                    ("enumtypid", Value::Int(i64::from(object.number))),
                    ("enumsortorder", Value::Float(f64::from(at))),
                    ("enumlabel", Value::text(label.as_str())),
                ],
            )
        };
        (1..).zip(&object.of.labels).map(label).collect()
    };
    enumerations.iter().flat_map(of_type).collect()
}
