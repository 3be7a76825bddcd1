//! Sums and extremes of slices of numbers.

use arrow::datatypes::ArrowNativeType;
use atsdb_codec::sums::{float_sum, narrow_sum, signed_sum, unsigned_sum};
use std::ops::Add;

/// A number in the type of its column.
pub(super) trait Number: ArrowNativeType {
    /// The type of sums and extremes, which is large enough for the sum of the maximum number of values.
    type Wide: Copy + Add<Output = Self::Wide>;

    fn widen(self) -> Self::Wide;

    fn sum(values: &[Self]) -> Self::Wide;

    /// Adds each value to the sum of its group.
    fn add_each(sums: &mut [Self::Wide], values: &[Self], groups: &[u32]) {
        for (group, value) in groups.iter().zip(values) {
            let sum = &mut sums[*group as usize];
            *sum = *sum + value.widen();
        }
    }

    /// Returns whether the number comes before another. Floating-point numbers have their total order, in which -0.0
    /// comes before 0.0, and NaN after all numbers or, with its sign bit set, before them.
    fn is_below(self, other: Self) -> bool;

    /// Returns whether a widened number comes before another.
    fn is_wide_below(a: Self::Wide, b: Self::Wide) -> bool;
}

/// The first number in the order of [`Number::is_below`], of at least one.
pub(super) fn smallest<T: Number>(values: &[T]) -> T::Wide {
    select(values, |a, b| if b.is_below(a) { b } else { a }).widen()
}

/// The last number in the order of [`Number::is_below`], of at least one.
pub(super) fn largest<T: Number>(values: &[T]) -> T::Wide {
    select(values, |a, b| if a.is_below(b) { b } else { a }).widen()
}

/// The number of values that are compared in parallel.
const LANES: usize = 16;

/// One of at least one value: the one that remains if one of two is chosen again and again. The values are compared in
/// lanes, so that a comparison does not wait for the preceding one.
fn select<T: Number>(values: &[T], choose: impl Fn(T, T) -> T) -> T {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let Some((first, blocks)) = blocks.split_first() else { return fold(rest[0], rest, choose) };
    let mut lanes = *first;
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = choose(*lane, *value);
        }
    }
    fold(fold(lanes[0], &lanes, &choose), rest, choose)
}

fn fold<T: Number>(first: T, values: &[T], choose: impl Fn(T, T) -> T) -> T {
    values.iter().fold(first, |chosen, value| choose(chosen, *value))
}

/// The minimum number of values for each group with which they are first added in 64 bits.
const VALUES_OF_A_GROUP_MIN: usize = 4;

/// Adds each of fewer than 2^31 integers of up to 32 bits to the sum of its group. So many of them fit 64 bits, which
/// takes less time.
fn add_narrow<T: Copy>(sums: &mut [i128], values: &[T], groups: &[u32])
where
    i64: From<T>,
{
    if sums.len() > values.len() / VALUES_OF_A_GROUP_MIN {
        for (group, value) in groups.iter().zip(values) {
            sums[*group as usize] += i128::from(i64::from(*value));
        }
        return;
    }
    let mut parts = vec![0_i64; sums.len()];
    for (group, value) in groups.iter().zip(values) {
        parts[*group as usize] += i64::from(*value);
    }
    for (sum, part) in sums.iter_mut().zip(parts) {
        *sum += i128::from(part);
    }
}

macro_rules! integer {
    ($native:ty, $sum:expr $(, $add_each:expr)?) => {
        impl Number for $native {
            type Wide = i128;

            fn widen(self) -> i128 {
                self.into()
            }

            fn sum(values: &[Self]) -> i128 {
                $sum(values)
            }

            $(fn add_each(sums: &mut [i128], values: &[Self], groups: &[u32]) {
                $add_each(sums, values, groups);
            })?

            fn is_below(self, other: Self) -> bool {
                self < other
            }

            fn is_wide_below(a: i128, b: i128) -> bool {
                a < b
            }
        }
    };
}

integer!(i8, narrow_sum, add_narrow);
integer!(i16, narrow_sum, add_narrow);
integer!(i32, narrow_sum, add_narrow);
integer!(i64, signed_sum);
integer!(u8, narrow_sum, add_narrow);
integer!(u16, narrow_sum, add_narrow);
integer!(u32, narrow_sum, add_narrow);
integer!(u64, unsigned_sum);

macro_rules! float {
    ($native:ty) => {
        impl Number for $native {
            type Wide = f64;

            fn widen(self) -> f64 {
                self.into()
            }

            fn sum(values: &[Self]) -> f64 {
                float_sum(values)
            }

            fn is_below(self, other: Self) -> bool {
                self.total_cmp(&other).is_lt()
            }

            fn is_wide_below(a: f64, b: f64) -> bool {
                a.is_below(b)
            }
        }
    };
}

float!(f32);
float!(f64);
