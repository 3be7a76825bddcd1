//! Texts of columns with a declared length. Each text passes through here on its way into a table: arrays when they get
//! the types of the table's columns (`coerce`), and a text of a record when it is written (`record`). Rows that exist
//! are tested when a length is declared.

use crate::chunk::lossless::RowNumbers;
use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use atsdb_core::{Column, Error, Result, TableDefinition, TextLength};
use std::sync::Arc;

/// Texts as a column of this length stores them. They may be a dictionary of texts.
pub(crate) fn fit_texts(length: TextLength, array: ArrayRef, rows: RowNumbers) -> Result<ArrayRef> {
    let dictionary = array.as_any_dictionary_opt();
    let has_stored_strings = dictionary.map(|dictionary| are_stored(length, dictionary.values()));
    let plain = match has_stored_strings {
        Some(true) => return Ok(array),
        // Strings that no row uses need not fit.
        Some(false) => cast(&array, &DataType::Utf8)?,
        None => array,
    };
    if are_stored(length, &plain) {
        return Ok(plain);
    }
    let texts = plain.as_string::<i32>();
    let mut stored = Vec::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        let fit = text.map(|text| length.stored(text)).transpose();
        stored.push(fit.map_err(|error| Error::invalid(format!("{}{}", rows.prefix(row), error.message())))?);
    }
    Ok(Arc::new(StringArray::from(stored)))
}

/// The text of a record as a column of this length stores it.
pub(crate) fn fit_bytes(length: TextLength, text: &[u8]) -> Result<&[u8]> {
    let text = std::str::from_utf8(text).map_err(|_| Error::invalid("a value is not valid UTF-8"))?;
    length.stored(text).map(str::as_bytes)
}

/// Refuses texts of existing rows if they do not fit the column's length, which was declared after them.
///
/// Errors: [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue), also for spaces at the end that would be cut.
pub(crate) fn require_stored(definition: &TableDefinition, column: &Column, texts: &ArrayRef) -> Result<()> {
    let Some(length) = column.length.filter(|length| !are_stored(*length, texts)) else { return Ok(()) };
    let in_column = |error: Error| error.context(format_args!("table {}, column {}", definition.name, column.name));
    for text in texts.as_string::<i32>().iter().flatten() {
        length.stored(text).map_err(in_column)?;
    }
    let (name, sql_name) = (&column.name, length.sql_name());
    Err(in_column(Error::invalid(format!("a text has spaces at its end, which {sql_name} would cut")))
        .with_hint(format!("cut them first: UPDATE ... SET {name} = rtrim({name})")))
}

/// Returns whether all texts are stored as they are.
fn are_stored(length: TextLength, texts: &ArrayRef) -> bool {
    let is_stored = |text: &str| length.stored(text).is_ok_and(|stored| stored.len() == text.len());
    texts.as_string::<i32>().iter().flatten().all(is_stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::DictionaryArray;
    use arrow::datatypes::UInt8Type;

    const THREE: TextLength = TextLength { characters: 3, is_char: false };

    fn texts(texts: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    #[test]
    fn texts_are_cut_or_refused_with_their_row() {
        let fit = |array: ArrayRef| fit_texts(THREE, array, RowNumbers::Known);
        let short = texts(&[Some("abc"), None, Some("äöü")]);
        assert!(Arc::ptr_eq(&fit(ArrayRef::clone(&short)).unwrap(), &short), "nothing is copied");
        let found = fit(texts(&[Some("abc  "), None])).unwrap();
        assert_eq!(found.as_ref(), texts(&[Some("abc"), None]).as_ref());
        let message = fit(texts(&[Some("abc"), Some("abcd")])).unwrap_err().to_string();
        assert!(message.contains("row 2: value too long for type character varying(3)"), "{message}");
    }

    #[test]
    fn strings_of_a_dictionary_that_no_row_uses_may_be_longer() {
        let all: DictionaryArray<UInt8Type> = ["abcd", "abc", "x  "].into_iter().collect();
        let all: ArrayRef = Arc::new(all);
        let is_char = TextLength { is_char: true, ..THREE };
        let fit = |from, length| fit_texts(length, all.slice(from, 3 - from), RowNumbers::Known);
        assert_eq!(fit(1, is_char).unwrap().as_ref(), texts(&[Some("abc"), Some("x")]).as_ref());
        assert!(fit(0, is_char).is_err());
    }

    #[test]
    fn existing_rows_are_not_changed() {
        let definition = TableDefinition::new("t").with_column("a", atsdb_core::ColumnType::Text, None);
        let column = Column { length: Some(THREE), ..definition.columns[0].clone() };
        require_stored(&definition, &column, &texts(&[Some("abc"), None, Some("  ")])).unwrap();
        let message = |text| require_stored(&definition, &column, &texts(&[Some(text)])).unwrap_err().to_string();
        assert!(message("abcd").contains("value too long for type character varying(3)"));
        assert!(message("abc ").contains("spaces at its end, which VARCHAR(3) would cut"));
    }
}
