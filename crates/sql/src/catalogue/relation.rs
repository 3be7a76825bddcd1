//! The relations of the catalogue, and the rows that they produce.

use atsdb_core::{Column, Error, PUBLIC_SCHEMA, Result, Table, TableDefinition, TableId, TimeUnit};
use atsdb_dialect::text::table_names::TEMPORARY_SCHEMA;
use atsdb_engine::{ReadSnapshot, TemporaryTables};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListBuilder, StringArray, StringBuilder,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, SchemaRef, TimeUnit as ArrowUnit};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the only catalog.
pub const CATALOG: &str = "atsdb";

/// The schema of a table or view: `pg_temp` of one that is temporary.
pub fn schema_of(table: &Table) -> &str {
    match &table.definition.schema {
        _ if TemporaryTables::contain(table) => TEMPORARY_SCHEMA,
        Some(schema) => schema,
        None => PUBLIC_SCHEMA,
    }
}

/// The name of a table or view in the schema `atsdb`: with its schema, unless that is `public`.
pub fn name_of(table: &Table) -> Cow<'_, str> {
    if TemporaryTables::contain(table) {
        return Cow::Owned(format!("{TEMPORARY_SCHEMA}.{}", table.definition.name));
    }
    Cow::Borrowed(&table.definition.name)
}

/// The schemas and their relations.
pub(super) type Schemas = &'static [(&'static str, &'static [Relation])];

/// The columns of each view, from planning its query. A view whose query fails, because a table of it no longer exists,
/// has none.
pub(super) type ViewColumns = HashMap<TableId, SchemaRef>;

/// A relation of the catalogue.
pub(crate) struct Relation {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, ColumnKind)],
    pub(super) source: RelationSource,
}

impl Relation {
    /// Returns whether it lists columns, including those of views.
    pub(super) fn lists_columns(&self) -> bool {
        self.name == "columns"
    }
}

/// The source of its rows.
pub(super) enum RelationSource {
    /// Each table and view separately. The named column of the relation has the table's name.
    Tables(&'static str, fn(&RelationRequest<'_>, &Table, &mut RelationBuilder) -> Result<()>),
    /// Each table and view separately, followed by the schemas of the catalogue.
    TablesAndCatalogue(
        &'static str,
        fn(&RelationRequest<'_>, &Table, &mut RelationBuilder) -> Result<()>,
        fn(Schemas, &mut RelationBuilder),
    ),
    /// The schemas of the snapshot and of the program itself.
    Schemas(fn(&ReadSnapshot, Schemas, &mut RelationBuilder)),
    /// The snapshot's engine, independently of tables.
    Engine(fn(&ReadSnapshot, &mut RelationBuilder)),
}

/// The type of a relation's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Int,
    Float,
    Bool,
    /// Microseconds, UTC.
    Time,
    /// An array of texts.
    Texts,
}

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Time(i64),
    Texts(Vec<String>),
}

/// A statement's request to a relation.
pub(super) struct RelationRequest<'a> {
    pub(super) snapshot: &'a ReadSnapshot,
    /// The columns that are read.
    pub(super) columns: Vec<&'static str>,
    /// The columns of views, which come from planning their queries.
    pub(super) view_columns: &'a ViewColumns,
    bytes: OnceCell<HashMap<TableId, u64>>,
}

impl<'a> RelationRequest<'a> {
    pub(super) fn new(snapshot: &'a ReadSnapshot, columns: Vec<&'static str>, view_columns: &'a ViewColumns) -> Self {
        Self { snapshot, columns, view_columns, bytes: OnceCell::new() }
    }

    /// Returns whether one of these columns is read.
    pub(super) fn wants(&self, columns: &[&str]) -> bool {
        columns.iter().any(|column| self.columns.contains(column))
    }

    /// The size of a table in bytes.
    pub(super) fn bytes_of(&self, table: &Table) -> Result<u64> {
        if self.bytes.get().is_none() {
            let _ = self.bytes.set(self.snapshot.table_bytes()?);
        }
        Ok(self.bytes.get().and_then(|bytes| bytes.get(&table.id)).copied().unwrap_or(0))
    }
}

/// Collects rows before they become arrays.
#[derive(Debug, Default)]
pub(super) struct RelationBuilder {
    rows: Vec<Vec<Cell>>,
}

impl RelationBuilder {
    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// One column of the rows as an array.
    pub(super) fn array(&self, position: usize, kind: ColumnKind) -> Result<ArrayRef> {
        let cells = || self.rows.iter().map(|row| row.get(position).unwrap_or(&Cell::Null));
        let wrong = |cell: &Cell| Error::internal(format!("catalogue: {cell:?} in column {position}"));
        macro_rules! array {
            ($array:ty, $kind:ident) => {
                cells()
                    .map(|cell| match cell {
                        Cell::Null => Ok(None),
                        Cell::$kind(value) => Ok(Some(value.clone())),
                        other => Err(wrong(other)),
                    })
                    .collect::<Result<$array>>()?
            };
        }
        Ok(match kind {
            ColumnKind::Text => Arc::new(array!(StringArray, Text)),
            ColumnKind::Int => Arc::new(array!(Int64Array, Int)),
            ColumnKind::Float => Arc::new(array!(Float64Array, Float)),
            ColumnKind::Bool => Arc::new(array!(BooleanArray, Bool)),
            ColumnKind::Time => Arc::new(array!(TimestampMicrosecondArray, Time).with_timezone("UTC")),
            ColumnKind::Texts => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                for cell in cells() {
                    match cell {
                        Cell::Null => lists.append_null(),
                        Cell::Texts(texts) => lists.append_value(texts.iter().map(Some)),
                        other => return Err(wrong(other)),
                    }
                }
                Arc::new(lists.finish())
            }
        })
    }
}

impl ColumnKind {
    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Time => DataType::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())),
            Self::Texts => DataType::new_list(DataType::Utf8, true),
        }
    }
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// `YES` or `NO`, as `information_schema` writes it.
    pub(super) fn yes_or_no(is_so: bool) -> Self {
        Self::text(if is_so { "YES" } else { "NO" })
    }

    pub(super) fn count(count: u64) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Texts(texts.into_iter().map(Into::into).collect())
    }

    /// The text, or NULL.
    pub(super) fn maybe(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    /// A time of a table in microseconds, rounded down; NULL without a time column, and if it is out of range.
    pub(super) fn time(definition: &TableDefinition, time: i64) -> Self {
        match definition.time {
            Some(_) => micros(time, definition.time_unit()).map_or(Self::Null, Self::Time),
            None => Self::Null,
        }
    }

    /// A time of a table in microseconds, rounded up, so that no row is later.
    pub(super) fn time_after(definition: &TableDefinition, time: i64) -> Self {
        let is_between = definition.time_unit() == TimeUnit::Nanosecond && time.rem_euclid(1_000) > 0;
        match Self::time(definition, time) {
            Self::Time(micros) if is_between => Self::Time(micros + 1),
            time => time,
        }
    }
}

fn micros(time: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Nanosecond => Some(time.div_euclid(1_000)),
        unit => time.checked_mul(1_000_000 / unit.per_second()),
    }
}

/// The names of some columns, separated by commas; NULL without any.
pub(super) fn names_of<'a>(
    definition: &'a TableDefinition,
    ids: impl IntoIterator<Item = &'a atsdb_core::ColumnId>,
) -> Cell {
    let names: Vec<&str> = ids
        .into_iter()
        .filter_map(|id| definition.column_by_id(*id))
        .map(|column: &Column| column.name.as_str())
        .collect();
    match names.is_empty() {
        true => Cell::Null,
        false => Cell::text(names.join(", ")),
    }
}
