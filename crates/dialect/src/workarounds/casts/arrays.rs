//! Arrays as text and text as arrays, in PostgreSQL's form, `{1,NULL}`, and arrays of one type as those of another.
//!
//! Part of [`postgres`](super::postgres). DataFusion 55 writes `[1, NULL]`, makes an array of one element of any text,
//! and casts elements by rules of its own. No upstream issue known.

use crate::text::bytes_text::digits_of;
use atsdb_core::array_text;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{CastOptions, cast};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

/// Casts the elements of arrays.
pub(super) type CastElements = fn(&ArrayRef, &DataType, &CastOptions<'_>) -> Result<ArrayRef>;

/// The text of each array.
pub(super) fn texts_of(array: &ArrayRef, cast_elements: CastElements) -> Result<ArrayRef> {
    let lists = lists(array)?;
    let elements = lists.values();
    let is_nested = elements.data_type().is_nested();
    let texts = match elements.data_type() {
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => texts_of(elements, cast_elements)?,
        _ => element_texts(elements, cast_elements)?,
    };
    let texts = texts.as_string::<i32>();
    let text = |row: usize| {
        let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
        let elements = range.map(|at| texts.is_valid(at).then(|| texts.value(at)));
        match is_nested {
            // Only the elements of the innermost arrays are quoted.
            true => format!("{{{}}}", elements.map(|text| text.unwrap_or("NULL")).collect::<Vec<_>>().join(",")),
            false => array_text::format(elements),
        }
    };
    let texts = (0..lists.len()).map(|row| lists.is_valid(row).then(|| text(row)));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

/// The texts of elements that are no arrays.
pub(super) fn element_texts(elements: &ArrayRef, cast_elements: CastElements) -> Result<ArrayRef> {
    if let Some(values) = elements.as_boolean_opt() {
        let texts = values.iter().map(|value| value.map(|value| if value { "t" } else { "f" }));
        return Ok(Arc::new(texts.collect::<StringArray>()));
    }
    if elements.data_type().is_binary() {
        let values = cast(elements, &DataType::Binary)?;
        let texts = values.as_binary::<i32>().iter().map(|value| value.map(digits_of));
        return Ok(Arc::new(texts.collect::<StringArray>()));
    }
    cast_elements(elements, &DataType::Utf8, &CastOptions::default())
}

/// Texts as arrays with such elements.
pub(super) fn arrays_of(
    texts: &StringArray,
    element: &FieldRef,
    options: &CastOptions<'_>,
    cast_elements: CastElements,
) -> Result<ArrayRef> {
    let (mut lengths, mut elements) = (Vec::with_capacity(texts.len()), Vec::new());
    let mut valid = Vec::with_capacity(texts.len());
    for text in texts {
        let read = match text.map(|text| (text, array_text::parse(text))) {
            Some((_, Ok(read))) => Some(read),
            Some((text, Err(error))) if !options.safe => return exec_err!("{}", error.message(text)),
            _ => None,
        };
        valid.push(read.is_some());
        lengths.push(read.as_ref().map_or(0, Vec::len));
        elements.extend(read.into_iter().flatten());
    }
    let elements: ArrayRef = Arc::new(StringArray::from(elements));
    let elements = cast_elements(&elements, element.data_type(), options)?;
    let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
    Ok(Arc::new(ListArray::try_new(Arc::clone(element), OffsetBuffer::from_lengths(lengths), elements, nulls)?))
}

/// Arrays with elements of another type.
pub(super) fn with_elements(
    array: &ArrayRef,
    element: &FieldRef,
    options: &CastOptions<'_>,
    cast_elements: CastElements,
) -> Result<ArrayRef> {
    let lists = lists(array)?;
    let elements = cast_elements(lists.values(), element.data_type(), options)?;
    let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
    Ok(Arc::new(ListArray::try_new(Arc::clone(element), offsets, elements, nulls)?))
}

fn lists(array: &ArrayRef) -> Result<ListArray> {
    Ok(match array.data_type() {
        DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            cast(array, &DataType::List(Arc::clone(field)))?.as_list::<i32>().clone()
        }
        _ => array.as_list::<i32>().clone(),
    })
}
