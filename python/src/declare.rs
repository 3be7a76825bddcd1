//! Declarations of tables as Python makes them from dataclasses.

use atsdb::{ColumnId, ColumnType, Durability, MapWidth, Result, Retention, SliceWidth, TableDefinition, TimeUnit};
use pyo3::prelude::*;

/// A table to create.
#[derive(FromPyObject)]
pub(crate) struct TableDeclaration {
    name: String,
    columns: Vec<ColumnDeclaration>,
    time: Option<String>,
    unit: String,
    slice: String,
    key: Vec<String>,
    unique: Vec<Vec<String>>,
    primary_key: Vec<String>,
    index: Vec<Vec<String>>,
    on_conflict: String,
    retention: Option<String>,
    preload: Option<String>,
}

/// One of its columns.
#[derive(FromPyObject)]
struct ColumnDeclaration {
    name: String,
    sql_type: String,
    nullable: bool,
    map: Option<String>,
}

impl TableDeclaration {
    /// The definition.
    pub(crate) fn definition(&self) -> Result<TableDefinition> {
        let mut definition = TableDefinition::new(&self.name);
        for column in &self.columns {
            let column_type = column_type(&column.sql_type)?;
            let map = column.map.as_deref().map(MapWidth::parse).transpose()?;
            definition = definition.with_column(&column.name, column_type, map);
            if let Some(added) = definition.columns.last_mut() {
                added.nullable = column.nullable;
            }
        }
        if let Some(time) = &self.time {
            definition = definition.with_time(time, TimeUnit::parse(&self.unit)?)?;
        }
        definition.slice = SliceWidth::parse(&self.slice)?;
        definition.retention = self.retention.as_deref().map(Retention::parse).transpose()?;
        definition.preload = self.preload.as_deref().map(Retention::parse).transpose()?;
        definition.on_conflict = atsdb::ConflictPolicy::parse(&self.on_conflict)?;
        definition.key = ids(&definition, &self.key)?;
        if !self.primary_key.is_empty() {
            let columns = ids(&definition, &self.primary_key)?;
            for column in definition.columns.iter_mut().filter(|column| columns.contains(&column.id)) {
                column.nullable = false;
            }
            definition.unique.push(atsdb::Unique { primary: true, ..atsdb::Unique::new(columns) });
        }
        for names in &self.unique {
            let columns = ids(&definition, names)?;
            definition.unique.push(atsdb::Unique::new(columns));
        }
        for names in &self.index {
            let columns = ids(&definition, names)?;
            definition.add_index(None, columns);
        }
        definition.check()?;
        Ok(definition)
    }
}

fn ids(definition: &TableDefinition, names: &[String]) -> Result<Vec<ColumnId>> {
    names.iter().map(|name| Ok(definition.column(name)?.id)).collect()
}

/// A type by its name in SQL or in a definition: `TIMESTAMP(3)`, `timestamp_ms`.
fn column_type(text: &str) -> Result<ColumnType> {
    let others = [ColumnType::Time, ColumnType::Interval, ColumnType::Uuid, ColumnType::Json];
    let mut known = ColumnType::PLAIN.into_iter().chain(others);
    let found = ColumnType::of_name(&text.to_lowercase().replace(' ', ""));
    let found = found.or_else(|| known.clone().find(|known| known.sql_name().eq_ignore_ascii_case(text)));
    if let (None, Some(element)) = (found, text.trim_end().strip_suffix("[]")) {
        let array = ColumnType::array(column_type(element)?);
        return array.ok_or_else(|| atsdb::Error::usage(format!("there are no arrays of {element}")));
    }
    found.ok_or_else(|| {
        let others = ["DECIMAL(18, 2)".into(), "TEXT[]".into()];
        let known: Vec<_> = known.by_ref().map(ColumnType::sql_name).chain(others).collect();
        atsdb::Error::usage(format!("unknown column type {text}")).with_hint(format!("use {}", known.join(", ")))
    })
}

/// A durability by its name.
pub(crate) fn durability(text: &str) -> Result<Durability> {
    Durability::parse(text)
}
