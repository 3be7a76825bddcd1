//! The encodings, by number and by name, and how hard a writer tries.

/// How hard the writer of a page tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effort {
    /// For what was just appended: fast to write, and small enough.
    Fresh,
    /// For what is sealed: as small as possible at a rate that sealing can keep up with.
    Sealed,
}

/// How the values of a page are written. The numbers are in pages: they are never changed or used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Encoding {
    /// There are no values: every row is NULL, or there is no row.
    Null = 0,
    /// All values are the same bits.
    Constant = 1,
    /// Numbers: a first one and a step.
    Regular = 2,
    /// Numbers as they are in memory.
    Raw = 3,
    /// Numbers by pcodec.
    Pco = 4,
    /// Booleans: a bit each.
    Bitmap = 5,
    /// Booleans: how many are the same in a row.
    Runs = 6,
    /// Booleans: a bit each, by zstd.
    BitmapZstd = 7,
    /// Text and bytes: lengths as numbers, contents by zstd.
    Zstd = 8,
    /// Text and bytes: distinct values, and an index into them for each row.
    Dictionary = 9,
    /// Floating point numbers that are decimal fractions: as integers, and a power of ten.
    Decimal = 10,
    /// Integers, mostly times, that follow a common step: residuals, and where the step does not lead on.
    Rhythm = 11,
    /// Of an index: a filter of the tuples that are there. Since format 2.
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

    /// The first format of pages that has it.
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

/// The name of an encoding's number, for people; `unknown` for one that this version does not know.
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
