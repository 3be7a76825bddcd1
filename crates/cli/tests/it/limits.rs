//! Statements that would exceed limits of the program: each ends with a message and an exit code, never by a signal.

use crate::support::{Case, Run};
use std::io::Write;
use std::process::Stdio;

#[test]
fn text_nested_thousands_deep_is_refused() {
    let case = Case::new();
    let joins: String = (1..64).map(|join| format!(" JOIN t AS t{join} ON t{join}.a = t0.a")).collect();
    for sql in [
        format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("SELECT 1 WHERE 1 = 1{}", " OR 1 = 1".repeat(20_000)),
        format!("SELECT {}true", "NOT ".repeat(10_000)),
        format!("SELECT {}1", "CASE WHEN ".repeat(10_000)),
        format!("{}SELECT 1{}", "SELECT * FROM (".repeat(10_000), ")".repeat(10_000)),
    ] {
        case.write("deep.sql", &sql);
        let run = case.run(&["sql", "memory:", "-f", "deep.sql"]);
        run.failed(3, &["hint: "]);
    }
    let sql = format!("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); SELECT count(*) FROM t AS t0{joins}");
    assert!(case.run(&["sql", "memory:", &sql]).well().text().contains('1'));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_beyond_the_limit_on_sizes_is_an_error_and_leaves_nothing() {
    let case = Case::new();
    let sql = "SELECT * FROM generate_series(1, 1000000)";
    let run = case.run_with_file_blocks(100, &["sql", "memory:", sql, "-o", "x.csv"]);
    run.failed(2, &["cannot write x.csv: File too large", "hint: raise the limit on the size of files"]);
    assert!(case.names().is_empty(), "{:?}", case.names());
}

#[test]
fn an_import_beyond_the_limit_on_sizes_leaves_no_store() {
    let case = Case::new();
    let row = |row: u32| format!("2024-01-01,{:x}\n", row.wrapping_mul(2_654_435_761) ^ row.rotate_left(7));
    let rows = "time,v\n".to_owned() + &(0..100_000).map(row).collect::<String>();
    case.write("rows.csv", &rows);
    let sql = "CREATE TABLE t (n INT)";
    case.run_with_file_blocks(8, &["sql", "b.db", sql]).failed(2, &["b.db", "ulimit -f"]);
    for blocks in [10, 200, 400] {
        let run = case.run_with_file_blocks(blocks, &["import", "a.db", "t", "rows.csv"]);
        assert_ne!(run.code, 0, "{blocks} blocks: {}", run.stderr);
        assert_eq!(case.names(), ["rows.csv"], "{blocks} blocks: {}", run.stderr);
    }
}

#[test]
fn a_query_stops_at_its_time() {
    let case = Case::new();
    let sql = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";
    case.run(&["sql", "memory:", sql, "--timeout", "300ms"]).failed(2, &["longer than 300ms", "hint: "]);
    case.run(&["sql", "memory:", "SELECT 1", "--timeout", "soon"]).failed(1, &["--timeout", "30s"]);
}

#[test]
fn a_query_stops_at_its_memory() {
    let case = Case::new();
    for sql in [
        "SELECT length(repeat('x', 1000000000))",
        "SELECT cardinality(array_agg(value)) FROM generate_series(1, 1000000000)",
        "SELECT max(s) FROM (SELECT avg(value) OVER () AS s FROM generate_series(1, 1000000000))",
    ] {
        case.run(&["sql", "memory:", sql, "--memory", "50MiB"]).failed(2, &["more memory than its limit", "hint: "]);
    }
}

#[test]
fn a_query_stops_at_its_temporary_files() {
    let case = Case::new();
    let sql = "SELECT repeat('x', 100) || v AS t FROM generate_series(1, 500000) g(v) ORDER BY t DESC OFFSET 499999";
    let arguments = ["sql", "memory:", sql, "--memory", "50MiB"];
    let limited = [&arguments[..], &["--temp", "1MiB"]].concat();
    case.run(&limited).failed(2, &["limit for temporary files", ": 1 MiB", "hint: ", "--temp", "TMPDIR"]);
    let missing = Run::of(case.command(&arguments).env("TMPDIR", "missing").stdin(Stdio::null()));
    missing.failed(2, &["temporary file in missing", "hint: TMPDIR"]);
    let set = Run::of(case.command(&arguments).env("ATSDB_TEMP", "2MiB").stdin(Stdio::null()));
    set.failed(2, &["limit for temporary files", ": 2 MiB"]);
    case.run(&["sql", "memory:", "SELECT 1", "--temp", "much"]).failed(1, &["--temp", "much"]);
}

#[test]
fn copies_of_what_is_read_stop_at_the_same_limit() {
    let case = Case::new();
    let rows = "time,v\n".to_owned() + &"2024-01-01,1\n".repeat(100_000);
    case.write("rows.csv", &rows);
    case.run(&["sql", "memory:", "SELECT * FROM 'rows.csv'", "-o", "rows.parquet"]).well();
    let message = ["to a temporary file: more space is needed than the limit for temporary files", ": 1 MiB", "--temp"];
    for arguments in [
        &["import", "a.db", "t", "-"][..],
        &["import", "a.db", "t", "/dev/stdin"],
        &["sql", "memory:", "SELECT count(*) FROM '/dev/stdin'"],
    ] {
        case.run_with(&[arguments, &["--temp", "1MiB"]].concat(), &rows).failed(2, &message);
    }
    case.run_with(&["import", "a.db", "t", "-", "--temp", "2MiB"], &rows).well();
    let parquet = std::fs::read(case.path("rows.parquet")).unwrap();
    case.run_with(&["import", "a.db", "u", "/dev/stdin", "--temp", "100"], &parquet).failed(2, &[": 100 bytes"]);
}

#[test]
fn an_import_in_the_shell_stops_at_the_limit_of_its_session() {
    let case = Case::new();
    case.write("columns.json", r#"{"time": ["2024-01-01", "2024-01-02"], "v": [1, 2]}"#);
    let script = ".import columns.json t\n";
    case.run_with(&["a.db", "--temp", "10"], script).failed(2, &["columns.json", ": 10 bytes", "--temp"]);
    assert_eq!(case.run_with(&["a.db", "--temp", "1MiB"], script).code, 0);
    assert_eq!(case.query("a.db", "SELECT sum(v) FROM t"), "3");
}

#[test]
fn a_killed_process_leaves_no_copy_of_a_pipe() {
    let case = Case::new();
    std::fs::create_dir(case.path("temporary")).unwrap();
    let mut command = case.command(&["import", "a.db", "t", "/dev/stdin"]);
    command.env("TMPDIR", case.path("temporary")).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // More than a pipe and the pieces that were read ahead hold: the rest is in the copy.
    child.stdin.as_mut().unwrap().write_all(&b"2024-01-01,1\n".repeat(500_000)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(case.path("temporary")).unwrap().count(), 0);
}

#[test]
fn a_dry_run_shows_the_beginnings_of_long_values() {
    let case = Case::new();
    case.write("long.csv", format!("a,b\n1,{}\n2,y\n", "ü".repeat(10_000)));
    let text = case.run(&["import", "a.db", "t", "long.csv", "--dry-run"]).text();
    assert!(text.contains(&format!("\n1 | {}…\n", "ü".repeat(80))) && text.contains("\n2 | y\n"), "{text}");
    assert!(text.len() < 2_000, "{}", text.len());
}
