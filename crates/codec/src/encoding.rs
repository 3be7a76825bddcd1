//! The encodings with their numbers and names, and the effort of a writer.

use strum::{FromRepr, IntoStaticStr};

/// The compression effort of a page's writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effort {
    /// The effort for fresh chunks: pages are fast to write, and small enough.
    Fresh,
    /// The effort for sealed chunks: pages are as small as possible at a rate that sealing can sustain.
    Sealed,
}

/// The encoding of a page's values. Pages contain these numbers, which are never changed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, FromRepr, IntoStaticStr)]
#[repr(u8)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Encoding {
    /// No values: every row is NULL, or there is no row.
    Null = 0,
    /// All values have the same bits.
    Constant = 1,
    /// Numbers: the first one and a constant step.
    Regular = 2,
    /// Numbers in their memory format.
    Raw = 3,
    /// Numbers compressed by pcodec.
    Pco = 4,
    /// Booleans: one bit each.
    Bitmap = 5,
    /// Booleans: run lengths.
    Runs = 6,
    /// Booleans: one bit each, compressed by zstd.
    BitmapZstd = 7,
    /// Text and bytes: lengths as numbers, contents compressed by zstd.
    Zstd = 8,
    /// Text and bytes: distinct values, and the index of each row's value.
    Dictionary = 9,
    /// Floating point numbers that are decimal fractions: as integers, and a power of ten.
    Decimal = 10,
    /// Integers, mostly times, with a common step: residuals, and the positions where the step is broken.
    Rhythm = 11,
    /// A membership filter of the tuples in the chunk, for indexes. Since format 2.
    Membership = 12,
    /// Arrays: their lengths as numbers, and all elements in their own encoding. Since format 3.
    Array = 13,
}

impl Encoding {
    /// Returns the first page format with this encoding.
    pub(crate) fn format(self) -> u8 {
        match self {
            Self::Membership => 2,
            Self::Array => 3,
            _ => 1,
        }
    }

    /// The number in pages.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    fn name(self) -> &'static str {
        self.into()
    }
}

/// Returns the name of an encoding number, for people; `unknown` if this version does not know it.
pub fn encoding_name(encoding: u8) -> &'static str {
    Encoding::from_repr(encoding).map_or("unknown", Encoding::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_joined_by_hyphens() {
        assert_eq!(encoding_name(7), "bitmap-zstd");
        assert_eq!(encoding_name(200), "unknown");
    }
}
