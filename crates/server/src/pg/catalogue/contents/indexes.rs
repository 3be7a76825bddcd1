//! Keys, indexes and CHECK constraints: `pg_index`, `pg_constraint`, and the statements that declare them.

use super::super::relation::Row;
use super::super::value::Value;
use super::objects::{IndexObject, Object, Objects};
use super::references;
use super::row::row;
use crate::pg::types::{known, layout};
use atsdb::sql::identifier;

fn each(objects: &Objects) -> impl Iterator<Item = (&Object, &IndexObject)> {
    objects.own().flat_map(|object| object.indexes.iter().map(move |index| (object, index)))
}

/// The number of `btree` in `pg_am`, the method of all indexes.
pub(in crate::pg) const BTREE: i64 = 403;

/// The operator classes by which values are sorted: number, name, family, type.
pub(super) const OPCLASSES: [(i64, &str, i64, u32); 19] = [
    (10_003, "bool_ops", 424, known::BOOL),
    (10_004, "bpchar_ops", 426, known::BPCHAR),
    (10_006, "bytea_ops", 428, known::BYTEA),
    (10_028, "name_ops", 1_994, known::NAME),
    (3_124, "int8_ops", 1_976, known::INT8),
    (1_979, "int2_ops", 1_976, known::INT2),
    (1_978, "int4_ops", 1_976, known::INT4),
    (3_126, "text_ops", 1_994, known::TEXT),
    (1_981, "oid_ops", 1_989, known::OID),
    (10_012, "float4_ops", 1_970, known::FLOAT4),
    (3_123, "float8_ops", 1_970, known::FLOAT8),
    (3_122, "date_ops", 434, known::DATE),
    (10_038, "time_ops", 1_996, known::TIME),
    (3_127, "timestamptz_ops", 434, known::TIMESTAMPTZ),
    (10_022, "interval_ops", 1_982, known::INTERVAL),
    (3_125, "numeric_ops", 1_988, known::NUMERIC),
    (3_128, "timestamp_ops", 434, known::TIMESTAMP),
    (10_065, "uuid_ops", 2_968, known::UUID),
    (10_088, "jsonb_ops", 4_033, known::JSONB),
];

/// The families of these operator classes: number and name.
pub(super) const OPFAMILIES: [(i64, &str); 13] = [
    (424, "bool_ops"),
    (426, "bpchar_ops"),
    (428, "bytea_ops"),
    (434, "datetime_ops"),
    (1_970, "float_ops"),
    (1_976, "integer_ops"),
    (1_982, "interval_ops"),
    (1_988, "numeric_ops"),
    (1_989, "oid_ops"),
    (1_994, "text_ops"),
    (1_996, "time_ops"),
    (2_968, "uuid_ops"),
    (4_033, "jsonb_ops"),
];

/// The operator class by which values of a type are sorted.
fn opclass(type_id: u32) -> i64 {
    let type_id = if type_id == known::VARCHAR { known::TEXT } else { type_id };
    OPCLASSES.iter().find(|(_, _, _, known)| *known == type_id).map_or(0, |(number, ..)| *number)
}

pub(super) fn indexes(objects: &Objects) -> Vec<Row> {
    let made = each(objects).map(|(object, index)| {
        let type_ids = index.columns.iter().map(|column| {
            let attribute = usize::try_from(column - 1).ok().and_then(|at| object.attributes.get(at));
            attribute.map_or(known::TEXT, |attribute| attribute.type_id)
        });
        let type_ids: Vec<u32> = type_ids.collect();
        let of_types = |number: fn(u32) -> i64| {
            Value::Array(type_ids.iter().map(|type_id| Value::Int(number(*type_id))).collect())
        };
        row(
            "pg_catalog",
            "pg_index",
            &[
                ("indexrelid", Value::Int(index.number)),
                ("indrelid", Value::Int(object.number)),
                ("indnatts", Value::Int(index.columns.len() as i64)),
                ("indnkeyatts", Value::Int(index.columns.len() as i64)),
                ("indisunique", Value::Bool(index.is_unique)),
                ("indnullsnotdistinct", Value::Bool(index.nulls_equal)),
                ("indisprimary", Value::Bool(index.is_primary)),
                ("indisexclusion", Value::Bool(false)),
                ("indimmediate", Value::Bool(true)),
                ("indisclustered", Value::Bool(false)),
                ("indisvalid", Value::Bool(true)),
                ("indcheckxmin", Value::Bool(false)),
                ("indisready", Value::Bool(true)),
                ("indislive", Value::Bool(true)),
                ("indisreplident", Value::Bool(false)),
                ("indkey", Value::Array(index.columns.iter().copied().map(Value::Int).collect())),
                ("indcollation", of_types(layout::collation_of)),
                ("indclass", of_types(opclass)),
                ("indoption", of_types(|_| 0)),
            ],
        )
    });
    made.collect()
}

pub(super) fn constraints(objects: &Objects) -> Vec<Row> {
    let array = |columns: Vec<i64>| Value::Array(columns.into_iter().map(Value::Int).collect());
    let keys = each(objects).filter(|(_, index)| index.is_key).map(|(object, index)| {
        constraint_row(
            object,
            &[
                ("oid", Value::Int(index.constraint_number())),
                ("conname", Value::text(index.name.as_str())),
                ("contype", Value::text(if index.is_primary { "p" } else { "u" })),
                ("conindid", Value::Int(index.number)),
                ("connoinherit", Value::Bool(true)),
                ("conkey", array(index.columns.clone())),
            ],
        )
    });
    let checks = objects.checks().map(|(object, check)| {
        let columns = Some(check.columns).filter(|columns| !columns.is_empty());
        constraint_row(
            object,
            &[
                ("oid", Value::Int(check.number)),
                ("conname", Value::text(check.name)),
                ("contype", Value::text("c")),
                ("conindid", Value::Int(0)),
                ("connoinherit", Value::Bool(false)),
                ("convalidated", Value::Bool(check.is_valid)),
                ("conkey", columns.map_or(Value::Null, array)),
                ("conbin", Value::text(check.condition)),
            ],
        )
    });
    let references =
        references::references(objects).map(|reference| constraint_row(reference.child, &reference.constraint()));
    keys.chain(checks).chain(references).collect()
}

/// A row of `pg_constraint`: the columns that differ between constraints, and those that most have in common.
fn constraint_row(object: &Object, own: &[(&str, Value)]) -> Row {
    let common = [
        ("connamespace", Value::Int(object.namespace)),
        ("condeferrable", Value::Bool(false)),
        ("condeferred", Value::Bool(false)),
        ("convalidated", Value::Bool(true)),
        ("conrelid", Value::Int(object.number)),
        ("contypid", Value::Int(0)),
        ("conparentid", Value::Int(0)),
        ("confrelid", Value::Int(0)),
        ("confupdtype", Value::text(" ")),
        ("confdeltype", Value::text(" ")),
        ("confmatchtype", Value::text(" ")),
        ("conislocal", Value::Bool(true)),
        ("coninhcount", Value::Int(0)),
    ];
    row("pg_catalog", "pg_constraint", &[own, &common].concat())
}

/// The columns of an index, as listed in its declaration.
fn list(object: &Object, index: &IndexObject) -> String {
    object.names(index).map(identifier).collect::<Vec<_>>().join(", ")
}

fn index_definition(object: &Object, index: &IndexObject) -> String {
    let unique = if index.is_unique { "UNIQUE " } else { "" };
    let (name, schema, table) = (identifier(&index.name), identifier(&object.schema), identifier(&object.name));
    let nulls = if index.nulls_equal { " NULLS NOT DISTINCT" } else { "" };
    format!("CREATE {unique}INDEX {name} ON {schema}.{table} USING btree ({}){nulls}", list(object, index))
}

/// The rows of an internal table, in which functions look up objects by number.
pub(super) fn internal(name: &str, objects: &Objects) -> Vec<Row> {
    match name {
        "constraints" => {
            let keys = each(objects).filter(|(_, index)| index.is_key);
            let made = keys.map(|(object, index)| {
                let kind = match (index.is_primary, index.nulls_equal) {
                    (true, _) => "PRIMARY KEY",
                    (false, true) => "UNIQUE NULLS NOT DISTINCT",
                    (false, false) => "UNIQUE",
                };
                vec![Value::Int(index.constraint_number()), Value::Text(format!("{kind} ({})", list(object, index)))]
            });
            let checks = objects.checks().map(|(_, check)| {
                let not_valid = if check.is_valid { "" } else { " NOT VALID" };
                vec![Value::Int(check.number), Value::Text(format!("CHECK (({})){not_valid}", check.condition))]
            });
            made.chain(checks).chain(references::declarations(objects)).collect()
        }
        "indexes" => {
            let made = each(objects).map(|(object, index)| {
                let names = object.names(index).map(|name| Value::Text(identifier(name))).collect();
                vec![Value::Int(index.number), Value::Text(index_definition(object, index)), Value::Array(names)]
            });
            made.collect()
        }
        "views" => {
            let queries = objects.own().filter_map(|object| Some((object.number, object.query.as_ref()?)));
            queries.map(|(number, query)| vec![Value::Int(number), Value::Text(format!(" {query};"))]).collect()
        }
        _ => Vec::new(),
    }
}

/// `pg_tables`, `pg_views`, `pg_matviews`, `pg_indexes`.
pub(super) fn listed(name: &str, objects: &Objects, user: &str) -> Vec<Row> {
    let of_kind = |kind: char| objects.tables.iter().filter(move |object| object.kind == kind);
    let schema = |object: &Object| ("schemaname", Value::text(object.schema.as_str()));
    match name {
        "pg_tables" => of_kind('r')
            .map(|object| {
                row(
                    "pg_catalog",
                    name,
                    &[
                        schema(object),
                        ("tablename", Value::text(object.name.as_str())),
                        ("tableowner", Value::text(user)),
                        ("hasindexes", Value::Bool(!object.indexes.is_empty())),
                        ("hasrules", Value::Bool(false)),
                        ("hastriggers", Value::Bool(false)),
                        ("rowsecurity", Value::Bool(false)),
                    ],
                )
            })
            .collect(),
        "pg_views" => of_kind('v')
            .map(|object| {
                row(
                    "pg_catalog",
                    name,
                    &[
                        schema(object),
                        ("viewname", Value::text(object.name.as_str())),
                        ("viewowner", Value::text(user)),
                        ("definition", Value::maybe(object.query.as_ref().map(|query| format!(" {query};")))),
                    ],
                )
            })
            .collect(),
        "pg_matviews" => of_kind('m')
            .map(|object| {
                row(
                    "pg_catalog",
                    name,
                    &[
                        schema(object),
                        ("matviewname", Value::text(object.name.as_str())),
                        ("matviewowner", Value::text(user)),
                        ("hasindexes", Value::Bool(!object.indexes.is_empty())),
                        ("ispopulated", Value::Bool(object.is_populated())),
                        ("definition", Value::maybe(object.query.as_ref().map(|query| format!(" {query};")))),
                    ],
                )
            })
            .collect(),
        _ => each(objects)
            .map(|(object, index)| {
                row(
                    "pg_catalog",
                    "pg_indexes",
                    &[
                        schema(object),
                        ("tablename", Value::text(object.name.as_str())),
                        ("indexname", Value::text(index.name.as_str())),
                        ("indexdef", Value::Text(index_definition(object, index))),
                    ],
                )
            })
            .collect(),
    }
}
