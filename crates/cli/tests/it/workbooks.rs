//! Workbooks and zip archives, by name, by URL and in SQL.

use crate::support::Case;
use crate::web_server::WebServer;
use std::process::Stdio;

/// A case with a workbook of several sheets, `several.xlsx`.
fn case() -> (Case, Vec<u8>) {
    let case = Case::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/workbooks/several.xlsx");
    let bytes = std::fs::read(file).unwrap();
    case.write("several.xlsx", &bytes);
    (case, bytes)
}

#[test]
fn a_sheet_is_imported_once_under_each_of_its_names() {
    let (case, _) = case();
    let import = |arguments: &[&str]| case.run(&[&["import", "a.db", "t"], arguments].concat());
    let dry = import(&["several.xlsx", "--dry-run"]);
    assert!(dry.text().contains("3 rows would be stored") && dry.stderr.contains("read sheet Jan"), "{}", dry.stderr);
    assert_eq!(import(&["several.xlsx", "--omit", "sum"]).code, 0);
    assert!(import(&["several.xlsx", "--omit", "sum"]).text().contains("imported into this table before"));
    assert_eq!(import(&["several.xlsx#Feb #2"]).code, 0);
    assert!(import(&["several.xlsx", "--sheet", "Feb #2"]).text().contains("imported into this table before"));
    assert_eq!(case.query("a.db", "SELECT count(*), sum(v) FROM t"), "6,309");
    import(&["several.xlsx#Mar"]).failed(2, &["no sheet named Mar", "available: Lists, Empty, Jan, Feb #2"]);
    case.write("d.csv", "time,v\n2024-01-01,1\n");
    import(&["d.csv", "--sheet", "Jan"]).failed(1, &["d.csv has no sheet or file \"Jan\""]);
}

#[test]
fn queries_read_sheets() {
    let (case, _) = case();
    let query = |sql: &str| case.run(&["sql", sql, "--format", "csv"]).text().lines().last().unwrap_or("").to_owned();
    assert_eq!(query("SELECT sum(v) FROM 'several.xlsx'"), "6");
    assert_eq!(query("SELECT sum(v) FROM 'several.xlsx#Feb #2'"), "303");
    assert_eq!(query("SELECT sum(several.v) FROM read_xlsx('several.xlsx', sheet = 'Feb #2')"), "303");
    let run = case.run(&["sql", "SELECT 1 FROM read_xlsx('several.xlsx', sheet = 'Mar')"]);
    run.failed(3, &["no sheet named Mar", "hint: available: Lists, Empty, Jan, Feb #2\n"]);
    case.write("d.csv", "v\n1\n");
    case.run(&["sql", "SELECT 1 FROM read_xlsx('d.csv')"]).failed(1, &["d.csv is not a workbook"]);
    let script = "CREATE TABLE t (time TIMESTAMP, v INT); COPY t FROM 'several.xlsx#Feb #2'";
    assert_eq!(case.run(&["sql", "a.db", script]).code, 0);
    assert_eq!(case.query("a.db", "SELECT sum(v) FROM t"), "303");
}

#[test]
fn sheets_and_files_of_archives_are_fetched() {
    let (case, bytes) = case();
    std::fs::remove_file(case.path("several.xlsx")).unwrap();
    let server = WebServer::start(&[("several.xlsx", bytes)]);
    let mut command = case.command(&["import", "a.db", "t", &format!("{}#Feb #2", server.url("plain/several.xlsx"))]);
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(case.query("a.db", "SELECT sum(v) FROM t"), "303");
}
