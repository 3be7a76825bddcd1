//! Sums of slices of numbers. Sums of integers are exact. Floating point numbers are added into several sums in
//! parallel, so that an addition does not wait for the preceding one.

/// The sum of fewer than 2^31 integers of up to 32 bits.
pub fn narrow_sum<T: Copy>(values: &[T]) -> i128
where
    i64: From<T>,
{
    values.iter().map(|value| i64::from(*value)).sum::<i64>().into()
}

/// The sum of fewer than 2^31 integers. The halves of each integer are summed separately, which processors can do for
/// several values at once.
pub fn signed_sum(values: &[i64]) -> i128 {
    let (mut high, mut low) = (0_i64, 0_u64);
    for value in values {
        high += value >> 32;
        low += u64::from(*value as u32);
    }
    (i128::from(high) << 32) + i128::from(low)
}

/// The sum of fewer than 2^31 integers.
pub fn unsigned_sum(values: &[u64]) -> i128 {
    let (mut high, mut low) = (0_u64, 0_u64);
    for value in values {
        high += value >> 32;
        low += u64::from(*value as u32);
    }
    (i128::from(high) << 32) + i128::from(low)
}

/// The number of sums that are computed in parallel.
const LANES: usize = 8;

/// The sum of floating point numbers, added as 64-bit numbers.
pub fn float_sum<T: Copy>(values: &[T]) -> f64
where
    f64: From<T>,
{
    let mut sums = [0.0_f64; LANES];
    let blocks = values.chunks_exact(LANES);
    let rest: f64 = blocks.remainder().iter().map(|value| f64::from(*value)).sum();
    for block in blocks {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += f64::from(*value);
        }
    }
    if values.len() < LANES { rest } else { sums.iter().sum::<f64>() + rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_largest_and_smallest_integers_are_exact() {
        for values in [[i64::MAX; 9], [i64::MIN; 9], [-1; 9], [1 << 32; 9], [-1 << 31; 9]] {
            assert_eq!(signed_sum(&values), values.iter().map(|value| i128::from(*value)).sum::<i128>());
        }
        assert_eq!(unsigned_sum(&[u64::MAX; 5]), i128::from(u64::MAX) * 5);
        assert_eq!(narrow_sum(&[i32::MIN; 5]), i128::from(i32::MIN) * 5);
        assert_eq!(float_sum(&[0.5_f32; 21]), 10.5);
        assert_eq!(float_sum(&[0.25_f64; 3]), 0.75);
    }
}
