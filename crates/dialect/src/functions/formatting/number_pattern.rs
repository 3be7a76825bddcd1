//! PostgreSQL's patterns for numbers: `FM999,990.00`, which `to_char` writes and `to_number` reads.
//!
//! Owned here: what a pattern consists of, and which fields may stand together. Not owned: the digits.

use crate::functions::times::time_pattern::quoted_text;
use crate::text::errors::sql_error;
use atsdb_core::Result;

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberPiece {
    Field(NumberField),
    /// A character that stands for itself.
    Text(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberField {
    /// `9`, a digit that may be left out, or `0`, one that is always written.
    Digit {
        is_zero: bool,
    },
    /// `,` or `G`.
    Separator,
    /// `.` or `D`.
    Point,
    /// `S`, the sign beside the number.
    Sign,
    /// `MI`, `PL` and `SG`: the sign at this place, if it is a minus, a plus, or either.
    Minus,
    Plus,
    AnySign,
    /// `PR`: a negative number is written `<1>`.
    Brackets,
    /// `L`, which is a space, as in the locale `C`.
    Currency,
    /// `RN` or `rn`.
    Roman {
        is_lower: bool,
    },
    /// `TH` or `th`.
    Ordinal {
        is_lower: bool,
    },
    /// `V`: the digits after it multiply by powers of ten.
    Shift,
    /// `EEEE`.
    Exponent,
    /// `FM`: without padding.
    Bare,
    /// `B`, `C` and `SP`, which write nothing.
    Nothing,
}

/// All fields, which may be in small letters, too. A longer word stands before each word that it begins with.
const WORDS: [(&str, NumberField); 22] = [
    (",", NumberField::Separator),
    (".", NumberField::Point),
    ("0", NumberField::Digit { is_zero: true }),
    ("9", NumberField::Digit { is_zero: false }),
    ("B", NumberField::Nothing),
    ("C", NumberField::Nothing),
    ("D", NumberField::Point),
    ("EEEE", NumberField::Exponent),
    ("FM", NumberField::Bare),
    ("G", NumberField::Separator),
    ("L", NumberField::Currency),
    ("MI", NumberField::Minus),
    ("PL", NumberField::Plus),
    ("PR", NumberField::Brackets),
    ("rn", NumberField::Roman { is_lower: true }),
    ("RN", NumberField::Roman { is_lower: false }),
    ("SG", NumberField::AnySign),
    ("SP", NumberField::Nothing),
    ("S", NumberField::Sign),
    ("th", NumberField::Ordinal { is_lower: true }),
    ("TH", NumberField::Ordinal { is_lower: false }),
    ("V", NumberField::Shift),
];

/// The digits that a pattern may have.
const DIGITS_MAX: usize = 1_000;

/// The side of the number on which `S` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignSide {
    Before,
    Behind,
}

/// A pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NumberPattern {
    pub(super) pieces: Vec<NumberPiece>,
    /// The digits before the point, after it, and after `V`.
    pub(super) whole_digits: usize,
    pub(super) fraction_digits: usize,
    pub(super) shift_digits: usize,
    /// The position of the first `0`, if one stands before the point.
    pub(super) first_zero: Option<usize>,
    /// The number of digits up to the last `0`.
    pub(super) last_zero: usize,
    /// The side of `S`, and the digits before it.
    pub(super) sign: Option<(SignSide, usize)>,
    pub(super) has_point: bool,
    pub(super) has_shift: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) has_brackets: bool,
    pub(super) has_exponent: bool,
    pub(super) is_roman: bool,
    pub(super) is_bare: bool,
    is_blank: bool,
}

impl NumberPattern {
    /// Takes a pattern apart.
    pub(super) fn new(text: &str) -> Result<Self> {
        let mut pattern = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some((word, field)) = WORDS.iter().find(|(word, _)| begins_with(rest, word)) {
                pattern.add(*field, &rest[..word.len()])?;
                pattern.pieces.push(NumberPiece::Field(*field));
                rest = &rest[word.len()..];
            } else if let Some(after) = rest.strip_prefix('"') {
                let (quoted, after) = quoted_text(after);
                pattern.pieces.extend(quoted.chars().map(NumberPiece::Text));
                rest = after;
            } else {
                let quote = rest.strip_prefix("\\\"");
                pattern.pieces.push(NumberPiece::Text(if quote.is_some() { '"' } else { first }));
                rest = quote.unwrap_or(&rest[first.len_utf8()..]);
            }
        }
        match pattern.whole_digits + pattern.fraction_digits + pattern.shift_digits {
            0..=DIGITS_MAX => Ok(pattern),
            count => Err(sql_error(format!("the pattern of a number has {count} digits, {DIGITS_MAX} are allowed"))),
        }
    }

    /// Notes a field, which must go with those before it.
    fn add(&mut self, field: NumberField, written: &str) -> Result<()> {
        let wrong = |message: &str| Err(sql_error(format!("to_char, to_number: {message}")));
        if self.has_exponent && field != NumberField::Exponent {
            return wrong("EEEE must be the last field of a pattern");
        }
        let has_field_of_sign = self.has_plus || self.has_minus;
        match field {
            NumberField::Digit { .. } if self.has_brackets => {
                return wrong(&format!("{written} must stand before PR"));
            }
            NumberField::Digit { is_zero: false } if self.has_shift => self.shift_digits += 1,
            NumberField::Digit { is_zero } => {
                if is_zero && !self.has_point && self.first_zero.is_none() {
                    self.first_zero = Some(self.whole_digits);
                }
                if self.has_point {
                    self.fraction_digits += 1;
                } else {
                    self.whole_digits += 1;
                }
                if is_zero {
                    self.last_zero = self.whole_digits + self.fraction_digits;
                }
            }
            NumberField::Point if self.has_point => return wrong("there are several points"),
            NumberField::Point if self.has_shift => return wrong("V cannot stand together with a point"),
            NumberField::Shift if self.has_point => return wrong("V cannot stand together with a point"),
            NumberField::Point => self.has_point = true,
            NumberField::Shift => self.has_shift = true,
            NumberField::Bare => self.is_bare = true,
            NumberField::Sign if self.sign.is_some() => return wrong("S stands there twice"),
            NumberField::Sign if has_field_of_sign || self.has_brackets => {
                return wrong("S cannot stand together with PL, MI, SG or PR");
            }
            NumberField::Sign => {
                let side = if self.has_point { SignSide::Behind } else { SignSide::Before };
                self.sign = Some((side, self.whole_digits));
            }
            NumberField::Minus | NumberField::Plus | NumberField::AnySign if self.sign.is_some() => {
                return wrong(&format!("S cannot stand together with {written}"));
            }
            NumberField::Minus => self.has_minus = true,
            NumberField::Plus => self.has_plus = true,
            NumberField::AnySign => (self.has_minus, self.has_plus) = (true, true),
            NumberField::Brackets if self.sign.is_some() || has_field_of_sign => {
                return wrong("PR cannot stand together with S, PL, MI or SG");
            }
            NumberField::Brackets => self.has_brackets = true,
            NumberField::Roman { .. } => self.is_roman = true,
            NumberField::Exponent if self.has_exponent => return wrong("EEEE stands there twice"),
            NumberField::Exponent => {
                let has_other_field = self.sign.is_some() || has_field_of_sign || self.has_brackets;
                if has_other_field || self.is_bare || self.is_blank || self.is_roman || self.has_shift {
                    return wrong("EEEE can stand together with digits and a point only");
                }
                self.has_exponent = true;
            }
            NumberField::Nothing => {
                let is_first = self.whole_digits == 0 && self.fraction_digits == 0 && self.first_zero.is_none();
                self.is_blank |= written.eq_ignore_ascii_case("B") && is_first;
            }
            NumberField::Separator | NumberField::Currency | NumberField::Ordinal { .. } => {}
        }
        Ok(())
    }
}

/// Returns whether a text begins with a word, as it is written here or in small letters.
fn begins_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start == word || start == word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_counts_its_digits() {
        let pattern = NumberPattern::new("FM9,990.00 \"a\\\"b\"").unwrap();
        assert_eq!((pattern.whole_digits, pattern.fraction_digits, pattern.first_zero), (4, 2, Some(3)));
        assert_eq!((pattern.last_zero, pattern.has_point, pattern.is_bare), (6, true, true));
        assert_eq!(pattern.pieces[9..], [' ', 'a', '"', 'b'].map(NumberPiece::Text));
        let pattern = NumberPattern::new("99v999s").unwrap();
        assert_eq!((pattern.whole_digits, pattern.shift_digits), (2, 3));
        assert_eq!(pattern.sign, Some((SignSide::Before, 2)));
        assert_eq!(
            NumberPattern::new("rn").unwrap().pieces,
            [NumberPiece::Field(NumberField::Roman { is_lower: true })]
        );
    }

    #[test]
    fn fields_that_contradict_each_other_are_refused() {
        for pattern in
            ["9.9.9", "9V9.9", "9.9V9", "S9S", "SMI", "MIS", "9PR9", "S9PR", "9EEEE9", "FM9EEEE", "9EEEEEEEE"]
        {
            assert!(NumberPattern::new(pattern).is_err(), "{pattern}");
        }
    }
}
