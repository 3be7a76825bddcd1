//! Bytes as hexadecimal digits, and back: a few lines, for which the crate that all others use needs no library.

/// Writes two lower-case digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Reads two digits for each byte, in upper or lower case. `None` if there is another character, or one digit too many.
pub fn decode(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(value(high)? << 4 | value(low)?).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_digits_and_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        let digits = encode(&all);
        assert!(digits.starts_with("000102") && digits.ends_with("fdfeff"), "{digits}");
        assert_eq!(decode(&digits), Some(all.clone()));
        assert_eq!(decode(&digits.to_uppercase()), Some(all));
        assert_eq!(decode(""), Some(Vec::new()));
    }

    #[test]
    fn what_is_not_hexadecimal_is_refused() {
        for wrong in ["x", "6", "6g", "é6", "+1", "+1é", " 1"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
