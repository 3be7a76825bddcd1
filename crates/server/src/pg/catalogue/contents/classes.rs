//! `pg_class`, `pg_attribute`, `pg_attrdef`.

use super::super::relation::Row;
use super::super::value::Value;
use super::indexes::BTREE;
use super::objects::{Object, Objects};
use super::references::tables_with_triggers;
use super::row::row;
use super::schemas::TEMPORARY_NUMBER;
use crate::pg::types::{known, layout};

/// The number of `heap` in `pg_am`, the method of all tables.
pub(super) const HEAP: i64 = 2;

pub(super) fn classes(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    let with_triggers = tables_with_triggers(objects);
    for object in &objects.tables {
        let kind = object.kind.to_string();
        let of_object = Some((object, with_triggers.contains(&object.number)));
        rows.push(class(object.number, &object.name, object.namespace, &kind, object.attributes.len(), of_object));
        for index in &object.indexes {
            rows.push(class(index.number, &index.name, object.namespace, "i", index.columns.len(), None));
        }
    }
    rows
}

/// The row of a table, which states whether it has triggers, or of an index.
fn class(
    number: i64,
    name: &str,
    namespace: i64,
    kind: &str,
    column_count: usize,
    object: Option<(&Object, bool)>,
) -> Row {
    let has_triggers = object.is_some_and(|(_, has_triggers)| has_triggers);
    let object = object.map(|(object, _)| object);
    let has_replica_identity = matches!(kind, "r" | "m") && object.is_some_and(|object| object.table.is_some());
    // -1 means that the rows have not been counted.
    let row_count = Value::Float(-1.0);
    row(
        "pg_catalog",
        "pg_class",
        &[
            ("oid", Value::Int(number)),
            ("relname", Value::text(name)),
            ("relnamespace", Value::Int(namespace)),
            ("reltype", Value::Int(object.map_or(0, Object::row_type))),
            ("reloftype", Value::Int(0)),
            ("relowner", Value::Int(10)),
            (
                "relam",
                Value::Int(match kind {
                    "i" => BTREE,
                    "v" | "S" => 0,
                    _ => HEAP,
                }),
            ),
            ("relfilenode", Value::Int(number)),
            ("reltablespace", Value::Int(0)),
            ("relpages", Value::Int(0)),
            ("reltuples", row_count),
            ("relallvisible", Value::Int(0)),
            ("reltoastrelid", Value::Int(0)),
            ("relhasindex", Value::Bool(object.is_some_and(|object| !object.indexes.is_empty()))),
            ("relisshared", Value::Bool(false)),
            ("relpersistence", Value::text(if namespace == TEMPORARY_NUMBER { "t" } else { "p" })),
            ("relkind", Value::text(kind)),
            ("relnatts", Value::Int(column_count as i64)),
            ("relchecks", Value::Int(object.map_or(0, |object| object.checks().count() as i64))),
            ("relhasrules", Value::Bool(matches!(kind, "v" | "m"))),
            ("relhastriggers", Value::Bool(has_triggers)),
            ("relhassubclass", Value::Bool(false)),
            ("relrowsecurity", Value::Bool(false)),
            ("relforcerowsecurity", Value::Bool(false)),
            ("relispopulated", Value::Bool(object.is_none_or(Object::is_populated))),
            ("relreplident", Value::text(if has_replica_identity { "d" } else { "n" })),
            ("relispartition", Value::Bool(false)),
            ("relrewrite", Value::Int(0)),
            ("relfrozenxid", Value::Int(0)),
            ("relminmxid", Value::Int(0)),
        ],
    )
}

pub(super) fn attributes(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for object in &objects.tables {
        for (position, attribute) in object.numbered_attributes() {
            let is_required = !attribute.is_nullable;
            let has_default = attribute.default.is_some();
            rows.push(attribute_row(
                object.number,
                position,
                attribute.type_id,
                &attribute.name,
                &[
                    ("atttypmod", Value::Int(attribute.modifier.into())),
                    ("attnotnull", Value::Bool(is_required)),
                    ("atthasdef", Value::Bool(has_default)),
                    ("attidentity", Value::text(attribute.identity.map_or("", |of| if of.always { "a" } else { "d" }))),
                ],
            ));
        }
        for index in &object.indexes {
            for (position, column) in (1_i64..).zip(&index.columns) {
                let found = usize::try_from(column - 1).ok().and_then(|at| object.attributes.get(at));
                let Some(attribute) = found else { continue };
                rows.push(attribute_row(index.number, position, attribute.type_id, &attribute.name, &[]));
            }
        }
    }
    rows
}

fn attribute_row(table: i64, position: i64, type_id: u32, name: &str, others: &[(&str, Value)]) -> Row {
    let width = known::width_of(type_id);
    let mut values = vec![
        ("attrelid", Value::Int(table)),
        ("attname", Value::text(name)),
        ("atttypid", Value::Int(i64::from(type_id))),
        ("attstattarget", Value::Int(-1)),
        ("attlen", Value::Int(i64::from(width))),
        ("attnum", Value::Int(position)),
        ("attndims", Value::Int(i64::from(known::element_of(type_id).is_some()))),
        ("attcacheoff", Value::Int(-1)),
        ("attbyval", Value::Bool(layout::is_by_value(width))),
        ("attalign", Value::text(layout::alignment_of(type_id))),
        ("attstorage", Value::text(layout::storage_of(type_id))),
        ("attcompression", Value::text("")),
        ("atthasmissing", Value::Bool(false)),
        ("attgenerated", Value::text("")),
        ("attisdropped", Value::Bool(false)),
        ("attislocal", Value::Bool(true)),
        ("attinhcount", Value::Int(0)),
        ("attcollation", Value::Int(layout::collation_of(type_id))),
    ];
    let defaults = [
        ("atttypmod", Value::Int(-1)),
        ("attnotnull", Value::Bool(false)),
        ("atthasdef", Value::Bool(false)),
        ("attidentity", Value::text("")),
    ];
    values.extend(others.iter().cloned());
    values.extend(defaults.into_iter().filter(|(name, _)| !others.iter().any(|(other, _)| other == name)));
    row("pg_catalog", "pg_attribute", &values)
}

/// The number of a column's default.
pub(super) fn default_number(object: &Object, position: i64) -> i64 {
    object.number * 4_096 + position
}

pub(super) fn defaults(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for object in objects.own() {
        for (position, attribute) in object.numbered_attributes() {
            if let Some(default) = &attribute.default {
                rows.push(row(
                    "pg_catalog",
                    "pg_attrdef",
                    &[
                        ("oid", Value::Int(default_number(object, position))),
                        ("adrelid", Value::Int(object.number)),
                        ("adnum", Value::Int(position)),
                        ("adbin", Value::text(default.as_str())),
                    ],
                ));
            }
        }
    }
    rows
}
