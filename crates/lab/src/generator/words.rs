//! The rows of `split`: a short string, an integer below 30,000, and a number of the row.

use crate::generator::random::Random;

/// The integers are below this.
pub const NUMBERS_END: u64 = 30_000;
/// The number of distinct strings.
pub const WORDS: u64 = 20_000;

/// Makes the rows of a seed, in order.
#[derive(Debug, Clone)]
pub struct WordGenerator {
    random: Random,
    next: u64,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordRow {
    /// The number of the row, from 0.
    pub id: u64,
    /// A string of two to eight letters, one of [`WORDS`].
    pub word: String,
    /// A number below [`NUMBERS_END`].
    pub number: u64,
}

impl WordGenerator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed, 30), next: 0 }
    }
}

impl Iterator for WordGenerator {
    type Item = WordRow;

    fn next(&mut self) -> Option<WordRow> {
        let (id, word, number) = (self.next, self.random.below(WORDS), self.random.below(NUMBERS_END));
        self.next += 1;
        Some(WordRow { id, word: word_of(word), number })
    }
}

/// The string of a number below [`WORDS`]; different numbers have different strings.
pub fn word_of(number: u64) -> String {
    // Syllables of the number's digits to the base 20, so that strings share beginnings as words do.
    const SYLLABLES: [&str; 20] = [
        "ba", "co", "du", "fe", "gi", "ha", "jo", "ku", "le", "mi", "na", "po", "ru", "se", "ti", "va", "wo", "zu",
        "be", "da",
    ];
    let (mut rest, mut word) = (number, String::new());
    loop {
        word.push_str(SYLLABLES[(rest % 20) as usize]);
        rest /= 20;
        if rest == 0 {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn strings_are_short_and_different() {
        let words: HashSet<String> = (0..WORDS).map(word_of).collect();
        assert_eq!(words.len() as u64, WORDS);
        assert!(words.iter().all(|word| (2..=8).contains(&word.len())));
    }

    #[test]
    fn rows_of_a_seed_are_the_same_again() {
        let rows = |seed| WordGenerator::new(seed).take(1_000).collect::<Vec<_>>();
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
        assert!(rows(1).iter().all(|row| row.number < NUMBERS_END));
    }
}
