//! The shell, fed from a pipe.

use crate::support::Case;

#[test]
fn dot_commands_work_between_statements() {
    let case = Case::new();
    case.write("more.sql", "SELECT 2 AS b;\n");
    let input = "\
.mode csv
CREATE TABLE t (time TIMESTAMP,
  v INT);
.tables
.schema T
.read more.sql
SELECT 1 AS a;
.quit
SELECT 'not reached';
";
    let text = case.run_with(&["a.db"], input).well().text();
    assert!(text.contains("CREATE TABLE t (") && text.contains("name | columns"), "{text}");
    assert!(text.ends_with("b\n2\na\n1\n"), "{text}");
    assert!(case.path("a.db").exists());
}

#[test]
fn stats_in_the_shell_include_the_cache() {
    let case = Case::new();
    let input = "\
CREATE TABLE t (time TIMESTAMP, v INT);
INSERT INTO t VALUES ('2024-01-01', 1);
.stats t
SELECT v FROM t;
SELECT v FROM t;
.stats
";
    let text = case.run_with::<&str>(&[], input).well().text();
    assert!(text.contains("cache: not used yet"), "{text}");
    assert!(text.contains("cache: 50.0 % hits of 2 lookups"), "{text}");
}

#[test]
fn a_wrong_dot_command_stops_a_script_with_its_line() {
    Case::new().run_with(&["memory:"], "SELECT 1;\n.tabels\n").failed(1, &["stdin, line 2", "did you mean .tables?"]);
}

#[test]
fn the_url_defaults_to_memory_and_may_come_from_the_environment() {
    let case = Case::new();
    assert!(case.run_with::<&str>(&[], "SELECT 1 AS a;").well().text().starts_with("a\n"));
    assert!(case.names().is_empty());
    let mut command = case.command::<&str>(&[]);
    let status = command.env("ATSDB_URL", "env.db").stdin(std::process::Stdio::null()).status().unwrap();
    assert!(status.success() && case.path("env.db").exists());
}
