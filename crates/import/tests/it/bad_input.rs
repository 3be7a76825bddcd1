//! Bad input gives errors that name file, line, column and value.

use crate::support::{csv, refused, run, text, with};
use arrow::array::{ArrayRef, Int64Array};
use arrow::record_batch::RecordBatch;
use atsdb_core::limits::COLUMNS_MAX;
use atsdb_core::{ColumnType, ErrorKind, Identity, MapWidth, TableDefinition, TimeUnit, Value};
use atsdb_import::{ColumnChoice, Input, Options};
use std::sync::Arc;

#[test]
fn a_record_of_another_width_names_its_line() {
    let error = refused("a,b\n1,2\n\n\"x\ny\",3,4\n");
    assert_eq!(error.message(), "a.csv, line 4: has 3 fields, the file has 2 columns");
    assert_eq!(error.hint(), Some("correct the line, or pass --skip-bad to leave such lines out"));
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

#[test]
fn bad_records_are_counted_when_they_are_skipped() {
    let imported = with("a,b\n1,2\n3\n4,5,6\n7,8\n", &Options { skip_bad: true, ..Options::default() });
    assert_eq!((imported.report.row_count, imported.report.skipped_count), (2, 2));
    assert_eq!(imported.report.skipped[1].line, 4);
    assert_eq!(imported.texts("a"), ["1", "7"]);
}

#[test]
fn an_option_that_means_nothing_for_the_files_is_refused() {
    let plain = Options::default;
    for (file, content, options, message) in [
        (
            "a.csv",
            "a,b\n1,2\n",
            Options { path: Some("x".to_owned()), ..plain() },
            "--path is for JSON and line protocol",
        ),
        (
            "a.json",
            "{\"a\":1}",
            Options { skip: Some(1), ..plain() },
            "--skip is for separated values, and a.json is not",
        ),
        ("a.json", "{\"a\":1}", Options { delimiter: Some(b';'), ..plain() }, "--delimiter is for separated values"),
        ("a", "cpu v=1 1700000000\n", Options { no_quotes: true, ..plain() }, "--no-quotes is for separated values"),
    ] {
        let error = run(vec![text(file, content)], &options, None).map(|imported| imported.columns()).unwrap_err();
        assert!(error.message().starts_with(message), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
    // It means something for one of the files.
    let both = vec![text("a.json", "{\"a\":1}"), text("b.csv", "a;c\n2;3\n")];
    let options = Options { delimiter: Some(b';'), ..plain() };
    assert_eq!(run(both, &options, None).map(|imported| imported.report.row_count).ok(), Some(2));
}

#[test]
fn a_quote_that_is_never_closed_names_the_line_it_opens_in() {
    let error = refused("a,b\n1,2\n3,\"open\n4,5\n");
    assert_eq!(error.message(), "a.csv, line 3: a quote is opened and never closed");
}

#[test]
fn text_after_a_closing_quote_is_refused() {
    assert_eq!(refused("a,b\n\"x\"y,2\n").message(), "a.csv, line 2: \"\\\"x\\\"y\" has text after its closing quote");
}

#[test]
fn bytes_that_are_no_utf8_name_their_line() {
    let error = refused(b"a,b\n1,x\n2,caf\xe9\n".to_vec());
    assert_eq!(error.message(), "a.csv, line 3: byte 0xe9 is not UTF-8");
    assert!(error.hint().unwrap().contains("--encoding latin1"));
    let error = refused(b"\xff\xfea\0,\0b".to_vec());
    assert_eq!(error.message(), "a.csv: the text is not UTF-16LE");
}

#[test]
fn names_that_differ_only_in_case_are_refused_in_one_file() {
    for content in ["{\"Temp\":1,\"temp\":2}", "{\"Temp\":1}\n{\"temp\":2}\n"] {
        let outcome = run(vec![text("a.json", content)], &Options::default(), None);
        let error = outcome.map(|imported| imported.columns()).unwrap_err();
        assert_eq!(error.message(), "a.json: several columns are named temp, ignoring case");
    }
    let unnamed = run(vec![text("a.json", "{\"\":1,\"v\":2}")], &Options::default(), None).unwrap();
    assert!(unnamed.report.notes.join("\n").contains("the member whose name is empty is not read"));
}

/// A table with a column of each sort that may be missing in a file.
fn with_defaults() -> TableDefinition {
    let mut table = TableDefinition::new("t");
    for (name, column_type, default) in [
        ("id", ColumnType::Int32, None),
        ("v", ColumnType::Int64, None),
        ("unit", ColumnType::Text, Some(Value::Text("°C".to_owned()))),
        ("place", ColumnType::Text, Some(Value::Text("north".to_owned()))),
        ("day", ColumnType::Date, Some(Value::Int(19_723))),
        ("seen", ColumnType::Timestamp(TimeUnit::Second), Some(Value::Int(1_700_000_000))),
        ("ratio", ColumnType::Float32, Some(Value::Float(0.5))),
        ("ok", ColumnType::Bool, Some(Value::Bool(true))),
        ("price", ColumnType::decimal(5, 2).unwrap(), Some(Value::Text("1.25".to_owned()))),
        ("note", ColumnType::Text, None),
    ] {
        let map = (name == "place").then_some(MapWidth::U8);
        table = table.with_column(name, column_type, map);
        let column = table.columns.last_mut().unwrap();
        (column.nullable, column.default) = (name == "note", default);
    }
    table.columns[0].identity = Some(Identity::by_default());
    table
}

#[test]
fn columns_that_the_files_lack_get_numbers_defaults_or_null() {
    let mut bytes = Vec::new();
    let batch = RecordBatch::try_from_iter([("v", Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef)]).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    for input in [text("a.csv", "v\n7\n8\n"), text("a.json", "{\"v\":7}\n{\"v\":8}\n"), text("a.parquet", bytes)] {
        let imported = run(vec![input], &Options::default(), Some(&with_defaults())).unwrap();
        assert!(imported.report.definition.position("id").is_err(), "the table gives the numbers");
        for (column, value) in [
            ("unit", "°C"),
            ("place", "north"),
            ("day", "2024-01-01"),
            ("seen", "2023-11-14T22:13:20Z"),
            ("ratio", "0.5"),
            ("ok", "true"),
            ("price", "1.25"),
            ("note", "∅"),
        ] {
            assert_eq!(imported.texts(column), [value, value], "{column}");
        }
        assert_eq!(imported.texts("v"), ["7", "8"]);
        let notes = imported.report.notes.join("\n");
        assert!(notes.contains("the files have no column note, which is NULL"), "{notes}");
        assert!(
            notes.contains("no columns unit, place, day, seen, ratio, ok, price, which get their defaults"),
            "{notes}"
        );
    }
    // One of two files has a column.
    let two = vec![text("a.csv", "v,price,place\n7,2.5,south\n"), text("b.csv", "v\n8\n")];
    let imported = run(two, &Options::default(), Some(&with_defaults())).unwrap();
    assert_eq!(imported.texts("place"), ["south", "north"]);
}

#[test]
fn a_column_that_must_have_a_value_is_missed_whatever_the_format() {
    let mut table = with_defaults();
    table.columns[9].nullable = false;
    for input in [text("a.csv", "v\n7\n"), text("a.lp", "m v=7i 1700000000000000000\n")] {
        let options = Options { columns: vec![choice("v")], skip_bad: true, ..Options::default() };
        let error = run(vec![input], &options, Some(&table)).map(|imported| imported.columns()).unwrap_err();
        assert_eq!(error.message(), "no column named note in the files");
        assert!(error.hint().is_some_and(|hint| hint.contains("table t needs it")), "{error:?}");
    }
}

fn choice(name: &str) -> ColumnChoice {
    ColumnChoice { name: name.to_owned(), source: name.to_owned() }
}

fn narrow() -> TableDefinition {
    TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("small", ColumnType::Int8, None)
        .with_column("on", ColumnType::Bool, None)
        .with_column("day", ColumnType::Date, None)
        .with_time("time", TimeUnit::Second)
        .unwrap()
}

fn into_narrow(row: &str) -> String {
    let content = format!("time,small,on,day\n2024-01-01 00:00:00,1,true,2024-01-01\n{row}\n");
    let outcome = run(vec![text("b.csv", content)], &Options::default(), Some(&narrow()));
    outcome.map(|imported| imported.report.row_count.to_string()).unwrap_or_else(|error| error.message().to_owned())
}

#[test]
fn values_that_do_not_fit_their_column_name_the_place() {
    for (row, message) in [
        ("2024-01-01 00:00:00,-128,0,2024-01-01", "2"),
        ("2024-01-01 00:00:00,128,1,2024-01-01", "b.csv, line 3, column small: \"128\" is out of the range of TINYINT"),
        ("2024-01-01 00:00:00,1.5,1,2024-01-01", "b.csv, line 3, column small: \"1.5\" is not an integer"),
        ("2024-01-01 00:00:00,1,maybe,2024-01-01", "b.csv, line 3, column on: \"maybe\" is neither true nor false"),
        (
            "2024-01-01 00:00:00,1,1,2024-01-01 01:00",
            "b.csv, line 3, column day: \"2024-01-01 01:00\" has a time of day; the column holds dates",
        ),
        (
            "2024-01-01 00:00:00.5,1,1,2024-01-01",
            "b.csv, line 3, column time: \"2024-01-01 00:00:00.5\" is finer than, or beyond, what a time in s holds",
        ),
        ("NA,1,1,2024-01-01", "b.csv, line 3, column time: \"NA\" means NULL, and a time cannot be NULL"),
    ] {
        assert_eq!(into_narrow(row), message, "{row}");
    }
}

#[test]
fn elements_that_do_not_fit_their_array_are_refused() {
    let table = narrow().with_column("singles", ColumnType::array(ColumnType::Float32).unwrap(), None);
    let imported = |array: &str| {
        let content = format!("time,singles\n2024-01-01 00:00:00,\"{array}\"\n");
        run(vec![text("b.csv", content)], &Options::default(), Some(&table))
    };
    assert_eq!(imported("{1.5,NULL, -2 }").unwrap().texts("singles"), ["[1.5, ∅, -2.0]"]);
    for element in ["1e39", "-1e39", "1e-60", "x"] {
        let error = imported(&format!("{{1.5,{element}}}")).map(|imported| imported.columns()).unwrap_err();
        assert!(error.message().ends_with(&format!("has an element that is not a valid REAL: {element}")), "{error}");
    }
}

#[test]
fn a_column_that_the_table_lacks_is_refused_with_the_nearest_name() {
    let outcome = run(vec![text("b.csv", "time,smal\n2024-01-01 00:00:00,1\n")], &Options::default(), Some(&narrow()));
    let error = outcome.map(|imported| imported.columns()).unwrap_err();
    assert_eq!((error.message(), error.hint()), ("table t: no column named smal", Some("did you mean small?")));
}

#[test]
fn long_values_are_shortened() {
    let error = refused(format!("time,v\n2024-01-01,1\n{},2\n2024-01-02,1\n", "x".repeat(10_000)));
    assert!(error.message().len() < 200, "{error}");
}

#[test]
fn a_record_beyond_the_limit_names_its_line() {
    let error = refused(format!("a,b\n1,2\n3,{}\n", "x".repeat(65 << 20)));
    assert_eq!((error.kind(), error.message()), (ErrorKind::Limit, "a.csv, line 3: a record is longer than 64 MiB"));
    assert!(error.hint().is_some_and(|hint| hint.contains("a closing quote is missing")), "{error:?}");
}

#[test]
fn files_with_nothing_in_common_are_refused() {
    let outcome = run(vec![text("a.csv", "a\n1\n"), text("b.csv", "b\n1\n")], &Options::default(), None);
    let error = outcome.map(|imported| imported.columns()).unwrap_err();
    assert!(error.message().starts_with("b.csv has no column in common with a.csv"), "{error}");
}

#[test]
fn files_that_are_not_tables_are_refused_with_a_hint() {
    for (content, message) in [
        (b"\xff\xfe\0\0a\0\0\0".to_vec(), "a.csv is UTF-32"),
        (b"SQLite format 3\0....".to_vec(), "a.csv is an SQLite database"),
        (b"".to_vec(), "a.csv: no columns: there is nothing in it"),
    ] {
        assert_eq!(refused(content).message(), message);
    }
    let missing = run(vec![Input::Path("no/such.csv".into())], &Options::default(), None);
    assert_eq!(missing.map(|imported| imported.columns()).unwrap_err().message(), "no file no/such.csv");
    assert!(run(Vec::new(), &Options::default(), None).is_err());
}

#[test]
fn a_header_alone_is_a_table_without_rows() {
    let imported = csv("a,b\n");
    assert_eq!((imported.columns(), imported.report.row_count), (vec!["a text".to_owned(), "b text".to_owned()], 0));
    assert!(imported.report.check_types().unwrap_err().message().contains("types of the new table t"));
    assert!(csv("a,b\n1,x\n").report.check_types().is_ok());
    let existing = csv("a,b\n1,x\n").report.definition;
    let added = run(vec![text("a.csv", "a,b\n")], &Options::default(), Some(&existing)).unwrap();
    assert!(added.report.check_types().is_ok());
}

#[test]
fn a_broken_json_object_names_its_line() {
    let outcome = run(vec![text("a.jsonl", "{\"a\":1}\n{\"a\":oops}\n")], &Options::default(), None);
    let error = outcome.map(|imported| imported.columns()).unwrap_err();
    assert!(
        error.message().starts_with("a.jsonl, line 2: \"oops}\" is not a JSON object: expected a value"),
        "{error}"
    );
}

#[test]
fn any_bytes_are_an_error_or_a_table_never_a_panic() {
    let mut state = 1_u64;
    let alphabet = b"\",;\n\r\t |{}[]:\\u0019aeNA-/.TZ+ \xc3\xa9\x00\xff";
    for _ in 0..3_000 {
        let mut bytes = Vec::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.push(alphabet[(state >> 33) as usize % alphabet.len()]);
        }
        let name = if state & 1 << 40 == 0 { "a.csv" } else { "a.json" };
        let _ = run(vec![text(name, bytes)], &Options { skip_bad: state & 1 << 41 == 0, ..Options::default() }, None);
    }
}

#[test]
fn a_file_of_more_columns_than_a_table_may_have_is_refused_before_a_row_is_handed_over() {
    let of = |count: usize| {
        let line = |cell: &dyn Fn(usize) -> String| (0..count).map(cell).collect::<Vec<_>>().join(",");
        format!("{}\n{}\n", line(&|column| format!("c{column}")), line(&|column| column.to_string()))
    };
    let imported = csv(of(COLUMNS_MAX));
    assert_eq!((imported.report.row_count, imported.columns().len()), (1, COLUMNS_MAX));
    let error = refused(of(COLUMNS_MAX + 1));
    assert_eq!(error.message(), "table t has 1001 columns; the maximum is 1000");
}
