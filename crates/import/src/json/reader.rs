//! Reads the records of a block of JSON. Strings, numbers and words are referenced in the text, so that the same code
//! parses them and CSV. The splitting is written by hand for that reason: a general parser would convert or copy each
//! value before the type of its column is known.

use crate::records::{BadRecord, Cut, Field, Records};
use crate::values::numbers::is_number;
use atsdb_core::name::same_name;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 128;

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

/// Returns the byte at which to continue after a bad record: at its own end, or at the next line that begins a record,
/// if that comes first.
fn behind_bad(text: &[u8], start: usize, opening: u8) -> usize {
    let closing = if opening == b'[' { b']' } else { b'}' };
    let line = memchr::memmem::find(&text[start + 1..], &[b'\n', opening]);
    let line = line.map_or(text.len(), |line| start + 1 + line);
    first_end_of(&text[start..line], opening, closing).map_or(line, |end| start + end)
}

/// The end of the first value that opens and closes with these bytes.
fn first_end_of(text: &[u8], opening: u8, closing: u8) -> Option<usize> {
    let (mut depth, mut position) = (0_usize, 0);
    while let Some(byte) = text.get(position) {
        match *byte {
            b'"' => position = string_end(text, position)?,
            byte if byte == opening => depth += 1,
            byte if byte == closing => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            _ => {}
        }
        position += 1;
    }
    None
}

/// The quote that closes the string at `quote`.
pub(crate) fn string_end(text: &[u8], quote: usize) -> Option<usize> {
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
    /// The names in order.
    pub(crate) list: Vec<String>,
    positions: HashMap<String, usize>,
    /// The position that is asked for next if the records have the same names in the same order.
    next: usize,
    may_grow: bool,
    pub(crate) is_geojson: bool,
    /// The names of objects, which are no columns: `null` in the place of one has no field.
    objects: Arc<HashSet<String>>,
    /// The names whose objects stay text, for columns of JSON.
    documents: Arc<Vec<String>>,
}

impl Names {
    /// Creates a list of these names. With `may_grow`, others are added as they appear.
    pub(crate) fn new(list: &[String], may_grow: bool) -> Self {
        let positions = list.iter().enumerate().map(|(position, name)| (name.clone(), position)).collect();
        Self { list: list.to_vec(), positions, next: 0, may_grow, ..Self::default() }
    }

    /// The names of the features of GeoJSON: properties by their own, the coordinates of points in columns.
    pub(crate) fn of_features(self, is_geojson: bool) -> Self {
        Self { is_geojson, ..self }
    }

    /// The names, without those of objects.
    pub(crate) fn without_objects(self, objects: &Arc<HashSet<String>>) -> Self {
        Self { objects: Arc::clone(objects), ..self }
    }

    /// The names, of which some have documents of JSON.
    pub(crate) fn with_documents(self, documents: &Arc<Vec<String>>) -> Self {
        Self { documents: Arc::clone(documents), ..self }
    }

    /// Returns whether the objects of a name stay text.
    pub(crate) fn is_document(&self, name: &str) -> bool {
        self.documents.iter().any(|document| same_name(document, name))
    }

    /// The name of a column at a position, which no other column has.
    fn unused(&self, position: usize) -> String {
        let name = format!("column{}", position + 1);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        names.find(|name| !self.positions.contains_key(name)).unwrap_or_default()
    }

    /// The position of a name, which is added if it is new and names may be added.
    pub(crate) fn position(&mut self, name: &str) -> Option<usize> {
        let is_next = self.list.get(self.next).is_some_and(|next| next == name);
        let position = if is_next { self.next } else { self.known_or_added(name)? };
        self.next = if position + 1 < self.list.len() { position + 1 } else { 0 };
        Some(position)
    }

    fn known_or_added(&mut self, name: &str) -> Option<usize> {
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

/// The records of a block. `opening` is the bracket that begins one, and `read` reads one.
pub(crate) fn read_records(
    text: &str,
    names: &mut Names,
    opening: u8,
    read: impl Fn(&mut Reader<'_>) -> Result<(), String>,
) -> JsonBlock {
    let (mut starts, mut ends, mut bad, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), None);
    let bytes = text.as_bytes();
    let mut reader = Reader { text, position: 0, names, members: Vec::new(), unknown: None };
    while let Some(byte) = bytes.get(reader.position) {
        let is_between = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']');
        if is_between && *byte != opening {
            reader.position += 1;
            continue;
        }
        let (start, first) = (reader.position, reader.members.len());
        match read(&mut reader) {
            Ok(()) => {
                unknown = unknown.or(reader.unknown.take().map(|name| (name, start)));
                starts.push(start as u32);
                ends.push(reader.members.len());
            }
            Err(reason) => {
                let found = text.get(reader.position..).unwrap_or("").lines().next().unwrap_or("").to_owned();
                let what = if opening == b'[' { "array" } else { "object" };
                bad.push(BadRecord { start, reason: format!("is not a JSON {what}: {reason}"), value: found });
                reader.members.truncate(first);
                reader.unknown = None;
                reader.position = behind_bad(bytes, start, opening);
            }
        }
    }
    let Reader { names, members, .. } = reader;
    let width = names.list.len();
    let mut fields = vec![Field::ABSENT; ends.len() * width];
    let mut first = 0;
    for (record, end) in ends.into_iter().enumerate() {
        for (position, field) in &members[first..end] {
            fields[record * width + position] = *field;
        }
        first = end;
    }
    JsonBlock { records: Records { fields, starts, width, ..Records::default() }, bad, unknown }
}

/// Reads the records of a text, one after another.
pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
    pub(crate) position: usize,
    pub(crate) names: &'a mut Names,
    /// The fields of all records so far, each with the position of its name.
    members: Vec<(usize, Field)>,
    unknown: Option<String>,
}

impl Reader<'_> {
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

    pub(crate) fn string(&mut self) -> Result<(usize, usize, bool), String> {
        self.take(b'"')?;
        let start = self.position;
        let close = string_end(self.text.as_bytes(), start - 1).ok_or("a string is not closed")?;
        self.position = close + 1;
        let is_escaped = memchr::memchr(b'\\', &self.text.as_bytes()[start..close]).is_some();
        Ok((start, close, is_escaped))
    }

    /// Adds the field at a position of the record. Positions beyond the known names are called `column1` and so on, or
    /// `column1_2` if another column has that name.
    pub(crate) fn push_at(&mut self, position: usize, field: Field) {
        if position >= self.names.list.len() {
            let name = self.names.unused(position);
            if self.names.position(&name).is_none() {
                self.unknown.get_or_insert(name);
            }
        }
        if position < self.names.list.len() {
            self.members.push((position, field));
        }
    }

    /// Adds a field of the record.
    pub(crate) fn push(&mut self, name: &str, field: Field) {
        match self.names.position(name) {
            Some(position) => self.members.push((position, field)),
            None if field == Field::ABSENT && self.names.objects.contains(name) => {}
            None => _ = self.unknown.get_or_insert_with(|| name.to_owned()),
        }
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
                    word if is_number(word.as_bytes()) => Field::plain(start, self.position),
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

    /// Skips an array or an object.
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
                b'}' | b']' if byte != close => return Err(format!("expected {:?}", char::from(close))),
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
