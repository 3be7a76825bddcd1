//! Arrays of JSON as records: `[[1, "a"], [2, "b"]]`, or one array in each line. The first one names the columns if it
//! holds nothing but names.

use crate::json::objects::{JsonBlock, Names, Reader};
use crate::records::{BadRecord, Field, Records};
use crate::values::dates::DateReading;
use crate::values::times::parse;

/// The arrays of a block.
pub(crate) fn records(text: &str, names: &mut Names) -> JsonBlock {
    let (mut rows, mut starts, mut bad, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), None);
    let bytes = text.as_bytes();
    let mut position = 0;
    while let Some(byte) = bytes.get(position) {
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']') {
            position += 1;
            continue;
        }
        let start = position;
        let mut reader = Reader::new(text, position, names);
        match array(&mut reader) {
            Ok(row) => {
                position = reader.position;
                for index in names.list.len()..row.len() {
                    let name = format!("column{}", index + 1);
                    if names.position(&name).is_none() {
                        unknown.get_or_insert((name, start));
                    }
                }
                rows.push(row);
                starts.push(start as u32);
            }
            Err(reason) => {
                let found = text.get(reader.position..).unwrap_or("").lines().next().unwrap_or("").to_owned();
                bad.push(BadRecord { start, reason: format!("is not a JSON array: {reason}"), value: found });
                position =
                    memchr::memmem::find(&bytes[start + 1..], b"\n[").map_or(bytes.len(), |next| start + 1 + next);
            }
        }
    }
    let width = names.list.len();
    let mut fields = Vec::with_capacity(rows.len() * width);
    for mut row in rows {
        row.resize(width, Field::ABSENT);
        fields.extend(row);
    }
    JsonBlock { records: Records { fields, starts, width }, bad, unknown }
}

fn array(reader: &mut Reader<'_>) -> Result<Vec<Field>, String> {
    let mut row = Vec::new();
    reader.take(b'[')?;
    if reader.peek() == Some(b']') {
        reader.position += 1;
        return Ok(row);
    }
    loop {
        row.push(reader.value()?);
        match reader.peek() {
            Some(b',') => reader.position += 1,
            _ => return reader.take(b']').map(|()| row),
        }
    }
}

/// The names that the first of some records gives to the columns: texts that are neither empty, nor numbers or times,
/// all different, above records of as many values.
pub(crate) fn header_names(text: &str, records: &Records) -> Option<Vec<String>> {
    let first = records.fields.get(..records.width).filter(|_| records.count() > 1)?;
    let mut names: Vec<String> = Vec::new();
    for field in first {
        let name = field.unescaped(text).trim().to_owned();
        let is_value = crate::values::numbers::is_number(name.as_bytes())
            || parse(name.as_bytes(), DateReading::default()).is_some();
        if !field.is_json_string() || name.is_empty() || is_value || names.contains(&name) {
            return None;
        }
        names.push(name);
    }
    let has_other_types = |position: usize| records.column(position).skip(1).any(|field| !field.is_json_string());
    let is_repeated =
        |position: usize| records.column(position).skip(1).any(|field| field.unescaped(text) == names[position]);
    let is_header = (0..records.width).any(has_other_types) || !(0..records.width).any(is_repeated);
    is_header.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_become_records_and_the_first_may_name_them() {
        let text = "[\"t\",\"v\"],[1,\"x\"],\n[2,{\"a\":[1]},3]]";
        let mut names = Names::new(&[], true);
        let block = records(text, &mut names);
        assert_eq!(names.list, ["column1", "column2", "column3"]);
        let values: Vec<String> = block.records.fields.iter().map(|field| field.unescaped(text)).collect();
        assert_eq!(values, ["t", "v", "", "1", "x", "", "2", "{\"a\":[1]}", "3"]);
        assert_eq!(header_names(text, &block.records), None, "a name is missing");
        let text = "[\"t\",\"v\"],[1,\"x\"]";
        let block = records(text, &mut Names::new(&[], true));
        assert_eq!(header_names(text, &block.records).unwrap(), ["t", "v"]);
        let bad = records("[1,oops]\n[2]", &mut Names::new(&[], true));
        assert_eq!((bad.bad.len(), bad.records.count()), (1, 1));
    }
}
