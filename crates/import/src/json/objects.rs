//! JSON objects as records: objects inside become names with dots, arrays stay JSON text.
//! Strings, numbers and words are referenced in the text, so that the same code parses them and CSV. The splitting is
//! written by hand for that reason: a general parser would convert or copy each value before the type of its column is
//! known.

use crate::records::json_string::unescape;
use crate::records::{BadRecord, Cut, Field, Records};
use std::collections::HashMap;

/// Objects inside objects that become names with dots; deeper ones stay JSON text.
const NAMES_DEPTH_MAX: usize = 8;

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 128;

/// The end of the last complete object on the top level or in a top-level array.
pub(crate) fn last_end(text: &[u8]) -> Cut {
    last_end_of(text, b'{', b'}')
}

/// The end of the last whole value that opens and closes with these bytes.
pub(crate) fn last_end_of(text: &[u8], opening: u8, closing: u8) -> Cut {
    let (mut depth, mut end, mut open, mut position) = (0_usize, 0, None, 0);
    while position < text.len() {
        match text[position] {
            b'"' => match string_end(text, position) {
                Some(close) => position = close,
                None => return Cut { end, open: Some(open.unwrap_or(position)) },
            },
            byte if byte == opening => {
                if depth == 0 {
                    open = Some(position);
                }
                depth += 1;
            }
            byte if byte == closing && depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    (end, open) = (position + 1, None);
                }
            }
            _ => {}
        }
        position += 1;
    }
    Cut { end, open }
}

/// The quote that closes the string at `quote`.
fn string_end(text: &[u8], quote: usize) -> Option<usize> {
    let mut position = quote + 1;
    loop {
        position += memchr::memchr2(b'"', b'\\', text.get(position..)?)?;
        if text[position] == b'"' {
            return Some(position);
        }
        position += 2;
    }
}

/// The names of a file's columns, in order of appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// In order.
    pub(crate) list: Vec<String>,
    positions: HashMap<String, usize>,
    may_grow: bool,
    is_geojson: bool,
}

impl Names {
    /// These names; `may_grow` adds others as they appear.
    pub(crate) fn new(list: &[String], may_grow: bool) -> Self {
        let positions = list.iter().enumerate().map(|(position, name)| (name.clone(), position)).collect();
        Self { list: list.to_vec(), positions, may_grow, is_geojson: false }
    }

    /// The names of the features of GeoJSON: properties by their own, the coordinates of points in columns.
    pub(crate) fn of_features(self, is_geojson: bool) -> Self {
        Self { is_geojson, ..self }
    }

    pub(crate) fn position(&mut self, name: &str) -> Option<usize> {
        if let Some(position) = self.positions.get(name) {
            return Some(*position);
        }
        self.may_grow.then(|| {
            self.positions.insert(name.to_owned(), self.list.len());
            self.list.push(name.to_owned());
            self.list.len() - 1
        })
    }
}

/// The contents of a block of JSON.
#[derive(Debug)]
pub(crate) struct JsonBlock {
    /// The records, with as many fields as `Names`.
    pub(crate) records: Records,
    /// Records that are not valid objects.
    pub(crate) bad: Vec<BadRecord>,
    /// The first name that is unknown and not added, and where its object starts.
    pub(crate) unknown: Option<(String, usize)>,
}

/// The objects of a block.
pub(crate) fn records(text: &str, names: &mut Names) -> JsonBlock {
    let (mut rows, mut starts, mut bad, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), None);
    let bytes = text.as_bytes();
    let mut position = 0;
    while position < bytes.len() {
        match bytes[position] {
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' => {
                position += 1;
                continue;
            }
            _ => {}
        }
        let start = position;
        let mut reader = Reader::new(text, position, names);
        match reader.object("", 0) {
            Ok(()) => {
                position = reader.position;
                if let Some(name) = reader.unknown
                    && unknown.is_none()
                {
                    unknown = Some((name, start));
                }
                rows.push(reader.row);
                starts.push(start as u32);
            }
            Err(reason) => {
                let found = text.get(reader.position..).unwrap_or("").lines().next().unwrap_or("").to_owned();
                bad.push(BadRecord { start, reason: format!("is not a JSON object: {reason}"), value: found });
                // Continues at the next line that begins an object.
                position =
                    memchr::memmem::find(&bytes[start + 1..], b"\n{").map_or(bytes.len(), |next| start + 1 + next);
            }
        }
    }
    let width = names.list.len();
    let mut fields = Vec::with_capacity(rows.len() * width);
    for row in rows {
        let first = fields.len();
        fields.resize(first + width, Field::ABSENT);
        for (position, field) in row {
            fields[first + position] = field;
        }
    }
    JsonBlock { records: Records { fields, starts, width }, bad, unknown }
}

/// Reads values of a text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    pub(crate) position: usize,
    names: &'a mut Names,
    row: Vec<(usize, Field)>,
    unknown: Option<String>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str, position: usize, names: &'a mut Names) -> Self {
        Self { text, position, names, row: Vec::new(), unknown: None }
    }

    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.position) {
            if !byte.is_ascii_whitespace() {
                return Some(*byte);
            }
            self.position += 1;
        }
        None
    }

    pub(crate) fn take(&mut self, expected: u8) -> Result<(), String> {
        match self.peek() {
            Some(byte) if byte == expected => {
                self.position += 1;
                Ok(())
            }
            Some(_) => Err(format!("expected {:?}", char::from(expected))),
            None => Err(format!("it ends before {:?}", char::from(expected))),
        }
    }

    fn string(&mut self) -> Result<(usize, usize, bool), String> {
        self.take(b'"')?;
        let start = self.position;
        let close = string_end(self.text.as_bytes(), start - 1).ok_or("a string is not closed")?;
        self.position = close + 1;
        let is_escaped = memchr::memchr(b'\\', &self.text.as_bytes()[start..close]).is_some();
        Ok((start, close, is_escaped))
    }

    fn object(&mut self, prefix: &str, depth: usize) -> Result<(), String> {
        self.take(b'{')?;
        if self.peek() == Some(b'}') {
            self.position += 1;
            return Ok(());
        }
        loop {
            let (start, end, is_escaped) = self.string()?;
            let raw = &self.text[start..end];
            let key = if is_escaped { unescape(raw) } else { raw.to_owned() };
            self.take(b':')?;
            let name = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
            self.member(&name, depth)?;
            match self.peek() {
                Some(b',') => self.position += 1,
                _ => return self.take(b'}'),
            }
        }
    }

    fn member(&mut self, name: &str, depth: usize) -> Result<(), String> {
        if self.peek() == Some(b'{') && depth < NAMES_DEPTH_MAX {
            return self.object(name, depth + 1);
        }
        if self.names.is_geojson {
            if name == "geometry.coordinates" && self.point()? {
                return Ok(());
            }
            let name = name.strip_prefix("properties.").unwrap_or(name).to_owned();
            let field = self.value()?;
            if name != "type" {
                self.push(&name, field);
            }
            return Ok(());
        }
        let field = self.value()?;
        self.push(name, field);
        Ok(())
    }

    fn push(&mut self, name: &str, field: Field) {
        match self.names.position(name) {
            Some(position) => self.row.push((position, field)),
            None => _ = self.unknown.get_or_insert_with(|| name.to_owned()),
        }
    }

    /// Reads two or three numbers as a point's longitude, latitude and altitude. Returns `false`, and reads nothing, if
    /// there is something else.
    fn point(&mut self) -> Result<bool, String> {
        let start = self.position;
        let mut fields = Vec::new();
        self.take(b'[').ok();
        while let Some(byte) = self.peek().filter(|byte| !matches!(byte, b'[' | b'"' | b'{' | b']')) {
            if byte == b',' {
                self.position += 1;
                continue;
            }
            fields.push(self.value()?);
        }
        if self.take(b']').is_err() || !(2..=3).contains(&fields.len()) {
            self.position = start;
            return Ok(false);
        }
        for (name, field) in ["longitude", "latitude", "altitude"].into_iter().zip(fields) {
            self.push(name, field);
        }
        Ok(true)
    }

    /// Reads a value; objects and arrays as their text.
    pub(crate) fn value(&mut self) -> Result<Field, String> {
        Ok(match self.peek() {
            Some(b'"') => {
                let (start, end, is_escaped) = self.string()?;
                Field::json_string(start, end, is_escaped)
            }
            Some(b'{' | b'[') => {
                let start = self.position;
                self.nested(0)?;
                Field::json_string(start, self.position, false)
            }
            Some(_) => {
                let (start, word) = self.word();
                match word {
                    "null" => Field::ABSENT,
                    "true" | "false" => Field::plain(start, self.position),
                    word if crate::values::numbers::is_number(word.as_bytes()) => Field::plain(start, self.position),
                    _ => {
                        self.position = start;
                        return Err("expected a value".to_owned());
                    }
                }
            }
            None => return Err("it ends before a value".to_owned()),
        })
    }

    fn word(&mut self) -> (usize, &str) {
        let start = self.position;
        let rest = &self.text.as_bytes()[start..];
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
        self.position += rest.iter().position(ends).unwrap_or(rest.len());
        (start, &self.text[start..self.position])
    }

    /// Passes over an array or an object.
    fn nested(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX}"));
        }
        let close = if self.peek() == Some(b'{') { b'}' } else { b']' };
        self.position += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => _ = self.string()?,
                b'{' | b'[' => self.nested(depth + 1)?,
                _ => {
                    self.position += 1;
                    if byte == close {
                        return Ok(());
                    }
                }
            }
        }
        Err(format!("it ends before {:?}", char::from(close)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_records_with_dotted_names() {
        let text = "[{\"a\":1,\"b\":{\"c\":\"x\\ny\",\"d\":{\"e\":[1,{}]}}},\n{\"f\":null,\"a\":-2.5}]";
        let mut names = Names::new(&[], true);
        let block = records(text, &mut names);
        assert_eq!(names.list, ["a", "b.c", "b.d.e", "f"]);
        let values: Vec<String> = block.records.fields.iter().map(|field| field.unescaped(text)).collect();
        assert_eq!(values, ["1", "x\ny", "[1,{}]", "", "-2.5", "", "", ""]);
        assert!(block.bad.is_empty());
    }

    #[test]
    fn what_is_no_object_is_bad_and_the_next_line_is_read() {
        let block = records("{\"a\":1}\n{\"a\":}\n{\"a\":3}\n{\"a\"", &mut Names::new(&[], true));
        assert_eq!((block.records.count(), block.bad.len()), (2, 2));
        assert_eq!(block.bad[0].reason, "is not a JSON object: expected a value");
    }

    #[test]
    fn a_cut_falls_between_objects() {
        assert_eq!(last_end(b"{\"a\":\"}\"}\n{\"b\":{}"), Cut { end: 9, open: Some(10) });
        assert_eq!(last_end(b"[{\"a\":1},"), Cut { end: 8, open: None });
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape("\\u00b5g\\/m\\u00B3 \\ud83d\\ude00 \\ud800 \\\"q\\\\"), "µg/m³ 😀 \u{fffd} \"q\\");
    }
}
