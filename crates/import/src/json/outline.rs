//! Finds the lists in the first value of a JSON document, which may be its records or its columns, and the objects that
//! they are in, without reading their items.

use std::io::{self, BufReader, Read};

/// Lists, and objects of objects, nested deeper in objects than this are ignored.
const DEPTH_MAX: usize = 4;

/// The first item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// Nothing.
    Nothing,
    /// Objects.
    Object,
    /// Lists.
    List,
    /// Numbers, strings, words.
    Scalar,
}

/// A list in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List {
    /// The names that lead to it, with dots between them; empty for a list that is the whole document.
    pub(crate) path: String,
    /// The kind of its items.
    pub(crate) element: Element,
    /// The byte after its opening bracket.
    pub(crate) start: u64,
    /// The position of its closing bracket; `u64::MAX` if it was not searched.
    pub(crate) end: u64,
    /// The line of its start, from 1.
    pub(crate) line: u64,
    /// The name of the list or object in the document, the last one of the path.
    pub(crate) name: String,
    /// The position of its object among those of the outline. `None` for a list that is the whole document.
    pub(crate) object: Option<usize>,
    /// The number of its items, if the end was searched.
    pub(crate) item_count: u64,
}

/// An object that has lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListHolder {
    /// The names that lead to it, with dots between them; empty for the object that is the whole document.
    pub(crate) path: String,
    /// The name of a member that is not a list, if there is one.
    pub(crate) other: Option<String>,
}

/// An object of nothing but objects, which may be records with their names as keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyedObjects {
    /// The names that lead to it; none for the object that is the whole document.
    pub(crate) names: Vec<String>,
    /// The number of its members.
    pub(crate) count: u64,
}

/// The lists found in a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The lists of its first value, in order.
    pub(crate) lists: Vec<List>,
    /// The objects that the lists are in, in the order of their first lists.
    pub(crate) objects: Vec<ListHolder>,
    /// The object with the most members, of which all are objects.
    pub(crate) keyed: Option<KeyedObjects>,
    /// Whether another value follows the first.
    pub(crate) has_more: bool,
    /// Whether the document ends inside of its first value.
    pub(crate) is_cut_off: bool,
}

/// An object that is open, outside of lists.
#[derive(Default)]
struct OpenObject {
    /// The key of the present member.
    key: String,
    /// The key of a member that is not a list.
    other: Option<String>,
    /// The position among the outline's objects; `None` until the object has a list.
    position: Option<usize>,
    /// The number of its members.
    member_count: u64,
    /// The number of these that are objects.
    object_count: u64,
}

#[derive(Default)]
struct Scanner {
    open: Vec<OpenObject>,
    expects_key: bool,
    /// Whether the next token is the value of a member.
    expects_value: bool,
    /// The nesting depth of brackets and braces, counted from the outermost list.
    list_depth: usize,
    list: Option<List>,
    outline: Outline,
}

/// Reads the first value of a document. A list of objects on the top ends it early.
pub(crate) fn outline(reader: impl Read) -> io::Result<Outline> {
    let mut scanner = Scanner::default();
    let (mut line, mut position) = (1, 0);
    let (mut is_string, mut is_escape, mut is_done) = (false, false, false);
    let mut text = Vec::new();
    let mut reader = BufReader::with_capacity(64 << 10, reader);
    loop {
        let buffer = io::BufRead::fill_buf(&mut reader)?;
        if buffer.is_empty() {
            scanner.outline.is_cut_off = scanner.list_depth > 0 || !scanner.open.is_empty();
            return Ok(scanner.outline);
        }
        let length = buffer.len();
        for byte in buffer {
            position += 1;
            line += u64::from(*byte == b'\n');
            if is_string {
                match byte {
                    _ if is_escape => is_escape = false,
                    b'\\' => is_escape = true,
                    b'"' => is_string = false,
                    _ => {}
                }
                if is_string && scanner.expects_key {
                    text.push(*byte);
                }
                continue;
            }
            if byte.is_ascii_whitespace() || (position <= 3 && b"\xef\xbb\xbf".contains(byte)) {
                continue;
            }
            if is_done {
                scanner.outline.has_more = *byte != b',';
                return Ok(scanner.outline);
            }
            scanner.element(*byte);
            match byte {
                b'"' => {
                    is_string = true;
                    text.clear();
                }
                b':' if scanner.list_depth == 0 => {
                    if let Some(object) = scanner.open.last_mut() {
                        object.key = String::from_utf8_lossy(&text).into_owned();
                    }
                    (scanner.expects_key, scanner.expects_value) = (false, true);
                }
                b',' => scanner.comma(),
                b'{' | b'[' => scanner.open(*byte, position, line),
                b'}' | b']' => is_done = scanner.close(*byte, position),
                _ => {}
            }
            let is_records =
                scanner.open.is_empty() && scanner.list.as_ref().is_some_and(|list| list.element == Element::Object);
            if is_records {
                scanner.outline.lists.extend(scanner.list.take());
                return Ok(scanner.outline);
            }
        }
        io::BufRead::consume(&mut reader, length);
    }
}

impl Scanner {
    /// Notes the first item of the open list, and a member that is not a list.
    fn element(&mut self, byte: u8) {
        if std::mem::take(&mut self.expects_value)
            && let Some(object) = self.open.last_mut()
        {
            object.member_count += 1;
            object.object_count += u64::from(byte == b'{');
            if byte != b'[' {
                object.other.get_or_insert_with(|| object.key.clone());
                if let Some(position) = object.position {
                    self.outline.objects[position].other.clone_from(&object.other);
                }
            }
        }
        if let Some(list) = self.list.as_mut().filter(|list| list.element == Element::Nothing)
            && self.list_depth == 1
            && byte != b']'
        {
            list.element = match byte {
                b'{' => Element::Object,
                b'[' => Element::List,
                _ => Element::Scalar,
            };
            list.item_count = 1;
        }
    }

    fn comma(&mut self) {
        self.expects_key = self.list_depth == 0 && !self.open.is_empty();
        if let Some(list) = self.list.as_mut().filter(|_| self.list_depth == 1) {
            list.item_count += 1;
        }
    }

    fn open(&mut self, byte: u8, position: u64, line: u64) {
        if self.list_depth > 0 {
            self.list_depth += 1;
        } else if byte == b'{' {
            self.open.push(OpenObject::default());
            self.expects_key = true;
        } else {
            self.list_depth = 1;
            self.expects_key = false;
            self.list = (self.open.len() <= DEPTH_MAX).then(|| List {
                path: self.path(self.open.len()),
                element: Element::Nothing,
                start: position,
                end: u64::MAX,
                line,
                name: self.open.last().map_or(String::new(), |object| object.key.clone()),
                object: None,
                item_count: 0,
            });
        }
    }

    /// The keys of the outermost open objects, with dots between them.
    fn path(&self, count: usize) -> String {
        let keys: Vec<&str> = self.open[..count].iter().map(|object| object.key.as_str()).collect();
        keys.join(".")
    }

    /// The position of the innermost open object among those of the outline, which it is added to.
    fn holder(&mut self) -> Option<usize> {
        let path = self.path(self.open.len().saturating_sub(1));
        let (object, objects) = (self.open.last_mut()?, &mut self.outline.objects);
        Some(*object.position.get_or_insert_with(|| {
            objects.push(ListHolder { path, other: object.other.clone() });
            objects.len() - 1
        }))
    }

    /// Notes an object that was closed, if all its members are objects.
    fn note_keyed(&mut self, object: &OpenObject) {
        let count = object.member_count;
        let is_most = self.outline.keyed.as_ref().is_none_or(|most| most.count <= count);
        if count > 1 && object.object_count == count && is_most && self.open.len() <= DEPTH_MAX {
            let names = self.open.iter().map(|outer| outer.key.clone()).collect();
            self.outline.keyed = Some(KeyedObjects { names, count });
        }
    }

    /// Ends a list or an object. Returns whether the document's first value ends with it.
    fn close(&mut self, byte: u8, position: u64) -> bool {
        if self.list_depth > 0 {
            self.list_depth -= 1;
            if self.list_depth == 0
                && let Some(list) = self.list.take()
            {
                let object = self.holder();
                self.outline.lists.push(List { end: position - 1, object, ..list });
            }
        } else if byte == b'}' {
            if let Some(object) = self.open.pop() {
                self.note_keyed(&object);
            }
            self.expects_key = false;
        }
        self.list_depth == 0 && self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(text: &str) -> (Vec<(String, Element, String)>, bool) {
        let outline = outline(text.as_bytes()).unwrap();
        let inside = |list: &List| text[list.start as usize..(list.end as usize).min(text.len())].to_owned();
        let lists = outline.lists.iter().map(|list| (list.path.clone(), list.element, inside(list))).collect();
        (lists, outline.has_more)
    }

    #[test]
    fn lists_are_found_by_the_names_that_lead_to_them() {
        let text = "{\"a\":{\"b\":[{\"x\":[1]},{}],\"c\":\"]\\\"[\"},\n \"d\":[1,2],\"e\":[]}\n";
        let found = |path: &str, element, inside: &str| (path.to_owned(), element, inside.to_owned());
        let expected = vec![
            found("a.b", Element::Object, "{\"x\":[1]},{}"),
            found("d", Element::Scalar, "1,2"),
            found("e", Element::Nothing, ""),
        ];
        assert_eq!(lists(text), (expected, false));
        assert_eq!(outline(text.as_bytes()).unwrap().lists[1].line, 2);
        assert_eq!(lists("{\"a\":[1]}\n{\"a\":[2]}"), (vec![found("a", Element::Scalar, "1")], true));
        assert_eq!(lists("[[1,\"]\"],[2]]").0, [found("", Element::List, "[1,\"]\"],[2]")]);
        assert_eq!(lists("[{\"a\":1},{\"a\":2}]").0[0].2, "{\"a\":1},{\"a\":2}]", "the end was not looked for");
    }
}
