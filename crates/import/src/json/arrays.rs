//! Arrays of JSON as records: `[[1, "a"], [2, "b"]]`, or one array in each line. The first one names the columns if it
//! holds nothing but names.

use crate::json::reader::{JsonBlock, Names, Reader, last_end_of, read_records};
use crate::records::{Cut, Records};
use crate::values::numbers::is_number;
use crate::values::times::parse;
use atsdb_core::time_text::DateReading;

/// The end of the last complete array on the top level.
pub(crate) fn last_end(text: &[u8]) -> Cut {
    last_end_of(text, b'[', b']')
}

/// The arrays of a block.
pub(crate) fn records(text: &str, names: &mut Names) -> JsonBlock {
    read_records(text, names, b'[', array)
}

fn array(reader: &mut Reader<'_>) -> Result<(), String> {
    reader.take(b'[')?;
    if reader.peek() == Some(b']') {
        reader.position += 1;
        return Ok(());
    }
    let mut fields = Vec::new();
    loop {
        fields.push(reader.value()?);
        match reader.peek() {
            Some(b',') => reader.position += 1,
            _ => break,
        }
    }
    reader.take(b']')?;
    fields.into_iter().enumerate().for_each(|(position, field)| reader.push_at(position, field));
    Ok(())
}

/// The names that the first of some records gives to the columns: texts that are neither empty, nor numbers or times,
/// all different, above records of as many values.
pub(crate) fn header_names(text: &str, records: &Records) -> Option<Vec<String>> {
    let first = records.fields.get(..records.width).filter(|_| records.count() > 1)?;
    let mut names: Vec<String> = Vec::new();
    for field in first {
        let name = field.unescaped(text).trim().to_owned();
        let is_value = is_number(name.as_bytes()) || parse(name.as_bytes(), DateReading::default()).is_some();
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
