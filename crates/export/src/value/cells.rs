//! The values of a column, ready to be written.

use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;

/// The kind of text of a column's values, which decides quotes and alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// A number that is valid in JSON.
    Number,
    /// A number, or one of the three texts that JSON has no number for.
    Float,
    /// true or false.
    Bool,
    /// An array, or a struct.
    Nested,
    /// Any other value.
    Text,
}

pub(super) type Render<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

/// The values of one column, ready to be written.
pub struct Cells<'a> {
    pub(super) nulls: Option<NullBuffer>,
    pub(super) kind: TextKind,
    pub(super) render: Render<'a>,
    /// The text in JSON, where it is another.
    pub(super) json: Option<Render<'a>>,
}

impl Cells<'_> {
    /// The kind of text of the values.
    pub fn kind(&self) -> TextKind {
        self.kind
    }

    /// Returns whether the value of a row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the text of a row's value, which is not NULL.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        (self.render)(row, out);
    }

    /// Appends a row's value, NULL or not, as JSON.
    pub fn write_json(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return;
        }
        if let Some(json) = &self.json {
            json(row, out);
            return;
        }
        let start = out.len();
        self.write(row, out);
        let is_quoted = match self.kind {
            TextKind::Number | TextKind::Bool | TextKind::Nested => false,
            TextKind::Float => !out.last().is_some_and(u8::is_ascii_digit),
            TextKind::Text => true,
        };
        if is_quoted {
            let text = String::from_utf8_lossy(&out.split_off(start)).into_owned();
            write_json_text(&text, out);
        }
    }
}

/// The kind of a type's text, before there are values.
pub fn kind_of(data_type: &DataType) -> TextKind {
    use DataType as T;
    match data_type {
        T::Boolean => TextKind::Bool,
        T::Float16 | T::Float32 | T::Float64 => TextKind::Float,
        T::Dictionary(_, values) => kind_of(values),
        T::List(_) | T::LargeList(_) | T::FixedSizeList(_, _) | T::Struct(_) => TextKind::Nested,
        T::Decimal32(_, _) | T::Decimal64(_, _) | T::Decimal128(_, _) | T::Decimal256(_, _) => TextKind::Number,
        other if other.is_integer() => TextKind::Number,
        _ => TextKind::Text,
    }
}

/// Appends a text as a JSON string.
pub fn write_json_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, text);
}
