//! Each output format, compared byte for byte if it is text.

use crate::support::Case;

const QUERY: &str = "SELECT * FROM readings ORDER BY time";

fn shown(format: &str) -> String {
    Case::new().with_store().run(&["sql", "a.db", QUERY, "--format", format]).well().text()
}

#[test]
fn csv_distinguishes_null_from_empty_text_and_quotes_where_needed() {
    let expected = "\
time,sensor,value,count,good
2024-03-01T00:00:00Z,a,0.1,9223372036854775807,true
2024-03-01T00:00:01.500Z,\"b,\"\"c\",,-1,false
2024-03-02T00:00:00Z,\"\",1e300,,
";
    assert_eq!(shown("csv"), expected);
}

#[test]
fn tsv_separates_by_tabs() {
    assert!(shown("tsv").starts_with("time\tsensor\tvalue\tcount\tgood\n2024-03-01T00:00:00Z\ta\t0.1\t"));
}

#[test]
fn json_is_one_array_of_objects_with_exact_integers() {
    let text = shown("json");
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 3);
    assert_eq!(rows[0]["count"].as_i64(), Some(i64::MAX));
    assert_eq!((rows[1]["value"].is_null(), rows[1]["sensor"].as_str()), (true, Some("b,\"c")));
    let none = Case::new().run(&["sql", "memory:", "SELECT 1 AS a WHERE false", "--format", "json"]).well().text();
    assert_eq!(none, "[]\n");
}

#[test]
fn jsonl_is_an_object_a_line() {
    let text = shown("jsonl");
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((rows.len(), rows[2]["value"].as_f64()), (3, Some(1e300)));
}

#[test]
fn table_aligns_and_is_the_default_in_a_pipe() {
    let text = shown("table");
    assert!(text.starts_with("time                     | sensor | value |               count | good\n"), "{text}");
    assert!(text.contains("2024-03-01T00:00:01.500Z | b,\"c   |  NULL |                  -1 | false\n"), "{text}");
    let plain = Case::new().with_store().run(&["sql", "a.db", QUERY]).well().text();
    assert_eq!(plain, text);
}

#[test]
fn a_plan_is_a_table_of_lines() {
    let text = Case::new().run(&["sql", "memory:", "EXPLAIN SELECT 1 AS a"]).well().text();
    assert!(!text.contains("\\n") && text.lines().count() > 4, "{text}");
}

#[test]
fn exported_rows_are_imported_unchanged() {
    let case = Case::new().with_store();
    let rows = case.query("a.db", QUERY);
    let schema = case.run(&["schema", "a.db"]).well().text();
    for ending in ["csv", "tsv", "json", "jsonl", "parquet", "csv.gz", "jsonl.zst"] {
        let (file, store) = (format!("x.{ending}"), format!("{ending}.db"));
        case.run(&["export", "a.db", "readings", "-o", &file]).well();
        case.run(&["sql", &store, &schema]).well();
        let run = case.run(&["import", &store, "readings", &file]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(case.query(&store, QUERY), rows, "{ending}");
    }
}

#[test]
fn arrow_files_keep_the_types_that_arrow_has_not() {
    let case = Case::new();
    let sql = "CREATE TABLE t (u UUID, j JSON, i INTERVAL);
        INSERT INTO t VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": 1}', '1 mon 2 days'), (NULL, NULL, NULL)";
    case.run(&["sql", "a.db", sql]).well();
    case.run(&["export", "a.db", "t", "-o", "x.arrow"]).well();
    let shown = case.run(&["import", "b.db", "t", "x.arrow"]).text();
    assert!(shown.contains("u UUID,") && shown.contains("j JSON,") && shown.contains("i INTERVAL\n"), "{shown}");
    let rows = "SELECT * FROM t ORDER BY u NULLS LAST";
    assert_eq!(case.query("b.db", rows), case.query("a.db", rows));
}

#[test]
fn markdown_is_a_table() {
    let text = shown("markdown");
    assert!(
        text.starts_with("| time | sensor | value | count | good |\n| --- | --- | ---: | ---: | --- |\n"),
        "{text}"
    );
    let bar = Case::new().run(&["sql", "memory:", "SELECT 'a|b' AS x", "--format", "markdown"]).well().text();
    assert!(bar.ends_with("| a\\|b |\n"), "{bar}");
}

#[test]
fn odd_floats_are_texts_in_json() {
    let sql = "SELECT CAST('NaN' AS DOUBLE) AS n, CAST('-inf' AS DOUBLE) AS i";
    let text = Case::new().run(&["sql", "memory:", sql, "--format", "json"]).well().text();
    assert_eq!(text, "[\n{\"n\":\"NaN\",\"i\":\"-inf\"}\n]\n");
}

#[test]
fn parquet_and_arrow_begin_as_their_formats_do() {
    let case = Case::new().with_store();
    case.run(&["sql", "a.db", QUERY, "-o", "x.parquet"]).well();
    case.run(&["sql", "a.db", QUERY, "-o", "x.arrow"]).well();
    assert!(std::fs::read(case.path("x.parquet")).unwrap().starts_with(b"PAR1"));
    assert!(std::fs::read(case.path("x.arrow")).unwrap().starts_with(b"ARROW1"));
    let stream = case.run(&["sql", "a.db", QUERY, "--format", "arrow"]).well().stdout;
    assert!(stream.starts_with(&[0xff; 4]), "{:?}", &stream[..8]);
}

#[test]
fn a_binary_file_holds_one_result() {
    let case = Case::new();
    let run = case.run(&["sql", "memory:", "SELECT 1; SELECT 2", "-o", "x.parquet"]);
    run.failed(1, &["parquet holds one result"]);
    assert!(case.names().is_empty(), "{:?}", case.names());
}

#[test]
fn an_unknown_format_gets_the_nearest() {
    Case::new().run(&["sql", "memory:", "SELECT 1", "--format", "jsn"]).failed(1, &["jsn", "did you mean json"]);
}
