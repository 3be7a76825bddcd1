//! The format of a file. Its first bytes decide; its extension is used only if they do not.

use crate::batches::arrow_ipc::is_arrow;
use crate::input::content::without_mark;
use crate::options::Format;
use atsdb_core::json_text;
use atsdb_lineproto::{first_lines, whole_lines};

/// The number of bytes at the start of a file that determine its format.
pub(crate) const HEAD_BYTES: u64 = 4_096;

/// The extensions of separated values.
const SEPARATED: [&str; 5] = ["csv", "tsv", "txt", "tab", "psv"];

/// The extensions of JSON.
const JSON: [&str; 3] = ["json", "jsonl", "ndjson"];

/// The extensions of workbooks.
const WORKBOOKS: [&str; 5] = ["xlsx", "xlsm", "xlsb", "xls", "ods"];

/// The format of a file with this name and beginning.
pub(crate) fn format_of(name: &str, head: &[u8]) -> Format {
    match head {
        [b'P', b'A', b'R', b'1', ..] => Format::Parquet,
        head if is_arrow(head) => Format::Arrow,
        head if is_line_protocol(head) => Format::Lines,
        head if looks_like_json(head) && (!has_ending(name, &SEPARATED) || begins_with_json(head)) => Format::Json,
        _ => Format::Csv,
    }
}

/// Returns whether the extension of a name is one of JSON.
pub(crate) fn says_json(name: &str) -> bool {
    has_ending(name, &JSON)
}

/// A note for the user about a file whose format, known by its beginning, is another one than its extension says.
pub(crate) fn name_note(name: &str, format: Format, head: &[u8]) -> Option<String> {
    let is_empty = without_mark(head).trim_ascii().is_empty();
    match format {
        // Such as .txt, which says nothing.
        Format::Json if has_ending(name, &SEPARATED) && !has_ending(name, &["txt"]) => Some(
            "it is read as JSON, because that is its content; --format csv reads it as separated values".to_owned(),
        ),
        Format::Csv if says_json(name) && !is_empty => Some(
            "it is read as separated values, because its content is not JSON; --format json reads it as JSON"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns whether a file that begins with these bytes has types of its own, and is not text.
pub(crate) fn has_types(head: &[u8]) -> bool {
    head.starts_with(b"PAR1") || is_arrow(head)
}

/// Returns whether a name has one of these extensions, before that of a compression.
fn has_ending(name: &str, endings: &[&str]) -> bool {
    let name = name.to_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// The name without the extensions for format and compression. That of a sheet is the sheet's.
pub(crate) fn stem(name: &str) -> &str {
    if let Some((file, sheet)) = name.split_once('#')
        && has_ending(file, &WORKBOOKS)
    {
        return sheet;
    }
    let mut stem = name;
    for endings in [
        &["gz", "zst", "zstd"][..],
        &["csv", "tsv", "txt", "tab", "psv", "json", "jsonl", "ndjson", "parquet", "arrow", "feather", "ipc", "lp"],
        &WORKBOOKS,
    ] {
        if let Some((start, ending)) = stem.rsplit_once('.')
            && !start.is_empty()
            && endings.iter().any(|known| known.eq_ignore_ascii_case(ending))
        {
            stem = start;
        }
    }
    stem
}

/// An object, or an array of objects or arrays.
fn looks_like_json(head: &[u8]) -> bool {
    let head = without_mark(head).trim_ascii_start();
    match head {
        [b'{', ..] => true,
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start(), [b'{', ..] | [b']', ..] | [b'[', ..]) || is_arrays(head),
        _ => false,
    }
}

/// Returns whether a text begins with an object or array of JSON that ends its line, or goes on to the end of the text.
/// No field of separated values does.
fn begins_with_json(head: &[u8]) -> bool {
    let head = without_mark(head);
    match json_text::first_nested(head) {
        Ok(Some(end)) => {
            let rest = without_blanks(&head[end..]);
            let is_end = |rest: &[u8]| matches!(rest.first(), None | Some(b'\n' | b'\r'));
            match rest {
                [b',', more @ ..] => is_end(without_blanks(more)),
                rest => rest.starts_with(b"{") || is_end(rest),
            }
        }
        Ok(None) => true,
        Err(_) => false,
    }
}

/// A text without the blanks at its beginning.
fn without_blanks(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b' ').count()..]
}

/// `[[1, 2], ...`, or `[1, "a"]` in each line.
fn is_arrays(head: &[u8]) -> bool {
    let Some(inside) = head.strip_prefix(b"[").map(<[u8]>::trim_ascii_start) else { return false };
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head).trim_ascii_end();
    let is_value = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'"' | b'-' | b'n' | b't' | b'f');
    inside.starts_with(b"[")
        || inside.first().is_some_and(is_value) && line.strip_suffix(b",").unwrap_or(line).ends_with(b"]")
}

/// Returns whether the first complete lines have the form `measurement,tag=value field=1,other="a" 1700000000`. If the
/// first one has a time, half of them are enough: a line that does not have this form is then a mistake in it.
fn is_line_protocol(head: &[u8]) -> bool {
    // A file of one line may lack its line break.
    let only = Some(head).filter(|_| whole_lines(head) == 0);
    let lines = first_lines(head).chain(only).map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).take(20);
    let points: Vec<Option<Point>> = lines.map(point).collect();
    let count = points.iter().flatten().count();
    let has_time = points.first().is_some_and(|first| first.as_ref().is_some_and(|point| point.has_time));
    count > 0 && (count == points.len() || (has_time && count * 2 >= points.len()))
}

/// A line of line protocol.
struct Point {
    has_time: bool,
}

fn point(line: &[u8]) -> Option<Point> {
    let mut parts = cut(std::str::from_utf8(line).ok()?, ' ').into_iter();
    let (series, fields, time) = (parts.next()?, parts.next()?, parts.next());
    let is_time = time.is_none_or(|time| time.parse::<i64>().is_ok());
    let mut tags = cut(series, ',').into_iter();
    let measurement = tags.next().unwrap_or("");
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty());
    let is_series = !measurement.is_empty() && !measurement.contains('=') && tags.all(is_pair);
    let is_point = is_series && cut(fields, ',').into_iter().all(is_pair) && is_time && parts.next().is_none();
    is_point.then_some(Point { has_time: time.is_some() })
}

/// Cuts at a character, but not after a backslash, nor in double quotes.
fn cut(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (position, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            other if other == at && !quoted => {
                parts.push(&text[start..position]);
                start = position + at.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_protocol_is_known_by_its_first_lines() {
        for text in [
            "weather,location=us\\ midwest temperature=82,note=\"a b, c=d\" 1465839830100400200\n",
            "# DDL\ncpu usage=0.5\ncpu,host=a usage=0.25 1700000000\nmem,ho",
            "cpu,host=a usage=0.5 1700000000\ncpu,host=b usage= 1700000001\n",
        ] {
            assert_eq!(format_of("a", text.as_bytes()), Format::Lines, "{text}");
        }
        for text in ["time,v\n1,2\n", "a=b c\n", "name value=x\n1 2\n", "level=info msg=\"x y\" n=1\n", "# only\n", ""]
        {
            assert_eq!(format_of("a", text.as_bytes()), Format::Csv, "{text}");
        }
    }

    #[test]
    fn json_is_known_by_its_content_under_any_name() {
        let long = format!("{{\"a\": \"{}", "x".repeat(5_000));
        let texts =
            ["[[1,2],\n[3,4]]", "[1,\"a\"]\n[2,\"b\"]\n", "[{\"a\":1}]", "[]", "{\"a\":1}", "{\"a\":1},\n{\"a\":2}\n"];
        for text in texts.into_iter().chain([long.as_str()]) {
            for name in ["a", "a.log", "a.txt", "a.csv.gz", "a.jsonl.txt"] {
                assert_eq!(format_of(name, text.as_bytes()), Format::Json, "{name}: {text}");
            }
        }
        assert_eq!(format_of("a", b"[a],b\n"), Format::Csv);
        for text in ["{\"a\":1},2\n", "{\"a\":1}\t2\n", "{a},b\n1,2\n", "[1],2\n", "[12.5] usb 1-1: new\n", "[a,1]\n"] {
            assert_eq!(format_of("a.tsv", text.as_bytes()), Format::Csv, "{text}");
        }
    }
}
