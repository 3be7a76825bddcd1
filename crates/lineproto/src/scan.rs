//! Finding the ends of the parts of a line, and undoing escapes. A separator is escaped if the byte before it is a
//! backslash, as in InfluxDB. A backslash before any other byte is an ordinary character.

use std::borrow::Cow;

/// The end of the measurement and its tags, beginning at `start`: the first space that is not escaped. `None` if the
/// line ends before.
pub(crate) fn head_end(body: &[u8], start: usize) -> Option<usize> {
    let mut from = start;
    loop {
        let found = from + memchr::memchr2(b' ', b'\n', &body[from..])?;
        match body[found] {
            b' ' if found > start && body[found - 1] == b'\\' => from = found + 1,
            b' ' => return Some(found),
            _ => return None,
        }
    }
}

/// The first of some separators that is not escaped, from `start` on, or the end of `bytes`.
pub(crate) fn separator(bytes: &[u8], start: usize, separators: &[u8]) -> usize {
    let is_end = |at: &usize| separators.contains(&bytes[*at]) && (*at == start || bytes[*at - 1] != b'\\');
    (start..bytes.len()).find(is_end).unwrap_or(bytes.len())
}

/// The end of the value of a tag, which begins at `start`: the next comma that is not escaped, or the end of the head.
/// `None` if there is an equals sign before it that is not escaped.
pub(crate) fn tag_value_end(head: &[u8], start: usize) -> Option<usize> {
    let mut from = start;
    while let Some(length) = memchr::memchr2(b',', b'=', &head[from..]) {
        let found = from + length;
        let is_escaped = found > start && head[found - 1] == b'\\';
        match head[found] {
            _ if is_escaped => from = found + 1,
            b',' => return Some(found),
            _ => return None,
        }
    }
    Some(head.len())
}

/// A key, tag value or measurement without its escapes: a backslash before a comma, equals sign or space.
pub(crate) fn unescape(bytes: &[u8]) -> Cow<'_, [u8]> {
    without_backslashes(bytes, b",= ")
}

/// A text without its escapes: a backslash before a double quote or backslash.
pub(crate) fn unescape_text(bytes: &[u8]) -> Cow<'_, [u8]> {
    without_backslashes(bytes, b"\"\\")
}

fn without_backslashes<'a>(bytes: &'a [u8], before: &[u8]) -> Cow<'a, [u8]> {
    if memchr::memchr(b'\\', bytes).is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let is_escape = bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| before.contains(next));
        at += usize::from(is_escape);
        plain.push(bytes[at]);
        at += 1;
    }
    Cow::Owned(plain)
}

/// Finds the closing quote of a text that starts after its opening quote. Also returns whether there are backslashes.
/// Returns `None` if there is no closing quote.
pub(crate) fn text_end(body: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut has_escapes) = (start, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', body.get(at..)?)?;
        if body[at] == b'"' {
            return Some((at, has_escapes));
        }
        has_escapes = true;
        at += 2;
    }
}

/// The end of a line that could not be read, as InfluxDB finds it: the first line break that is outside of a text.
/// Returns the position of the line break, or the end of the body.
pub(crate) fn line_end(body: &[u8], start: usize) -> usize {
    match next_end(body, start) {
        (end, false) => end,
        // A text without an end would swallow all lines behind it.
        (_, true) => memchr::memchr(b'\n', &body[start..]).map_or(body.len(), |end| start + end),
    }
}

/// The length of the whole lines at the beginning of a body that may be cut off anywhere. A line break in a text ends
/// no line.
pub fn whole_lines(body: &[u8]) -> usize {
    let mut whole = 0;
    while let Some(end) = whole_line_end(body, whole) {
        whole = end + 1;
    }
    whole
}

/// The first whole lines of a body that may be cut off anywhere, without their line breaks.
pub fn first_lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let line = start..whole_line_end(body, start)?;
        start = line.end + 1;
        Some(&body[line])
    })
}

/// The line break at the end of the line that begins at `start`. A comment ends at its first one.
fn whole_line_end(body: &[u8], start: usize) -> Option<usize> {
    let end = match body.get(start)? {
        b'#' => start + memchr::memchr(b'\n', &body[start..])?,
        _ => next_end(body, start).0,
    };
    (end < body.len()).then_some(end)
}

/// The first line break outside of a text, or the end of the body, and whether that is in a text.
fn next_end(body: &[u8], start: usize) -> (usize, bool) {
    let (mut at, mut in_text, mut in_fields) = (start, false, false);
    let (mut equals, mut commas) = (0_u64, 0_u64);
    while at < body.len() {
        match body[at] {
            b'\\' if at + 2 < body.len() && body[at + 1] != b'\n' => at += 1,
            b'\n' if !in_text => return (at, false),
            b' ' => in_fields = true,
            b'=' if in_fields && !in_text => equals += 1,
            b',' if in_fields && !in_text => commas += 1,
            b'"' if in_fields && equals > commas => in_text = !in_text,
            _ => {}
        }
        at += 1;
    }
    (body.len(), in_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_separator_is_none() {
        assert_eq!(head_end(br"a\ b,c=d e=1", 0), Some(8));
        assert_eq!(head_end(b"a\nb c=1", 0), None);
        assert_eq!(separator(br"a\=b=c", 0, b"="), 4);
        assert_eq!(tag_value_end(br"k=a\,b\=c,d=e", 2), Some(9));
        assert_eq!(tag_value_end(b"k=", 2), Some(2));
        assert_eq!((tag_value_end(b"k=a=b", 2), tag_value_end(b"k==", 2)), (None, None));
        assert_eq!(unescape(br"a\=b\,c\ d\e").as_ref(), br"a=b,c d\e");
        assert_eq!(unescape_text(br#"a\"b\\c\d"#).as_ref(), br#"a"b\c\d"#);
        assert_eq!(unescape(b"a\\").as_ref(), b"a\\");
    }

    #[test]
    fn a_text_ends_at_its_quote() {
        assert_eq!(text_end(br#"ab"c"#, 0), Some((2, false)));
        assert_eq!(text_end(br#"a\"b"c"#, 0), Some((4, true)));
        assert_eq!(text_end(b"ab\\", 0), None);
    }

    #[test]
    fn a_line_that_cannot_be_read_ends_outside_of_texts() {
        assert_eq!(line_end(b"m a=\"x\ny\",b=\nnext", 0), 12);
        assert_eq!(line_end(b"m a=\"x\nnext b=1", 0), 6, "a text without an end");
        assert_eq!(line_end(b"m\nnext", 0), 1);
    }

    #[test]
    fn a_cut_body_ends_with_its_last_whole_line() {
        assert_eq!(whole_lines(b"m a=1\nm a=\"x\ny\"\nm a="), 16);
        assert_eq!(whole_lines(b"m a=1\nm a=\"x\ny"), 6);
        assert_eq!(whole_lines(b"# it's \"so\nm a=1\n"), 17);
        assert_eq!((whole_lines(b"m a=1"), whole_lines(b"")), (0, 0));
        let lines: Vec<&[u8]> = first_lines(b"# \"x\nm a=\"x\ny\"\nm a=").collect();
        assert_eq!(lines, [b"# \"x".as_slice(), b"m a=\"x\ny\""]);
    }
}
