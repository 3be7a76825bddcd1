//! The escapes of a quoted text, as in Go.

/// The text with its escapes decoded.
pub(super) fn unescape(body: &str, quote: char) -> Result<String, String> {
    if !body.contains('\\') {
        return Ok(body.to_owned());
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(body.len());
    let mut letters = body.chars();
    let mut buffer = [0; 4];
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
            continue;
        }
        let kind = letters.next().ok_or("escape sequence not terminated")?;
        match kind {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' => bytes.push(b'\\'),
            'x' => bytes.push(digits(&mut letters, None, 2, 16)? as u8),
            '0'..='7' => {
                let byte = digits(&mut letters, kind.to_digit(8), 3, 8)?;
                bytes.push(u8::try_from(byte).map_err(|_| "octal escape is larger than 255")?);
            }
            'u' | 'U' => {
                let code = digits(&mut letters, None, if kind == 'u' { 4 } else { 8 }, 16)?;
                let letter = char::from_u32(code).ok_or("escape sequence is an invalid Unicode code point")?;
                bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
            }
            _ if kind == quote => bytes.push(quote as u8),
            _ => return Err(format!("unknown escape sequence {kind:?}")),
        }
    }
    String::from_utf8(bytes).map_err(|_| "escape sequences do not make a UTF-8 text".to_owned())
}

/// Reads a number of exactly `count` digits. The first may have been read already.
fn digits(letters: &mut std::str::Chars<'_>, first: Option<u32>, count: usize, base: u32) -> Result<u32, String> {
    let mut value = first.unwrap_or_default();
    for _ in usize::from(first.is_some())..count {
        let letter = letters.next().ok_or("escape sequence not terminated")?;
        let digit = letter.to_digit(base).ok_or_else(|| format!("illegal character {letter:?} in escape sequence"))?;
        value = value.wrapping_mul(base) + digit;
    }
    Ok(value)
}
