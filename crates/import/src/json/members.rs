//! Documents in which the members of an object are the records, `{"2024-01-01": {"v": 1}, "2024-01-02": {"v": 2}}`:
//! each becomes an object of its own, whose first member is its name, `{"key":"2024-01-01","v": 1}`.

use crate::json::reader::string_end;
use std::io::{self, BufReader, Read, Write};

/// The name of the column that gets the names of the members.
const KEY: &str = "key";

/// The reason why the members of an object are no records.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MembersFault {
    /// The document has no such object.
    NoObject,
    /// The member of this name is not an object.
    NotObject(String),
    /// The member of this name has a member [`KEY`] of its own.
    OwnKey(String),
    /// The member of this number has no name in double quotes, and is not the end of the object.
    NoName(u64),
}

/// The object that a path with a star at its end names: the names that lead to it, with dots between them.
pub(crate) fn object_with_members(path: &str) -> Option<&str> {
    if path == "*" { Some("") } else { path.strip_suffix(".*") }
}

/// Writes the members of the object at a path as objects, one in each line or more. Returns what prevents that.
pub(crate) fn write_members(document: impl Read, path: &str, out: &mut impl Write) -> io::Result<Option<MembersFault>> {
    let mut document = Document { bytes: BufReader::with_capacity(64 << 10, document).bytes(), ahead: None };
    while document.peek()?.is_some_and(|byte| b"\xef\xbb\xbf".contains(&byte)) {
        document.next()?;
    }
    if document.next()? != Some(b'{') {
        return Ok(Some(MembersFault::NoObject));
    }
    let (mut path, mut name, mut value, mut number) = (path, Vec::new(), Vec::new(), 1);
    loop {
        match document.peek()? {
            Some(b'"') => _ = document.next()?,
            Some(b',') => {
                document.next()?;
                continue;
            }
            Some(b'}') => return Ok((!path.is_empty()).then_some(MembersFault::NoObject)),
            _ => return Ok(Some(MembersFault::NoName(number))),
        }
        name.clear();
        document.string(&mut name)?;
        number += 1;
        if document.peek()? == Some(b':') {
            document.next()?;
        }
        if path.is_empty() {
            value.clear();
            document.value(|byte| value.push(byte))?;
            let shown = || String::from_utf8_lossy(&name).into_owned();
            let Some(inside) = value.trim_ascii().strip_prefix(b"{") else {
                return Ok(Some(MembersFault::NotObject(shown())));
            };
            if has_key(value.trim_ascii()) {
                return Ok(Some(MembersFault::OwnKey(shown())));
            }
            let is_empty = inside.trim_ascii_start().starts_with(b"}");
            write!(out, "{{\"{KEY}\":\"")?;
            out.write_all(&name)?;
            out.write_all(if is_empty { b"\"" } else { b"\"," })?;
            out.write_all(inside)?;
            out.write_all(b"\n")?;
            continue;
        }
        let is_object = document.peek()? == Some(b'{');
        match path_inside(path, &name).filter(|_| is_object) {
            Some(inside) => {
                document.next()?;
                (path, number) = (inside, 1);
            }
            None => document.value(|_| ())?,
        }
    }
}

/// Returns the rest of a path inside of the member of this name, empty at its end; `None` if the path does not lead
/// there.
fn path_inside<'a>(path: &'a str, name: &[u8]) -> Option<&'a str> {
    let inside = path.strip_prefix(std::str::from_utf8(name).ok()?)?;
    if inside.is_empty() { Some(inside) } else { inside.strip_prefix('.') }
}

/// Returns whether an object has a member [`KEY`].
fn has_key(object: &[u8]) -> bool {
    let (mut depth, mut position, mut expects_name) = (0_usize, 0, false);
    while let Some(byte) = object.get(position) {
        match byte {
            b'"' => {
                let Some(end) = string_end(object, position) else { return false };
                if std::mem::take(&mut expects_name) && &object[position + 1..end] == KEY.as_bytes() {
                    return true;
                }
                position = end;
            }
            b'{' | b'[' => {
                depth += 1;
                expects_name = depth == 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => expects_name = depth == 1,
            _ => {}
        }
        position += 1;
    }
    false
}

/// The bytes of a document. The next byte can be read ahead.
struct Document<R> {
    bytes: io::Bytes<BufReader<R>>,
    ahead: Option<u8>,
}

impl<R: Read> Document<R> {
    fn next(&mut self) -> io::Result<Option<u8>> {
        match self.ahead.take() {
            Some(byte) => Ok(Some(byte)),
            None => self.bytes.next().transpose(),
        }
    }

    /// The next byte that is no blank, which is not consumed.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.next()? {
                Some(byte) if byte.is_ascii_whitespace() => {}
                other => {
                    self.ahead = other;
                    return Ok(other);
                }
            }
        }
    }

    /// Reads a string behind its opening quote, with its escapes.
    fn string(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let mut is_escape = false;
        while let Some(byte) = self.next()? {
            match byte {
                _ if is_escape => is_escape = false,
                b'\\' => is_escape = true,
                b'"' => break,
                _ => {}
            }
            text.push(byte);
        }
        Ok(())
    }

    /// Reads a value up to the comma or the bracket behind it.
    fn value(&mut self, mut keep: impl FnMut(u8)) -> io::Result<()> {
        let (mut depth, mut is_string, mut is_escape) = (0_usize, false, false);
        while let Some(byte) = self.next()? {
            match byte {
                _ if is_escape => is_escape = false,
                b'\\' if is_string => is_escape = true,
                b'"' => is_string = !is_string,
                _ if is_string => {}
                b'{' | b'[' => depth += 1,
                b',' | b'}' | b']' if depth == 0 => {
                    self.ahead = Some(byte);
                    break;
                }
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            keep(byte);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(document: &str, path: &str) -> (String, Option<MembersFault>) {
        let mut out = Vec::new();
        let fault = write_members(document.as_bytes(), path, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), fault)
    }

    #[test]
    fn members_become_objects_with_their_names() {
        let document =
            "\u{feff}{ \"a\\\"}\" : {\"v\":[1,{}],\"s\":\"},\\\"\"} ,\n\"b\":{ },\"c\":{\"x\":{\"key\":1}}}\n";
        let rows =
            "{\"key\":\"a\\\"}\",\"v\":[1,{}],\"s\":\"},\\\"\"}\n{\"key\":\"b\" }\n{\"key\":\"c\",\"x\":{\"key\":1}}\n";
        assert_eq!(members(document, ""), (rows.to_owned(), None));
        let inside = "{\"meta\":{\"n\":[1]},\"a.b\":{\"days\":{\"1\":{\"v\":2}},\"x\":3}}";
        assert_eq!(members(inside, "a.b.days"), ("{\"key\":\"1\",\"v\":2}\n".to_owned(), None));
    }

    #[test]
    fn what_is_no_record_is_named() {
        assert_eq!(members("{\"a\":{\"v\":1},\"b\":2}", "").1, Some(MembersFault::NotObject("b".to_owned())));
        assert_eq!(members("{\"a\":{\"v\":1,\"key\":2}}", "").1, Some(MembersFault::OwnKey("a".to_owned())));
        for (document, number) in [("{\"a\":{\"v\":1},b:{\"v\":2}}", 2), ("{'a':{\"v\":1}}", 1), ("{\"a\":{}]", 2)] {
            assert_eq!(members(document, "").1, Some(MembersFault::NoName(number)), "{document}");
        }
        for document in ["[{\"a\":{\"v\":1}},{\"b\":{\"v\":2}}]", "[]", "1", ""] {
            assert_eq!(members(document, "").1, Some(MembersFault::NoObject), "{document}");
        }
        for path in ["b", "a.v", "a.b"] {
            assert_eq!(members("{\"a\":{\"v\":1}}", path).1, Some(MembersFault::NoObject), "{path}");
        }
    }
}
