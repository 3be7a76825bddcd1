//! `pg_rewrite` and `pg_depend`: the queries of views and rollups as rules, and what rules, defaults and the sequences
//! of identity columns depend on. pg_dump sorts its statements by them. Dependencies that follow from other tables of
//! the catalogue, such as those of a key on its columns, are not listed.

use super::super::relation::Row;
use super::super::value::Value;
use super::super::view_text::tables_of;
use super::classes::default_number;
use super::objects::{Object, Objects};
use super::row::row;
use super::shapes::number_of;
use atsdb::PUBLIC_SCHEMA;

/// `pg_rewrite`: one rule for each view and rollup.
pub(super) fn rules(objects: &Objects) -> Vec<Row> {
    let rule = |object: &Object| {
        let values = [
            ("oid", Value::Int(object.rule())),
            ("rulename", Value::text("_RETURN")),
            ("ev_class", Value::Int(object.number)),
            ("ev_type", Value::text("1")),
            ("ev_enabled", Value::text("O")),
            ("is_instead", Value::Bool(true)),
        ];
        row("pg_catalog", "pg_rewrite", &values)
    };
    with_queries(objects).map(|(object, _)| rule(object)).collect()
}

/// An object, or one of its columns: the number of its table of the catalogue, its number, and the column or 0.
type Reference = (i64, i64, i64);

/// `pg_depend`.
pub(super) fn dependencies(objects: &Objects) -> Vec<Row> {
    let [classes, rules, defaults] = ["pg_class", "pg_rewrite", "pg_attrdef"].map(number_of);
    let mut rows = Vec::new();
    let mut add = |(class, number, column): Reference, on: Reference, kind: &str| {
        let values = [
            ("classid", Value::Int(class)),
            ("objid", Value::Int(number)),
            ("objsubid", Value::Int(column)),
            ("refclassid", Value::Int(on.0)),
            ("refobjid", Value::Int(on.1)),
            ("refobjsubid", Value::Int(on.2)),
            ("deptype", Value::text(kind)),
        ];
        rows.push(row("pg_catalog", "pg_depend", &values));
    };
    for (object, query) in with_queries(objects) {
        let rule = (rules, object.rule(), 0);
        add(rule, (classes, object.number, 0), "i");
        for (schema, name) in tables_of(query) {
            if let Some(table) = objects.named(&schema, &name) {
                add(rule, (classes, table.number, 0), "n");
            }
        }
    }
    for object in objects.own() {
        let columns = object.table.iter().flat_map(|table| &table.definition.columns);
        for (position, column) in (1..).zip(columns) {
            let Some(sequence) = &column.sequence else { continue };
            let schema = sequence.schema.as_deref().unwrap_or(PUBLIC_SCHEMA);
            if let Some(sequence) = objects.named(schema, &sequence.name) {
                add((defaults, default_number(object, position), 0), (classes, sequence.number, 0), "n");
            }
        }
    }
    for sequence in &objects.tables {
        if let Some(column) = sequence.numbered {
            add((classes, sequence.number, 0), (classes, column.table, column.position), "i");
        }
    }
    rows
}

/// The views and rollups, with their queries.
fn with_queries(objects: &Objects) -> impl Iterator<Item = (&Object, &str)> {
    objects.own().filter_map(|object| Some((object, object.query.as_deref()?)))
}
