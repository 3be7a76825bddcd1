//! `numeric` in binary: digits to the base 10,000.

use crate::pg::error::PgError;
use crate::pg::wire::fields::Fields;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// The maximum number of decimal digits that is accepted.
const DIGITS_MAX: usize = 20_000;

/// Appends a number that is given as text with digits, a sign and a decimal point, or as `NaN`, `Infinity` or
/// `-Infinity`.
pub(in crate::pg) fn push(out: &mut Vec<u8>, text: &str) {
    let special = match text {
        "NaN" => Some(NAN),
        "Infinity" => Some(INFINITY),
        "-Infinity" => Some(NEGATIVE_INFINITY),
        _ => None,
    };
    if let Some(sign) = special {
        // It has no digits, no weight and no scale.
        [0, 0, sign, 0].iter().for_each(|part| out.extend(part.to_be_bytes()));
        return;
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (NEGATIVE, digits),
        None => (0, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let mut groups: Vec<u16> = Vec::new();
    let lead = whole.len() % 4;
    let value = |group: &str| group.bytes().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
    if lead > 0 {
        groups.push(value(&whole[..lead]));
    }
    groups.extend(whole.as_bytes()[lead..].chunks(4).map(|group| value(str::from_utf8(group).unwrap_or("0"))));
    let mut weight = groups.len() as i16 - 1;
    for group in fraction.as_bytes().chunks(4) {
        let padded = group.iter().chain([&b'0'; 4]).take(4);
        groups.push(padded.fold(0, |value, digit| value * 10 + u16::from(digit - b'0')));
    }
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    out.extend((groups.len() as u16).to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend(if groups.is_empty() { 0 } else { sign }.to_be_bytes());
    out.extend((fraction.len() as u16).to_be_bytes());
    groups.iter().for_each(|group| out.extend(group.to_be_bytes()));
}

/// Reads a number as text.
pub(in crate::pg) fn read(bytes: &[u8]) -> Result<String, PgError> {
    let mut fields = Fields::new(bytes);
    let count = usize::from(fields.u16()?);
    let weight = i32::from(fields.i16()?);
    let sign = fields.u16()?;
    let scale = usize::from(fields.u16()?);
    match sign {
        0 | NEGATIVE => {}
        NAN => return Ok("NaN".to_owned()),
        INFINITY => return Ok("Infinity".to_owned()),
        NEGATIVE_INFINITY => return Ok("-Infinity".to_owned()),
        _ => return Err(PgError::error("22P03", "invalid sign in external \"numeric\" value")),
    }
    let groups = (0..count).map(|_| fields.u16()).collect::<Result<Vec<_>, _>>()?;
    if groups.iter().any(|group| *group > 9_999) {
        return Err(PgError::error("22P03", "invalid digit in external \"numeric\" value"));
    }
    if scale.max(weight.unsigned_abs() as usize * 4) > DIGITS_MAX {
        return Err(PgError::error("22003", "value overflows numeric format"));
    }
    let group = |place: i32| usize::try_from(weight - place).ok().and_then(|at| groups.get(at)).copied().unwrap_or(0);
    let mut text = if sign == NEGATIVE { "-".to_owned() } else { String::new() };
    let whole: String = (0..=weight.max(0)).rev().map(|place| format!("{:04}", group(place))).collect();
    let whole = whole.trim_start_matches('0');
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let places = -(scale.div_ceil(4) as i32);
        let fraction: String = (places..0).rev().map(|place| format!("{:04}", group(place))).collect();
        text.push('.');
        text.push_str(&fraction[..scale]);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let plain = ["0", "1", "-1", "10000", "18446744073709551615", "0.5", "-123456.789", "0.00001", "1.50", "0.00"];
        for text in plain.into_iter().chain(["NaN", "Infinity", "-Infinity"]) {
            let mut bytes = Vec::new();
            push(&mut bytes, text);
            assert_eq!(read(&bytes).unwrap(), text);
        }
    }

    #[test]
    fn the_bytes_are_postgresqls() {
        let mut bytes = Vec::new();
        push(&mut bytes, "-12345.678");
        assert_eq!(bytes, [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        for (text, sign) in [("NaN", 0xc0), ("Infinity", 0xd0), ("-Infinity", 0xf0)] {
            let mut bytes = Vec::new();
            push(&mut bytes, text);
            assert_eq!(bytes, [0, 0, 0, 0, sign, 0, 0, 0], "{text}");
        }
    }

    #[test]
    fn hostile_numbers_are_errors() {
        assert!(read(b"\x7f\xff\0\0\0\0\0\0").is_err());
        assert!(read(b"\0\x01\x7f\xff\0\0\0\0\0\x01").is_err());
        assert!(read(b"\0\x01\0\0\0\0\0\0\xff\xff").is_err());
    }
}
