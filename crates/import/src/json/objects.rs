//! JSON objects as records: objects inside become names with dots, arrays stay JSON text, and so do objects for columns
//! of JSON.

use crate::json::reader::{JsonBlock, Names, Reader, last_end_of, read_records};
use crate::records::Cut;
use crate::records::json_string::unescape;
use std::borrow::Cow;

/// Objects inside objects that become names with dots; deeper ones stay JSON text.
const NAMES_DEPTH_MAX: usize = 8;

/// The end of the last complete object on the top level or in a top-level array.
pub(crate) fn last_end(text: &[u8]) -> Cut {
    last_end_of(text, b'{', b'}')
}

/// The objects of a block.
pub(crate) fn records(text: &str, names: &mut Names) -> JsonBlock {
    read_records(text, names, b'{', |reader| object(reader, "", 0))
}

fn object(reader: &mut Reader<'_>, prefix: &str, depth: usize) -> Result<(), String> {
    reader.take(b'{')?;
    if reader.peek() == Some(b'}') {
        reader.position += 1;
        return Ok(());
    }
    loop {
        let (start, end, is_escaped) = reader.string()?;
        let text = reader.text;
        let raw = &text[start..end];
        let key: Cow<'_, str> = if is_escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) };
        reader.take(b':')?;
        let name = if prefix.is_empty() { key } else { Cow::Owned(format!("{prefix}.{key}")) };
        member(reader, &name, depth)?;
        match reader.peek() {
            Some(b',') => reader.position += 1,
            _ => return reader.take(b'}'),
        }
    }
}

fn member(reader: &mut Reader<'_>, name: &str, depth: usize) -> Result<(), String> {
    if reader.peek() == Some(b'{') && depth < NAMES_DEPTH_MAX && !reader.names.is_document(name) {
        return object(reader, name, depth + 1);
    }
    if reader.names.is_geojson {
        if name == "geometry.coordinates" && point(reader)? {
            return Ok(());
        }
        let name = name.strip_prefix("properties.").unwrap_or(name).to_owned();
        let field = reader.value()?;
        if name != "type" {
            reader.push(&name, field);
        }
        return Ok(());
    }
    let field = reader.value()?;
    reader.push(name, field);
    Ok(())
}

/// Reads two or three numbers as a point's longitude, latitude and altitude. Returns `false`, and reads nothing, if
/// there is something else.
fn point(reader: &mut Reader<'_>) -> Result<bool, String> {
    let start = reader.position;
    let mut fields = Vec::new();
    reader.take(b'[').ok();
    while let Some(byte) = reader.peek().filter(|byte| !matches!(byte, b'[' | b'"' | b'{' | b']')) {
        if byte == b',' {
            reader.position += 1;
            continue;
        }
        fields.push(reader.value()?);
    }
    if reader.take(b']').is_err() || !(2..=3).contains(&fields.len()) {
        reader.position = start;
        return Ok(false);
    }
    for (name, field) in ["longitude", "latitude", "altitude"].into_iter().zip(fields) {
        reader.push(name, field);
    }
    Ok(true)
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
    fn a_bad_object_costs_no_other_object_of_its_line() {
        let text = "[{\"a\":1},{\"a\":{\"b\":]}},{\"a\":3}]\n[{\"a\":\"open}]\n{\"a\":5},{\"a\":7}]";
        let block = records(text, &mut Names::new(&[], true));
        let values: Vec<String> = block.records.column(0).map(|field| field.unescaped(text)).collect();
        assert_eq!((values.join(" ").as_str(), block.bad.len()), ("1 3 5 7", 2));
        let mixed = records("{\"a\":[1}]}", &mut Names::new(&[], true));
        assert_eq!(mixed.bad[0].reason, "is not a JSON object: expected ']'");
    }

    #[test]
    fn names_in_another_order_find_their_columns_and_a_bad_object_leaves_no_values() {
        let text = "{\"a\":1,\"b\":2}\n{\"b\":3,\"a\":4,\"a\":5}\n{\"b\":6,\"a\":}\n{\"c\":7}\n{\"a\":8,\"b\":9}";
        let mut names = Names::new(&[], true);
        let block = records(text, &mut names);
        assert_eq!(names.list, ["a", "b", "c"]);
        let values: Vec<String> = block.records.fields.iter().map(|field| field.unescaped(text)).collect();
        assert_eq!(values, ["1", "2", "", "5", "3", "", "", "", "7", "8", "9", ""]);
        assert_eq!(block.bad.len(), 1);
    }

    #[test]
    fn a_cut_falls_between_objects() {
        assert_eq!(last_end(b"{\"a\":\"}\"}\n{\"b\":{}"), Cut { end: 9, open: Some(10) });
        assert_eq!(last_end(b"[{\"a\":1},"), Cut { end: 8, open: None });
    }
}
