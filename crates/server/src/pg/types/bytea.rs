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
            out.push(u8::from_str_radix(str::from_utf8(octal).ok()?, 8).ok()?);
            rest = after;
        }
    }
    Some(out)
}
