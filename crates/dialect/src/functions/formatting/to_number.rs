//! `to_number(text, pattern)` with PostgreSQL's patterns: `to_number('12,454.8-', '99G999D9S')`.
//!
//! Owned here: reading digits and signs. This follows the steps of PostgreSQL's `formatting.c`: a text need not match
//! its pattern, and each field says what is read or skipped. Not owned: reading patterns.

use super::number_pattern::{NumberField, NumberPattern, NumberPiece, SignSide};
use crate::functions::base::answers::answer;
use crate::functions::base::arguments::text_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{Result as CoreResult, decimal};
use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The function. Its result has as many digits after the point as the pattern.
pub(super) fn function() -> ScalarUDF {
    let signature = Signature::exact(vec![DataType::Utf8; 2], Volatility::Immutable);
    ScalarUDF::new_from_impl(ToNumber { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToNumber {
    signature: Signature,
}

impl ScalarUDFImpl for ToNumber {
    fn name(&self) -> &'static str {
        "to_number"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its pattern", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(Some(pattern)) = args.scalar_arguments.get(1) else {
            let error = sql_error("to_number: the pattern is not a constant").with_hint("write it in quotes: '999.99'");
            return Err(external(error));
        };
        let data_type = match text_of(pattern) {
            Some(pattern) => type_of(&readable(pattern).map_err(external)?).map_err(external)?,
            None => DataType::Decimal128(1, 0),
        };
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let DataType::Decimal128(precision, scale) = *args.return_type() else {
            return internal_err!("{} of type {}", self.name(), args.return_type());
        };
        let [texts, ColumnarValue::Scalar(pattern)] = args.args.as_slice() else {
            return internal_err!("{} of {} arguments", self.name(), args.args.len());
        };
        let Some(pattern) = text_of(pattern) else {
            return ScalarValue::try_from(args.return_type()).map(ColumnarValue::Scalar);
        };
        let pattern = readable(pattern).map_err(external)?;
        let is_scalar = matches!(texts, ColumnarValue::Scalar(_));
        let texts = texts.to_array(1)?;
        let number = |text: Option<&str>| text.map(|text| read(text, &pattern)).transpose();
        let numbers = texts.as_string::<i32>().iter().map(number).collect::<CoreResult<Decimal128Array>>();
        let numbers = numbers.map_err(external)?.with_precision_and_scale(precision, scale)?;
        let numbers: ArrayRef = Arc::new(numbers);
        answer(is_scalar, numbers)
    }
}

/// Takes a pattern apart that numbers can be read with.
fn readable(text: &str) -> CoreResult<NumberPattern> {
    let pattern = NumberPattern::new(text)?;
    match pattern.is_roman || pattern.has_exponent {
        true => Err(sql_error(format!("to_number: '{text:.40}' cannot be read, because it has RN or EEEE"))),
        false => Ok(pattern),
    }
}

/// The type of numbers in a pattern. Digits after `V` are after the point of the number.
fn type_of(pattern: &NumberPattern) -> CoreResult<DataType> {
    let digits = pattern.whole_digits + pattern.shift_digits + pattern.fraction_digits;
    match (u8::try_from(digits.max(1)), i8::try_from(pattern.shift_digits + pattern.fraction_digits)) {
        (Ok(digits @ 1..=DECIMAL_DIGITS_MAX), Ok(scale)) => Ok(DataType::Decimal128(digits, scale)),
        _ => Err(sql_error(format!("to_number: a pattern has at most {DECIMAL_DIGITS_MAX} digits, not {digits}"))),
    }
}

/// Reads a number, as an integer that counts the last digit of the pattern.
fn read(text: &str, pattern: &NumberPattern) -> CoreResult<i128> {
    let mut reader = Reader {
        pattern,
        text: text.chars().collect(),
        at: 0,
        sign: None,
        digits: String::new(),
        has_point: false,
        fraction_count: 0,
    };
    for piece in &pattern.pieces {
        if reader.at >= reader.text.len() {
            break;
        }
        match piece {
            // It stands for one character, whatever that is.
            NumberPiece::Text(_) => reader.at += 1,
            NumberPiece::Field(field) => reader.field(*field),
        }
    }
    let digits = reader.digits.trim_end_matches('.');
    let signed = format!("{}{digits}", reader.sign.unwrap_or('+'));
    let digit_count = pattern.whole_digits + pattern.shift_digits + pattern.fraction_digits;
    let (precision, scale) = (u8::try_from(digit_count), u8::try_from(pattern.fraction_digits));
    let number = precision.ok().zip(scale.ok());
    let number = number.and_then(|(precision, scale)| decimal::parse(&signed, precision, scale));
    number.ok_or_else(|| {
        sql_error(format!("to_number: '{text:.60}' is not a number in the pattern, or has too many digits"))
            .with_hint("each 9 or 0 of the pattern reads one digit: to_number('1,234.5', '9G999D9')")
    })
}

struct Reader<'a> {
    pattern: &'a NumberPattern,
    text: Vec<char>,
    /// The position of the next character.
    at: usize,
    sign: Option<char>,
    /// The digits that have been read, with their point.
    digits: String,
    has_point: bool,
    /// The digits after the point.
    fraction_count: usize,
}

impl Reader<'_> {
    fn next(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn field(&mut self, field: NumberField) {
        let next = self.next();
        match field {
            NumberField::Digit { .. } | NumberField::Point => {
                self.digit(field);
                self.at += 1;
            }
            NumberField::Separator if !self.pattern.is_bare && next == Some(',') => self.at += 1,
            NumberField::Minus if next == Some('-') => self.take_sign(),
            NumberField::Plus if next == Some('+') => self.take_sign(),
            NumberField::AnySign if matches!(next, Some('+' | '-')) => self.take_sign(),
            NumberField::Minus | NumberField::Plus | NumberField::AnySign | NumberField::Currency => self.skip(1),
            NumberField::Ordinal { .. } if !self.pattern.has_point => self.skip(2),
            _ => {}
        }
    }

    fn take_sign(&mut self) {
        self.sign = self.next();
        self.at += 1;
    }

    /// Skips characters that cannot be a part of a number.
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.next().is_some_and(|next| !next.is_ascii_digit() && !".,+-".contains(next)) {
                self.at += 1;
            }
        }
    }

    /// Reads a digit or the point, and a sign before the first or after the last digit.
    fn digit(&mut self, field: NumberField) {
        if self.next() == Some(' ') {
            self.at += 1;
        }
        let has_digits = self.digits.chars().any(|digit| digit != '.');
        if self.sign.is_none() && !has_digits && field != NumberField::Point {
            self.sign_before();
        }
        let Some(next) = self.next() else { return };
        let mut is_read = false;
        if next.is_ascii_digit() {
            if self.has_point && self.fraction_count == self.pattern.fraction_digits {
                return;
            }
            self.digits.push(next);
            self.fraction_count += usize::from(self.has_point);
            is_read = true;
        } else if next == '.' && self.pattern.has_point && !self.has_point {
            self.digits.push('.');
            (self.has_point, is_read) = (true, true);
        }
        if self.sign.is_none() && self.digits.chars().any(|digit| digit != '.') {
            self.sign_behind(is_read);
        }
    }

    fn sign_before(&mut self) {
        let is_anchored = self.pattern.sign.is_some_and(|(side, _)| side == SignSide::Before);
        let is_negative = match self.next() {
            Some('-') => true,
            Some('<') => !is_anchored && self.pattern.has_brackets,
            Some('+') => false,
            _ => return,
        };
        if self.next() != Some('<') || is_negative {
            self.sign = Some(if is_negative { '-' } else { '+' });
            self.at += 1;
        }
    }

    /// `is_read` is whether a digit or the point has been read at this position.
    fn sign_behind(&mut self, is_read: bool) {
        let is_sign = |letter: &char| matches!(letter, '+' | '-');
        if self.pattern.sign.is_some() {
            // S stands directly after the last digit.
            if let Some(sign) = self.text.get(self.at + 1).copied().filter(|next| is_read && is_sign(next)) {
                self.sign = Some(sign);
                self.at += 1;
            }
        } else if !is_read && (self.pattern.has_plus || self.pattern.has_minus) {
            self.sign = self.next().filter(is_sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_postgresql_reads_them() {
        for (text, pattern, wanted) in [
            ("-34,338,492", "99G999G999", "-34338492"),
            ("-34,338,492.654,878", "99G999G999D999G999", "-34338492.654878"),
            ("<564646.654564>", "999999.999999PR", "-564646.654564"),
            ("0.00001-", "9.999999S", "-0.000010"),
            ("5.01-", "FM9.999999S", "-5.010000"),
            ("5.01-", "FM9.999999MI", "-5.010000"),
            ("5 4 4 4 4 8 . 7 8", "9 9 9 9 9 9 . 9 9", "544448.78"),
            (".01", "FM9.99", "0.01"),
            (".0", "99999999.99999999", "0.00000000"),
            ("0", "99.99", "0.00"),
            (".-01", "S99.99", "-0.01"),
            (".01-", "99.99S", "-0.01"),
            (" . 0 1-", " 9 9 . 9 9 S", "-0.01"),
            ("34,50", "999,99", "3450"),
            ("123,000", "999G", "123"),
            ("123456", "999G999", "123456"),
            ("$1234.56", "L9,999.99", "1234.56"),
            ("$1,234.56", "L99,999.99", "1234.56"),
            ("1234.56", "L99,999.99", "1234.56"),
            ("42nd", "99th", "42"),
            ("123.456", "999.9", "123.4"),
            ("+5", "S9", "5"),
        ] {
            let pattern = readable(pattern).unwrap();
            let DataType::Decimal128(_, scale) = type_of(&pattern).unwrap() else { panic!("no decimal") };
            let found = decimal::format(read(text, &pattern).unwrap(), u8::try_from(scale).unwrap());
            assert_eq!(found, wanted, "{text}");
        }
        assert_eq!(read("12345", &readable("999V99").unwrap()).unwrap(), 12_345);
        assert_eq!(type_of(&readable("999V99").unwrap()).unwrap(), DataType::Decimal128(5, 2));
        for (text, pattern) in [("", "999"), ("x", "999"), ("-", "S9"), ("1234", "99.9")] {
            assert!(read(text, &readable(pattern).unwrap()).is_err(), "{text}");
        }
        assert!(readable("RN").is_err() && readable("9EEEE").is_err());
        assert!(type_of(&readable(&"9".repeat(39)).unwrap()).is_err());
    }
}
