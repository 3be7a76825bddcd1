//! Export, and back by import.

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
fn stdout_is_csv_where_nothing_is_said() {
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
    let run = case.run(&["export", "a.db", "-q", sql, "-o", "old.csv"]);
    assert_ne!(run.code, 0);
    assert_eq!(case.read("old.csv"), "old");
    assert!(!case.names().iter().any(|name| name.ends_with(".part")), "{:?}", case.names());
}

#[test]
fn what_cannot_be_written_is_refused() {
    let case = Case::new().with_store();
    case.run(&["export", "a.db", "readings", "-o", "x.xls"]).failed(1, &["x.xls", "--format"]);
    case.run(&["export", "a.db", "reading", "-o", "x.csv"])
        .failed(2, &["no table named reading", "did you mean readings?"]);
    case.run(&["export", "a.db", "readings", "-o", "x.parquet.gz"]).failed(1, &["compressed inside"]);
    case.run(&["export", "a.db", "readings", "-o", "no/x.csv"]).failed(2, &["no/x.csv"]);
    case.run(&["export", "no.db", "readings", "-o", "x.csv"]).failed(2, &["no.db"]);
    case.run(&["export", "a.db", "-q", "SELECT 1; SELECT 2"]).failed(1, &["one query"]);
    assert_eq!(case.names().iter().filter(|name| name.starts_with("x.")).count(), 0);
    assert!(!case.path("no.db").exists());
}
