//! The files of `memory`: N random integers below N, or N random strings of 20 small letters, one per line.

use crate::generator::random::Random;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// Letters of a string.
pub const TEXT_LETTERS: usize = 20;

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Integers below the number of rows.
    Integers,
    /// Strings of 20 small letters.
    Texts,
}

impl Keys {
    /// The values of a seed, in the file's order.
    pub fn values(self, seed: u64, rows: u64) -> Box<dyn Iterator<Item = String>> {
        match self {
            Self::Integers => {
                let mut random = Random::new(seed, 20);
                Box::new((0..rows).map(move |_| random.below(rows).to_string()))
            }
            Self::Texts => {
                let mut random = Random::new(seed, 21);
                Box::new(
                    (0..rows)
                        .map(move |_| (0..TEXT_LETTERS).map(|_| char::from(b'a' + random.below(26) as u8)).collect()),
                )
            }
        }
    }

    /// A value of the same form that no file with this number of rows contains.
    pub fn missing(self, value: &str, rows: u64) -> String {
        match self {
            Self::Integers => value.parse::<u64>().unwrap_or(0).saturating_add(rows).to_string(),
            // A letter that none has.
            Self::Texts => format!("{}0", &value[1..]),
        }
    }
}

/// Writes a file.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_keys(path: &Path, keys: Keys, seed: u64, rows: u64) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for value in keys.values(seed, rows) {
        writeln!(file, "{value}")?;
    }
    file.flush()
}
