//! Rows as text in PostgreSQL's form: `(1,"a b",,t)`. DataFusion casts no row to a text.
//!
//! No upstream issue known.

use super::postgres::{array_texts, element_texts};
use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::context::SessionContext;
use std::sync::Arc;

pub(crate) fn register(context: &SessionContext) {
    context.register_udf(Plain::variadic("row_text", DataType::Utf8, row_texts).udf());
}

/// The text of each row with these columns.
fn row_texts(columns: &[ArrayRef]) -> Result<ArrayRef> {
    let columns_of_texts = columns.iter().map(texts_of).collect::<Result<Vec<_>>>()?;
    let row_count = columns.first().map_or(0, |column| column.len());
    let texts = (0..row_count).map(|row| {
        let mut text = String::from("(");
        for (at, column) in columns_of_texts.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            let column = column.as_string::<i32>();
            if column.is_valid(row) {
                write_value(&mut text, column.value(row));
            }
        }
        text.push(')');
        text
    });
    Ok(Arc::new(StringArray::from_iter_values(texts)))
}

/// The values of a column as texts.
pub(super) fn texts_of(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => array_texts(column),
        DataType::Struct(_) => {
            let texts = row_texts(column.as_struct().columns())?;
            let texts = texts.as_string::<i32>().iter().enumerate();
            Ok(Arc::new(texts.map(|(row, text)| text.filter(|_| column.is_valid(row))).collect::<StringArray>()))
        }
        DataType::Timestamp(_, Some(_)) => {
            let texts = element_texts(column)?;
            let texts = texts.as_string::<i32>().iter().map(|text| text.map(|text| format!("{text}+00")));
            Ok(Arc::new(texts.collect::<StringArray>()))
        }
        _ => element_texts(column),
    }
}

/// Writes a value, in quotes if it is empty or has letters that mean something in the text of a row.
fn write_value(text: &mut String, value: &str) {
    let is_special = |letter: char| matches!(letter, '"' | '\\' | '(' | ')' | ',') || letter.is_ascii_whitespace();
    if !value.is_empty() && !value.contains(is_special) {
        text.push_str(value);
        return;
    }
    text.push('"');
    for letter in value.chars() {
        if matches!(letter, '"' | '\\') {
            text.push(letter);
        }
        text.push(letter);
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_are_quoted() {
        for (value, expected) in
            [("a", "a"), ("", "\"\""), ("a b", "\"a b\""), ("q\"r", "\"q\"\"r\""), ("b\\s", "\"b\\\\s\"")]
        {
            let mut text = String::new();
            write_value(&mut text, value);
            assert_eq!(text, expected);
        }
    }
}
