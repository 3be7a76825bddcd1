//! The tables, views, rollups, keys, indexes and CHECK constraints of the store, with the numbers by which clients
//! refer to them.

use super::super::lookup::identity_sequence_name;
use super::enumerations::{self, EnumObject};
use super::schemas::{TEMPORARY, numbered};
use crate::pg::error::PgError;
use crate::pg::rows::columns_of;
use crate::pg::store::StoreSession;
use crate::pg::types::known;
use crate::pg::types::modifiers::{self, NO_MODIFIER};
use atsdb::name::same_name;
use atsdb::sql::identifier;
use atsdb::{ColumnType, ErrorKind, PUBLIC_SCHEMA, Table, TemporaryTables, TextLength, arrow_schema, hex};

/// The first number for the store's objects. Lower numbers are PostgreSQL's own.
const FIRST_NUMBER: i64 = 16_384;

/// The numbers of keys and indexes begin here, 64 for each table.
const INDEXES_FROM: i64 = 1 << 28;
/// A key's number plus this is the number of its constraint.
const CONSTRAINTS_FROM: i64 = 1 << 28;
/// The numbers of CHECK constraints begin here, 64 for each table.
const CHECKS_FROM: i64 = 3 << 28;
/// The numbers of the sequences of identity columns begin here, 64 for each table.
const SEQUENCES_FROM: i64 = 5 << 28;
/// A view's number plus this is the number of the rule that its query is.
const RULES_FROM: i64 = 7 << 28;
/// A table's number plus this is the number of its row type.
const TYPES_FROM: i64 = 1 << 30;
/// A table's number plus this is the number of the type of arrays of its rows.
const ARRAYS_FROM: i64 = TYPES_FROM + (1 << 29);

/// Temporary tables, whose own numbers are below zero, have the last ones below those of keys and indexes.
const LAST_NUMBER: i64 = (1 << 22) - 1;
/// The number of temporary tables that have different numbers.
const TEMPORARY_NUMBERS: i64 = 1 << 20;

/// A table, a view or a rollup.
pub(super) struct Object {
    pub(super) number: i64,
    pub(super) name: String,
    /// `pg_catalog`, `information_schema`, the one of temporary tables, or a schema of the store.
    pub(super) schema: String,
    /// The number of the schema.
    pub(super) namespace: i64,
    /// `relkind`.
    pub(super) kind: char,
    pub(super) attributes: Vec<Attribute>,
    pub(super) indexes: Vec<IndexObject>,
    /// The query of a view, a materialized view or a rollup.
    pub(super) query: Option<String>,
    /// `None` for tables of the catalogue itself, and for sequences of identity columns.
    pub(super) table: Option<Table>,
    /// The column whose rows the sequence numbers, if it is that of an identity column.
    pub(super) numbered: Option<NumberedColumn>,
}

/// An identity column.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedColumn {
    /// The number of its table.
    pub(super) table: i64,
    /// The position of the column, from 1.
    pub(super) position: i64,
}

/// A column.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) type_id: u32,
    pub(super) is_nullable: bool,
    /// The expression of its default.
    pub(super) default: Option<String>,
    /// The number of fractional digits of a timestamp's seconds.
    pub(super) time_digits: Option<i64>,
    /// The modifier of its type.
    pub(super) modifier: i32,
    /// The digits of a decimal, and how many of them are after the point.
    pub(super) decimal_digits: Option<(u8, u8)>,
    /// The declared length of its texts.
    pub(super) length: Option<TextLength>,
    /// How it numbers the rows, if it does.
    pub(super) identity: Option<atsdb::Identity>,
}

/// A key or an index.
pub(super) struct IndexObject {
    pub(super) number: i64,
    pub(super) name: String,
    pub(super) is_unique: bool,
    pub(super) is_primary: bool,
    /// Whether it is also a constraint.
    pub(super) is_key: bool,
    /// Whether a NULL equals another NULL (`NULLS NOT DISTINCT`).
    pub(super) nulls_equal: bool,
    /// Positions of its columns, from 1.
    pub(super) columns: Vec<i64>,
}

/// A CHECK constraint.
pub(super) struct CheckObject<'a> {
    pub(super) number: i64,
    pub(super) name: &'a str,
    /// The condition, as SQL.
    pub(super) condition: &'a str,
    /// Positions of the columns that it names, from 1.
    pub(super) columns: Vec<i64>,
    /// Whether all rows satisfy the condition: false if it is NOT VALID.
    pub(super) is_valid: bool,
}

/// All objects of the store and of the catalogue.
pub(super) struct Objects {
    pub(super) tables: Vec<Object>,
    pub(super) enumerations: Vec<EnumObject>,
    /// The schemas, and their numbers.
    pub(super) schemas: Vec<(String, i64)>,
}

impl Object {
    /// The number of its row type, or 0 for sequences and the catalogue's own tables.
    pub(super) fn row_type(&self) -> i64 {
        if self.has_row_type() { self.number + TYPES_FROM } else { 0 }
    }

    /// Returns whether the rows of the relation have a type in `pg_type`.
    pub(super) fn has_row_type(&self) -> bool {
        self.is_own() && self.kind != 'S'
    }

    /// The number of the rule that the query of a view or a rollup is.
    pub(super) fn rule(&self) -> i64 {
        self.number + RULES_FROM
    }

    /// Returns whether it is a user's own object.
    fn is_own(&self) -> bool {
        self.table.is_some()
    }

    /// Returns whether it can be read, which a materialized view cannot before its first refresh.
    pub(super) fn is_populated(&self) -> bool {
        self.table.as_ref().is_none_or(|table| !table.definition.is_unpopulated())
    }

    /// Returns whether it is only this session's.
    pub(super) fn is_temporary(&self) -> bool {
        self.schema == TEMPORARY
    }

    /// The number of the type of arrays of its rows.
    pub(super) fn array_type(&self) -> i64 {
        self.number + ARRAYS_FROM
    }

    /// The CHECK constraints.
    pub(super) fn checks(&self) -> impl Iterator<Item = CheckObject<'_>> {
        let definition = self.table.as_ref().map(|table| &table.definition);
        definition.into_iter().flat_map(move |definition| {
            (0..).zip(&definition.checks).map(move |(at, check)| {
                let named = (1..).zip(&definition.columns).filter(|(_, column)| check.columns.contains(&column.id));
                CheckObject {
                    number: CHECKS_FROM + self.number * 64 + at,
                    name: &check.name,
                    condition: &check.condition,
                    columns: named.map(|(position, _)| position).collect(),
                    is_valid: !check.not_valid,
                }
            })
        })
    }

    /// The columns, numbered from 1.
    pub(super) fn numbered_attributes(&self) -> impl Iterator<Item = (i64, &Attribute)> {
        (1..).zip(&self.attributes)
    }

    /// The names of an index's columns.
    pub(super) fn names<'a>(&'a self, index: &'a IndexObject) -> impl Iterator<Item = &'a str> {
        let name = |position: &i64| self.attributes.get(usize::try_from(position - 1).ok()?);
        index.columns.iter().filter_map(name).map(|attribute| attribute.name.as_str())
    }
}

impl IndexObject {
    /// The number of the constraint that a key forms.
    pub(super) fn constraint_number(&self) -> i64 {
        self.number + CONSTRAINTS_FROM
    }
}

impl Objects {
    pub(super) fn of(session: &StoreSession) -> Result<Self, PgError> {
        let stored = session.tables()?;
        let schemas = numbered(session.schemas()?, stored.iter().any(TemporaryTables::contain));
        let tables = stored.into_iter().map(|table| object(session, table));
        let mut tables = tables.collect::<Result<Vec<Object>, PgError>>()?;
        let sequences: Vec<Object> = tables.iter().flat_map(identity_sequences).collect();
        tables.extend(sequences);
        tables.sort_by(|one, two| one.name.cmp(&two.name));
        tables.extend(super::shapes::system_tables().map(system_object));
        for object in &mut tables {
            let of = schemas.iter().find(|(name, _)| *name == object.schema);
            object.namespace = of.map_or(0, |(_, number)| *number);
        }
        let enumerations = enumerations::objects(&session.enumerations()?, &schemas);
        Ok(Self { tables, enumerations, schemas })
    }

    /// The CHECK constraints, with their tables.
    pub(super) fn checks(&self) -> impl Iterator<Item = (&Object, CheckObject<'_>)> {
        self.own().flat_map(|object| object.checks().map(move |check| (object, check)))
    }

    /// The table, view or sequence with a name in a schema.
    pub(super) fn named(&self, schema: &str, name: &str) -> Option<&Object> {
        self.tables.iter().find(|object| same_name(&object.schema, schema) && same_name(&object.name, name))
    }

    /// The user's own objects.
    pub(super) fn own(&self) -> impl Iterator<Item = &Object> {
        self.tables.iter().filter(|object| object.is_own())
    }
}

fn system_object((number, schema, name, shape): (i64, &'static str, &'static str, &'static str)) -> Object {
    let attributes = super::row::columns(shape).into_iter().map(|column| Attribute {
        name: column.name,
        type_id: column.type_id,
        is_nullable: true,
        default: None,
        time_digits: None,
        modifier: NO_MODIFIER,
        decimal_digits: None,
        length: None,
        identity: None,
    });
    let kind = if schema == "pg_catalog" { 'r' } else { 'v' };
    Object {
        number,
        name: name.to_owned(),
        schema: schema.to_owned(),
        namespace: 0,
        kind,
        attributes: attributes.collect(),
        indexes: Vec::new(),
        query: None,
        table: None,
        numbered: None,
    }
}

/// The sequences of a table's identity columns.
fn identity_sequences(object: &Object) -> Vec<Object> {
    let identities = object.numbered_attributes().filter(|(_, attribute)| attribute.identity.is_some());
    let sequence = |(at, (position, attribute)): (i64, (i64, &Attribute))| Object {
        number: SEQUENCES_FROM + object.number * 64 + at,
        name: identity_sequence_name(&object.name, &attribute.name),
        schema: object.schema.clone(),
        namespace: 0,
        kind: 'S',
        attributes: sequence_attributes(),
        indexes: Vec::new(),
        query: None,
        table: None,
        numbered: Some(NumberedColumn { table: object.number, position }),
    };
    (0..64).zip(identities).map(sequence).collect()
}

/// The columns that every sequence has.
fn sequence_attributes() -> Vec<Attribute> {
    let attribute = |(name, type_id): (&str, u32)| Attribute {
        name: name.to_owned(),
        type_id,
        is_nullable: false,
        default: None,
        time_digits: None,
        modifier: NO_MODIFIER,
        decimal_digits: None,
        length: None,
        identity: None,
    };
    [("last_value", known::INT8), ("log_cnt", known::INT8), ("is_called", known::BOOL)].map(attribute).into()
}

/// The number of a table in `pg_class`.
pub(in crate::pg) fn number_of_table(table: &Table) -> i64 {
    if TemporaryTables::contain(table) {
        LAST_NUMBER + (table.id.0 + 1) % TEMPORARY_NUMBERS
    } else {
        FIRST_NUMBER + table.id.0
    }
}

fn object(session: &StoreSession, table: Table) -> Result<Object, PgError> {
    let definition = &table.definition;
    let number = number_of_table(&table);
    let schema = match TemporaryTables::contain(&table) {
        true => TEMPORARY,
        false => definition.schema.as_deref().unwrap_or(PUBLIC_SCHEMA),
    };
    let schema = schema.to_owned();
    let (kind, query) = match (&definition.view, &definition.rollup, &definition.materialized) {
        (Some(view), ..) => ('v', Some(view.query.clone())),
        (None, Some(rollup), _) => ('m', Some(rollup.query.clone())),
        (None, None, Some(materialized)) => ('m', Some(materialized.query.clone())),
        (None, None, None) if definition.sequence => ('S', None),
        (None, None, None) => ('r', None),
    };
    let attributes = match &definition.view {
        Some(_) => attributes_of_view(session, &table)?,
        None if definition.sequence => sequence_attributes(),
        None => {
            let types = arrow_schema(definition);
            definition.columns.iter().zip(types.fields()).map(|(column, field)| attribute(column, field)).collect()
        }
    };
    let indexes = indexes(number, &table);
    let name = definition.local_name().to_owned();
    let (namespace, numbered) = (0, None);
    Ok(Object { number, name, schema, namespace, kind, attributes, indexes, query, table: Some(table), numbered })
}

fn attributes_of_view(session: &StoreSession, view: &Table) -> Result<Vec<Attribute>, PgError> {
    let plain = |column: crate::pg::wire::outgoing::ResultColumn| Attribute {
        name: column.name,
        type_id: column.type_id,
        is_nullable: true,
        default: None,
        time_digits: None,
        modifier: column.modifier,
        decimal_digits: None,
        length: None,
        identity: None,
    };
    match session.columns_of_view(view) {
        Ok(schema) => Ok(columns_of(&schema).into_iter().map(plain).collect()),
        Err(error) if is_passing(error.kind()) => Err(error.into()),
        // A view whose query refers to something that no longer exists has no columns.
        Err(_) => Ok(Vec::new()),
    }
}

/// A column of a table.
fn attribute(column: &atsdb::Column, field: &arrow::datatypes::FieldRef) -> Attribute {
    let (type_id, modifier) = match column.length {
        Some(length) => (known::of_length(length), modifiers::of_text(length)),
        None => (known::of_field(field), modifiers::of_column(column.column_type)),
    };
    let text = |value: &atsdb::Value| match (&column.enumeration, value) {
        (Some(of), atsdb::Value::Text(label)) => enumerations::label_text(of, label),
        _ => default_text(column.column_type, type_id, value),
    };
    Attribute {
        name: column.name.clone(),
        type_id,
        is_nullable: column.nullable,
        default: match (&column.sequence, column.default_function) {
            (Some(sequence), _) => Some(nextval_text(sequence)),
            (None, Some(function)) => Some(function.sql().to_owned()),
            (None, None) => column.default.as_ref().map(text),
        },
        time_digits: time_digits(column.column_type),
        modifier,
        decimal_digits: match column.column_type {
            ColumnType::Decimal { precision, scale } => Some((precision, scale)),
            _ => None,
        },
        length: column.length,
        identity: column.identity,
    }
}

/// Returns whether an error says nothing about a definition, but that the query was ended or cannot be answered now.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Interrupted | ErrorKind::Resources | ErrorKind::Busy | ErrorKind::Unavailable)
}

fn indexes(number: i64, table: &Table) -> Vec<IndexObject> {
    let definition = &table.definition;
    let position = |id: &atsdb::ColumnId| definition.columns.iter().position(|column| column.id == *id);
    let positions = |ids: &[atsdb::ColumnId]| -> Vec<i64> {
        ids.iter().filter_map(position).map(|position| position as i64 + 1).collect()
    };
    let mut found = Vec::new();
    let mut next = INDEXES_FROM + number * 64;
    for unique in &definition.unique {
        let columns = positions(&unique.columns);
        let name = definition.key_name(unique);
        found.push(IndexObject {
            number: next,
            name,
            is_unique: true,
            is_primary: unique.primary,
            is_key: !unique.index,
            nulls_equal: unique.nulls_equal,
            columns,
        });
        next += 1;
    }
    for index in &definition.indexes {
        let columns = positions(&index.columns);
        let name = index.name.clone();
        found.push(IndexObject {
            number: next,
            name,
            is_unique: false,
            is_primary: false,
            is_key: false,
            nulls_equal: false,
            columns,
        });
        next += 1;
    }
    found
}

/// The default of a column that takes the numbers of a sequence.
fn nextval_text(sequence: &atsdb::QualifiedName) -> String {
    let schema = sequence.schema.as_ref().map_or_else(String::new, |schema| format!("{}.", identifier(schema)));
    format!("nextval('{schema}{}'::regclass)", identifier(&sequence.name))
}

fn default_text(column_type: ColumnType, type_id: u32, value: &atsdb::Value) -> String {
    let text = |text: String, type_name: &str| format!("'{}'::{type_name}", text.replace('\'', "''"));
    match (value, column_type) {
        (atsdb::Value::Int(time), ColumnType::Timestamp(unit)) => {
            text(atsdb::time::format_time(*time, unit), "timestamp with time zone")
        }
        (atsdb::Value::Int(days), ColumnType::Date) => text(atsdb::time::format_date(*days), "date"),
        (atsdb::Value::Int(value), _) => value.to_string(),
        (atsdb::Value::UInt(value), _) => value.to_string(),
        (atsdb::Value::Float(value), _) => crate::pg::types::text::float64(*value),
        (atsdb::Value::Text(value), ColumnType::Decimal { .. }) => value.clone(),
        (atsdb::Value::Text(value), ColumnType::Time) => text(value.clone(), "time without time zone"),
        (atsdb::Value::Text(value), ColumnType::Interval) => text(value.clone(), "interval"),
        (atsdb::Value::Text(value), ColumnType::Uuid) => text(value.clone(), "uuid"),
        (atsdb::Value::Text(value), ColumnType::Json) => text(value.clone(), "json"),
        (atsdb::Value::Text(value), ColumnType::Array(_)) => {
            text(value.clone(), &known::sql_name(type_id).unwrap_or_default())
        }
        (atsdb::Value::Text(value), _) => {
            let type_name = match type_id {
                known::VARCHAR => "character varying",
                known::BPCHAR => "bpchar",
                _ => "text",
            };
            text(value.clone(), type_name)
        }
        (atsdb::Value::Bytes(bytes), _) => {
            format!("'\\x{}'::bytea", hex::encode(bytes))
        }
        (atsdb::Value::Bool(value), _) => value.to_string(),
    }
}

fn time_digits(column_type: ColumnType) -> Option<i64> {
    match column_type {
        ColumnType::Timestamp(atsdb::TimeUnit::Second) => Some(0),
        ColumnType::Timestamp(atsdb::TimeUnit::Millisecond) => Some(3),
        ColumnType::Timestamp(_) => Some(6),
        _ => None,
    }
}
