//! Bad input gives errors that name file, line, column and value.

use crate::support::{csv, refused, run, text, with};
use atsdb_core::limits::COLUMNS_MAX;
use atsdb_core::{ColumnType, ErrorKind, TableDefinition, TimeUnit};
use atsdb_import::{Input, Options};

#[test]
fn a_record_of_another_width_names_its_line() {
    let error = refused("a,b\n1,2\n\n\"x\ny\",3,4\n");
    assert_eq!(error.message(), "a.csv, line 4: 3 fields instead of 2");
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
        ("NA,1,1,2024-01-01", "b.csv, line 3, column time: \"NA\" a time cannot be NULL"),
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
        assert!(error.message().ends_with(&format!("has an element that is no REAL: {element}")), "{error}");
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
fn files_with_nothing_in_common_are_refused() {
    let outcome = run(vec![text("a.csv", "a\n1\n"), text("b.csv", "b\n1\n")], &Options::default(), None);
    let error = outcome.map(|imported| imported.columns()).unwrap_err();
    assert!(error.message().starts_with("b.csv has no column in common with a.csv"), "{error}");
}

#[test]
fn files_that_are_not_tables_are_refused_with_a_hint() {
    for (content, message) in [
        (b"\xff\xfe\0\0a\0\0\0".to_vec(), "a.csv is UTF-32"),
        (b"SQLite format 3\0....".to_vec(), "a.csv is a SQLite database"),
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
