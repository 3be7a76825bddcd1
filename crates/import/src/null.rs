//! Which fields are NULL.

use crate::record::Field;

/// The texts that mean NULL in every import.
const USUAL: [&str; 13] =
    ["NA", "N/A", "n/a", "#N/A", "<NA>", "nil", "NIL", "NULL", "Null", "null", "None", "\\N", "#NULL!"];

/// The texts that mean NULL in this one.
#[derive(Debug, Clone)]
pub(crate) struct NullTexts {
    texts: Vec<Vec<u8>>,
    first_bytes: [bool; 256],
    length_max: usize,
}

impl NullTexts {
    /// The usual ones and these.
    pub(crate) fn new(more: &[String]) -> Self {
        let more = more.iter().map(|text| text.trim().as_bytes().to_vec());
        let texts: Vec<Vec<u8>> = USUAL.iter().map(|text| text.as_bytes().to_vec()).chain(more).collect();
        let mut first_bytes = [false; 256];
        for text in &texts {
            if let Some(first) = text.first() {
                first_bytes[usize::from(*first)] = true;
            }
        }
        let length_max = texts.iter().map(Vec::len).max().unwrap_or(0);
        Self { texts, first_bytes, length_max }
    }

    fn has(&self, trimmed: &[u8]) -> bool {
        match trimmed.first() {
            None => true,
            Some(first) => {
                self.first_bytes[usize::from(*first)]
                    && trimmed.len() <= self.length_max
                    && self.texts.iter().any(|text| text == trimmed)
            }
        }
    }

    /// The field of a column that is not text, without the blanks around it; `None` is NULL, whether quoted or not.
    #[inline]
    pub(crate) fn value<'a>(&self, field: Field, text: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = field.bytes(text).trim_ascii();
        if self.has(bytes) { None } else { Some(bytes) }
    }

    /// Whether the field of a text column is NULL: quoted ones are what they are.
    #[inline]
    pub(crate) fn is_null_text(&self, field: Field, text: &[u8]) -> bool {
        !field.is_quoted() && self.has(field.bytes(text).trim_ascii())
    }
}
