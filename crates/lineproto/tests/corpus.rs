//! The corpus with which InfluxData tests readers of line protocol: 6,615 requests, each with its lines or an error.
//!
//! The variable `ATSDB_LINE_CORPUS` names the file `corpus.json` of the Go module
//! `github.com/influxdata/line-protocol-corpus`. Without it the test is skipped.

#![expect(clippy::print_stderr, reason = "the test says what it skips and finds")]

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimestampNanosecondType, UInt64Type};
use atsdb_lineproto::{LineOptions, LineParser, Precision};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The cells of a line: `tag`, `field` or `time`, the name in lower case, and the value.
type Cells = BTreeSet<(String, String)>;

/// The number of requests that may be read differently, without those that [`differs_on_purpose`] recognises.
const OTHERWISE_MAX: usize = 5;

#[test]
fn the_corpus_is_read_as_its_authors_read_it() {
    let Ok(path) = std::env::var("ATSDB_LINE_CORPUS") else {
        eprintln!("skipped: ATSDB_LINE_CORPUS does not name corpus.json");
        return;
    };
    let corpus: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = corpus["decode"].as_object().unwrap();
    assert!(cases.len() > 6_000);
    let (mut on_purpose, mut otherwise) = (0, Vec::new());
    for (name, case) in cases {
        let body = bytes_of(&case["input"]["text"]);
        let expected = case["output"].get("result").map(expected);
        let read = read(&body, &case["input"]);
        if read == expected {
            continue;
        }
        match differs_on_purpose(&body, expected.as_ref()) {
            true => on_purpose += 1,
            false => otherwise.push(format!("{name} {:?}\n  {read:?}\n  {expected:?}", String::from_utf8_lossy(&body))),
        }
    }
    eprintln!(
        "{} requests, {on_purpose} read otherwise on purpose, {} for other reasons",
        cases.len(),
        otherwise.len()
    );
    assert!(otherwise.len() <= OTHERWISE_MAX, "{}", otherwise.join("\n"));
}

/// Returns whether atsdb reads a request differently on purpose: names that differ in case alone or belong to both a
/// tag and a field, the name `time`, and names with control characters.
fn differs_on_purpose(body: &[u8], expected: Option<&Vec<Cells>>) -> bool {
    let Some(lines) = expected else { return false };
    let text = String::from_utf8_lossy(body).to_lowercase();
    let names: Vec<&str> = lines.iter().flatten().map(|(name, _)| name.split_once(' ').unwrap().1).collect();
    let doubled = lines.iter().any(|line| {
        let mut seen = BTreeSet::new();
        line.iter().any(|(name, _)| !seen.insert(name.split_once(' ').unwrap().1.to_lowercase()))
    });
    doubled || text.contains("time") || names.iter().any(|name| name.chars().any(char::is_control))
}

fn bytes_of(text: &Value) -> Vec<u8> {
    match text {
        Value::String(text) => text.clone().into_bytes(),
        other => base64(other["binary"].as_str().unwrap()),
    }
}

fn base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut bit_count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| alphabet.iter().position(|letter| *letter == byte)) {
        bits = (bits << 6 | digit as u32) & 0xffff;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count) as u8);
        }
    }
    bytes
}

fn plain(value: &Value) -> String {
    String::from_utf8_lossy(&bytes_of(value)).into_owned()
}

fn expected(lines: &Value) -> Vec<Cells> {
    let line = |line: &Value| {
        let mut cells = Cells::new();
        cells.insert(("measurement ".to_owned(), plain(&line["name"])));
        for tag in line["tags"].as_array().into_iter().flatten() {
            cells.insert((format!("column {}", plain(&tag["key"])), plain(&tag["value"])));
        }
        let mut fields = BTreeMap::new();
        for field in line["fields"].as_array().into_iter().flatten() {
            let (kind, value) = field["value"].as_object().unwrap().iter().next().unwrap();
            let value = match (kind.as_str(), value) {
                ("float", value) => float(value),
                ("string" | "binary", _) => plain(value),
                (_, Value::String(text)) => text.clone(),
                (_, value) => value.to_string(),
            };
            fields.insert(format!("column {}", plain(&field["key"])), value);
        }
        cells.extend(fields);
        cells.insert(("time ".to_owned(), line["time"].to_string()));
        cells
    };
    let mut lines: Vec<Cells> = lines.as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines
}

fn float(value: &Value) -> String {
    let value = match value {
        Value::String(text) => text.parse().unwrap(),
        value => value.as_f64().unwrap(),
    };
    format!("{value:?}")
}

/// Returns the lines that are read, or `None` if a line is refused.
fn read(body: &[u8], input: &Value) -> Option<Vec<Cells>> {
    let precision = Precision::parse(input["precision"].as_str().unwrap().trim_start_matches('1')).unwrap();
    let now_ns = input["defaultTime"].as_i64().unwrap();
    let mut parser = LineParser::new(body, LineOptions { precision, now_ns });
    let mut lines = Vec::new();
    while let Some(blocks) = parser.next_block(&|_| None) {
        for block in blocks {
            let schema = block.rows.schema();
            for row in 0..block.rows.num_rows() {
                let mut cells = Cells::new();
                cells.insert(("measurement ".to_owned(), block.name.clone()));
                for (field, array) in schema.fields().iter().zip(block.rows.columns()) {
                    if array.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
                        continue;
                    }
                    let name = format!("column {}", field.name());
                    if let Some(times) = array.as_primitive_opt::<TimestampNanosecondType>() {
                        cells.insert(("time ".to_owned(), times.value(row).to_string()));
                    } else {
                        cells.insert((name, value(array, row)));
                    }
                }
                lines.push(cells);
            }
        }
    }
    lines.sort();
    (parser.refused_lines() == 0).then_some(lines)
}

fn value(array: &dyn Array, row: usize) -> String {
    if let Some(values) = array.as_primitive_opt::<Float64Type>() {
        return format!("{:?}", values.value(row));
    }
    if let Some(values) = array.as_primitive_opt::<Int64Type>() {
        return values.value(row).to_string();
    }
    if let Some(values) = array.as_primitive_opt::<UInt64Type>() {
        return values.value(row).to_string();
    }
    if let Some(values) = array.as_boolean_opt() {
        return values.value(row).to_string();
    }
    if let Some(values) = array.as_string_opt::<i32>() {
        return values.value(row).to_owned();
    }
    let texts = cast(&array.slice(row, 1), &DataType::Utf8).unwrap();
    texts.as_string::<i32>().value(0).to_owned()
}
