//! `to_char` of numbers: a number in a pattern such as `FM999,990.00`.
//!
//! Owned here: where digits, spaces and signs are written. This follows the steps of PostgreSQL's `formatting.c`,
//! because they depend on each other there. Not owned: reading patterns, and the digits of a number.

use super::number_digits::{Number, float_digits, roman_of, rounded, scientific_decimal, scientific_float};
use super::number_pattern::{NumberField, NumberPattern, NumberPiece, SignSide};

/// The width of a Roman number.
const ROMAN_WIDTH: usize = 15;

/// Writes a number.
pub(super) fn number_text(pattern: &NumberPattern, number: Number) -> String {
    if pattern.is_roman {
        return roman_text(pattern, number);
    }
    let places = pattern.fraction_digits;
    if pattern.has_exponent {
        return match number {
            Number::Int(value) => scientific_float(value.into(), pattern.whole_digits, places),
            Number::Float(value, _) => scientific_float(value, pattern.whole_digits, places),
            Number::Decimal(value, scale) => scientific_decimal(value, scale, places),
        };
    }
    let shift = i32::try_from(pattern.shift_digits).unwrap_or(i32::MAX);
    let (digits, fraction_digits) = match number {
        Number::Int(value) => (rounded(value.into(), -shift, places), places),
        Number::Decimal(value, scale) => (rounded(value, scale.saturating_sub(shift), places), places),
        Number::Float(value, digits_max) => float_digits(value * 10_f64.powi(shift), places, digits_max),
    };
    let (is_negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits.to_owned()),
        None => (false, digits),
    };
    let whole_digits = pattern.whole_digits + pattern.shift_digits;
    let whole = digits.find('.').unwrap_or(digits.len());
    let digits = if whole > whole_digits {
        format!("{}.{}", "#".repeat(whole_digits), "#".repeat(fraction_digits))
    } else {
        digits
    };
    let places =
        DigitCounts { whole: whole_digits, fraction: fraction_digits, spaces: whole_digits.saturating_sub(whole) };
    Writer::new(pattern, digits, places, is_negative).written()
}

fn roman_text(pattern: &NumberPattern, number: Number) -> String {
    let roman = roman_of(number).unwrap_or_else(|| "#".repeat(ROMAN_WIDTH));
    let width = if pattern.is_bare { 0 } else { ROMAN_WIDTH };
    let mut text = String::new();
    for piece in &pattern.pieces {
        match piece {
            NumberPiece::Text(letter) => text.push(*letter),
            NumberPiece::Field(NumberField::Roman { is_lower: false }) => text.push_str(&format!("{roman:>width$}")),
            NumberPiece::Field(NumberField::Roman { is_lower: true }) => {
                text.push_str(&format!("{:>width$}", roman.to_lowercase()));
            }
            NumberPiece::Field(NumberField::Currency) => text.push(' '),
            NumberPiece::Field(NumberField::Separator | NumberField::Minus | NumberField::Plus) if width > 0 => {
                text.push(' ');
            }
            NumberPiece::Field(_) => {}
        }
    }
    text
}

/// The number of digits for which a pattern has room, and the number of those before the point that the number does not
/// have.
#[derive(Debug, Clone, Copy)]
struct DigitCounts {
    whole: usize,
    fraction: usize,
    spaces: usize,
}

/// Writes the digits of one number.
struct Writer<'a> {
    pattern: &'a NumberPattern,
    /// The digits with their point, without a sign.
    digits: Vec<char>,
    places: DigitCounts,
    is_negative: bool,
    sign_side: Option<SignSide>,
    has_brackets: bool,
    is_sign_written: bool,
    /// The fields that are written as one character each.
    field_count: usize,
    /// The position of the last character of the fraction that is not a zero, or of the point; `None` without `FM`.
    last_relevant: Option<usize>,
    /// The position of the next digit, and the number of digits and points of the pattern that have been written.
    next: usize,
    written_count: usize,
    /// Whether the last field wrote a digit.
    is_in_number: bool,
    /// A float has fewer digits than its pattern, which ends where they do.
    is_at_end: bool,
    text: String,
}

impl<'a> Writer<'a> {
    fn new(pattern: &'a NumberPattern, digits: String, places: DigitCounts, is_negative: bool) -> Self {
        let digits: Vec<char> = digits.chars().collect();
        let (mut sign_side, mut has_brackets) = (pattern.sign.map(|(side, _)| side), pattern.has_brackets);
        let is_sign_written = if pattern.has_plus || pattern.has_minus {
            // MI, PL and SG write the sign themselves.
            pattern.has_minus
        } else {
            has_brackets &= is_negative || !pattern.is_bare;
            if pattern.sign == Some((SignSide::Before, places.whole)) {
                sign_side = Some(SignSide::Behind);
            }
            !is_negative && pattern.is_bare && sign_side.is_none()
        };
        let point = digits.iter().position(|digit| *digit == '.');
        let last_relevant = point.filter(|_| pattern.is_bare && pattern.has_point).map(|point| {
            let last = digits.iter().rposition(|digit| *digit != '0').map_or(point, |last| last.max(point));
            // A digit for a 0 of the pattern is written.
            let zeros = pattern.last_zero.checked_sub(places.spaces).filter(|zeros| *zeros > 0);
            zeros.map_or(last, |zeros| last.max(zeros.min(digits.len() - 1)))
        });
        let is_sign_counted = !is_sign_written && places.spaces == 0;
        Self {
            pattern,
            digits,
            places,
            is_negative,
            sign_side,
            has_brackets,
            is_sign_written,
            field_count: places.whole + places.fraction + usize::from(is_sign_counted),
            last_relevant,
            next: 0,
            written_count: 0,
            is_in_number: false,
            is_at_end: false,
            text: String::new(),
        }
    }

    fn written(mut self) -> String {
        let pattern = self.pattern;
        for piece in &pattern.pieces {
            match *piece {
                NumberPiece::Text(letter) => self.push(letter),
                NumberPiece::Field(field) => self.write(field),
            }
        }
        self.text
    }

    fn push(&mut self, letter: char) {
        if !self.is_at_end {
            self.text.push(letter);
        }
    }

    fn write(&mut self, field: NumberField) {
        let sign = if self.is_negative { '-' } else { '+' };
        let is_bare = self.pattern.is_bare;
        match field {
            NumberField::Digit { .. } | NumberField::Point => self.write_digit(field),
            NumberField::Separator if self.is_in_number => self.push(','),
            NumberField::Minus if self.is_negative => self.push('-'),
            NumberField::Plus if !self.is_negative => self.push('+'),
            NumberField::Separator | NumberField::Minus | NumberField::Plus if !is_bare => self.push(' '),
            NumberField::AnySign => self.push(sign),
            NumberField::Currency => self.push(' '),
            NumberField::Ordinal { is_lower } => self.write_ordinal(is_lower),
            _ => {}
        }
    }

    fn write_ordinal(&mut self, is_lower: bool) {
        if self.is_negative || self.pattern.has_point || self.digits.first() == Some(&'#') {
            return;
        }
        let (last, before) = match self.digits.as_slice() {
            [.., before, last] => (*last, *before),
            [last] => (*last, '0'),
            [] => return,
        };
        let letters = match last {
            '1' if before != '1' => "ST",
            '2' if before != '1' => "ND",
            '3' if before != '1' => "RD",
            _ => "TH",
        };
        for letter in letters.chars() {
            self.push(if is_lower { letter.to_ascii_lowercase() } else { letter });
        }
    }

    /// Returns whether the current digit is the only one before the point, and a zero that the pattern does not
    /// require: `.1`.
    fn is_zero_before_point(&self) -> bool {
        let is_first = self.next == 0 && self.digits.first() == Some(&'0');
        self.pattern.first_zero.is_none() && is_first && self.places.fraction != 0
    }

    /// Returns whether the fraction has no relevant digits.
    fn ends_with_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.digits[last] == '.')
    }

    fn write_sign(&mut self) {
        let is_zero_in_turn = self.pattern.first_zero == Some(self.written_count);
        let is_in_turn = self.written_count >= self.places.spaces || is_zero_in_turn;
        if self.is_sign_written || !is_in_turn || self.is_zero_before_point() && !self.ends_with_point() {
            return;
        }
        match self.sign_side {
            Some(SignSide::Before) => self.push(if self.is_negative { '-' } else { '+' }),
            // It is written after the last digit.
            Some(SignSide::Behind) => return,
            None if self.has_brackets => self.push(if self.is_negative { '<' } else { ' ' }),
            None if self.is_negative => self.push('-'),
            None if !self.pattern.is_bare => self.push(' '),
            None => {}
        }
        self.is_sign_written = true;
    }

    /// Writes the character for a digit or the point of the pattern.
    fn write_digit(&mut self, field: NumberField) {
        self.is_in_number = false;
        self.write_sign();
        let is_before_number = self.written_count < self.places.spaces;
        let is_zero = self.pattern.first_zero.is_some_and(|first| first <= self.written_count);
        if is_before_number && is_zero {
            self.push('0');
            self.is_in_number = true;
        } else if is_before_number {
            if !self.pattern.is_bare {
                self.push(' ');
            }
        } else {
            self.write_next(field);
        }
        self.write_sign_behind();
        self.written_count += 1;
    }

    /// Writes the next digit, or the point.
    fn write_next(&mut self, field: NumberField) {
        let next = self.digits.get(self.next).copied();
        let is_irrelevant = self.last_relevant.is_some_and(|last| self.next > last);
        match next {
            Some('.') => self.push('.'),
            _ if is_irrelevant && field != (NumberField::Digit { is_zero: true }) => {}
            _ if self.is_zero_before_point() => {
                if !self.pattern.is_bare {
                    self.push(' ');
                } else if self.ends_with_point() {
                    self.push('0');
                }
            }
            Some(digit) => {
                self.push(digit);
                self.is_in_number = true;
            }
            None => self.is_at_end = true,
        }
        if next.is_some() {
            self.next += 1;
        }
    }

    /// Writes what stands after the last digit: a bracket, or the sign.
    fn write_sign_behind(&mut self) {
        // As many fields as digits, without the first one, the spaces before and the point counted as one each.
        let end = self.field_count + usize::from(self.places.spaces > 0) + usize::from(self.pattern.has_point);
        if self.written_count + 2 != end || self.last_relevant == Some(self.next) {
            return;
        }
        if self.is_sign_written && self.has_brackets {
            self.push(if self.is_negative { '>' } else { ' ' });
        } else if self.sign_side == Some(SignSide::Behind) {
            self.push(if self.is_negative { '-' } else { '+' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::number_digits::{DOUBLE_DIGITS, REAL_DIGITS};
    use super::*;
    use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
    use atsdb_core::decimal;

    fn text(pattern: &str, number: &str) -> String {
        let (_, fraction) = number.split_once('.').unwrap_or((number, ""));
        let scale = u8::try_from(fraction.len()).unwrap();
        let value = decimal::parse(number, DECIMAL_DIGITS_MAX, scale).unwrap();
        number_text(&NumberPattern::new(pattern).unwrap(), Number::Decimal(value, scale.into()))
    }

    /// The examples of PostgreSQL's documentation, and some of its regression tests.
    #[test]
    fn numbers_are_written_as_postgresql_writes_them() {
        for (number, pattern, wanted) in [
            ("-0.1", "99.99", "  -.10"),
            ("-0.1", "FM9.99", "-.1"),
            ("-0.1", "FM90.99", "-0.1"),
            ("0.1", "0.9", " 0.1"),
            ("12", "9990999.9", "    0012.0"),
            ("12", "FM9990999.9", "0012."),
            ("485", "999", " 485"),
            ("-485", "999", "-485"),
            ("485", "9 9 9", " 4 8 5"),
            ("1485", "9,999", " 1,485"),
            ("1485", "9G999", " 1,485"),
            ("148.5", "999.999", " 148.500"),
            ("148.5", "FM999.999", "148.5"),
            ("148.5", "FM999.990", "148.500"),
            ("148.5", "999D999", " 148.500"),
            ("3148.5", "9G999D999", " 3,148.500"),
            ("-485", "999S", "485-"),
            ("-485", "999MI", "485-"),
            ("485", "999MI", "485 "),
            ("485", "FM999MI", "485"),
            ("485", "SG999", "+485"),
            ("-485", "SG999", "-485"),
            ("-485", "9SG99", "4-85"),
            ("-485", "999PR", "<485>"),
            ("485", "999PR", " 485 "),
            ("485", "FM999PR", "485"),
            ("485", "L999", "  485"),
            ("485", "RN", "        CDLXXXV"),
            ("485", "FMRN", "CDLXXXV"),
            ("5.2", "FMrn", "v"),
            ("4000", "FMRN", "###############"),
            ("482", "999th", " 482nd"),
            ("11", "99TH", " 11TH"),
            ("485", "\"Good number:\"999", "Good number: 485"),
            ("485.8", "\"Pre:\"999\" Post:\" .999", "Pre: 485 Post: .800"),
            ("12", "99V999", " 12000"),
            ("12.4", "99V999", " 12400"),
            ("12.45", "99V9", " 125"),
            ("0.0004859", "9.99EEEE", " 4.86e-04"),
            ("-99950", "9.9EEEE", "-1.0e+05"),
            ("0", "9.99EEEE", " 0.00e+00"),
            ("1234", "999", " ###"),
            ("-1234.5", "99.9", "-##.#"),
            ("1234567.891", "FM9,999,999.99", "1,234,567.89"),
            ("0", "FM999.00", ".00"),
            ("0", "FM990.00", "0.00"),
            ("0", "FM9.9", "0."),
            ("5", "000", " 005"),
            ("-5", "S000", "-005"),
            ("5", "S999", "  +5"),
            ("-5", "999,999S", "      5-"),
            ("50", "990%", "  50%"),
        ] {
            assert_eq!(text(pattern, number), wanted, "{number} {pattern}");
        }
    }

    #[test]
    fn floats_have_no_more_digits_than_their_type() {
        let pattern = NumberPattern::new("FM99999999.99999999").unwrap();
        assert_eq!(number_text(&pattern, Number::Float(0.1, DOUBLE_DIGITS)), ".1");
        assert_eq!(number_text(&pattern, Number::Float(1234.567_f32.into(), REAL_DIGITS)), "1234.57");
        let pattern = NumberPattern::new("9.99EEEE").unwrap();
        assert_eq!(number_text(&pattern, Number::Float(-123_456.0, DOUBLE_DIGITS)), "-1.23e+05");
        assert_eq!(number_text(&pattern, Number::Float(f64::NAN, DOUBLE_DIGITS)), " #.######");
        assert_eq!(number_text(&pattern, Number::Int(12_350)), " 1.24e+04");
    }
}
