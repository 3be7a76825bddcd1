//! Parsing lines into rows.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::{ColumnType, DefaultFunction, MapWidth, TableDefinition, TimeUnit, Unique, Value};
use atsdb_lineproto::{LineError, LineOptions, LineParser, Precision, TableBlock};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

const OPTIONS: LineOptions = LineOptions { precision: Precision::NANOSECOND, now_ns: 42 };

fn parse(body: &str) -> (Vec<TableBlock>, Vec<LineError>) {
    parse_with(body.as_bytes(), OPTIONS, &|_| None)
}

fn parse_with(
    body: &[u8],
    options: LineOptions,
    definition: &dyn Fn(&str) -> Option<TableDefinition>,
) -> (Vec<TableBlock>, Vec<LineError>) {
    let mut parser = LineParser::new(body, options);
    let blocks = std::iter::from_fn(|| parser.next_block(definition)).flatten().collect();
    assert_eq!(parser.refused_lines(), parser.errors().len() as u64);
    (blocks, parser.errors().to_vec())
}

/// Returns the rows of a batch, each as `column=value` in the batch's order, without NULLs.
fn shown(rows: &RecordBatch) -> Vec<String> {
    let schema = rows.schema();
    let row = |row: usize| {
        let cell = |column: usize| {
            let array = rows.column(column);
            if array.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
                return None;
            }
            let text = ArrayFormatter::try_new(array, &FormatOptions::default()).unwrap().value(row).to_string();
            let text = match array.as_primitive_opt::<TimestampNanosecondType>() {
                Some(times) => times.value(row).to_string(),
                None => text,
            };
            Some(format!("{}={text}", schema.field(column).name()))
        };
        (0..rows.num_columns()).filter_map(cell).collect::<Vec<_>>().join(" ")
    };
    (0..rows.num_rows()).map(row).collect()
}

fn one(body: &str) -> Vec<String> {
    let (blocks, errors) = parse(body);
    assert_eq!(errors, []);
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    shown(&blocks[0].rows)
}

#[test]
fn lines_of_one_measurement_are_the_rows_of_a_table() {
    let rows = one("cpu,host=a,core=0 user=1.5,n=3i,up=t 10\ncpu,host=b user=2,big=7u,note=\"x, y=z\" 11\n");
    assert_eq!(rows, ["time=10 host=a core=0 user=1.5 n=3 up=true", "time=11 host=b user=2.0 big=7 note=x, y=z"]);
}

#[test]
fn columns_have_the_types_of_their_values() {
    let (blocks, _) = parse("m f=1,i=-2i,u=3u,b=F,s=\"\" 1");
    let rows = &blocks[0].rows;
    assert_eq!((rows.num_columns(), blocks[0].tag_count), (6, 0));
    assert_eq!(rows.column_by_name("f").unwrap().as_primitive::<Float64Type>().value(0), 1.0);
    assert_eq!(rows.column_by_name("i").unwrap().as_primitive::<Int64Type>().value(0), -2);
    assert_eq!(rows.column_by_name("u").unwrap().as_primitive::<UInt64Type>().value(0), 3);
    assert!(!rows.column_by_name("b").unwrap().as_boolean().value(0));
    assert_eq!(rows.column_by_name("s").unwrap().as_string::<i32>().value(0), "");
}

#[test]
fn escapes_are_undone() {
    let (blocks, errors) = parse("my\\ mea\\,sure,tag\\ key\\==va\\,l\\=ue\\ 1 fi\\ eld\\,=\"a\\\"b\\\\c\\d\" 1");
    assert_eq!(errors, []);
    assert_eq!(blocks[0].name, "my mea,sure");
    assert_eq!(shown(&blocks[0].rows), ["time=1 tag key==va,l=ue 1 fi eld,=a\"b\\c\\d"]);
}

#[test]
fn a_text_may_hold_a_line_break_and_lines_behind_it_keep_their_numbers() {
    let (blocks, errors) = parse("m s=\"a\nb\" 1\nm bad 2\n\n# a comment, \"\nm s=\"c\" 3");
    assert_eq!(shown(&blocks[0].rows), ["time=1 s=a\nb", "time=3 s=c"]);
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].line, errors[0].text.as_str()), (3, "m bad 2"));
}

#[test]
fn a_line_without_a_timestamp_has_the_present() {
    assert_eq!(one("m a=1\r\n  m a=2   7  \r\n\tm a=3"), ["time=42 a=1.0", "time=7 a=2.0", "time=42 a=3.0"]);
    let options = LineOptions { precision: Precision::parse("s").unwrap(), now_ns: 1_999_999_999 };
    let (blocks, _) = parse_with(b"m a=1\nm a=2 3", options, &|_| None);
    assert_eq!(shown(&blocks[0].rows), ["time=1000000000 a=1.0", "time=3000000000 a=2.0"]);
}

#[test]
fn a_line_that_cannot_be_read_is_refused_and_others_are_not() {
    let cases = [
        ("m", "missing fields"),
        ("m 12", "invalid field format"),
        (",t=a f=1", "missing measurement"),
        ("m,t f=1", "missing tag value"),
        ("m,t= f=1", "missing tag value"),
        ("m,=a f=1", "missing tag key"),
        ("m,t=a=b f=1", "invalid tag format"),
        ("m,t=a,T=b f=1", "duplicate tag \"T\""),
        ("m =1", "missing field key"),
        ("m f=", "missing field value"),
        ("m f=1,", "invalid field format"),
        ("m f=nan", "invalid field value \"nan\""),
        ("m f=1 x", "invalid timestamp \"x\""),
        ("m f=1 1 2", "invalid timestamp"),
        ("m f=\"a", "unbalanced quotes"),
        ("m f=\"a\"b", "invalid field format"),
        ("m time=1", "\"time\" cannot be the name of a field"),
        ("m,time=a f=1", "\"time\" cannot be the name of a tag"),
        ("m,f=a g=1", "tag \"f\" has the name of a field of \"m\""),
        ("m f=1 99999999999999999999", "invalid timestamp \"99999999999999999999\""),
    ];
    for (line, message) in cases {
        let (blocks, errors) = parse(&format!("m f=1 1\n{line}\nm f=2 2"));
        assert_eq!(errors.iter().map(|error| (error.line, error.message.as_str())).collect::<Vec<_>>(), [(2, message)]);
        assert_eq!(shown(&blocks[0].rows), ["time=1 f=1.0", "time=2 f=2.0"], "{line}");
    }
    let (_, errors) = parse_with(b"m f=\"\xff\" 1\n\xff f=1\nm,t=\xff f=1\nm \xff=1", OPTIONS, &|_| None);
    assert_eq!(errors.len(), 4);
}

#[test]
fn a_head_means_the_same_whatever_came_before_it() {
    let heads = [
        "m,a=1,b=2",
        "m,b=1,a=2",
        "m,a=x\\,b\\=y,b=2",
        "m,a\\=a=1,b=2",
        "m,aa=1,b=2",
        "m,a=1",
        "m,a=1,b=2,c=3",
        "m,A=3,b=4",
        "M,a=3,b=4",
        "m",
        "n,b=1,a=2",
        "m,a=,b=1",
        "m,a=1=2,b=1",
        "m,a==1,b=2",
        "m,a=1,b",
        "m,a=1,a=2",
        "m,b=1,b=2",
        "m,a=1,",
    ];
    // The cells of the row at the time 7 without the case of their names, and the message if the line is refused.
    let last = |body: &str| {
        let (blocks, errors) = parse(body);
        let rows = blocks.iter().flat_map(|block| shown(&block.rows)).filter(|row| row.starts_with("time=7 "));
        let mut cells: Vec<String> =
            rows.flat_map(|row| row.split(' ').map(str::to_lowercase).collect::<Vec<_>>()).collect();
        cells.sort();
        let text = body.lines().last().unwrap().to_owned();
        (cells, errors.into_iter().find(|error| error.text == text).map(|error| error.message))
    };
    for before in heads {
        for head in heads {
            let line = format!("{head} f=1 7");
            assert_eq!(last(&format!("{before} f=1 6\n{line}")), last(&line), "{head} after {before}");
        }
    }
}

#[test]
fn a_refused_line_leaves_no_column_and_no_type() {
    let (blocks, errors) = parse("m f=1 1\nm g=1,f=\"x\" 2\nm g=\"text\" 3\nm g=1 4\nm h=1,h=x 5");
    assert_eq!(shown(&blocks[0].rows), ["time=1 f=1.0", "time=3 g=text"]);
    assert_eq!(blocks[0].rows.num_columns(), 3);
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2, 4, 5]);
    assert!(errors[1].message.starts_with("field type conflict: input field \"g\" on measurement \"m\" is type float"));
}

#[test]
fn the_last_of_two_values_of_one_field_counts() {
    assert_eq!(one("m a=1,b=2,a=3 1\nm a=1,A=4 2"), ["time=1 a=3.0 b=2.0", "time=2 a=4.0"]);
}

#[test]
fn numbers_fit_the_type_that_the_column_has() {
    let definition = TableDefinition::new("Readings")
        .with_column("at", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U16))
        .with_column("small", ColumnType::Int8, None)
        .with_column("ratio", ColumnType::Float64, None)
        .with_column("raw", ColumnType::Binary, None)
        .with_time("at", TimeUnit::Second)
        .unwrap();
    let mut keyed = definition.clone();
    keyed.columns[1].nullable = false;
    keyed.unique = vec![Unique::new(vec![keyed.columns[1].id, keyed.columns[0].id])];
    let body = b"readings,sensor=a small=7,ratio=3i 5000000000
readings,sensor=a small=7.5 5000000000
readings,sensor=a small=200i 5000000000
readings,sensor=a ratio=9007199254740993i 5000000000
readings,sensor=a small=1 5000000001
readings small=1 5000000000
readings,sensor=a raw=1 5000000000
readings,sensor=a AT=1 5000000000
";
    let (blocks, errors) = parse_with(body, OPTIONS, &|name| (name == "readings").then(|| keyed.clone()));
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(blocks[0].name, "Readings");
    assert_eq!(shown(&blocks[0].rows), ["at=1970-01-01T00:00:05Z sensor=a small=7 ratio=3.0"]);
    let plain = TableDefinition::new("readings").with_column("a", ColumnType::Int8, None);
    let (blocks, errors) = parse_with(b"readings a=1", OPTIONS, &|_| Some(plain.clone()));
    assert!(blocks.is_empty() && errors[0].message.contains("no timestamp column"), "{errors:?}");
}

#[test]
fn a_column_that_lines_cannot_set_may_have_a_default_function() {
    let mut definition = TableDefinition::new("m")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Nanosecond), None)
        .with_column("a", ColumnType::Float64, None)
        .with_column("id", ColumnType::Uuid, None)
        .with_time("time", TimeUnit::Nanosecond)
        .unwrap();
    definition.columns[2].nullable = false;
    let (_, errors) = parse_with(b"m a=1 1", OPTIONS, &|_| Some(definition.clone()));
    assert!(errors[0].message.contains("requires a column that lines cannot set"), "{errors:?}");
    definition.columns[2].default_function = Some(DefaultFunction::GenRandomUuid);
    let (blocks, errors) = parse_with(b"m a=1 1", OPTIONS, &|_| Some(definition.clone()));
    assert!(errors.is_empty() && blocks[0].rows.num_columns() == 2, "{errors:?}");
}

#[test]
fn a_value_that_a_line_lacks_is_null_whatever_its_default_and_the_other_lines() {
    let mut definition = TableDefinition::new("m")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Nanosecond), None)
        .with_column("a", ColumnType::Float64, None)
        .with_column("id", ColumnType::Text, None)
        .with_column("host", ColumnType::Text, Some(MapWidth::U8))
        .with_column("count", ColumnType::Int16, None)
        .with_time("time", TimeUnit::Nanosecond)
        .unwrap();
    for column in &mut definition.columns[2..4] {
        column.default_function = Some(DefaultFunction::GenRandomUuid);
    }
    definition.columns[4].default = Some(Value::Int(7));
    let body = b"m a=1 1\nm a=2 2\nm a=1 3\nm,host=x a=2,id=\"i\",count=1 4";
    for (body, nulls) in [(&body[..15], [2, 2, 2]), (&body[..], [3, 3, 3])] {
        let (blocks, errors) = parse_with(body, OPTIONS, &|_| Some(definition.clone()));
        assert!(errors.is_empty(), "{errors:?}");
        let found = ["id", "host", "count"].map(|name| blocks[0].rows.column_by_name(name).unwrap().null_count());
        assert_eq!(found, nulls);
    }
}

#[test]
fn a_line_beyond_the_retention_of_its_table_is_refused() {
    let mut definition = TableDefinition::new("m")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Nanosecond), None)
        .with_column("a", ColumnType::Float64, None)
        .with_time("time", TimeUnit::Second)
        .unwrap();
    definition.retention = Some(atsdb_core::Retention::parse("1 day").unwrap());
    let options = LineOptions { precision: Precision::parse("s").unwrap(), now_ns: 200_000_000_000_000 };
    let (blocks, errors) = parse_with(b"m a=1 113599\nm a=2 113600", options, &|_| Some(definition.clone()));
    assert_eq!(shown(&blocks[0].rows), ["time=113600000000000 a=2.0"]);
    assert_eq!(errors[0].message, "point beyond the retention of table m");
}

#[test]
fn many_errors_are_counted_and_the_first_are_kept() {
    let body = "m\n".repeat(1_000);
    let mut parser = LineParser::new(body.as_bytes(), OPTIONS);
    assert!(parser.next_block(&|_| None).is_none());
    assert_eq!((parser.refused_lines(), parser.errors().len()), (1_000, 100));
}

#[test]
fn columns_that_rows_lack_count_against_the_size_of_a_block() {
    let line = |number: u32| format!("m f{}=1 {number}\n", number % 900);
    let body: String = (0..20_000).map(line).collect();
    let mut parser = LineParser::new(body.as_bytes(), OPTIONS).with_block_values(1 << 16);
    let mut row_count = 0;
    while let Some(blocks) = parser.next_block(&|_| None) {
        let rows = &blocks[0].rows;
        assert!(rows.num_rows() * rows.num_columns() < 2 << 16, "{} x {}", rows.num_rows(), rows.num_columns());
        row_count += rows.num_rows();
    }
    assert_eq!((row_count, parser.refused_lines()), (20_000, 0));
}

/// A generated line.
#[derive(Debug, Clone)]
struct Line {
    measurement: String,
    tags: BTreeMap<String, String>,
    fields: BTreeMap<String, Field>,
    time: i64,
}

#[derive(Debug, Clone)]
enum Field {
    Float(f64),
    Int(i64),
    UInt(u64),
    Bool(bool),
    Text(String),
}

fn any_name(prefix: &'static str) -> impl Strategy<Value = String> {
    // Backslashes before separators and at the end have no escape.
    "[a-c ,=é\"#]{1,3}".prop_map(move |name| format!("{prefix}{name}"))
}

fn any_line() -> impl Strategy<Value = Line> {
    // The first letter of a field's name stands for its type, so that lines never conflict.
    let field = prop_oneof![
        (any_name("f"), any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Field::Float)),
        (any_name("i"), any::<i64>().prop_map(Field::Int)),
        (any_name("u"), any::<u64>().prop_map(Field::UInt)),
        (any_name("b"), any::<bool>().prop_map(Field::Bool)),
        (any_name("s"), "[a-c ,=\"\\\\\n]{0,6}".prop_map(Field::Text)),
    ];
    let tags = prop::collection::btree_map(any_name("t"), any_name("v"), 0..4);
    let fields =
        prop::collection::btree_map(any::<u8>(), field, 1..6).prop_map(|fields| fields.into_values().collect());
    (any_name("m"), tags, fields, any::<i64>()).prop_map(|(measurement, tags, fields, time)| Line {
        measurement,
        tags,
        fields,
        time,
    })
}

fn escaped(text: &str, characters: &[char]) -> String {
    let escape = |character: char| {
        let backslash = characters.contains(&character).then_some('\\');
        backslash.into_iter().chain([character])
    };
    text.chars().flat_map(escape).collect()
}

fn written(line: &Line) -> String {
    let key = |text: &str| escaped(text, &[',', '=', ' ']);
    let tags: String = line.tags.iter().map(|(name, value)| format!(",{}={}", key(name), key(value))).collect();
    let field = |(name, field): (&String, &Field)| {
        let value = match field {
            Field::Float(value) => format!("{value:?}"),
            Field::Int(value) => format!("{value}i"),
            Field::UInt(value) => format!("{value}u"),
            Field::Bool(value) => value.to_string(),
            Field::Text(value) => format!("\"{}\"", escaped(value, &['"', '\\'])),
        };
        format!("{}={value}", key(name))
    };
    let fields: Vec<String> = line.fields.iter().map(field).collect();
    format!("{}{tags} {} {}", escaped(&line.measurement, &[',', ' ']), fields.join(","), line.time)
}

/// The cells of a line, sorted.
fn cells(line: &Line) -> Vec<String> {
    let field = |(name, field): (&String, &Field)| match field {
        Field::Float(value) => format!("{name}={:016x}", value.to_bits()),
        Field::Int(value) => format!("{name}={value}"),
        Field::UInt(value) => format!("{name}={value}"),
        Field::Bool(value) => format!("{name}={value}"),
        Field::Text(value) => format!("{name}={value}"),
    };
    let mut cells: Vec<String> = line.fields.iter().map(field).collect();
    cells.extend(line.tags.iter().map(|(name, value)| format!("{name}={value}")));
    cells.push(format!("time={}", line.time));
    cells.sort();
    cells
}

fn read_cells(rows: &RecordBatch) -> Vec<Vec<String>> {
    let schema = rows.schema();
    let row = |row: usize| {
        let cell = |column: usize| {
            let (array, name) = (rows.column(column), schema.field(column).name());
            if array.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
                return None;
            }
            if let Some(times) = array.as_primitive_opt::<TimestampNanosecondType>() {
                return Some(format!("{name}={}", times.value(row)));
            }
            if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
                return Some(format!("{name}={:016x}", floats.value(row).to_bits()));
            }
            let text = ArrayFormatter::try_new(array, &FormatOptions::default()).unwrap().value(row).to_string();
            Some(format!("{name}={text}"))
        };
        let mut cells: Vec<String> = (0..rows.num_columns()).filter_map(cell).collect();
        cells.sort();
        cells
    };
    (0..rows.num_rows()).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(atsdb_testkit::seed()), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(lines in prop::collection::vec(any_line(), 1..12), block_values in 1..200usize) {
        let body: Vec<String> = lines.iter().map(written).collect();
        let body = body.join("\n");
        let mut parser = LineParser::new(body.as_bytes(), OPTIONS).with_block_values(block_values);
        let mut read: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        while let Some(blocks) = parser.next_block(&|_| None) {
            for block in blocks {
                read.entry(block.name).or_default().extend(read_cells(&block.rows));
            }
        }
        prop_assert_eq!(parser.errors(), &[]);
        let mut expected: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for line in &lines {
            expected.entry(line.measurement.clone()).or_default().push(cells(line));
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn no_bytes_panic_and_every_line_is_counted(body in "[mtf,= \"\\\\\n1-9iu#.e-]{0,200}") {
        let mut parser = LineParser::new(body.as_bytes(), OPTIONS);
        let mut row_count = 0;
        while let Some(blocks) = parser.next_block(&|_| None) {
            row_count += blocks.iter().map(|block| block.rows.num_rows() as u64).sum::<u64>();
        }
        prop_assert_eq!(row_count, parser.accepted_lines());
    }
}
