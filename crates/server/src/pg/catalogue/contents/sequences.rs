//! The sequences of the store. Those of columns that number the rows are not among them, as in PostgreSQL.

use super::super::relation::Row;
use super::super::value::Value;
use super::objects::{Attribute, Object, Objects};
use super::row::row;
use crate::pg::error::PgError;
use crate::pg::types::known;
use atsdb::{Engine, Identity};

/// A sequence, and the least and the greatest number that it can give.
struct Sequence<'a> {
    object: &'a Object,
    numbers: &'a Attribute,
    identity: Identity,
    least: i64,
    greatest: i64,
}

/// The rows of `pg_sequence`.
pub(super) fn sequences(objects: &Objects) -> Vec<Row> {
    let rows = of_store(objects).map(|sequence| {
        let values = [
            ("seqrelid", Value::Int(sequence.object.number)),
            ("seqtypid", Value::Int(sequence.numbers.type_id.into())),
            ("seqstart", Value::Int(sequence.identity.start)),
            ("seqincrement", Value::Int(sequence.identity.increment)),
            ("seqmax", Value::Int(sequence.greatest)),
            ("seqmin", Value::Int(sequence.least)),
            ("seqcache", Value::Int(1)),
            ("seqcycle", Value::Bool(false)),
        ];
        row("pg_catalog", "pg_sequence", &values)
    });
    rows.collect()
}

/// The rows of `information_schema.sequences`.
pub(super) fn standard(objects: &Objects, database: &str) -> Vec<Row> {
    let rows = of_store(objects).map(|sequence| {
        let digits = match sequence.numbers.type_id {
            known::INT2 => 16,
            known::INT4 => 32,
            _ => 64,
        };
        let values = [
            ("sequence_catalog", Value::text(database)),
            ("sequence_schema", Value::text(sequence.object.schema.as_str())),
            ("sequence_name", Value::text(sequence.object.name.as_str())),
            ("data_type", Value::maybe(known::sql_name(sequence.numbers.type_id))),
            ("numeric_precision", Value::Int(digits)),
            ("numeric_precision_radix", Value::Int(2)),
            ("numeric_scale", Value::Int(0)),
            ("start_value", Value::Text(sequence.identity.start.to_string())),
            ("minimum_value", Value::Text(sequence.least.to_string())),
            ("maximum_value", Value::Text(sequence.greatest.to_string())),
            ("increment", Value::Text(sequence.identity.increment.to_string())),
            ("cycle_option", Value::text("NO")),
        ];
        row("information_schema", "sequences", &values)
    });
    rows.collect()
}

/// The rows of the view `pg_sequences`. The last number is that of the block that was reserved last.
pub(super) fn listed(objects: &Objects, engine: &Engine, owner: &str) -> Result<Vec<Row>, PgError> {
    let entry = |sequence: Sequence<'_>| -> Result<Row, PgError> {
        let table = sequence.object.table.clone();
        let table = table.map(|table| engine.continued(table)).transpose()?;
        let last = table.and_then(|table| table.definition.columns.first()?.identity?.after);
        let data_type = sequence.numbers.type_id;
        let type_name = known::sql_name(data_type).unwrap_or_else(|| data_type.to_string());
        let values = [
            ("schemaname", Value::text(sequence.object.schema.as_str())),
            ("sequencename", Value::text(sequence.object.name.as_str())),
            ("sequenceowner", Value::text(owner)),
            ("data_type", Value::Named(data_type.into(), type_name)),
            ("start_value", Value::Int(sequence.identity.start)),
            ("min_value", Value::Int(sequence.least)),
            ("max_value", Value::Int(sequence.greatest)),
            ("increment_by", Value::Int(sequence.identity.increment)),
            ("cycle", Value::Bool(false)),
            ("cache_size", Value::Int(1)),
            ("last_value", last.map_or(Value::Null, Value::Int)),
        ];
        Ok(row("pg_catalog", "pg_sequences", &values))
    };
    of_store(objects).map(entry).collect()
}

fn of_store(objects: &Objects) -> impl Iterator<Item = Sequence<'_>> {
    objects.own().filter(|object| object.kind == 'S').filter_map(|object| {
        let numbers = object.attributes.first()?;
        let identity = numbers.identity?;
        let column = object.table.as_ref()?.definition.columns.first()?;
        let (least, greatest) = identity.bounds(column.column_type)?;
        Some(Sequence { object, numbers, identity, least, greatest })
    })
}
