//! UUIDs as text. They are read by hand, because PostgreSQL takes hyphens after any group of four digits.

use crate::hex;

/// The digits of a UUID.
const DIGITS: usize = 32;

/// Returns the UUID in lower case and with hyphens: `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11`. As in PostgreSQL, the text
/// may have capitals, braces around it, and a hyphen after any group of four digits, or none. `None` if it is not a
/// UUID.
pub fn canonical(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let (mut written, mut count, mut may_be_hyphen) = (String::with_capacity(36), 0, false);
    for byte in inner.bytes() {
        match byte {
            b'-' if may_be_hyphen && count < DIGITS => may_be_hyphen = false,
            _ if byte.is_ascii_hexdigit() && count < DIGITS => {
                if matches!(count, 8 | 12 | 16 | 20) {
                    written.push('-');
                }
                written.push(byte.to_ascii_lowercase().into());
                count += 1;
                may_be_hyphen = count % 4 == 0;
            }
            _ => return None,
        }
    }
    (count == DIGITS).then_some(written)
}

/// The 16 bytes of a UUID. `None` if the text is no UUID.
pub fn to_bytes(text: &str) -> Option<[u8; 16]> {
    let digits = canonical(text)?.replace('-', "");
    hex::decode(&digits)?.try_into().ok()
}

/// A random UUID, of version 4, made of these random bits.
pub fn random(bits: [u8; 16]) -> String {
    const MARKED: u128 = (0xf << 76) | (0x3 << 62);
    const MARKS: u128 = (0x4 << 76) | (0x2 << 62);
    let number = (u128::from_be_bytes(bits) & !MARKED) | MARKS;
    let digits = format!("{number:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_uuids_have_their_version_and_variant() {
        assert_eq!(random([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(random([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let bits = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes();
        assert_eq!(random(bits), "01234567-89ab-4def-8123-456789abcdef");
        assert_eq!(canonical(&random(bits)), Some(random(bits)));
    }

    #[test]
    fn each_form_of_postgresql_is_read() {
        let canonical_text = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        for text in [
            canonical_text,
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
        ] {
            assert_eq!(canonical(text).as_deref(), Some(canonical_text), "{text}");
            assert_eq!(to_bytes(text), Some(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11_u128.to_be_bytes()));
        }
        for text in ["", "a0eebc99", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a111"] {
            assert_eq!(canonical(text), None, "{text}");
        }
        for text in ["a0e-ebc999c0b4ef8bb6d6bb9bd380a11", "a0ee--bc999c0b4ef8bb6d6bb9bd380a11", "-a0eebc999c0b4ef8"] {
            assert_eq!(canonical(text), None, "{text}");
        }
        assert_eq!(canonical("a0eebc999c0b4ef8bb6d6bb9bd380a11-"), None);
    }
}
