//! Shannon entropy (1948) of the distributions that generators draw from, in bits. No lossless code stores draws in
//! fewer bits on average, so it is the lower bound that reports show next to sizes.

/// The entropy of one draw among outcomes with these weights, which may have any sum.
pub fn of_weights(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    weights.iter().filter(|weight| **weight > 0.0).map(|weight| weight / sum).map(|share| -share * share.log2()).sum()
}

/// The entropy of one draw among `count` outcomes that are equally likely.
pub fn of_uniform(count: f64) -> f64 {
    count.log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coin_is_one_bit_and_certainty_none() {
        assert_eq!(of_weights(&[1.0, 1.0]), 1.0);
        assert_eq!(of_weights(&[7.0, 0.0]), 0.0);
        assert_eq!(of_uniform(8.0), 3.0);
        assert!((of_weights(&[1.0; 9]) - of_uniform(9.0)).abs() < 1e-12);
    }
}
