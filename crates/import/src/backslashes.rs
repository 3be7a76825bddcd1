//! Backslash escapes, as in the text formats of PostgreSQL and ClickHouse.

/// Resolves the backslash escapes of a text. A backslash before any other character yields that character.
pub(crate) fn unescape(raw: &str) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..at]);
        let Some(letter) = rest.get(at + 1) else {
            bytes.push(b'\\');
            rest = &[];
            break;
        };
        rest = &rest[at + 2..];
        match letter {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'b' => bytes.push(8),
            b'f' => bytes.push(12),
            b'v' => bytes.push(11),
            b'x' => {
                let digits = rest.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                bytes.extend(number(&rest[..digits], 16).or(Some(b'x')));
                rest = &rest[digits..];
            }
            b'0'..=b'7' => {
                let digits = rest.iter().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let octal: Vec<u8> = std::iter::once(*letter).chain(rest[..digits].iter().copied()).collect();
                bytes.extend(number(&octal, 8));
                rest = &rest[digits..];
            }
            other => bytes.push(*other),
        }
    }
    bytes.extend_from_slice(rest);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn number(digits: &[u8], radix: u32) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    u32::from_str_radix(text, radix).ok().map(|value| (value & 0xff) as u8)
}

/// Whether every backslash of a text begins an escape that is in use.
pub(crate) fn are_escapes(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !rest.get(at + 1).is_some_and(|letter| b"\\ntrbfvN0'\"/".contains(letter)) {
            return false;
        }
        rest = &rest[at + 2..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_what_they_say() {
        assert_eq!(unescape("a\\tb\\\\c\\n\\x41\\101\\'\\é\\"), "a\tb\\c\nAA'é\\");
        assert!(are_escapes(b"a\\nb\\\\c") && !are_escapes(b"C:\\Users") && !are_escapes(b"end\\"));
    }
}
