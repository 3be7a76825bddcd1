//! The tables and columns that rows need: those that exist, and those that must be added.
//!
//! ```text
//! CREATE TABLE measurement (
//!     time TIMESTAMP(9), tag TEXT, ..., field DOUBLE | BIGINT | BIGINT UNSIGNED | TEXT | BOOLEAN, ...,
//!     UNIQUE NULLS NOT DISTINCT (tag, ..., time)
//! ) WITH (time = 'time', slice = 'day', map = 'tag:u32, ...', on_conflict = 'merge')
//! ```
//!
//! The measurement `a.m` is the table `m` of the schema `a` if this schema exists, and a table with a dot in its name
//! otherwise.

use atsdb::arrow::datatypes::DataType;
use atsdb::name::{name_key, same_name};
use atsdb::{
    Batch, ColumnId, ColumnType, ConflictPolicy, Error, ErrorKind, MapWidth, ReadSnapshot, Result, Table,
    TableDefinition, TimeUnit, Unique,
};
use atsdb_lineproto::TableBlock;
use std::collections::BTreeMap;

/// The definitions under which a group of requests is read and stored.
pub(crate) struct Plan {
    snapshot: ReadSnapshot,
    /// The tables that get rows.
    tables: BTreeMap<String, PlannedTable>,
}

struct PlannedTable {
    /// `None` if the table must be created.
    existing: Option<Table>,
    definition: TableDefinition,
    is_changed: bool,
}

impl Plan {
    /// Creates a plan from the tables of a snapshot.
    pub(crate) fn new(snapshot: ReadSnapshot) -> Self {
        Self { snapshot, tables: BTreeMap::new() }
    }

    /// The definition of a table, with the columns that were added.
    pub(crate) fn definition(&self, name: &str) -> Option<TableDefinition> {
        match self.tables.get(&name_key(name)) {
            Some(planned) => Some(planned.definition.clone()),
            None => self.existing(name).map(|table| table.definition.clone()),
        }
    }

    fn existing(&self, name: &str) -> Option<&Table> {
        self.snapshot.tables().iter().find(|table| same_name(&table.definition.name, name))
    }

    /// Adds the table and the columns that rows need.
    pub(crate) fn cover(&mut self, block: &TableBlock) -> Result<()> {
        let key = name_key(&block.name);
        if !self.tables.contains_key(&key) {
            let existing = self.existing(&block.name).cloned();
            let definition = match &existing {
                Some(table) => table.definition.clone(),
                None => new_table(&block.name)?.placed(&self.snapshot.schemas()),
            };
            let is_changed = existing.is_none();
            self.tables.insert(key.clone(), PlannedTable { existing, definition, is_changed });
        }
        let Some(table) = self.tables.get_mut(&key) else {
            return Err(Error::new(ErrorKind::Internal, "a planned table is missing"));
        };
        for (position, field) in block.rows.schema().fields().iter().enumerate() {
            if table.definition.column(field.name()).is_ok() {
                continue;
            }
            table.is_changed = true;
            let definition = table.definition.clone();
            table.definition = match position {
                tag if (1..=block.tag_count).contains(&tag) => with_tag(definition, field.name()),
                _ => definition.with_column(field.name(), column_type(field.data_type())?, None),
            };
        }
        Ok(())
    }

    /// Creates and extends the tables in a batch.
    pub(crate) fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        for table in self.tables.values_mut().filter(|table| table.is_changed) {
            let applied = match &table.existing {
                Some(existing) => batch.redefine(existing, table.definition.clone())?,
                None => batch.create_table(&table.definition)?,
            };
            (table.existing, table.is_changed) = (Some(applied), false);
        }
        Ok(())
    }

    /// A table to which rows can be added, after [`apply`](Self::apply).
    pub(crate) fn table(&self, name: &str) -> Result<&Table> {
        let table = self.tables.get(&name_key(name)).and_then(|table| table.existing.as_ref());
        table.ok_or_else(|| Error::not_found(format!("there is no table {name}")))
    }
}

fn new_table(name: &str) -> Result<TableDefinition> {
    let mut definition = TableDefinition::new(name)
        .with_column(atsdb_lineproto::TIME_COLUMN, ColumnType::Timestamp(TimeUnit::Nanosecond), None)
        .with_time(atsdb_lineproto::TIME_COLUMN, TimeUnit::Nanosecond)?;
    definition.unique = vec![Unique { nulls_equal: true, ..Unique::new(vec![ColumnId(0)]) }];
    definition.on_conflict = ConflictPolicy::Merge;
    Ok(definition)
}

/// Adds a tag. It becomes part of the key if the key has the form that line protocol uses: existing rows then have NULL
/// in it, which equals the NULL of new rows without the tag.
fn with_tag(definition: TableDefinition, name: &str) -> TableDefinition {
    let mut definition = definition.with_column(name, ColumnType::Text, Some(MapWidth::U32));
    if definition.is_in_memory() {
        definition.columns.iter_mut().filter(|column| column.name == name).for_each(|column| column.map = None);
    }
    let (Some(id), Some(time)) = (definition.columns.last().map(|column| column.id), definition.time) else {
        return definition;
    };
    if let [unique] = definition.unique.as_mut_slice()
        && unique.nulls_equal
        && let Some(at) = unique.columns.iter().position(|column| *column == time.column)
    {
        unique.columns.insert(at, id);
        definition.key.push(id);
    }
    definition
}

fn column_type(data_type: &DataType) -> Result<ColumnType> {
    Ok(match data_type {
        DataType::Float64 => ColumnType::Float64,
        DataType::Int64 => ColumnType::Int64,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Boolean => ColumnType::Bool,
        DataType::Utf8 => ColumnType::Text,
        other => return Err(Error::invalid(format!("a field of type {other}"))),
    })
}
