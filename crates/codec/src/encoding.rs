//! The encodings with their numbers and names, and the effort of a writer.

/// The compression effort of a page's writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effort {
    /// For fresh chunks: fast to write, and small enough.
    Fresh,
    /// For sealed chunks: as small as possible at a rate that sealing can sustain.
    Sealed,
}

/// The encoding of a page's values. Pages contain these numbers, which are never changed or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
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
    /// For indexes: a membership filter of the tuples in the chunk. Since format 2.
    Membership = 12,
}

impl Encoding {
    pub(crate) const ALL: [Self; 13] = [
        Self::Null,
        Self::Constant,
        Self::Regular,
        Self::Raw,
        Self::Pco,
        Self::Bitmap,
        Self::Runs,
        Self::BitmapZstd,
        Self::Zstd,
        Self::Dictionary,
        Self::Decimal,
        Self::Rhythm,
        Self::Membership,
    ];

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns the first page format with this encoding.
    pub(crate) fn format(self) -> u8 {
        match self {
            Self::Membership => 2,
            _ => 1,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Constant => "constant",
            Self::Regular => "regular",
            Self::Raw => "raw",
            Self::Pco => "pco",
            Self::Bitmap => "bitmap",
            Self::Runs => "runs",
            Self::BitmapZstd => "bitmap-zstd",
            Self::Zstd => "zstd",
            Self::Dictionary => "dictionary",
            Self::Decimal => "decimal",
            Self::Rhythm => "rhythm",
            Self::Membership => "membership",
        }
    }
}

/// Returns the name of an encoding number, for people; `unknown` if this version does not know it.
pub fn encoding_name(encoding: u8) -> &'static str {
    Encoding::from_number(encoding).map_or("unknown", Encoding::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_its_place_in_the_list_and_has_its_own_name() {
        for (number, encoding) in Encoding::ALL.into_iter().enumerate() {
            assert_eq!(encoding as usize, number);
            assert_eq!(Encoding::ALL.iter().filter(|other| other.name() == encoding.name()).count(), 1);
        }
        assert_eq!(encoding_name(200), "unknown");
    }
}
