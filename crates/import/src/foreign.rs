//! Well-known formats that are not supported and would only make meaningless columns. They are recognised by a file's
//! beginning and refused with a hint.

/// The format of a text that cannot be imported, and a hint.
pub(crate) fn foreign_text(head: &[u8]) -> Option<(&'static str, String)> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if is_line_protocol(head) {
        let hint = "write it as CSV or as JSON objects first: time, tags and fields of a line are the columns";
        return Some(("is InfluxDB line protocol", hint.to_owned()));
    }
    None
}

/// `[[1, 2], ...`, or `[1, "a"]` in each line.
pub(crate) fn is_arrays(head: &[u8]) -> bool {
    let Some(inside) = head.strip_prefix(b"[").map(<[u8]>::trim_ascii_start) else { return false };
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head).trim_ascii_end();
    let is_value = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'"' | b'-' | b'n' | b't' | b'f');
    inside.starts_with(b"[")
        || inside.first().is_some_and(is_value) && line.strip_suffix(b",").unwrap_or(line).ends_with(b"]")
}

/// Whether the first complete lines have the form `measurement,tag=value field=1,other="a" 1700000000`.
fn is_line_protocol(head: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    let lines = whole.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(20).peekable();
    lines.peek().is_some() && lines.all(is_point)
}

fn is_point(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let mut parts = cut(line, ' ').into_iter();
    let (Some(series), Some(fields)) = (parts.next(), parts.next()) else { return false };
    let is_time = parts.next().is_none_or(|time| time.parse::<i64>().is_ok());
    let mut tags = cut(series, ',').into_iter();
    let measurement = tags.next().unwrap_or("");
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty());
    let is_series = !measurement.is_empty() && !measurement.contains('=') && tags.all(is_pair);
    is_series && cut(fields, ',').into_iter().all(is_pair) && is_time && parts.next().is_none()
}

/// Cuts at a character, but not behind a backslash, nor in double quotes.
fn cut(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (position, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            other if other == at && !quoted => {
                parts.push(&text[start..position]);
                start = position + at.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(text: &str) -> Option<&'static str> {
        foreign_text(text.as_bytes()).map(|(what, _)| what.split_whitespace().nth(1).unwrap_or(""))
    }

    #[test]
    fn foreign_formats_are_known_by_their_beginning() {
        for text in [
            "weather,location=us\\ midwest temperature=82,note=\"a b, c=d\" 1465839830100400200\n",
            "# DDL\ncpu usage=0.5\ncpu,host=a usage=0.25 1700000000\nmem,ho",
        ] {
            assert_eq!(what(text), Some("InfluxDB"), "{text}");
        }
        assert!(is_arrays(b"[[1,2],\n[3,4]]") && is_arrays(b"[1,\"a\"]\n[2,\"b\"]\n"));
        assert!(!is_arrays(b"[a],b\n") && !is_arrays(b"[{\"a\":1}]"));
        for text in [
            "time,v\n1,2\n",
            "a=b c\n",
            "name value=x\n1 2\n",
            "[{\"a\":1}]",
            "[]",
            "[a],b\n",
            "{\"a\":\"FeatureCollection\"}",
            "",
            "# only\n",
            "level=info msg=\"x y\" n=1\n",
        ] {
            assert_eq!(what(text), None, "{text}");
        }
    }
}
