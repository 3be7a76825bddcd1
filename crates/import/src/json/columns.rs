//! Documents with one list for each column, `{"time": [1, 2], "temp": [3, 4]}`: their items become arrays, one for each
//! row, `[1,3]` and `[2,4]`. The lists are read side by side, so that memory does not depend on their length.

use crate::json::outline::List;
use atsdb_temporary::PositionedFile;
use std::io::{self, Write};

/// The bytes of the buffers of all lists together.
const BUFFERS_BYTES: usize = 16 << 20;

/// The smallest and the largest buffer of one list, in bytes.
const BUFFER_BYTES: (usize, usize) = (1 << 10, 256 << 10);

/// An item that is not a single value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NestedItem {
    /// The position of its list.
    pub(crate) list: usize,
    /// The number of the item in the list, from 1.
    pub(crate) number: u64,
}

/// Writes the items of the lists of a document, an array in each line. `file` has the document, in which the lists are
/// as the outline says, all with the same number of items. Returns the item at which it stopped, because it is nested.
pub(crate) fn write_rows(
    file: &PositionedFile,
    lists: &[List],
    out: &mut impl Write,
) -> io::Result<Option<NestedItem>> {
    let capacity = (BUFFERS_BYTES / lists.len().max(1)).clamp(BUFFER_BYTES.0, BUFFER_BYTES.1);
    let mut columns: Vec<ListItems<'_>> = lists.iter().map(|list| ListItems::new(file, list, capacity)).collect();
    let row_count = lists.first().map_or(0, |list| list.item_count);
    let mut row = Vec::new();
    for number in 1..=row_count {
        row.clear();
        for (list, items) in columns.iter_mut().enumerate() {
            row.push(if list == 0 { b'[' } else { b',' });
            if !items.next(&mut row)? {
                return Ok(Some(NestedItem { list, number }));
            }
        }
        row.extend_from_slice(b"]\n");
        out.write_all(&row)?;
    }
    Ok(None)
}

/// The items of one list, one after another.
struct ListItems<'a> {
    file: &'a PositionedFile,
    /// The bytes of the file that were not read yet.
    rest: std::ops::Range<u64>,
    capacity: usize,
    buffer: Vec<u8>,
    /// The next byte in the buffer.
    position: usize,
}

impl<'a> ListItems<'a> {
    fn new(file: &'a PositionedFile, list: &List, capacity: usize) -> Self {
        Self { file, rest: list.start..list.end, capacity, buffer: Vec::new(), position: 0 }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        if self.position == self.buffer.len() {
            let length = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX).min(self.capacity);
            self.buffer.resize(length, 0);
            self.file.read_exact_at(&mut self.buffer, self.rest.start)?;
            self.rest.start += length as u64;
            self.position = 0;
        }
        let byte = self.buffer.get(self.position).copied();
        self.position += usize::from(byte.is_some());
        Ok(byte)
    }

    /// Appends the text of the next item, in one line and without the blanks around it. Returns `false` if the item is
    /// nested.
    fn next(&mut self, row: &mut Vec<u8>) -> io::Result<bool> {
        let start = row.len();
        let (mut is_string, mut is_escape) = (false, false);
        while let Some(byte) = self.byte()? {
            match byte {
                _ if is_escape => is_escape = false,
                b'\\' if is_string => is_escape = true,
                b'"' => is_string = !is_string,
                _ if is_string => {}
                b',' => break,
                b'[' | b'{' | b']' | b'}' => return Ok(false),
                blank if blank.is_ascii_whitespace() => {
                    if row.len() > start {
                        row.push(b' ');
                    }
                    continue;
                }
                _ => {}
            }
            row.push(byte);
        }
        while row.len() > start && row.last() == Some(&b' ') {
            row.pop();
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::outline::outline;

    /// The rows of a document, and the item at which they end.
    fn rows(document: &str) -> (String, Option<NestedItem>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(document.as_bytes()).unwrap();
        let mut out = Vec::new();
        let nested = write_rows(&file.into(), &outline(document.as_bytes()).unwrap().lists, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), nested)
    }

    #[test]
    fn the_items_of_the_lists_become_rows() {
        let document = "{\"t\": [ 1 ,\n 2,null ], \"v\":[\"a,]\\\"\",\"\",-2.5e3\n]}";
        assert_eq!(rows(document), ("[1,\"a,]\\\"\"]\n[2,\"\"]\n[null,-2.5e3]\n".to_owned(), None));
        assert_eq!(rows("{\"a\":[],\"b\":[ ]}"), (String::new(), None));
    }

    #[test]
    fn buffers_end_anywhere_and_nested_items_end_the_rows() {
        let many = |item: &str| vec![item; 100_000].join(",");
        let (text, nested) = rows(&format!("{{\"a\":[{}],\"b\":[{}]}}", many("123"), many("\"xyz\"")));
        assert!(nested.is_none() && text == "[123,\"xyz\"]\n".repeat(100_000));
        let (text, nested) = rows("{\"a\":[1,2],\"b\":[3,{\"c\":4}]}");
        assert_eq!((text.as_str(), nested), ("[1,3]\n", Some(NestedItem { list: 1, number: 2 })));
    }
}
