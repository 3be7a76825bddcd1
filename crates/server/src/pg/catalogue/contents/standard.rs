//! `information_schema`.

use super::super::relation::Row;
use super::super::value::Value;
use super::objects::{Attribute, IndexObject, Object, Objects};
use super::references::{ReferenceObject, references};
use super::row::row;
use crate::pg::types::known;
use atsdb::Initially;

/// The maximum number of bytes of a character in UTF-8.
const CHARACTER_BYTES_MAX: i64 = 4;

/// The maximum number of bytes of a text without a length, as PostgreSQL states it.
const TEXT_BYTES_MAX: i64 = 1 << 30;

pub(super) fn rows(name: &str, objects: &Objects, database: &str) -> Vec<Row> {
    let of = |values: Vec<(&str, Value)>| row("information_schema", name, &values);
    // The SQL standard has neither rollups nor materialized views, and sequences are no tables.
    let tables = || objects.tables.iter().filter(|object| !matches!(object.kind, 'm' | 'S'));
    match name {
        "information_schema_catalog_name" => vec![of(vec![("catalog_name", Value::text(database))])],
        "schemata" => {
            let schemata = objects.schemas.iter().map(|(schema, _)| {
                of(vec![("catalog_name", Value::text(database)), ("schema_name", Value::text(schema.as_str()))])
            });
            schemata.collect()
        }
        "character_sets" => vec![of(vec![
            ("character_set_name", Value::text("UTF8")),
            ("character_repertoire", Value::text("UCS")),
            ("form_of_use", Value::text("UTF8")),
            ("default_collate_catalog", Value::text(database)),
            ("default_collate_schema", Value::text("pg_catalog")),
            // Texts are sorted by their bytes.
            ("default_collate_name", Value::text("ucs_basic")),
        ])],
        "tables" => tables()
            .map(|object| {
                let is_table = object.kind == 'r';
                let mut values = table_columns(object, database);
                let table_type = match (object.is_temporary(), is_table) {
                    (true, _) => "LOCAL TEMPORARY",
                    (false, true) => "BASE TABLE",
                    (false, false) => "VIEW",
                };
                values.push(("table_type", Value::text(table_type)));
                values.push(("is_insertable_into", Value::text(if is_table { "YES" } else { "NO" })));
                values.push(("is_typed", Value::text("NO")));
                of(values)
            })
            .collect(),
        "views" => tables()
            .filter(|object| object.kind == 'v')
            .map(|object| {
                let mut values = table_columns(object, database);
                values.push(("view_definition", Value::maybe(object.query.clone())));
                values.push(("check_option", Value::text("NONE")));
                values.push(("is_updatable", Value::text("NO")));
                values.push(("is_insertable_into", Value::text("NO")));
                of(values)
            })
            .collect(),
        "columns" => tables().flat_map(|object| columns(object, objects, database)).collect(),
        "table_constraints" => keys(objects)
            .map(|(object, key)| {
                let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
                let mut values = table_constraint(object, &key.name, kind, None, database);
                let are_distinct = (!key.is_primary).then_some(if key.nulls_equal { "NO" } else { "YES" });
                values.push(("nulls_distinct", Value::maybe(are_distinct)));
                of(values)
            })
            .chain(
                objects
                    .checks()
                    .map(|(object, check)| of(table_constraint(object, check.name, "CHECK", None, database))),
            )
            .chain(
                not_null_columns(objects)
                    .map(|(object, _, name)| of(table_constraint(object, &name, "CHECK", None, database))),
            )
            .chain(references(objects).map(|reference| {
                let (child, key) = (reference.child, reference.key);
                of(table_constraint(child, &key.name, "FOREIGN KEY", key.deferrable, database))
            }))
            .collect(),
        "referential_constraints" => references(objects).map(|reference| of(rules(&reference, database))).collect(),
        "check_constraints" => objects
            .checks()
            .map(|(object, check)| {
                let mut values = constraint(object, check.name, database);
                values.push(("check_clause", Value::Text(format!("(({}))", check.condition))));
                of(values)
            })
            .chain(not_null_columns(objects).map(|(object, attribute, name)| {
                let mut values = constraint(object, &name, database);
                values.push(("check_clause", Value::Text(format!("{} IS NOT NULL", attribute.name))));
                of(values)
            }))
            .collect(),
        "key_column_usage" => {
            key_columns(objects, database).chain(reference_columns(objects, database)).map(of).collect()
        }
        "constraint_column_usage" => {
            let own = key_columns(objects, database).chain(check_columns(objects, database));
            own.chain(parent_columns(objects, database)).map(of).collect()
        }
        _ => Vec::new(),
    }
}

/// The columns of tables that are never NULL, with the names that only this schema gives their constraints.
fn not_null_columns(objects: &Objects) -> impl Iterator<Item = (&Object, &Attribute, String)> {
    objects.own().filter(|object| object.kind == 'r').flat_map(|object| {
        let columns = object.numbered_attributes().filter(|(_, attribute)| !attribute.is_nullable);
        columns.map(move |(position, attribute)| {
            (object, attribute, format!("{}_{}_{position}_not_null", object.namespace, object.number))
        })
    })
}

fn keys(objects: &Objects) -> impl Iterator<Item = (&Object, &IndexObject)> {
    objects
        .own()
        .flat_map(|object| object.indexes.iter().filter(|index| index.is_key).map(move |index| (object, index)))
}

fn key_columns<'a>(objects: &'a Objects, database: &'a str) -> impl Iterator<Item = Vec<(&'static str, Value)>> + 'a {
    let named = |(object, key): (&'a Object, &'a IndexObject)| {
        (1_i64..).zip(object.names(key)).map(move |(position, column)| (object, key, position, column))
    };
    keys(objects).flat_map(named).map(move |(object, key, position, column)| {
        let mut values = constraint(object, &key.name, database);
        values.extend(table_columns(object, database));
        values.push(("column_name", Value::text(column)));
        values.push(("ordinal_position", Value::Int(position)));
        values
    })
}

/// The columns that CHECK constraints name.
fn check_columns<'a>(objects: &'a Objects, database: &'a str) -> impl Iterator<Item = Vec<(&'static str, Value)>> + 'a {
    objects.checks().flat_map(move |(object, check)| {
        let name = check.name;
        check.columns.into_iter().filter_map(move |position| {
            let attribute = object.attributes.get(usize::try_from(position - 1).ok()?)?;
            let mut values = constraint(object, name, database);
            values.extend(table_columns(object, database));
            values.push(("column_name", Value::text(attribute.name.as_str())));
            Some(values)
        })
    })
}

/// The columns of foreign keys.
fn reference_columns<'a>(
    objects: &'a Objects,
    database: &'a str,
) -> impl Iterator<Item = Vec<(&'static str, Value)>> + 'a {
    references(objects).flat_map(move |reference| {
        let columns = (1_i64..).zip(reference.names()).map(|(position, column)| {
            let mut values = constraint(reference.child, &reference.key.name, database);
            values.extend(table_columns(reference.child, database));
            values.push(("column_name", Value::text(column)));
            values.push(("ordinal_position", Value::Int(position)));
            let in_unique = usize::try_from(position - 1).ok().and_then(|at| reference.position_in_unique(at));
            values.push(("position_in_unique_constraint", in_unique.map_or(Value::Null, Value::Int)));
            values
        });
        columns.collect::<Vec<_>>()
    })
}

/// The columns of parents that foreign keys refer to.
fn parent_columns<'a>(
    objects: &'a Objects,
    database: &'a str,
) -> impl Iterator<Item = Vec<(&'static str, Value)>> + 'a {
    references(objects).flat_map(move |reference| {
        let columns = reference.parent_names().map(|column| {
            let mut values = constraint(reference.child, &reference.key.name, database);
            values.extend(table_columns(reference.parent, database));
            values.push(("column_name", Value::text(column)));
            values
        });
        columns.collect::<Vec<_>>()
    })
}

/// Returns the row of a foreign key in `information_schema.referential_constraints`: the key to which it refers, and
/// the actions.
fn rules(reference: &ReferenceObject<'_>, database: &str) -> Vec<(&'static str, Value)> {
    let mut values = constraint(reference.child, &reference.key.name, database);
    values.push(("unique_constraint_catalog", Value::text(database)));
    values.push(("unique_constraint_schema", Value::text(reference.parent.schema.as_str())));
    values.push(("unique_constraint_name", Value::maybe(reference.unique.map(|unique| unique.name.clone()))));
    values.push(("match_option", Value::text(if reference.key.match_full { "FULL" } else { "NONE" })));
    values.push(("update_rule", Value::text(reference.key.on_update.sql())));
    values.push(("delete_rule", Value::text(reference.key.on_delete.sql())));
    values
}

fn table_columns(object: &Object, database: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("table_catalog", Value::text(database)),
        ("table_schema", Value::text(object.schema.as_str())),
        ("table_name", Value::text(object.name.as_str())),
    ]
}

fn constraint(object: &Object, name: &str, database: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("constraint_catalog", Value::text(database)),
        ("constraint_schema", Value::text(object.schema.as_str())),
        ("constraint_name", Value::text(name)),
    ]
}

/// A constraint of a table, as `table_constraints` shows it.
fn table_constraint(
    object: &Object,
    name: &str,
    constraint_type: &str,
    deferrable: Option<Initially>,
    database: &str,
) -> Vec<(&'static str, Value)> {
    let yes_or_no = |is_so: bool| Value::text(if is_so { "YES" } else { "NO" });
    let mut values = constraint(object, name, database);
    values.extend(table_columns(object, database));
    values.push(("constraint_type", Value::text(constraint_type)));
    values.push(("is_deferrable", yes_or_no(deferrable.is_some())));
    values.push(("initially_deferred", yes_or_no(deferrable == Some(Initially::Deferred))));
    values.push(("enforced", yes_or_no(true)));
    values
}

fn columns(object: &Object, objects: &Objects, database: &str) -> Vec<Row> {
    let made = object.numbered_attributes().map(|(position, attribute)| {
        let type_id = attribute.type_id;
        let is_array = known::element_of(type_id).is_some();
        let enumeration = objects.enumerations.iter().find(|of| of.number == type_id);
        let name = match enumeration {
            Some(_) => "USER-DEFINED".to_owned(),
            None if is_array => "ARRAY".to_owned(),
            None => known::sql_name(type_id).unwrap_or_default(),
        };
        let (precision, radix): (Option<i64>, i64) = match type_id {
            known::INT2 => (Some(16), 2),
            known::INT4 => (Some(32), 2),
            known::INT8 => (Some(64), 2),
            known::FLOAT4 => (Some(24), 2),
            known::FLOAT8 => (Some(53), 2),
            _ => (attribute.decimal_digits.map(|(precision, _)| i64::from(precision)), 10),
        };
        let is_integer = matches!(type_id, known::INT2 | known::INT4 | known::INT8);
        let scale = attribute.decimal_digits.map(|(_, scale)| i64::from(scale)).or(is_integer.then_some(0));
        let digits = match type_id {
            known::DATE => Some(0),
            known::TIME | known::TIMESTAMP | known::TIMESTAMPTZ | known::INTERVAL => {
                Some(attribute.time_digits.unwrap_or(6))
            }
            _ => None,
        };
        let length = attribute.length.map(|length| i64::from(length.characters));
        let octets = match type_id {
            known::TEXT => Some(TEXT_BYTES_MAX),
            _ => length.map(|characters| characters * CHARACTER_BYTES_MAX),
        };
        let udt = known::by_id(type_id).map_or_else(
            || known::element_of(type_id).map_or("text", |element| element.array_name),
            |known| known.name,
        );
        let (udt_schema, udt) = enumeration.map_or(("pg_catalog", udt), |of| (of.schema(), of.name()));
        let identity = attribute.identity;
        let generation = identity.map(|identity| if identity.always { "ALWAYS" } else { "BY DEFAULT" });
        let bounds = identity.and_then(|identity| {
            let column = object.table.as_ref()?.definition.column(&attribute.name).ok()?;
            identity.bounds(column.column_type)
        });
        let mut values = table_columns(object, database);
        values.extend([
            ("column_name", Value::text(attribute.name.as_str())),
            ("ordinal_position", Value::Int(position)),
            ("column_default", Value::maybe(attribute.default.clone())),
            ("is_nullable", Value::text(if attribute.is_nullable { "YES" } else { "NO" })),
            ("data_type", Value::Text(name)),
            ("character_maximum_length", Value::maybe(length)),
            ("character_octet_length", Value::maybe(octets)),
            ("numeric_precision", Value::maybe(precision)),
            ("numeric_precision_radix", Value::maybe(precision.map(|_| radix))),
            ("numeric_scale", Value::maybe(scale)),
            ("datetime_precision", Value::maybe(digits)),
            ("udt_catalog", Value::text(database)),
            ("udt_schema", Value::text(udt_schema)),
            ("udt_name", Value::text(udt)),
            ("dtd_identifier", Value::Text(position.to_string())),
            ("is_self_referencing", Value::text("NO")),
            ("is_identity", Value::text(if identity.is_some() { "YES" } else { "NO" })),
            ("identity_generation", Value::maybe(generation.map(str::to_owned))),
            ("identity_start", Value::maybe(identity.map(|identity| identity.start.to_string()))),
            ("identity_increment", Value::maybe(identity.map(|identity| identity.increment.to_string()))),
            ("identity_maximum", Value::maybe(bounds.map(|(_, greatest)| greatest.to_string()))),
            ("identity_minimum", Value::maybe(bounds.map(|(least, _)| least.to_string()))),
            ("identity_cycle", Value::text("NO")),
            ("is_generated", Value::text("NEVER")),
            ("is_updatable", Value::text(if object.kind == 'r' { "YES" } else { "NO" })),
        ]);
        row("information_schema", "columns", &values)
    });
    made.collect()
}
