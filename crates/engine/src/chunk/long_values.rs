//! Sizes of values that may be long: text, bytes and arrays. Like the number of rows, they limit a chunk.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use atsdb_codec::element_bytes;
use atsdb_core::limits::{CHUNK_ELEMENTS_MAX, CHUNK_TEXT_BYTES_MAX};
use std::ops::Range;

/// The minimum number of bytes that an array's element counts for, so that a full chunk does not exceed its limit of
/// elements.
const ELEMENT_CHUNK_BYTES_MIN: usize = CHUNK_TEXT_BYTES_MAX / CHUNK_ELEMENTS_MAX;

/// The sizes of the values of an array.
pub(crate) struct LongValues<'a> {
    /// The ends of the values in their bytes, or in the elements of all arrays.
    offsets: &'a [i32],
    /// The elements of arrays: the size of each, and the ends of texts in their bytes.
    elements: Option<(usize, Option<&'a [i32]>)>,
}

impl<'a> LongValues<'a> {
    /// `None` if all values of the type have one size.
    pub(crate) fn of(array: &'a ArrayRef) -> Option<Self> {
        if let Some(offsets) = byte_offsets(array) {
            return Some(Self { offsets, elements: None });
        }
        let arrays = array.as_list_opt::<i32>()?;
        let elements = (element_bytes(arrays.values().data_type()), byte_offsets(arrays.values()));
        Some(Self { offsets: arrays.value_offsets(), elements: Some(elements) })
    }

    /// The total size of the values of some rows, in bytes.
    pub(crate) fn byte_count(&self, rows: Range<usize>) -> usize {
        let (start, end) = (self.offsets[rows.start] as usize, self.offsets[rows.end] as usize);
        match self.elements {
            None => end - start,
            Some((each, None)) => (end - start) * each,
            Some((each, Some(texts))) => (end - start) * each + (texts[end] - texts[start]) as usize,
        }
    }

    /// The total size of all values, in bytes.
    pub(crate) fn total(&self) -> usize {
        self.byte_count(0..self.row_count())
    }

    /// The bytes that some rows count for in a chunk's limit: their size, or the minimum for their elements if that is
    /// more.
    pub(crate) fn chunk_bytes(&self, rows: Range<usize>) -> usize {
        let element_count = match self.elements {
            None => 0,
            Some(_) => (self.offsets[rows.end] - self.offsets[rows.start]) as usize,
        };
        self.byte_count(rows).max(element_count * ELEMENT_CHUNK_BYTES_MIN)
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> usize {
        self.offsets.len() - 1
    }
}

fn byte_offsets(array: &ArrayRef) -> Option<&[i32]> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().value_offsets()),
        DataType::Binary => Some(array.as_binary::<i32>().value_offsets()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, ListArray, StringArray};
    use arrow::datatypes::{Int16Type, Int32Type, Int64Type};
    use std::sync::Arc;

    #[test]
    fn arrays_count_their_elements_and_the_letters_of_texts() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("bcd"), Some("")]));
        let sizes = LongValues::of(&texts).unwrap();
        assert_eq!((sizes.total(), sizes.byte_count(1..3), sizes.row_count()), (4, 3, 4));
        let numbers = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(2)]),
        ]);
        let numbers: ArrayRef = Arc::new(numbers);
        assert_eq!(LongValues::of(&numbers).unwrap().total(), 12);
        assert_eq!(LongValues::of(&numbers.slice(2, 2)).unwrap().total(), 4);
        let field = Arc::new(arrow::datatypes::Field::new_list_field(DataType::Utf8, true));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([1, 3]);
        let words: ArrayRef = Arc::new(ListArray::new(field, offsets, texts, None));
        let sizes = LongValues::of(&words).unwrap();
        assert_eq!((sizes.byte_count(0..1), sizes.byte_count(1..2)), (5, 15));
        assert!(LongValues::of(&(Arc::new(Int64Array::from(vec![1])) as ArrayRef)).is_none());
    }

    #[test]
    fn small_elements_take_as_much_of_a_chunk_as_their_number_demands() {
        let small = ListArray::from_iter_primitive::<Int16Type, _, _>([Some(vec![Some(1); 3]), None, Some(vec![None])]);
        let small: ArrayRef = Arc::new(small);
        let sizes = LongValues::of(&small).unwrap();
        assert_eq!((sizes.byte_count(0..3), sizes.chunk_bytes(0..3), sizes.chunk_bytes(1..3)), (8, 16, 4));
        let large: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1); 3])]));
        assert_eq!(LongValues::of(&large).unwrap().chunk_bytes(0..1), 24);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "bc"]));
        assert_eq!(LongValues::of(&texts).unwrap().chunk_bytes(0..2), 3);
    }
}
