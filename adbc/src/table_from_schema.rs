//! The table that ingestion creates: one column for each column of the data, of the type that holds its values.

use crate::failure::{invalid, not_implemented, of_store};
use adbc_core::error::{Error, Result};
use atsdb::arrow::datatypes::{Field, Schema};
use atsdb::{MapWidth, Retention, SliceWidth, TableDefinition, TimeUnit, column_type_of};

/// The options of a new table, besides its columns. The texts are written as in SQL.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableOptions {
    pub(crate) time: Option<String>,
    pub(crate) time_unit: Option<String>,
    /// `sensor:u32,status:u8`; without a width 32 bits.
    pub(crate) map: Option<String>,
    pub(crate) slice: Option<String>,
    /// `sensor,status`
    pub(crate) key: Option<String>,
    pub(crate) retention: Option<String>,
}

impl TableOptions {
    /// The definition of a table for data of this schema. Without a time column it is a plain table.
    pub(crate) fn definition(&self, name: &str, schema: &Schema) -> Result<TableDefinition> {
        let mut definition = TableDefinition::new(name);
        for field in schema.fields() {
            if field.name().is_empty() {
                return Err(invalid("a column of the data has no name"));
            }
            let (column_type, map) = column_type_of(field).ok_or_else(|| no_type(field))?;
            definition = definition.with_column(field.name(), column_type, map);
            if let Some(column) = definition.columns.last_mut() {
                column.nullable = field.is_nullable();
            }
        }
        for (column, width) in self.map.iter().flat_map(|map| map.split(',')).map(mapped) {
            let width = width.map(MapWidth::parse).transpose().map_err(of_store)?;
            let position = definition.position(column).map_err(of_store)?;
            definition.columns[position].map = Some(width.unwrap_or(MapWidth::U32));
        }
        self.declare(definition).map_err(of_store)
    }

    fn declare(&self, mut definition: TableDefinition) -> atsdb::Result<TableDefinition> {
        if let Some(time) = &self.time {
            let unit = self.time_unit.as_deref().map(TimeUnit::parse).transpose()?;
            definition = definition.with_time(time, unit.unwrap_or(TimeUnit::Second))?;
        }
        if let Some(slice) = &self.slice {
            definition.slice = SliceWidth::parse(slice)?;
        }
        definition.retention = self.retention.as_deref().map(Retention::parse).transpose()?;
        let names = self.key.iter().flat_map(|key| key.split(','));
        let ids = names.map(|name| definition.column(name.trim()).map(|column| column.id));
        definition.key = ids.collect::<atsdb::Result<_>>()?;
        definition.check()?;
        Ok(definition)
    }
}

/// A mapped column and its width.
fn mapped(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((column, width)) => (column.trim(), Some(width.trim())),
        None => (text.trim(), None),
    }
}

fn no_type(field: &Field) -> Error {
    let message = format!("column {}: no table holds the type {}", field.name(), field.data_type());
    not_implemented(format!("{message} (cast it first, for example to DOUBLE or text)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adbc_core::error::Status;
    use atsdb::ColumnType;
    use atsdb::arrow::datatypes::{DataType, Fields, TimeUnit as ArrowUnit};

    fn schema(types: &[(&str, DataType)]) -> Schema {
        Schema::new(
            types.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn options_make_a_series_table() {
        let time = DataType::Timestamp(ArrowUnit::Millisecond, None);
        let words = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
        let schema =
            schema(&[("time", time), ("sensor", DataType::Utf8View), ("status", words), ("value", DataType::Float16)]);
        let text = |text: &str| Some(text.to_owned());
        let options = TableOptions {
            time: text("time"),
            map: text("sensor:u16"),
            slice: text("month"),
            key: text("sensor, status"),
            retention: text("1 year"),
            ..TableOptions::default()
        };
        let sql = atsdb::sql::create_table_sql(&options.definition("air", &schema).unwrap());
        for part in ["TIMESTAMP(3)", "REAL", "sensor:u16", "status:u8", "'month'", "sensor,status"] {
            assert!(sql.replace(", ", ",").contains(&part.replace(", ", ",")), "{part} in {sql}");
        }
    }

    #[test]
    fn columns_of_a_store_keep_their_types() {
        let stored = TableDefinition::new("t")
            .with_column("id", ColumnType::Uuid, None)
            .with_column("note", ColumnType::Json, None)
            .with_column("price", ColumnType::Decimal { precision: 12, scale: 2 }, None);
        let created = TableOptions::default().definition("u", &atsdb::arrow_schema(&stored)).unwrap();
        assert_eq!(created.columns, stored.columns);
    }

    #[test]
    fn what_no_table_holds_is_refused_with_its_column() {
        let refused =
            |options: TableOptions, data_type| options.definition("t", &schema(&[("x", data_type)])).unwrap_err();
        let error = refused(TableOptions::default(), DataType::Struct(Fields::empty()));
        assert_eq!(error.status, Status::NotImplemented);
        assert!(error.message.contains("column x"), "{}", error.message);
        let with_map = TableOptions { map: Some("y:u8".into()), ..TableOptions::default() };
        assert_eq!(refused(with_map, DataType::Utf8).status, Status::NotFound);
        let with_time = TableOptions { time: Some("x".into()), ..TableOptions::default() };
        assert!(refused(with_time, DataType::Utf8).message.contains("cannot be the time"));
    }
}
