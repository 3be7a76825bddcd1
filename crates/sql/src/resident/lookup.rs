//! Chooses the index that finds the rows for some conditions, and the keys to look up.

use crate::scan::pushdown::predicates;
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Int64Array, StringArray, UInt32Array, UInt64Array,
};
use arrow::compute::{CastOptions, cast_with_options, filter, is_not_null, take};
use arrow::row::{RowConverter, SortField};
use atsdb_codec::logical_type;
use atsdb_core::{Column, ColumnType, Error, Result, TableDefinition, decimal};
use atsdb_engine::{Comparison, Predicate, Value};
use atsdb_resident::{RowKeys, TableState};
use datafusion::logical_expr::Expr;
use std::collections::HashSet;
use std::sync::Arc;

/// The maximum number of key combinations from conditions on several columns.
const KEYS_MAX: usize = 1 << 17;

/// Keys to look up by one index.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    /// The index's number in the table.
    pub(crate) index: usize,
    pub(crate) keys: RowKeys,
    /// The description in `EXPLAIN`.
    pub(crate) description: String,
}

impl Lookup {
    /// The lookup that finds all rows that may satisfy the conditions, with the index that has the most columns; `None`
    /// if no index can be used.
    pub(crate) fn of(filters: &[Expr], state: &TableState) -> Result<Option<Self>> {
        let definition = state.definition();
        let wanted = filters.iter().filter_map(|filter| predicates(filter, definition)).flatten();
        Self::by(&wanted.collect::<Vec<_>>(), state)
    }

    /// Finds the lookup for conditions given as predicates.
    pub(crate) fn by(predicates: &[Predicate], state: &TableState) -> Result<Option<Self>> {
        let definition = state.definition();
        let mut values: Vec<Option<ArrayRef>> = vec![None; definition.columns.len()];
        for predicate in predicates.iter().filter(|predicate| is_one_of(predicate, definition)) {
            let array = array_of(&definition.columns[predicate.column], &predicate.values)?;
            let slot = &mut values[predicate.column];
            // If there are two conditions on one column, either of them finds all matching rows.
            if slot.as_ref().is_none_or(|other| array.len() < other.len()) {
                *slot = Some(array);
            }
        }
        let covers = |positions: &[usize]| {
            let lengths = positions.iter().map(|position| values[*position].as_ref().map(|array| array.len()));
            lengths.sum::<Option<usize>>()?;
            let mut product =
                positions.iter().filter_map(|position| values[*position].as_ref()).map(|array| array.len());
            product.try_fold(1_usize, |product, length| product.checked_mul(length).filter(|keys| *keys <= KEYS_MAX))
        };
        let usable = state.indexes().iter().enumerate().filter(|(_, spec)| covers(&spec.positions).is_some());
        let Some((index, spec)) = usable.max_by_key(|(_, spec)| spec.positions.len()) else { return Ok(None) };
        let columns: Vec<ArrayRef> = spec.positions.iter().filter_map(|position| values[*position].clone()).collect();
        let keys = combined(&columns)?;
        let description = format!("index={}, keys={}", spec.name, keys.first().map_or(0, |column| column.len()));
        Ok(Some(Self { index, keys: RowKeys::new(&keys)?, description }))
    }

    /// Returns whether a condition can provide the keys of a lookup.
    pub(crate) fn can_use(filter: &Expr, state: &TableState) -> bool {
        let definition = state.definition();
        let indexed = |position| state.indexes().iter().any(|spec| spec.positions.contains(&position));
        predicates(filter, definition).is_some_and(|predicates| {
            predicates.iter().any(|predicate| is_one_of(predicate, definition) && indexed(predicate.column))
        })
    }
}

/// Returns whether a predicate lists the values. Floats are excluded, because two with different bits may be equal.
fn is_one_of(predicate: &Predicate, definition: &TableDefinition) -> bool {
    let is_float =
        matches!(definition.columns[predicate.column].column_type, ColumnType::Float32 | ColumnType::Float64);
    !is_float && matches!(predicate.operator, Comparison::Equal | Comparison::In)
}

/// The distinct values as an array of a column's type, without those that no row can have.
pub(crate) fn array_of(column: &Column, values: &[Value]) -> Result<ArrayRef> {
    let int = |value: &Value| match value {
        Value::Int(value) => Some(*value),
        Value::UInt(value) => i64::try_from(*value).ok(),
        _ => None,
    };
    let uint = |value: &Value| match value {
        Value::Int(value) => u64::try_from(*value).ok(),
        Value::UInt(value) => Some(*value),
        _ => None,
    };
    let text = |value: &'_ Value| match value {
        Value::Text(value) => Some(value.clone()),
        _ => None,
    };
    let bytes = |value: &'_ Value| match value {
        Value::Bytes(value) => Some(value.clone()),
        _ => None,
    };
    let bit = |value: &Value| match value {
        Value::Bool(value) => Some(*value),
        _ => None,
    };
    let array: ArrayRef = match column.column_type {
        ColumnType::Bool => Arc::new(values.iter().map(bit).collect::<BooleanArray>()),
        ColumnType::Decimal { precision, scale } => {
            let number = |value: &Value| match value {
                Value::Int(value) => Some(i128::from(*value)),
                Value::Bytes(bytes) => decimal::from_bytes(bytes),
                _ => None,
            };
            let numbers = values.iter().map(number).collect::<Decimal128Array>();
            Arc::new(numbers.with_precision_and_scale(precision, scale.cast_signed()).map_err(internal)?)
        }
        ColumnType::Text | ColumnType::Uuid | ColumnType::Json => {
            Arc::new(values.iter().map(text).collect::<StringArray>())
        }
        ColumnType::Binary => Arc::new(values.iter().map(bytes).collect::<BinaryArray>()),
        ColumnType::UInt64 => Arc::new(values.iter().map(uint).collect::<UInt64Array>()),
        ColumnType::Date => {
            let days = values.iter().map(|value| int(value).and_then(|days| i32::try_from(days).ok()));
            Arc::new(days.collect::<arrow::array::Date32Array>())
        }
        _ => Arc::new(values.iter().map(int).collect::<Int64Array>()),
    };
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let array = cast_with_options(&array, &logical_type(column), &options).map_err(internal)?;
    let array = filter(&array, &is_not_null(&array).map_err(internal)?).map_err(internal)?;
    distinct(array)
}

/// The distinct values, in the order of their first occurrence.
fn distinct(array: ArrayRef) -> Result<ArrayRef> {
    if array.len() < 2 {
        return Ok(array);
    }
    let converter = RowConverter::new(vec![SortField::new(array.data_type().clone())]).map_err(internal)?;
    let rows = converter.convert_columns(std::slice::from_ref(&array)).map_err(internal)?;
    let mut seen = HashSet::new();
    let first = rows.iter().enumerate().filter(|(_, row)| seen.insert(*row)).map(|(row, _)| row as u32);
    take(&array, &UInt32Array::from_iter_values(first), None).map_err(internal)
}

/// All combinations of the columns' values.
fn combined(columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let total: usize = columns.iter().map(|column| column.len()).product();
    let mut repeats = total;
    let mut combined = Vec::with_capacity(columns.len());
    for column in columns {
        repeats /= column.len().max(1);
        let rows = (0..total).map(|row| (row / repeats.max(1) % column.len().max(1)) as u32);
        combined.push(take(column, &UInt32Array::from_iter_values(rows), None).map_err(internal)?);
    }
    Ok(combined)
}

fn internal(error: arrow::error::ArrowError) -> Error {
    Error::internal(error.to_string())
}
