//! The `id` that `.keyvalue()` gives an object: the byte at which PostgreSQL's `jsonb` has it within its document.
//!
//! A container is a count of 4 bytes, 4 bytes for each element, or 8 for each member, and then the keys and the values.
//! Containers and numbers begin at multiples of 4 bytes. `true`, `false` and `null` have no bytes of their own.

use super::jsonb::Json;
use atsdb_core::json_text::{as_text, kind};

/// Calls `each` with every object of a document and its byte.
pub(super) fn for_each_object<'a>(document: &'a Json, each: &mut dyn FnMut(&'a Json, usize)) {
    end_of(document, 0, each);
}

/// The byte after a value that begins at a byte, or at the next multiple of 4.
fn end_of<'a>(json: &'a Json, start: usize, each: &mut dyn FnMut(&'a Json, usize)) -> usize {
    let aligned = start.next_multiple_of(4);
    match json {
        Json::Scalar(text) => match kind(text) {
            "string" => start + as_text(text).map_or(0, |text| text.len()),
            "number" => aligned + numeric_bytes(text),
            _ => start,
        },
        Json::Array(items) => items.iter().fold(aligned + 4 + 4 * items.len(), |at, item| end_of(item, at, each)),
        Json::Object(members) => {
            each(json, aligned);
            let keys: usize = members.keys().map(|(length, _)| length).sum();
            members.values().fold(aligned + 4 + 8 * members.len() + keys, |at, value| end_of(value, at, each))
        }
    }
}

/// The bytes of a number: a length, a header, and 2 bytes for each group of 4 digits but zeros at both ends.
fn numeric_bytes(number: &str) -> usize {
    let unsigned = number.trim_start_matches('-');
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let padded = format!("{}{whole}{fraction}", "0".repeat(whole.len().next_multiple_of(4) - whole.len()));
    let groups = padded.as_bytes().chunks(4).map(|group| group.iter().any(|digit| *digit != b'0'));
    let groups: Vec<bool> = groups.collect();
    let (first, last) = (groups.iter().position(|is_used| *is_used), groups.iter().rposition(|is_used| *is_used));
    let (Some(first), Some(last)) = (first, last) else { return 6 };
    // The position of the first group, from that before the point.
    let before_point = whole.len().div_ceil(4);
    let is_short = fraction.len() <= 63 && before_point <= first + 64 && first <= before_point + 63;
    4 + if is_short { 2 } else { 4 } + 2 * (last - first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<usize> {
        let document = Json::of(text);
        let mut ids = Vec::new();
        for_each_object(&document, &mut |_, id| ids.push(id));
        ids
    }

    /// The expected bytes are those of PostgreSQL 15.
    #[test]
    fn objects_are_where_postgresql_has_them() {
        assert_eq!(ids(r#"{"a": 1, "b": [1, 2], "c": {"a": "bbb"}}"#), [0, 68]);
        assert_eq!(ids(r#"[{"a": 1, "b": [1, 2]}, {"c": {"a": "bbb"}}]"#), [12, 72, 88]);
        assert!(ids("[1, null]").is_empty());
    }

    #[test]
    fn numbers_have_the_bytes_of_a_numeric() {
        for (number, bytes) in [("0", 6), ("0.00", 6), ("1", 8), ("-9999", 8), ("10000", 8), ("10001", 10), ("1.5", 10)]
        {
            assert_eq!(numeric_bytes(number), bytes, "{number}");
        }
        assert_eq!(numeric_bytes(&format!("1{}", "0".repeat(400))), 10);
    }
}
