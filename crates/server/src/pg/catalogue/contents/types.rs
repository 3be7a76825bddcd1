//! `pg_type`: types, their arrays, and the row types of tables.

use super::super::relation::Row;
use super::super::value::Value;
use super::classes::namespace;
use super::objects::Objects;
use super::row::row;
use crate::pg::types::known::{PgType, TYPES};

pub(super) fn types(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for known in &TYPES {
        let kind = if known.category == 'P' { "p" } else { "b" };
        let input = Value::Text(receive_name(known));
        rows.push(type_row(
            i64::from(known.id),
            known.name,
            kind,
            known.category,
            known.width,
            &[
                ("typarray", Value::Int(i64::from(known.array))),
                (
                    "typelem",
                    Value::Int(match known.id {
                        22 => 21,
                        30 => 26,
                        _ => 0,
                    }),
                ),
                ("typreceive", input),
                ("typcollation", Value::Int(if known.category == 'S' { 100 } else { 0 })),
            ],
        ));
        if known.array != 0 {
            rows.push(type_row(
                i64::from(known.array),
                known.array_name,
                "b",
                'A',
                -1,
                &[
                    ("typelem", Value::Int(i64::from(known.id))),
                    ("typreceive", Value::text("array_recv")),
                    ("typinput", Value::text("array_in")),
                ],
            ));
        }
    }
    for object in &objects.tables {
        rows.push(type_row(
            object.row_type(),
            &object.name,
            "c",
            'C',
            -1,
            &[
                ("typnamespace", Value::Int(namespace(object.schema))),
                ("typrelid", Value::Int(object.number)),
                ("typreceive", Value::text("record_recv")),
            ],
        ));
    }
    rows
}

/// PostgreSQL names the functions that read binary values after the type, most without an underscore.
fn receive_name(known: &PgType) -> String {
    let with_underscore = [
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timetz",
        "interval",
        "numeric",
        "uuid",
        "json",
        "jsonb",
        "xml",
        "record",
        "cstring",
        "inet",
        "void",
        "anyarray",
    ];
    format!("{}{}recv", known.name, if with_underscore.contains(&known.name) { "_" } else { "" })
}

fn type_row(number: i64, name: &str, kind: &str, category: char, width: i16, others: &[(&str, Value)]) -> Row {
    let mut values = others.to_vec();
    for (name, value) in [
        ("oid", Value::Int(number)),
        ("typname", Value::text(name)),
        ("typnamespace", Value::Int(11)),
        ("typowner", Value::Int(10)),
        ("typlen", Value::Int(i64::from(width))),
        ("typbyval", Value::Bool((1..=8).contains(&width))),
        ("typtype", Value::text(kind)),
        ("typcategory", Value::Text(category.to_string())),
        ("typispreferred", Value::Bool(false)),
        ("typisdefined", Value::Bool(true)),
        ("typdelim", Value::text(",")),
        ("typrelid", Value::Int(0)),
        ("typsubscript", Value::text("-")),
        ("typelem", Value::Int(0)),
        ("typarray", Value::Int(0)),
        ("typinput", Value::Text(format!("{name}in"))),
        ("typoutput", Value::Text(format!("{name}out"))),
        ("typsend", Value::Text(format!("{name}send"))),
        ("typmodin", Value::text("-")),
        ("typmodout", Value::text("-")),
        ("typanalyze", Value::text("-")),
        ("typalign", Value::text("i")),
        ("typstorage", Value::text(if width < 0 { "x" } else { "p" })),
        ("typnotnull", Value::Bool(false)),
        ("typbasetype", Value::Int(0)),
        ("typtypmod", Value::Int(-1)),
        ("typndims", Value::Int(0)),
        ("typcollation", Value::Int(0)),
    ] {
        if !others.iter().any(|(other, _)| *other == name) {
            values.push((name, value));
        }
    }
    row("pg_catalog", "pg_type", &values)
}
