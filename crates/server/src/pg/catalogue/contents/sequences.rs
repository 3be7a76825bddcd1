//! The sequences: those of the store, and those of identity columns, which `information_schema` leaves out.

use super::super::lookup::identity_sequence_name;
use super::super::relation::{Relation, Row};
use super::super::value::Value;
use super::objects::{Object, Objects};
use super::row::{columns, row};
use crate::pg::error::PgError;
use crate::pg::store::StoreSession;
use crate::pg::types::known;
use atsdb::name::same_name;
use atsdb::{ColumnType, Engine, Identity, PUBLIC_SCHEMA, Table};

/// A sequence, and the least and the greatest number that it can give.
struct Sequence<'a> {
    object: &'a Object,
    /// The table of the store, and the column of it that counts.
    table: &'a Table,
    column: usize,
    type_id: u32,
    identity: Identity,
    least: i64,
    greatest: i64,
}

impl<'a> Sequence<'a> {
    fn of(objects: &'a Objects, object: &'a Object) -> Option<Self> {
        let (owner, column) = match object.numbered {
            Some(numbered) => {
                let owner = objects.own().find(|owner| owner.number == numbered.table)?;
                (owner, usize::try_from(numbered.position - 1).ok()?)
            }
            None => (object, 0),
        };
        let table = owner.table.as_ref()?;
        let counting = table.definition.columns.get(column)?;
        let type_id = match counting.column_type {
            ColumnType::Int16 => known::INT2,
            ColumnType::Int32 => known::INT4,
            _ => known::INT8,
        };
        let identity = counting.identity?;
        let (least, greatest) = identity.bounds(counting.column_type)?;
        Some(Self { object, table, column, type_id, identity, least, greatest })
    }

    /// The number after which counting continues; `None` if it has not begun. It is the last one of the block that was
    /// reserved last.
    fn last(&self, engine: &Engine) -> Result<Option<i64>, PgError> {
        let table = engine.continued(self.table.clone())?;
        let identity = table.definition.columns.get(self.column).and_then(|column| column.identity);
        Ok(identity.and_then(|identity| identity.after))
    }
}

/// Returns whether a name, with or without a schema, is that of a sequence.
pub(super) fn is_sequence(session: &StoreSession, schema: Option<&str>, name: &str) -> bool {
    let parts: Vec<String> = schema.into_iter().chain([name]).map(str::to_owned).collect();
    if let Ok(table) = session.table(&parts) {
        return table.definition.sequence;
    }
    let Ok(tables) = session.tables() else { return false };
    tables.iter().map(|table| &table.definition).filter(|definition| !definition.sequence).any(|definition| {
        let own_schema = definition.schema.as_deref().unwrap_or(PUBLIC_SCHEMA);
        let is_its_sequence = |column: &atsdb::Column| {
            column.identity.is_some() && same_name(&identity_sequence_name(definition.local_name(), &column.name), name)
        };
        schema.is_none_or(|schema| same_name(schema, own_schema)) && definition.columns.iter().any(is_its_sequence)
    })
}

/// The row that a sequence is when it is read as a table.
pub(super) fn state(objects: &Objects, engine: &Engine, schema: &str, name: &str) -> Result<Option<Relation>, PgError> {
    let found = objects.named(schema, name).filter(|object| object.kind == 'S');
    let Some(sequence) = found.and_then(|object| Sequence::of(objects, object)) else { return Ok(None) };
    let last = sequence.last(engine)?.map_or((sequence.identity.start, false), |after| {
        let is_given = (sequence.least..=sequence.greatest).contains(&after);
        // Before the first number.
        if is_given { (after, true) } else { (after.saturating_add(sequence.identity.increment), false) }
    });
    let row = vec![Value::Int(last.0), Value::Int(0), Value::Bool(last.1)];
    Ok(Some(Relation::new(columns("last_value int8, log_cnt int8, is_called bool"), vec![row])))
}

/// The rows of `pg_sequence`.
pub(super) fn sequences(objects: &Objects) -> Vec<Row> {
    let rows = all(objects).map(|sequence| {
        let values = [
            ("seqrelid", Value::Int(sequence.object.number)),
            ("seqtypid", Value::Int(sequence.type_id.into())),
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
    let of_store = all(objects).filter(|sequence| sequence.object.numbered.is_none());
    let rows = of_store.map(|sequence| {
        let digits = match sequence.type_id {
            known::INT2 => 16,
            known::INT4 => 32,
            _ => 64,
        };
        let values = [
            ("sequence_catalog", Value::text(database)),
            ("sequence_schema", Value::text(sequence.object.schema.as_str())),
            ("sequence_name", Value::text(sequence.object.name.as_str())),
            ("data_type", Value::maybe(known::sql_name(sequence.type_id))),
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

/// The rows of the view `pg_sequences`.
pub(super) fn listed(objects: &Objects, engine: &Engine, owner: &str) -> Result<Vec<Row>, PgError> {
    let entry = |sequence: Sequence<'_>| -> Result<Row, PgError> {
        let data_type = sequence.type_id;
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
            ("last_value", sequence.last(engine)?.map_or(Value::Null, Value::Int)),
        ];
        Ok(row("pg_catalog", "pg_sequences", &values))
    };
    all(objects).map(entry).collect()
}

fn all(objects: &Objects) -> impl Iterator<Item = Sequence<'_>> {
    let sequences = objects.tables.iter().filter(|object| object.kind == 'S');
    sequences.filter_map(move |object| Sequence::of(objects, object))
}
