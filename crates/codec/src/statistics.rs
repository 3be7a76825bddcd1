//! Statistics: the bounds and the sum of the values of a page.

use crate::number::Number;
use arrow::buffer::BooleanBuffer;
use atsdb_core::{Bound, ColumnStatistics, Sum};

/// The maximum size of a bound of text and bytes, in bytes.
const PREFIX_BYTES_MAX: usize = 32;

/// The smallest and the largest value, as far as they are known.
type Bounds = (Option<Bound>, Option<Bound>);

/// The statistics of values with these bounds, none of which is NULL.
fn statistics((min, max): Bounds) -> ColumnStatistics {
    ColumnStatistics { null_count: 0, min, max, sum: None }
}

/// Statistics of numbers. Without `is_summed` they have no sum, which is the case for indices and times.
pub(crate) fn of_numbers<T: Number>(values: &[T], is_summed: bool) -> ColumnStatistics {
    let sum = (is_summed && !values.is_empty()).then(|| T::sum(values));
    // A sum that is NaN is useless: the values must be read anyway.
    let sum = sum.filter(|sum| !matches!(sum, Sum::Float(sum) if sum.is_nan()));
    ColumnStatistics { sum, ..statistics(number_bounds(values)) }
}

/// The bounds of numbers. A NaN is at an end of the order, so there are no bounds if any value is NaN.
fn number_bounds<T: Number>(values: &[T]) -> Bounds {
    let Some(first) = values.first() else { return (None, None) };
    let keys = values.iter().map(|value| value.order_key());
    let (min, max) = keys.fold((first.order_key(), first.order_key()), |(min, max), key| (min.min(key), max.max(key)));
    match (T::from_order_key(min).bound(), T::from_order_key(max).bound()) {
        (Some(min), Some(max)) => (Some(min), Some(max)),
        _ => (None, None),
    }
}

/// Statistics of booleans, as 0 and 1.
pub(crate) fn of_booleans(values: &BooleanBuffer) -> ColumnStatistics {
    if values.is_empty() {
        return ColumnStatistics::default();
    }
    let true_count = values.count_set_bits();
    let (min, max) = (true_count == values.len(), true_count > 0);
    statistics((Some(Bound::Int(i64::from(min))), Some(Bound::Int(i64::from(max)))))
}

/// Statistics of text and bytes.
pub(crate) fn of_bytes<'a>(values: impl Iterator<Item = &'a [u8]>) -> ColumnStatistics {
    statistics(bytes_bounds(values))
}

/// Bounds of text and bytes. The lower bound is a prefix of the smallest value. The upper bound is the largest value
/// or, if that is too long, a string above all values with its prefix.
fn bytes_bounds<'a>(values: impl Iterator<Item = &'a [u8]>) -> Bounds {
    let mut bounds: Option<(&[u8], &[u8])> = None;
    for value in values {
        let (min, max) = bounds.get_or_insert((value, value));
        if value < *min {
            *min = value;
        } else if value > *max {
            *max = value;
        }
    }
    match bounds {
        None => (None, None),
        Some((min, max)) => {
            let min = &min[..min.len().min(PREFIX_BYTES_MAX)];
            (Some(Bound::Bytes(min.to_vec())), upper_bound(max).map(Bound::Bytes))
        }
    }
}

fn upper_bound(max: &[u8]) -> Option<Vec<u8>> {
    if max.len() <= PREFIX_BYTES_MAX {
        return Some(max.to_vec());
    }
    let mut bound = max[..PREFIX_BYTES_MAX].to_vec();
    while let Some(last) = bound.pop() {
        if last < u8::MAX {
            bound.push(last + 1);
            return Some(bound);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_bound_is_not_below_what_it_bounds() {
        let long = [b"a".repeat(31), vec![0xff, 0xff]].concat();
        let (min, max) = bytes_bounds([long.as_slice()].into_iter());
        assert_eq!(min, Some(Bound::Bytes(long[..32].to_vec())));
        assert_eq!(max, Some(Bound::Bytes([b"a".repeat(30), b"b".to_vec()].concat())));
        assert_eq!(bytes_bounds([[0xff; 40].as_slice()].into_iter()).1, None);
        assert_eq!(bytes_bounds([b"".as_slice()].into_iter()).1, Some(Bound::Bytes(Vec::new())));
    }
}
