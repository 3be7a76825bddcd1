//! Values for which PostgreSQL has no type, as JSON.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write;

/// A value as JSON.
pub(in crate::pg) fn json(array: &dyn Array, row: usize) -> String {
    let mut out = String::new();
    push_json(&mut out, array, row);
    out
}

fn push_json(out: &mut String, array: &dyn Array, row: usize) {
    if array.is_null(row) {
        out.push_str("null");
        return;
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            out.push('{');
            for (position, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                out.push_str(if position > 0 { ", " } else { "" });
                push_json_text(out, field.name());
                out.push_str(": ");
                push_json(out, column, row);
            }
            out.push('}');
        }
        DataType::List(_) => push_json_list(out, &array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => push_json_list(out, &array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => push_json_list(out, &array.as_fixed_size_list().value(row)),
        data_type => {
            let shown = match ArrayFormatter::try_new(array, &FormatOptions::default()) {
                Ok(formatter) => formatter.value(row).to_string(),
                Err(error) => error.to_string(),
            };
            let is_finite = shown.ends_with(|last: char| last.is_ascii_digit());
            match data_type.is_numeric() && is_finite || *data_type == DataType::Boolean {
                true => out.push_str(&shown),
                false => push_json_text(out, &shown),
            }
        }
    }
}

fn push_json_list(out: &mut String, list: &ArrayRef) {
    out.push('[');
    for row in 0..list.len() {
        out.push_str(if row > 0 { ", " } else { "" });
        push_json(out, list, row);
    }
    out.push(']');
}

fn push_json_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
