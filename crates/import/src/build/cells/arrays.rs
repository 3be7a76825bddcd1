//! Columns of arrays, written as PostgreSQL writes them, `{1,NULL}`, or as JSON, `[1,null]`.

use crate::build::cells::Cells;
use crate::build::cells::numbers::single;
use crate::build::cells::times::time_of;
use crate::build::column_values::ColumnValues;
use crate::plan::column::TimeParsing;
use crate::values::numbers::{any_f64, any_i64, boolean};
use crate::values::times::parse;
use arrow::array::ListArray;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;
use arrow::error::ArrowError;
use atsdb_codec::ColumnValues as Elements;
use atsdb_core::{ColumnType, ElementType, array_text, decimal, json_text, time_of_day, uuid_text};
use std::sync::Arc;

impl Cells<'_> {
    pub(super) fn arrays(
        &self,
        position: usize,
        element: ElementType,
        parsing: TimeParsing,
    ) -> Result<ColumnValues, ArrowError> {
        let element = element.column_type();
        let mut elements = Elements::new(element);
        // Of each array that is not NULL, also of those that do not fit: then it is the number of elements before.
        let mut lengths = Vec::new();
        let mut arrays = self.unescaped(position);
        let gathered = self.gather(position, |_| {
            let mut length = 0;
            let read = texts_of(&arrays.next().unwrap_or_default()).and_then(|texts| {
                texts.into_iter().try_for_each(|text| {
                    push(&mut elements, element, text.as_deref(), parsing)?;
                    length += 1;
                    Ok(())
                })
            });
            lengths.push(length);
            read
        });
        gathered.into_column(|rows, nulls| {
            let mut lengths = lengths.into_iter();
            let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let lengths = (0..rows.len()).map(|row| if is_valid(row) { lengths.next().unwrap_or(0) } else { 0 });
            let offsets = OffsetBuffer::from_lengths(lengths);
            let elements = elements.finish();
            let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(field, offsets, elements, nulls)?))
        })
    }
}

/// The elements of an array as texts; `None` is NULL.
fn texts_of(text: &str) -> Result<Vec<Option<String>>, String> {
    if !text.trim_start().starts_with('[') {
        return array_text::parse(text).map_err(|error| error.message(text));
    }
    json_text::check(text).map_err(|error| format!("is not a JSON array: {error}"))?;
    let elements = json_text::elements(text).ok_or("is not an array")?;
    let element = |json: &str| match json_text::kind(json) {
        "array" => Err("has several dimensions, but arrays have one".to_owned()),
        _ => Ok(json_text::as_text(json).map(|text| text.into_owned())),
    };
    elements.map(element).collect()
}

/// Adds an element.
fn push(elements: &mut Elements, element: ColumnType, text: Option<&str>, parsing: TimeParsing) -> Result<(), String> {
    let Some(text) = text else {
        elements.append_null();
        return Ok(());
    };
    let bytes = text.as_bytes();
    let refuse = || format!("has an element that is not a valid {}: {text:.60}", element.sql_name());
    macro_rules! integer {
        ($builder:expr) => {
            $builder.append_value(any_i64(bytes).and_then(|value| value.try_into().ok()).ok_or_else(refuse)?)
        };
    }
    match (elements, element) {
        (Elements::Bool(builder), _) => {
            let value = match text {
                "t" => Some(true),
                "f" => Some(false),
                _ => boolean(bytes),
            };
            builder.append_value(value.ok_or_else(refuse)?);
        }
        (Elements::Int16(builder), _) => integer!(builder),
        (Elements::Int32(builder), _) => integer!(builder),
        (Elements::Int64(builder), _) => integer!(builder),
        (Elements::Float32(builder), _) => {
            builder.append_value(single(text.trim().as_bytes()).map_err(|_| refuse())?);
        }
        (Elements::Float64(builder), _) => builder.append_value(any_f64(bytes).ok_or_else(refuse)?),
        (Elements::Text(builder), ColumnType::Uuid) => {
            builder.append_value(uuid_text::canonical(text).ok_or_else(refuse)?);
        }
        (Elements::Text(builder), _) => builder.append_value(text),
        (Elements::Timestamp(builder, unit), _) => {
            builder.append_value(time_of(bytes, parsing, *unit, false).map_err(|_| refuse())?.0);
        }
        (Elements::Date(builder), _) => {
            let time = parse(bytes, parsing.dates).ok_or_else(refuse)?;
            builder.append_value(time.days().ok_or_else(refuse)?);
        }
        (Elements::Decimal(builder), ColumnType::Decimal { precision, scale }) => {
            builder.append_value(decimal::parse(text.trim(), precision, scale).ok_or_else(refuse)?);
        }
        (Elements::Time(builder), _) => builder.append_value(time_of_day::parse(text).ok_or_else(refuse)?),
        _ => return Err(refuse()),
    }
    Ok(())
}
