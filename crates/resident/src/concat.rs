//! Concatenates arrays with several threads: the arrays collected by a load become one column.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use atsdb_core::parallel::parallel_map;
use atsdb_core::{Error, Result};

/// The maximum number of rows that a single thread concatenates.
const SINGLE_THREAD_ROWS_MAX: usize = 1 << 18;

/// Concatenates the arrays into one.
pub(crate) fn concat_arrays(arrays: &[ArrayRef], threads: usize) -> Result<ArrayRef> {
    if let [only] = arrays {
        return Ok(ArrayRef::clone(only));
    }
    let row_count: usize = arrays.iter().map(|array| array.len()).sum();
    let is_large = row_count > SINGLE_THREAD_ROWS_MAX && arrays.iter().all(|array| array.null_count() == 0);
    match arrays.first().map(|array| array.data_type()) {
        Some(DataType::Int32) if is_large => concat_numbers::<Int32Type>(arrays, row_count, threads),
        Some(DataType::Int64) if is_large => concat_numbers::<Int64Type>(arrays, row_count, threads),
        Some(DataType::Utf8) if is_large => concat_strings(arrays, row_count, threads),
        _ => {
            let arrays: Vec<&dyn Array> = arrays.iter().map(|array| array.as_ref()).collect();
            arrow::compute::concat(&arrays).map_err(Error::from)
        }
    }
}

fn concat_numbers<T: ArrowPrimitiveType>(arrays: &[ArrayRef], row_count: usize, threads: usize) -> Result<ArrayRef> {
    let mut values = vec![T::Native::default(); row_count];
    let sources: Vec<&[T::Native]> = arrays.iter().map(|array| &array.as_primitive::<T>().values()[..]).collect();
    let targets = split_by_lengths(&mut values, sources.iter().map(|source| source.len()));
    parallel_map(threads, sources.into_iter().zip(targets), |(source, target)| {
        target.copy_from_slice(source);
        Ok(())
    })?;
    Ok(std::sync::Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None)))
}

fn concat_strings(arrays: &[ArrayRef], row_count: usize, threads: usize) -> Result<ArrayRef> {
    let sources: Vec<&StringArray> = arrays.iter().map(|array| array.as_string::<i32>()).collect();
    let bounds = |source: &&StringArray| {
        let offsets = source.value_offsets();
        (offsets[0] as usize, offsets[source.len()] as usize)
    };
    let lengths: Vec<usize> = sources.iter().map(bounds).map(|(start, end)| end - start).collect();
    let (mut values, mut offsets) = (vec![0_u8; lengths.iter().sum()], vec![0_i32; row_count + 1]);
    let mut before = 0_usize;
    let start = |length: &usize| {
        before += length;
        before - length
    };
    let starts: Vec<usize> = lengths.iter().map(start).collect();
    let value_targets = split_by_lengths(&mut values, lengths.iter().copied());
    let offset_targets = split_by_lengths(&mut offsets[1..], sources.iter().map(|source| source.len()));
    let work = sources.into_iter().zip(starts).zip(value_targets.into_iter().zip(offset_targets));
    parallel_map(threads, work, |((source, start), (values, offsets))| {
        let (first, end) = bounds(&source);
        values.copy_from_slice(&source.value_data()[first..end]);
        let ends = &source.value_offsets()[1..];
        offsets.iter_mut().zip(ends).for_each(|(target, offset)| *target = offset - first as i32 + start as i32);
        Ok(())
    })?;
    // Each piece is valid UTF-8, and so is the whole. It is checked once more, which is cheap.
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let array = StringArray::try_new(offsets, Buffer::from_vec(values), None)?;
    Ok(std::sync::Arc::new(array))
}

/// Splits a slice into one mutable piece for each length.
fn split_by_lengths<T>(mut whole: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut pieces = Vec::new();
    for length in lengths {
        let (piece, rest) = whole.split_at_mut(length);
        pieces.push(piece);
        whole = rest;
    }
    pieces
}
