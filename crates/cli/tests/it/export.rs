//! Export, and import of the exported files.

use crate::support::Case;

const ALL: &str = "SELECT * FROM readings ORDER BY time";

#[test]
fn the_ending_chooses_the_format_and_every_file_comes_back() {
    let case = Case::new().with_store();
    let rows = case.query("a.db", ALL);
    for ending in ["csv", "tsv", "jsonl", "json", "parquet", "csv.gz", "jsonl.zst"] {
        let (file, url) = (format!("x.{ending}"), format!("{ending}.db"));
        case.run(&["export", "a.db", "readings", "-o", &file]).well();
        let import = case.run(&["import", &url, "readings", &file]);
        assert_eq!(import.code, 0, "{ending}: {}", import.stderr);
        assert_eq!(case.query(&url, ALL), rows, "{ending}");
    }
}

#[test]
fn stdout_is_csv_by_default() {
    let case = Case::new().with_store();
    let text = case.run(&["export", "a.db", "readings"]).well().text();
    assert_eq!((text.lines().count(), text.lines().next()), (4, Some("time,sensor,value,count,good")));
    let query = case.run(&["export", "a.db", "-q", "SELECT 1 AS a", "--format", "json", "-o", "-"]).well();
    assert_eq!(query.text(), "[\n{\"a\":1}\n]\n");
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let case = Case::new().with_store();
    case.write("old.csv", "old");
    let sql = "SELECT 1 / (value - value) AS x, CAST(sensor AS BIGINT) FROM readings";
    let run = case.run(&["export", "a.db", "-q", sql, "-o", "old.csv", "--overwrite"]);
    assert_ne!(run.code, 0);
    assert_eq!(case.read("old.csv"), "old");
    assert!(!case.names().iter().any(|name| name.ends_with(".part")), "{:?}", case.names());
}

#[test]
fn impossible_exports_are_refused() {
    let case = Case::new().with_store();
    case.run(&["export", "a.db", "readings", "-o", "x.xls"]).failed(1, &["x.xls", "--format"]);
    case.run(&["export", "a.db", "reading", "-o", "x.csv"])
        .failed(2, &["no table named reading", "did you mean readings?"]);
    case.run(&["export", "a.db", "readings", "-o", "x.parquet.gz"]).failed(1, &["compressed internally"]);
    case.run(&["export", "a.db", "readings", "-o", "no/x.csv"]).failed(2, &["no/x.csv"]);
    for url in ["s3://bucket/x.csv", "https://me:secret@localhost/x.csv"] {
        let refused = case.run(&["export", "a.db", "readings", "-o", url]);
        assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
        refused.failed(2, &["files are not written to", ":// URLs", "upload it"]);
        case.run(&["sql", &format!("COPY (SELECT 1) TO '{url}'")]).failed(3, &[":// URLs"]);
    }
    case.run(&["export", "no.db", "readings", "-o", "x.csv"]).failed(2, &["no.db"]);
    case.run(&["export", "a.db", "-q", "SELECT 1; SELECT 2"]).failed(1, &["one query"]);
    case.run(&["export", "a.db", "-q", "DELETE FROM readings"]).failed(2, &["atsdb sql runs statements"]);
    case.run(&["sql", "a.db", "SELECT 1 AS a; SELECT 2 AS b", "-o", "x.json"])
        .failed(1, &["json holds one result", "its own file"]);
    assert_eq!(case.names().iter().filter(|name| name.starts_with("x.")).count(), 0);
    assert!(!case.path("no.db").exists());
}

#[test]
fn a_file_is_replaced_only_when_asked_for_and_what_was_written_is_reported() {
    let case = Case::new().with_store();
    case.write("old.csv", "old");
    let arguments = ["export", "a.db", "readings", "-o", "old.csv"];
    case.run(&arguments).failed(1, &["old.csv already exists", "--overwrite"]);
    assert_eq!(case.read("old.csv"), "old");
    let run = case.run(&[&arguments[..], &["--overwrite"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.starts_with("3 rows written to old.csv, "), "{}", run.stderr);
    assert!(case.read("old.csv").starts_with("time,sensor"));
    case.run(&["export", "a.db", "SELECT 1 AS a"]).failed(1, &["this is SQL, not a table", "-q"]);
}

#[test]
fn what_copy_writes_copy_reads() {
    let case = Case::new().with_store();
    for ending in ["csv", "tsv", "jsonl", "parquet", "csv.gz"] {
        let copy = format!(
            "COPY readings TO 'x.{ending}'; CREATE TABLE b (time TIMESTAMP, sensor TEXT, value DOUBLE, count BIGINT, good \
             BOOLEAN) WITH (time = 'time'); COPY b FROM 'x.{ending}'"
        );
        case.run(&["sql", "a.db", &copy]).well();
        assert_eq!(case.query("a.db", "SELECT * FROM b ORDER BY time"), case.query("a.db", ALL), "{ending}");
        case.run(&["sql", "a.db", "DROP TABLE b"]).well();
    }
    // PostgreSQL's format: tabs, escapes, no header.
    case.write("p.txt", "2024-03-05 00:00:00\ta\\tb\t\\N\t5\tt\n");
    case.run(&["sql", "a.db", "COPY readings FROM 'p.txt'"]).well();
    assert_eq!(case.query("a.db", "SELECT sensor, value, good FROM readings WHERE count = 5"), "a\tb,,true");
}

#[test]
fn a_chart_is_a_picture_or_a_page_or_text() {
    let case = Case::new();
    let sql = "SELECT value AS x, value * value AS square FROM generate_series(1, 20)";
    case.run(&["sql", sql, "-o", "x.svg"]).well();
    let svg = case.read("x.svg");
    assert!(svg.starts_with("<svg") && svg.contains("<polyline") && svg.contains(">square</text>"), "{svg}");
    case.run(&["sql", sql, "-o", "x.html"]).well();
    let page = case.read("x.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(svg.trim()) && !page.contains("http://x"), "{page}");
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "the page needs nothing from elsewhere");
    let many = |first: &str| format!("SELECT {first} AS x, value % 7 AS y FROM generate_series(1, 50000) AS s(value)");
    case.run(&["sql", &many("value"), "-o", "many.svg"]).well();
    assert!(case.read("many.svg").len() < 200_000, "a point for each row is drawn");
    case.run(&["sql", &many("value::text"), "-o", "bars.svg"])
        .failed(1, &["the first column, x, is text", "at most 2000", "put a column of times or numbers first"]);
    assert!(!case.path("bars.svg").exists());
    let text = case.run(&["sql", sql, "--format", "chart"]).well().text();
    assert!(text.starts_with("square\n") && text.contains("400 │"), "{text}");
    case.run(&["sql", "SELECT 'a' AS a, 'b' AS b", "--format", "chart"]).failed(1, &["columns of numbers"]);
}

#[test]
fn intervals_in_parquet_are_intervals_again() {
    let case = Case::new();
    let rows = "SELECT INTERVAL '1 month -2 days 00:00:00.000001' AS d UNION ALL SELECT NULL";
    case.run(&["sql", &format!("COPY ({rows}) TO 'd.parquet'")]).well();
    let sql = "SELECT d + INTERVAL '1 day' AS d FROM 'd.parquet' ORDER BY d NULLS LAST";
    let run = case.run(&["sql", "--format", "csv", sql]);
    assert_eq!(run.well().text(), "d\n1 mon -1 days +00:00:00.000001\n\n");
    let shown = case.run(&["import", "a.db", "t", "d.parquet"]).text();
    assert!(shown.contains("d INTERVAL\n"), "{shown}");
}

#[test]
fn rows_of_one_column_come_back_from_text_files() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (s TEXT); INSERT INTO t VALUES ('a'), (NULL), (''), ('b'), (NULL)"])
        .well();
    for ending in ["csv", "tsv", "jsonl"] {
        let (file, store) = (format!("x.{ending}"), format!("{ending}.db"));
        case.run(&["export", "a.db", "t", "-o", &file]).well();
        assert_eq!(case.run(&["import", &store, "t", &file]).code, 0, "{ending}");
        assert_eq!(case.query(&store, "SELECT count(*), count(s) FROM t"), "5,3", "{ending}");
    }
    case.run(&["sql", "a.db", "COPY t TO 'x.txt'; CREATE TABLE again (s TEXT); COPY again FROM 'x.txt'"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*), count(s) FROM again"), "5,3");
}

#[test]
fn documents_of_json_are_values_in_json_and_come_back() {
    let case = Case::new();
    let table = "CREATE TABLE t (n INT, j JSON)";
    let rows = r#"INSERT INTO t VALUES (1, '{"a": [1, "x"]}'), (2, '[true]'), (3, '2.5'), (4, '"2.5"'), (5, 'null'),
                 (6, NULL), (7, '{"b": {}}')"#;
    case.run(&["sql", "a.db", &format!("{table}; {rows}")]).well();
    let query = "SELECT * FROM t ORDER BY n";
    let lines = [
        r#"{"n":1,"j":{"a": [1, "x"]}}"#,
        r#"{"n":2,"j":[true]}"#,
        r#"{"n":3,"j":2.5}"#,
        r#"{"n":4,"j":"\"2.5\""}"#,
        r#"{"n":5,"j":"null"}"#,
        r#"{"n":6,"j":null}"#,
        r#"{"n":7,"j":{"b": {}}}"#,
    ];
    let written = case.run(&["sql", "a.db", "--format", "jsonl", query]).well().text();
    assert_eq!(written.lines().collect::<Vec<_>>(), lines);
    for ending in ["json", "jsonl"] {
        let (file, store) = (format!("x.{ending}"), format!("{ending}.db"));
        case.run(&["export", "a.db", "t", "-o", &file]).well();
        case.run(&["sql", &store, table]).well();
        case.run(&["import", &store, "t", &file]).well();
        assert_eq!(case.query(&store, query), case.query("a.db", query), "{ending}");
    }
    // A document of several lines is one.
    case.run(&["sql", "a.db", "INSERT INTO t VALUES (8, '{\"a\":\n1}')"]).well();
    let lined = case.run(&["sql", "a.db", "--format", "jsonl", "SELECT j FROM t WHERE n = 8"]).well().text();
    assert_eq!(lined, "{\"j\":{\"a\": 1}}\n");
}

#[test]
fn quoted_json_keeps_the_blanks_around_it() {
    let case = Case::new();
    case.write("x.csv", "n,j\n1,\" 12 \"\n2, 13 \n");
    case.run(&["sql", "a.db", "CREATE TABLE t (n INT, j JSON)"]).well();
    case.run(&["import", "a.db", "t", "x.csv"]).well();
    assert_eq!(case.query("a.db", "SELECT n, '[' || j::text || ']' FROM t ORDER BY n"), "1,[ 12 ]\n2,[13]");
}

#[test]
fn texts_that_mean_something_to_a_reader_come_back_from_csv() {
    let case = Case::new();
    let table = "CREATE TABLE t (n INT, s TEXT, j JSON)";
    let rows = r#"INSERT INTO t VALUES (1, '\N', '1'), (2, '#NULL!', 'null'), (3, 'C:\temp\\x', NULL),
                 (4, '''a''', NULL), (5, '''b''', NULL), (6, '# c', NULL), (7, '', '"null"')"#;
    case.run(&["sql", "a.db", &format!("{table}; {rows}")]).well();
    let query = "SELECT * FROM t ORDER BY n";
    for ending in ["csv", "tsv", "jsonl"] {
        let (file, store) = (format!("x.{ending}"), format!("{ending}.db"));
        case.run(&["export", "a.db", "t", "-o", &file]).well();
        case.run(&["sql", &store, table]).well();
        assert_eq!(case.run(&["import", &store, "t", &file]).code, 0, "{ending}");
        assert_eq!(case.query(&store, query), case.query("a.db", query), "{ending}");
    }
}
