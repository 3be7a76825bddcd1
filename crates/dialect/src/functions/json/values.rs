//! Values of any type as JSON, as PostgreSQL's `to_json` writes them: numbers and booleans as they are, JSON as it is,
//! arrays and rows as their elements, and anything else as a string. Times have a `T` and no zone.

use crate::functions::base::text_types::TextType;
use crate::functions::times::time_texts::{texts_of_dates, texts_of_lengths, texts_of_times, texts_of_times_of_day};
use crate::text::bytes_text::digits_of;
use crate::text::float_text::float_text;
use atsdb_codec::is_json_list;
use atsdb_core::json_text::quoted;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, StructArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;

/// The values of one column, ready to be written.
pub(super) struct JsonValues {
    nulls: Option<NullBuffer>,
    form: JsonForm,
}

enum JsonForm {
    Null,
    Bool(StringArray),
    /// Numbers, including floats and decimals that are not numbers, such as `NaN`.
    Number(StringArray),
    Text(StringArray),
    /// Texts that are JSON.
    Json(StringArray),
    List(OffsetBuffer<i32>, Box<JsonValues>),
    Row(Vec<(String, JsonValues)>),
}

impl JsonValues {
    /// The values of an array. The field says whether texts are JSON.
    pub(super) fn new(array: &ArrayRef, field: &Field) -> Result<Self> {
        let form = match array.data_type() {
            DataType::Null => JsonForm::Null,
            DataType::Boolean => JsonForm::Bool(texts(array)?),
            of if of.is_integer() => JsonForm::Number(texts(array)?),
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
                JsonForm::Number(texts(array)?)
            }
            DataType::Float16 => return Self::new(&cast(array, &DataType::Float32)?, field),
            DataType::Float32 | DataType::Float64 => {
                JsonForm::Number((0..array.len()).map(|row| float_text(array, row)).collect())
            }
            DataType::Utf8 if TextType::of(field).is_some_and(|of| of.is_json()) => JsonForm::Json(texts(array)?),
            DataType::Dictionary(_, values) => return Self::new(&cast(array, values)?, field),
            DataType::Timestamp(..) => JsonForm::Text(texts_of_times(array, 'T')?),
            DataType::Date32 => JsonForm::Text(texts_of_dates(array)),
            DataType::Time32(_) | DataType::Time64(_) => JsonForm::Text(texts_of_times_of_day(array)?),
            DataType::Date64 => return Self::new(&cast(array, &DataType::Date32)?, field),
            DataType::Interval(_) | DataType::Duration(_) => JsonForm::Text(texts_of_lengths(array)?),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                JsonForm::Text(digits(array)?)
            }
            DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
                return Self::new(&cast(array, &DataType::List(element.clone()))?, field);
            }
            DataType::List(element) => {
                let lists = array.as_list::<i32>();
                let declared = is_json_list(field).then(|| TextType::Json.field(element.name()));
                let elements = Self::new(lists.values(), declared.as_ref().unwrap_or(element.as_ref()))?;
                JsonForm::List(lists.offsets().clone(), Box::new(elements))
            }
            DataType::Struct(_) => JsonForm::Row(members(array.as_struct())?),
            _ => JsonForm::Text(texts(array)?),
        };
        Ok(Self { nulls: array.logical_nulls(), form })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        matches!(self.form, JsonForm::Null) || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Returns true if each value is an array.
    pub(super) fn are_lists(&self) -> bool {
        matches!(self.form, JsonForm::List(..))
    }

    /// Returns true if each value is a row.
    pub(super) fn are_rows(&self) -> bool {
        matches!(self.form, JsonForm::Row(_))
    }

    /// The text of a value that is the key of an object; `None` for arrays, rows and JSON.
    pub(super) fn key(&self, row: usize) -> Option<&str> {
        match &self.form {
            JsonForm::Bool(texts) | JsonForm::Number(texts) | JsonForm::Text(texts) => Some(texts.value(row)),
            JsonForm::Null | JsonForm::Json(_) | JsonForm::List(..) | JsonForm::Row(_) => None,
        }
    }

    /// Appends a value, NULL or not.
    pub(super) fn push(&self, row: usize, out: &mut String) {
        self.push_parts(row, ",", out);
    }

    /// The same, with something else than a comma between the parts of an array or of a row.
    pub(super) fn push_parts(&self, row: usize, separator: &str, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.form {
            JsonForm::Null => {}
            JsonForm::Bool(texts) | JsonForm::Json(texts) => out.push_str(texts.value(row)),
            JsonForm::Number(texts) if texts.value(row).ends_with(|last: char| last.is_ascii_digit()) => {
                out.push_str(texts.value(row));
            }
            JsonForm::Number(texts) | JsonForm::Text(texts) => out.push_str(&quoted(texts.value(row))),
            JsonForm::List(_, elements) => {
                out.push('[');
                for (at, element) in self.elements(row).enumerate() {
                    if at > 0 {
                        out.push_str(separator);
                    }
                    elements.push(element, out);
                }
                out.push(']');
            }
            JsonForm::Row(members) => {
                out.push('{');
                for (at, (name, values)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push_str(separator);
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    values.push(row, out);
                }
                out.push('}');
            }
        }
    }

    /// The elements of all arrays.
    pub(super) fn all_elements(&self) -> Option<&Self> {
        match &self.form {
            JsonForm::List(_, elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the range of one array's elements among [all](Self::all_elements); empty if it is no array.
    pub(super) fn elements(&self, row: usize) -> std::ops::Range<usize> {
        match &self.form {
            JsonForm::List(offsets, _) => offsets[row] as usize..offsets[row + 1] as usize,
            _ => 0..0,
        }
    }
}

fn texts(array: &ArrayRef) -> Result<StringArray> {
    Ok(cast(array, &DataType::Utf8)?.as_string::<i32>().clone())
}

/// The members of rows. `ROW(a, b)` has none with names, and PostgreSQL calls them `f1` and `f2`.
fn members(rows: &StructArray) -> Result<Vec<(String, JsonValues)>> {
    let fields = rows.fields();
    let are_unnamed = fields.iter().enumerate().all(|(at, field)| *field.name() == format!("c{at}"));
    let member = |(at, (field, array)): (usize, (&FieldRef, &ArrayRef))| {
        let name = if are_unnamed { format!("f{}", at + 1) } else { field.name().clone() };
        Ok((name, JsonValues::new(array, field)?))
    };
    fields.iter().zip(rows.columns()).enumerate().map(member).collect()
}

/// Bytes as hexadecimal digits.
fn digits(array: &ArrayRef) -> Result<StringArray> {
    let bytes = cast(array, &DataType::Binary)?;
    Ok(bytes.as_binary::<i32>().iter().map(|bytes| bytes.map(digits_of)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Date32Array, Float64Array, Int32Array, ListArray, TimestampMillisecondArray};
    use std::sync::Arc;

    fn written(array: ArrayRef, field: &Field) -> Vec<String> {
        let values = JsonValues::new(&array, field).unwrap();
        let of_row = |row| {
            let mut out = String::new();
            values.push(row, &mut out);
            out
        };
        (0..array.len()).map(of_row).collect()
    }

    #[test]
    fn values_are_written_as_postgresql_writes_them() {
        let plain = |array: ArrayRef| {
            let field = Field::new("x", array.data_type().clone(), true);
            written(array, &field)
        };
        assert_eq!(plain(Arc::new(Int32Array::from(vec![Some(-1), None]))), ["-1", "null"]);
        assert_eq!(plain(Arc::new(Float64Array::from(vec![1e20, f64::NAN, 1.0]))), ["1e+20", "\"NaN\"", "1"]);
        assert_eq!(plain(Arc::new(StringArray::from(vec!["x\"y", "1"]))), [r#""x\"y""#, r#""1""#]);
        let times = TimestampMillisecondArray::from(vec![1_704_164_645_600, 0]).with_timezone("UTC");
        assert_eq!(plain(Arc::new(times)), ["\"2024-01-02T03:04:05.6\"", "\"1970-01-01T00:00:00\""]);
        assert_eq!(plain(Arc::new(Date32Array::from(vec![0]))), ["\"1970-01-01\""]);
        let lists = vec![Some(vec![Some(1), None]), Some(vec![]), None];
        let lists = ListArray::from_iter_primitive::<datafusion::arrow::datatypes::Int32Type, _, _>(lists);
        assert_eq!(plain(Arc::new(lists)), ["[1,null]", "[]", "null"]);
        let json: ArrayRef = Arc::new(StringArray::from(vec![Some("{\"b\" : 1}"), None]));
        assert_eq!(written(json, &TextType::Json.field("x")), ["{\"b\" : 1}", "null"]);
    }
}
