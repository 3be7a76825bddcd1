//! Converts JSON strings to text.

/// Resolves the escapes of a JSON string. An invalid escape stays unchanged; half a surrogate pair becomes U+FFFD.
pub(crate) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let Some(letter) = after.chars().next() else {
            text.push('\\');
            return text;
        };
        rest = &after[letter.len_utf8()..];
        match letter {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            '"' | '\\' | '/' => text.push(letter),
            'u' => match unicode_escape(rest) {
                Some((character, used)) => {
                    text.push(character);
                    rest = &rest[used..];
                }
                None => text.push_str("\\u"),
            },
            _ => text.extend(['\\', letter]),
        }
    }
    text.push_str(rest);
    text
}

/// The character of `XXXX`, or of `XXXX\uYYYY` where they are a pair, and how many bytes it took. `None` if there are
/// no four digits.
fn unicode_escape(rest: &str) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits = rest.get(from..from + 4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    Some(match first {
        high @ 0xd800..=0xdbff if rest.get(4..6) == Some("\\u") => match unit(6) {
            Some(low @ 0xdc00..=0xdfff) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 10)
            }
            _ => (char::REPLACEMENT_CHARACTER, 4),
        },
        code => (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 4),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape("\\q \\u+123 \\u12 \\ud83d\\u0041 \\"), "\\q \\u+123 \\u12 \u{fffd}A \\");
        assert_eq!(unescape("\\u00b5g\\/m\\u00B3 \\ud83d\\ude00 \\ud800 \\\"q\\\\"), "µg/m³ 😀 \u{fffd} \"q\\");
    }
}
