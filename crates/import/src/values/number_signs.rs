//! Numbers with a percent sign or the sign of a currency: `12%`, `$1.50`, `1,50 €`.

/// The signs.
const SIGNS: [&str; 5] = ["%", "$", "€", "£", "¥"];

/// The longest text that is such a number, in bytes.
const LENGTH_MAX: usize = 32;

/// The sign of a text that is a number with one before or behind it.
pub(crate) fn sign_of(bytes: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LENGTH_MAX)?.trim();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    SIGNS.into_iter().find(|sign| {
        let number = unsigned.strip_prefix(sign).or_else(|| text.strip_suffix(sign));
        number.is_some_and(|number| is_written_number(number.trim().as_bytes()))
    })
}

/// Whether a text has a digit, and nothing but digits, signs, points and commas.
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
            ("12", None),
            ("%", None),
            ("10% off", None),
            ("$HOME", None),
        ] {
            assert_eq!(sign_of(text.as_bytes()), sign, "{text}");
        }
    }
}
