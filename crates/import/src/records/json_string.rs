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
            'u' => {
                let (character, used) = unicode_escape(rest);
                text.push(character);
                rest = &rest[used..];
            }
            other => text.push(other),
        }
    }
    text.push_str(rest);
    text
}

/// The character of `XXXX`, or of `XXXX\uYYYY` where they are a pair, and how many bytes it took.
fn unicode_escape(rest: &str) -> (char, usize) {
    let unit = |from: usize| rest.get(from..from + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match unit(0) {
        Some(high @ 0xd800..=0xdbff) if rest.get(4..6) == Some("\\u") => match unit(6) {
            Some(low @ 0xdc00..=0xdfff) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 10)
            }
            _ => (char::REPLACEMENT_CHARACTER, 4),
        },
        Some(code) => (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 4),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape("\\u00b5g\\/m\\u00B3 \\ud83d\\ude00 \\ud800 \\\"q\\\\"), "µg/m³ 😀 \u{fffd} \"q\\");
    }
}
