//! `pg_type`: types, their arrays, the row types of tables, and enumerated types. `pg_range`: the types of ranges.

use super::super::relation::Row;
use super::super::value::Value;
use super::enumerations::EnumObject;
use super::indexes::OPCLASSES;
use super::objects::Objects;
use super::procedures::{OF_ARRAYS, OF_ENUMERATIONS, OF_ROWS, TypeFunctions, named, of_type};
use super::row::row;
use crate::pg::types::enumerations::array_of;
use crate::pg::types::known::{self, PgType, TYPES};
use crate::pg::types::layout;

pub(super) fn types(objects: &Objects) -> Vec<Row> {
    let mut rows = Vec::new();
    for known in &TYPES {
        let kind = match known.category {
            'P' | 'X' => "p",
            'R' => "r",
            _ => "b",
        };
        rows.push(type_row(
            i64::from(known.id),
            known.name,
            kind,
            known.category,
            known.width,
            &of_type(known.name),
            &[
                ("typarray", Value::Int(i64::from(known.array))),
                (
                    "typelem",
                    Value::Int(match known.id {
                        // The type `name` can also be read as an array of characters.
                        19 => 18,
                        22 => 21,
                        30 => 26,
                        _ => 0,
                    }),
                ),
                ("typispreferred", Value::Bool(layout::is_preferred(known.id))),
                ("typalign", Value::text(layout::alignment_of(known.id))),
                ("typstorage", Value::text(layout::storage_of(known.id))),
                ("typcollation", Value::Int(layout::collation_of(known.id))),
            ],
        ));
        if known.array != 0 {
            rows.push(type_row(
                i64::from(known.array),
                known.array_name,
                if known.name == "record" { "p" } else { "b" },
                if known.name == "record" { 'P' } else { 'A' },
                -1,
                &OF_ARRAYS,
                &[
                    ("typelem", Value::Int(i64::from(known.id))),
                    ("typalign", Value::text(layout::alignment_of(known.array))),
                    ("typcollation", Value::Int(layout::collation_of(known.array))),
                ],
            ));
        }
    }
    for object in objects.own().filter(|object| object.has_row_type()) {
        let (schema, alignment) = (("typnamespace", Value::Int(object.namespace)), ("typalign", Value::text("d")));
        rows.push(type_row(
            object.row_type(),
            &object.name,
            "c",
            'C',
            -1,
            &OF_ROWS,
            &[
                schema.clone(),
                alignment.clone(),
                ("typrelid", Value::Int(object.number)),
                ("typarray", Value::Int(object.array_type())),
            ],
        ));
        rows.push(type_row(
            object.array_type(),
            &format!("_{}", object.name),
            "b",
            'A',
            -1,
            &OF_ARRAYS,
            &[schema, alignment, ("typelem", Value::Int(object.row_type()))],
        ));
    }
    objects.enumerations.iter().for_each(|object| rows.extend(enumeration_rows(object)));
    rows
}

/// The rows of the types of ranges.
pub(super) fn ranges() -> Vec<Row> {
    let none = || named((0, "-"));
    let range = |known: &PgType| {
        let bound = known::bounds_of(known.id)?;
        let order = OPCLASSES.iter().find(|(_, _, _, of)| *of == bound).map_or(0, |(number, ..)| *number);
        let values = [
            ("rngtypid", Value::Int(i64::from(known.id))),
            ("rngsubtype", Value::Int(i64::from(bound))),
            ("rngmultitypid", Value::Int(0)),
            ("rngcollation", Value::Int(0)),
            ("rngsubopc", Value::Int(order)),
            ("rngcanonical", none()),
            ("rngsubdiff", none()),
        ];
        Some(row("pg_catalog", "pg_range", &values))
    };
    TYPES.iter().filter_map(range).collect()
}

/// The rows of an enumerated type and of its arrays.
fn enumeration_rows(object: &EnumObject) -> [Row; 2] {
    let (number, array) = (i64::from(object.number), i64::from(array_of(object.number)));
    let schema = ("typnamespace", Value::Int(object.namespace));
    let own = type_row(
        number,
        object.name(),
        "e",
        'E',
        known::width_of(object.number),
        &OF_ENUMERATIONS,
        &[schema.clone(), ("typarray", Value::Int(array))],
    );
    let name = format!("_{}", object.name());
    [own, type_row(array, &name, "b", 'A', -1, &OF_ARRAYS, &[schema, ("typelem", Value::Int(number))])]
}

fn type_row(
    number: i64,
    name: &str,
    kind: &str,
    category: char,
    width: i16,
    functions: &TypeFunctions,
    others: &[(&str, Value)],
) -> Row {
    let mut values = others.to_vec();
    let [input, output, receive, send] = functions.map(named);
    let none = named((0, "-"));
    for (name, value) in [
        ("oid", Value::Int(number)),
        ("typname", Value::text(name)),
        ("typnamespace", Value::Int(11)),
        ("typowner", Value::Int(10)),
        ("typlen", Value::Int(i64::from(width))),
        ("typbyval", Value::Bool(layout::is_by_value(width))),
        ("typtype", Value::text(kind)),
        ("typcategory", Value::Text(category.to_string())),
        ("typispreferred", Value::Bool(false)),
        ("typisdefined", Value::Bool(true)),
        ("typdelim", Value::text(",")),
        ("typrelid", Value::Int(0)),
        ("typsubscript", none.clone()),
        ("typelem", Value::Int(0)),
        ("typarray", Value::Int(0)),
        ("typinput", input),
        ("typoutput", output),
        ("typreceive", receive),
        ("typsend", send),
        ("typmodin", none.clone()),
        ("typmodout", none.clone()),
        ("typanalyze", none),
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
