//! Numbers with a percent sign, the sign of a currency, or a unit: `12%`, `$1.50`, `1,50 €`, `45.2 °F`, `12 kWh`.

use crate::values::numbers::is_number;

/// The signs.
const SIGNS: [&str; 5] = ["%", "$", "€", "£", "¥"];

/// The longest text that is such a number, in bytes.
const LENGTH_MAX: usize = 32;

/// The longest unit, in bytes.
const UNIT_BYTES_MAX: usize = 8;

/// The sign of a text that is a number with one before or behind it, or its unit.
pub(crate) fn sign_of(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LENGTH_MAX)?.trim();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let sign = SIGNS.into_iter().find(|sign| {
        let number = unsigned.strip_prefix(sign).or_else(|| text.strip_suffix(sign));
        number.is_some_and(|number| is_written_number(number.trim().as_bytes()))
    });
    sign.or_else(|| unit_of(text))
}

/// The unit behind a number: a word after a blank, or degrees.
fn unit_of(text: &str) -> Option<&str> {
    let number = text.trim_end_matches(|character: char| character.is_alphabetic() || "°/²³".contains(character));
    let unit = &text[number.len()..];
    let is_apart = number.ends_with([' ', '\u{a0}']) || unit.starts_with('°');
    let number = number.trim_end();
    let is_unit = is_apart && !unit.is_empty() && unit.len() <= UNIT_BYTES_MAX;
    let is_plain = || is_written_number(number.as_bytes()) && is_number(number.replace(',', ".").as_bytes());
    (is_unit && is_plain()).then_some(unit)
}

/// Returns whether a text has a digit, and nothing but digits, signs, points and commas.
fn is_written_number(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit) && text.iter().all(|byte| byte.is_ascii_digit() || b"+-.,".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_signs_are_known() {
        for (text, sign) in [
            ("12%", Some("%")),
            ("-0.5 %", Some("%")),
            ("$1,234.50", Some("$")),
            ("-$3", Some("$")),
            ("1,50 €", Some("€")),
            ("£5", Some("£")),
            ("45.2 °F", Some("°F")),
            ("-4,5°", Some("°")),
            ("12 kWh", Some("kWh")),
            ("3\u{a0}µg/m³", Some("µg/m³")),
            ("12 of 15", None),
            ("12h", None),
            ("kWh", None),
            ("2024-03-01 CET", None),
            ("01.03.2024 CET", None),
            ("12:30 PM", None),
            ("12", None),
            ("%", None),
            ("10% off", None),
            ("$HOME", None),
        ] {
            assert_eq!(sign_of(text.as_bytes()), sign, "{text}");
        }
    }
}
