//! Times of day as text, and fractions of a second.

use crate::values::numbers::significant_digits;
use atsdb_core::time_text::{DateReading, TimeForms, clock};

/// Returns whether a text is a time of day.
pub(crate) fn is_clock(bytes: &[u8]) -> bool {
    let forms = TimeForms::files(DateReading::default());
    let is_short = bytes.len() < 32 && bytes.first().is_some_and(u8::is_ascii_digit);
    is_short && clock(bytes, &forms).is_some_and(|clock| nanoseconds_of(clock.fraction).is_some())
}

/// The digits of the fraction of a second as nanoseconds, and the number of significant digits. Digits after the ninth
/// must be zeros.
pub(crate) fn nanoseconds_of(digits: &[u8]) -> Option<(u32, u8)> {
    let significant = u8::try_from(significant_digits(digits)).ok().filter(|count| *count <= 9)?;
    let digit = |position: usize| digits.get(position).map_or(0, |byte| u32::from(byte - b'0'));
    Some(((0..9).fold(0, |value, position| value * 10 + digit(position)), significant))
}
