//! Columns of text and of bytes.

use crate::build::cells::Cells;
use crate::build::column_values::{ColumnValues, InvalidValue, Values};
use crate::build::text_numbers::{TextNumbers, text_array};
use crate::facts::distinct::{Distinct, hash};
use crate::facts::nulls::{NullCounts, NullField};
use arrow::array::{BinaryArray, StringArray};
use arrow::error::ArrowError;
use atsdb_core::hex;
use std::sync::Arc;

impl Cells<'_> {
    /// Texts that `check` accepts, in the form that it gives them.
    pub(super) fn checked_texts(
        &self,
        position: usize,
        check: impl Fn(&str) -> Result<String, String>,
    ) -> Result<ColumnValues, ArrowError> {
        let mut texts: Vec<String> = Vec::new();
        let mut written = self.unescaped(position);
        let gathered = self.gather(position, |_| {
            texts.push(check(&written.next().unwrap_or_default())?);
            Ok(texts.len() - 1)
        });
        gathered.into_column(|numbers, nulls| {
            let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let text = |(row, number): (usize, &usize)| texts.get(*number).filter(|_| !is_null(row));
            Ok(Arc::new(numbers.iter().enumerate().map(text).collect::<StringArray>()))
        })
    }

    pub(super) fn binary(&self, position: usize) -> Result<ColumnValues, ArrowError> {
        let text = self.read.text.as_bytes();
        let column = self.read.records.column(position);
        let mut counts = NullCounts::default();
        let values = column.map(|field| {
            if let Some(null) = self.nulls.null_text(field, text) {
                counts.add(null);
                return None;
            }
            let bytes = field.unescaped(&self.read.text).into_bytes();
            let hex = bytes.strip_prefix(b"\\x").and_then(|digits| hex::decode(std::str::from_utf8(digits).ok()?));
            Some(hex.unwrap_or(bytes))
        });
        let array = Arc::new(values.collect::<BinaryArray>());
        Ok(ColumnValues::new(array, Vec::new(), counts))
    }

    /// Texts, mapped or not. `is_padded` removes the blanks around them, and `is_counted` counts the distinct ones.
    pub(crate) fn texts(&self, position: usize, is_padded: bool, is_counted: bool) -> Result<ColumnValues, ArrowError> {
        let text = self.read.text.as_bytes();
        let column = self.read.records.column(position);
        let is_mapped = self.column.column.map.is_some();
        let mut numbers = is_mapped.then(TextNumbers::new);
        let mut indices: Vec<u32> = Vec::with_capacity(if is_mapped { column.len() } else { 0 });
        let (mut offsets, mut bytes) = (vec![0_i32], Vec::new());
        let mut rest = Values::<()>::with_capacity(0);
        let (mut distinct, mut value_count) = (Distinct::default(), 0);
        let mut last: (&[u8], u32) = (b"", u32::MAX);
        for (row, field) in column.enumerate() {
            if !self.column.is_known && self.nulls.value(field, text).is_some() && rest.wrong.is_empty() {
                let reason = "is the column's first value".to_owned();
                rest.wrong.push(InvalidValue { row, field, reason });
            }
            let null = self.nulls.null_text(field, text);
            let is_kept = matches!(null, Some(NullField::Text(number)) if self.column.kept_words.has(number));
            if let Some(null) = null.filter(|_| is_kept) {
                rest.counts.add(null);
            } else if null.is_some() {
                self.null(&mut rest, row, field);
                if is_mapped {
                    indices.push(0)
                } else {
                    offsets.push(bytes.len() as i32)
                }
                continue;
            }
            value_count += 1;
            let own = field.bytes(text);
            let own = if is_padded && !field.is_quoted() { own.trim_ascii() } else { own };
            let unescaped;
            let value = if field.is_escaped() {
                unescaped = field.unescaped(&self.read.text);
                unescaped.as_bytes()
            } else {
                own
            };
            match &mut numbers {
                // Neighbouring rows often share a text.
                Some(_) if last.0 == value && last.1 != u32::MAX => indices.push(last.1),
                Some(numbers) => {
                    let number = numbers.number(value);
                    indices.push(number);
                    if !field.is_escaped() {
                        last = (own, number);
                    }
                }
                None => {
                    if is_counted {
                        distinct.add(hash(value));
                    }
                    bytes.extend_from_slice(value);
                    offsets.push(bytes.len() as i32);
                }
            }
            if let Some(valid) = &mut rest.valid {
                valid.push(true);
            }
        }
        let column = rest.into_column(|_, nulls| match numbers {
            Some(mut numbers) => {
                if is_counted {
                    numbers.hashes().iter().for_each(|hash| distinct.add(*hash));
                }
                if numbers.hashes().is_empty() {
                    // All NULL: their index must still lead somewhere.
                    numbers.number(b"");
                }
                numbers.into_array(indices, nulls)
            }
            None => Ok(Arc::new(text_array(offsets, bytes, nulls)?)),
        })?;
        Ok(ColumnValues { distinct: is_counted.then_some((distinct, value_count)), ..column })
    }
}
