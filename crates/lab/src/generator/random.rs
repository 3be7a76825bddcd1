//! Random numbers that are the same on every machine and in every version: xoshiro256++ (Blackman and Vigna, 2019),
//! with its state initialised by SplitMix64. It yields only integers; nothing depends on floating point.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of a seed. `stream` distinguishes several streams of one seed, so that drawing more from one does
    /// not shift the others.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut filler = seed ^ stream.wrapping_mul(0xA076_1D64_78BD_642F);
        Self { state: std::array::from_fn(|_| split_mix(&mut filler)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from 0 up to `end`, without it, each as likely as any other. `end` is at least 1.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(end);
        if (product as u64) < end {
            let threshold = end.wrapping_neg() % end;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(end);
            }
        }
        (product >> 64) as u64
    }

    /// A number from `first` up to and with `last`.
    #[inline]
    pub fn between(&mut self, first: i64, last: i64) -> i64 {
        first + self.below(last.abs_diff(first) + 1) as i64
    }

    /// Returns true `count` times in `of`, on average.
    #[inline]
    pub fn chance(&mut self, count: u64, of: u64) -> bool {
        self.below(of) < count
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_the_published_numbers() {
        let mut state = 1_234_567;
        let numbers: [u64; 3] = std::array::from_fn(|_| split_mix(&mut state));
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn xoshiro_gives_the_published_numbers() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let numbers: [u64; 3] = std::array::from_fn(|_| random.bits());
        assert_eq!(numbers, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn below_reaches_every_number_about_equally() {
        let mut random = Random::new(1, 0);
        let mut counts = [0_u32; 9];
        (0..90_000).for_each(|_| counts[random.below(9) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }
}
