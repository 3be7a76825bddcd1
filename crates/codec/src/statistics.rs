//! Statistics: the bounds of the values in a page.

use crate::number::Number;
use arrow::buffer::BooleanBuffer;
use atsdb_core::Bound;

/// The maximum size of a bound of text and bytes, in bytes.
const PREFIX_BYTES_MAX: usize = 32;

/// The lower and the upper bound, as far as they are known.
pub(crate) type Bounds = (Option<Bound>, Option<Bound>);

/// Returns the bounds of numbers. With a NaN, which is at an end of the order, there are none.
pub(crate) fn number_bounds<T: Number>(values: &[T]) -> Bounds {
    let Some(first) = values.first() else { return (None, None) };
    let keys = values.iter().map(|value| value.order_key());
    let (min, max) = keys.fold((first.order_key(), first.order_key()), |(min, max), key| (min.min(key), max.max(key)));
    match (T::from_order_key(min).bound(), T::from_order_key(max).bound()) {
        (Some(min), Some(max)) => (Some(min), Some(max)),
        _ => (None, None),
    }
}

/// Returns the bounds of booleans, as 0 and 1.
pub(crate) fn boolean_bounds(values: &BooleanBuffer) -> Bounds {
    if values.is_empty() {
        return (None, None);
    }
    let true_count = values.count_set_bits();
    let (min, max) = (true_count == values.len(), true_count > 0);
    (Some(Bound::Int(i64::from(min))), Some(Bound::Int(i64::from(max))))
}

/// Returns the bounds of text and bytes: a prefix of the smallest value, and the largest value. If that is truncated,
/// it is replaced by a string above all values with its prefix.
pub(crate) fn bytes_bounds<'a>(values: impl Iterator<Item = &'a [u8]>) -> Bounds {
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
