//! Collects the values of one field.

use crate::field_type::FieldType;
use crate::scan::unescape_text;
use crate::value::Value;
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, NullBufferBuilder, StringArray, UInt64Array};
use arrow::buffer::{BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use std::sync::Arc;

/// A field's column.
pub(crate) struct FieldColumn {
    pub(crate) name: String,
    /// `None` until a line has a value in it.
    pub(crate) field_type: Option<FieldType>,
    /// Whether the type stays: the column exists, or a line with it was accepted.
    pub(crate) is_settled: bool,
    values: Values,
    nulls: NullBufferBuilder,
    /// The line that set a value last, to detect a field that occurs twice in a line.
    pub(crate) last_line: u64,
}

enum Values {
    None,
    Float(Vec<f64>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Bool(Vec<bool>),
    Text { ends: Vec<i32>, bytes: Vec<u8> },
}

impl FieldColumn {
    pub(crate) fn new(name: String, field_type: Option<FieldType>) -> Self {
        let is_settled = field_type.is_some();
        Self { name, field_type, is_settled, values: Values::None, nulls: NullBufferBuilder::new(0), last_line: 0 }
    }

    /// Returns whether it has values since it was last taken.
    pub(crate) fn has_values(&self) -> bool {
        !matches!(self.values, Values::None)
    }

    /// Sets the value of a row, counted from 0. The rows before it that have none are NULL.
    pub(crate) fn push(&mut self, row: usize, value: Value<'_>) {
        if !self.has_values() {
            self.values = Values::like(value);
        }
        self.pad(row);
        match (&mut self.values, value) {
            (Values::Float(values), Value::Float(value)) => values.push(value),
            (Values::Int(values), Value::Int(value)) => values.push(value),
            (Values::UInt(values), Value::UInt(value)) => values.push(value),
            (Values::Bool(values), Value::Bool(value)) => values.push(value),
            (Values::Text { ends, bytes }, Value::Text(text, has_escapes)) => {
                match has_escapes {
                    true => bytes.extend_from_slice(&unescape_text(text)),
                    false => bytes.extend_from_slice(text),
                }
                ends.push(bytes.len() as i32);
            }
            _ => return,
        }
        self.nulls.append_non_null();
    }

    fn pad(&mut self, row_count: usize) {
        let missing = row_count.saturating_sub(self.nulls.len());
        if missing == 0 {
            return;
        }
        match &mut self.values {
            Values::None => return,
            Values::Float(values) => values.resize(row_count, 0.0),
            Values::Int(values) => values.resize(row_count, 0),
            Values::UInt(values) => values.resize(row_count, 0),
            Values::Bool(values) => values.resize(row_count, false),
            Values::Text { ends, bytes } => ends.resize(row_count + 1, bytes.len() as i32),
        }
        self.nulls.append_n_nulls(missing);
    }

    /// Takes the values of all rows. Returns `None` if there are no values.
    pub(crate) fn take(&mut self, row_count: usize) -> Option<ArrayRef> {
        self.pad(row_count);
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        Some(match std::mem::replace(&mut self.values, Values::None) {
            Values::None => return None,
            Values::Float(values) => Arc::new(Float64Array::new(values.into(), nulls)),
            Values::Int(values) => Arc::new(Int64Array::new(values.into(), nulls)),
            Values::UInt(values) => Arc::new(UInt64Array::new(values.into(), nulls)),
            Values::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)),
            Values::Text { ends, bytes } => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
                // Each text was checked when its line was read.
                Arc::new(StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls).ok()?)
            }
        })
    }
}

impl Values {
    fn like(value: Value<'_>) -> Self {
        match value {
            Value::Float(_) => Self::Float(Vec::new()),
            Value::Int(_) => Self::Int(Vec::new()),
            Value::UInt(_) => Self::UInt(Vec::new()),
            Value::Bool(_) => Self::Bool(Vec::new()),
            Value::Text(..) => Self::Text { ends: vec![0], bytes: Vec::new() },
        }
    }
}
