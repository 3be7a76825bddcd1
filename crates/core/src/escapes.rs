//! Backslash escapes, as in the text formats of PostgreSQL's `COPY`, MySQL and ClickHouse.
//!
//! After a backslash, `b`, `f`, `n`, `r`, `t` and `v` are control characters, up to three octal digits are a byte, and
//! so are `x` and up to two hexadecimal digits. Every other escaped character stands for itself. Not owned: `\N`, which
//! is NULL only as a whole field, so a reader looks for it before it resolves the escapes.

/// Resolves the escapes of a text, and appends the bytes to `out`. A backslash at the end stands for itself.
pub fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&escaped, after)) = rest.split_first() else {
            out.push(b'\\');
            return;
        };
        let (byte, length) = match escaped {
            b'b' => (8, 1),
            b'f' => (12, 1),
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            b'v' => (11, 1),
            b'0'..=b'7' => number(rest, 8, 3),
            b'x' if after.first().is_some_and(u8::is_ascii_hexdigit) => {
                let (byte, length) = number(after, 16, 2);
                (byte, 1 + length)
            }
            other => (other, 1),
        };
        out.push(byte);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
}

/// Like [`unescape`], for text. Bytes that are not UTF-8 become U+FFFD.
pub fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    unescape(text.as_bytes(), &mut bytes);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The low 8 bits of the number at the start of a text, and the count of its digits.
fn number(text: &[u8], radix: u32, digits_max: usize) -> (u8, usize) {
    let digits = text.iter().take(digits_max).map_while(|byte| char::from(*byte).to_digit(radix));
    digits.fold((0, 0), |(number, length), digit| ((u32::from(number) * radix + digit) as u8, length + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_copy_reads_them() {
        for (text, wanted) in [
            ("a\\tb\\nc\\rd", "a\tb\nc\rd"),
            ("\\b\\f\\v", "\u{8}\u{c}\u{b}"),
            // A backslash and a t, not a tab.
            ("\\\\t", "\\t"),
            ("\\\\\\t", "\\\t"),
            ("\\101\\1012\\0", "AA2\0"),
            ("\\18", "\u{1}8"),
            ("\\x41\\x414\\x4g", "AA4\u{4}g"),
            ("\\x\\xg", "xxg"),
            ("\\N\\.\\'\\é", "N.'é"),
            ("end\\", "end\\"),
            ("", ""),
        ] {
            assert_eq!(unescaped(text), wanted, "{text}");
        }
    }

    #[test]
    fn numbers_are_bytes() {
        let mut bytes = b"kept".to_vec();
        unescape(b"\\377\\xc3\\xa9\\777\\400", &mut bytes);
        assert_eq!(bytes, b"kept\xff\xc3\xa9\xff\0");
        assert_eq!((unescaped("\\xc3\\xa9").as_str(), unescaped("\\377").as_str()), ("é", "\u{fffd}"));
    }
}
