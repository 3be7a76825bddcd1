//! Builds rows from the names of columns.

use super::super::relation::{ColumnName, Row};
use super::super::value::Value;
use super::shapes;

/// Parses `name type, name type` as columns.
pub(super) fn columns(shape: &str) -> Vec<ColumnName> {
    let columns = shape.split(", ").filter_map(|column| column.split_once(' '));
    columns.map(|(name, type_name)| ColumnName::new(name, shapes::type_of(type_name))).collect()
}

/// Builds a row of a table of the catalogue from values by column name. Other columns are NULL.
pub(super) fn row(schema: &str, name: &str, values: &[(&str, Value)]) -> Row {
    let columns = shapes::shape(schema, name).unwrap_or_default().split(", ");
    let value = |column: &str| {
        let column = column.split(' ').next();
        let pair = values.iter().find(|(name, _)| Some(*name) == column);
        pair.map_or(Value::Null, |(_, value)| value.clone())
    };
    columns.map(value).collect()
}
