//! Decides which fields are NULL.
//!
//! Some of the texts that mean NULL are also words: `NA` is a country, `None` a category. If one of them occurs in a
//! column whose type does not allow text, it must be NULL there, and then it is NULL in the whole import. Otherwise a
//! text column of repeated words keeps it as text.

use crate::records::Field;

/// The number of words at the start of [`USUAL`].
pub(crate) const WORDS: usize = 5;

/// The texts that mean NULL by default.
const USUAL: [&str; 13] =
    ["NA", "None", "Null", "nil", "NIL", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "\\N", "#NULL!"];

/// A set of words: bit n is word n of [`USUAL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WordSet(u8);

impl WordSet {
    /// The words that are not in the set.
    pub(crate) fn others(self) -> Self {
        Self(!self.0 & ((1 << WORDS) - 1))
    }

    /// The words that are in either set.
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, number: usize) -> bool {
        number < WORDS && self.0 >> number & 1 != 0
    }
}

/// The reason why a field is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NullField {
    /// The field is empty.
    Empty,
    /// It is this text of the [`NullTexts`].
    Text(usize),
}

/// The texts that mean NULL in an import.
#[derive(Debug, Clone)]
pub(crate) struct NullTexts {
    texts: Vec<Vec<u8>>,
    /// The number of texts, from the first on, that a text column may keep.
    word_count: usize,
    first_bytes: [bool; 256],
    length_max: usize,
}

impl NullTexts {
    /// Creates the list from the given texts, or from the usual ones if none are given.
    pub(crate) fn new(custom: &[String]) -> Self {
        let usual = USUAL.iter().map(|text| text.as_bytes().to_vec());
        let own = custom.iter().map(|text| text.trim().as_bytes().to_vec()).filter(|text| !text.is_empty());
        let texts: Vec<Vec<u8>> = if custom.is_empty() { usual.collect() } else { own.collect() };
        let mut first_bytes = [false; 256];
        for text in &texts {
            first_bytes[usize::from(text[0])] = true;
        }
        let length_max = texts.iter().map(Vec::len).max().unwrap_or(0);
        Self { texts, word_count: if custom.is_empty() { WORDS } else { 0 }, first_bytes, length_max }
    }

    #[inline]
    fn find(&self, trimmed: &[u8]) -> Option<NullField> {
        let Some(first) = trimmed.first() else { return Some(NullField::Empty) };
        if !self.first_bytes[usize::from(*first)] || trimmed.len() > self.length_max {
            return None;
        }
        self.texts.iter().position(|text| text == trimmed).map(NullField::Text)
    }

    /// The field of a column that is not text, without the blanks around it; `None` is NULL, whether quoted or not.
    #[inline]
    pub(crate) fn value<'a>(&self, field: Field, text: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = field.bytes(text).trim_ascii();
        if self.find(bytes).is_some() { None } else { Some(bytes) }
    }

    /// Returns the reason why the field of a column that is not text is NULL; `None` if it has a value.
    pub(crate) fn null(&self, field: Field, text: &[u8]) -> Option<NullField> {
        self.find(field.bytes(text).trim_ascii())
    }

    /// Returns which NULL the field of a text column is. A quoted field is always text.
    #[inline]
    pub(crate) fn null_text(&self, field: Field, text: &[u8]) -> Option<NullField> {
        if field.is_quoted() { None } else { self.find(field.bytes(text).trim_ascii()) }
    }

    /// Returns whether the field of a text column is NULL where no words are kept.
    #[inline]
    pub(crate) fn is_null_text(&self, field: Field, text: &[u8]) -> bool {
        self.null_text(field, text).is_some()
    }

    /// Returns whether a text column may keep this one: it is a word, which may be a value.
    pub(crate) fn is_word(&self, number: usize) -> bool {
        number < self.word_count
    }

    /// Returns whether a text column may keep some of them.
    pub(crate) fn have_words(&self) -> bool {
        self.word_count > 0
    }

    /// The texts, in the order of their numbers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.texts.iter().map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// The number of occurrences of each NULL text in a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NullCounts(Vec<u64>);

impl NullCounts {
    pub(crate) fn add(&mut self, null: NullField) {
        if let NullField::Text(number) = null {
            self.grow(number + 1);
            self.0[number] += 1;
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.grow(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own += other);
    }

    fn grow(&mut self, length: usize) {
        self.0.resize(self.0.len().max(length), 0);
    }

    pub(crate) fn of(&self, number: usize) -> u64 {
        self.0.get(number).copied().unwrap_or(0)
    }

    /// The words that occurred.
    pub(crate) fn words(&self) -> WordSet {
        WordSet((0..WORDS).filter(|word| self.of(*word) > 0).fold(0, |set, word| set | 1 << word))
    }

    /// The number of distinct texts of a set that occurred, and the total number of occurrences.
    pub(crate) fn within(&self, set: WordSet) -> (usize, u64) {
        let counts = (0..WORDS).filter(|word| set.has(*word)).map(|word| self.of(word));
        counts.filter(|count| *count > 0).fold((0, 0), |(kinds, sum), count| (kinds + 1, sum + count))
    }
}
