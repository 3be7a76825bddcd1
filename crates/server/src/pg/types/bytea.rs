//! Bytes as texts.

use atsdb::hex;

/// `\x` and hexadecimal digits, or the older form with `\\` and `\` with three octal digits.
pub(in crate::pg) fn bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        return hex::decode(digits);
    }
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
        } else if let Some(after) = rest.strip_prefix(b"\\") {
            out.push(b'\\');
            rest = after;
        } else {
            let (octal, after) = rest.split_at_checked(3)?;
            // A sign is no digit.
            let octal = str::from_utf8(octal).ok().filter(|octal| !octal.starts_with('+'))?;
            out.push(u8::from_str_radix(octal, 8).ok()?);
            rest = after;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_others_refused() {
        for (text, expected) in [("\\x6d65", "me"), ("\\x", ""), ("m\\145\\\\", "me\\"), ("", "")] {
            assert_eq!(bytea(text).as_deref(), Some(expected.as_bytes()), "{text}");
        }
        for text in ["\\x6", "\\xgg", "\\1", "\\+12", "\\189", "\\777", "\\é1"] {
            assert_eq!(bytea(text), None, "{text}");
        }
    }
}
