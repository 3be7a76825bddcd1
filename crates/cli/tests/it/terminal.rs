//! The shell in a terminal, as a person uses it.

#![allow(clippy::print_stderr, reason = "a test that is skipped has to say so")]

use crate::support::Case;
use std::io::Write;
use std::process::{Command, Stdio};

/// Types the given texts in a terminal of this width, each after waiting for a text to appear, and returns all output.
/// `None` without Python.
fn session(case: &Case, columns: usize, environment: &[(&str, &str)], steps: &[(&str, &str)]) -> Option<String> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: python3, which opens terminals, is missing");
        return None;
    }
    let folder = case.path("");
    let folder = folder.to_string_lossy();
    let mut variables: std::collections::BTreeMap<&str, &str> = [
        ("TERM", "xterm"),
        ("NO_COLOR", "1"),
        ("PAGER", "cat"),
        ("VISUAL", ""),
        ("XDG_STATE_HOME", &*folder),
        ("ATSDB_URL", ""),
    ]
    .into();
    variables.extend(environment.iter().copied());
    let spec = serde_json::json!({
        "program": env!("CARGO_BIN_EXE_atsdb"), "arguments": ["a.db"], "folder": &*folder,
        "environment": variables, "columns": columns, "lines": 24, "steps": steps,
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/person.py");
    let mut command = Command::new("python3");
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(spec.to_string().as_bytes()).expect("the steps are written");
    drop(stdin);
    let output = child.wait_with_output().expect("python ends");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}\n{shown}", String::from_utf8_lossy(&output.stderr));
    Some(shown)
}

#[test]
fn a_person_completes_describes_expands_searches_and_edits() {
    let case = Case::new().with_store();
    let steps = [
        ("atsdb> ", "INSERT INTO read\t (time, sensor) VALUES ('2024-06-01', 'z');\r"),
        ("INSERT 1\r\n", "SELECT sensor, count FROM readings WHERE sensor = 'a';\r"),
        ("(1 row)\r\n", "\\dt\r"),
        ("name     | columns", "\\d readings\r"),
        ("CREATE TABLE readings (", "SELECT sensr FROM readings;\r"),
        ("did you mean sensor?", "\\x\r"),
        ("expanded: on", "SELECT sensor, count FROM readings WHERE sensor = 'a';\r"),
        ("-[ row 1 ]", "\\x off\r"),
        ("expanded: off", "SELECT count FROM readings WHERE sensor = 'a' \\G\r"),
        ("-[ row 1 ]", "SELECT count FROM readings WHERE sensor = 'a' \\g\r"),
        ("\r\n-------------------\r\n", "\u{12}INSERT INTO\r\r"),
        ("INSERT 1\r\n", "\\timing\r"),
        ("timing: on", "SELECT 41 AS answer;\r"),
        ("Time: ", ".edit\r"),
        ("42\r\n", ".nonsense\r"),
        ("no command named .nonsense", "help\r"),
        ("Ctrl-R searches the history", "quit\r"),
    ];
    let Some(shown) = session(&case, 100, &[("EDITOR", "sed -i s/41/42/")], &steps) else { return };
    assert!(shown.contains("  SELECT sensr FROM readings;\r\n         ^"), "{shown}");
    assert!(shown.contains("sensor | a\r\ncount  | 9223372036854775807"), "{shown}");
    assert_eq!(case.query("a.db", "SELECT count(*) FROM readings WHERE sensor = 'z'"), "2");
}

#[test]
fn wide_rows_are_expanded_and_long_results_are_cut_with_a_note() {
    let case = Case::new().with_store();
    let steps = [
        ("atsdb> ", "SELECT * FROM readings WHERE sensor = 'a';\r"),
        ("-[ row 1 ]", "SELECT * FROM generate_series(1, 5000);\r"),
        ("(the first 1,000 rows; .limit off shows all)", ".limit 3\r"),
        ("limit: 3 rows", "SELECT * FROM generate_series(1, 5000);\r"),
        (
            "(the first 3 rows; .limit off shows all)",
            "SELECT value AS x, value * 2 AS twice FROM generate_series(1, 9);\r",
        ),
        ("(the first 3 rows", ".chart\r"),
        ("twice\r\n", ".quit\r"),
    ];
    let Some(shown) = session(&case, 50, &[], &steps) else { return };
    assert!(
        shown.contains("value  | 0.1\r\n") && shown.contains("\r\n 1000\r\n") && !shown.contains("1001"),
        "{shown}"
    );
    assert!(shown.contains("18 │"), "{shown}");
}

#[test]
fn a_result_fits_the_window_as_it_is_then() {
    let case = Case::new();
    let steps = [
        ("atsdb> ", "SELECT 'short' AS first, repeat('x', 60) AS second;\r"),
        ("first | second", ".edit\r"),
        ("-[ row 1 ]", "quit\r"),
    ];
    let narrow = "stty columns 30 rows 24 </dev/tty; true";
    session(&case, 100, &[("EDITOR", narrow)], &steps);
}

#[test]
fn a_result_is_shown_without_a_pager_that_does_not_exist() {
    let case = Case::new();
    let steps = [("atsdb> ", "SELECT value AS n FROM generate_series(1, 50) g(value);\r"), ("(50 rows)", "quit\r")];
    let Some(shown) = session(&case, 100, &[("PAGER", "no-such-pager")], &steps) else { return };
    assert!(shown.contains("\r\n37\r\n"), "{shown}");
}

#[test]
fn only_long_results_go_through_the_pager() {
    let case = Case::new();
    let steps = [
        ("atsdb> ", "SELECT value AS n FROM generate_series(10, 59) g(value);\r"),
        ("(50 rows)", "SELECT value AS n FROM generate_series(60, 65) g(value);\r"),
        ("(6 rows)", ".pager off\r"),
        ("pager: off", "SELECT value AS n FROM generate_series(10, 59) g(value);\r"),
        ("(50 rows)", "quit\r"),
    ];
    let Some(shown) = session(&case, 100, &[("PAGER", "sed s/^/page:/")], &steps) else { return };
    assert!(shown.contains("page:37\r\n") && shown.contains("\r\n65\r\n"), "{shown}");
    assert_eq!(shown.matches("page:").count(), 52, "{shown}");
}

#[test]
fn ctrl_c_stops_a_statement_and_the_shell_goes_on() {
    let case = Case::new();
    let endless = "SELECT count(*) FROM generate_series(1, 1000000) a(x) CROSS JOIN generate_series(1, 1000000) b(y) \
                   WHERE x + y = 7;\r";
    let steps = [
        ("atsdb> ", endless),
        ("Ctrl-C stops it", "\u{3}"),
        ("interrupted", "SELECT 41 + 1 AS answer;\r"),
        ("42\r\n", "quit\r"),
    ];
    session(&case, 100, &[], &steps);
}

#[test]
fn input_is_coloured_if_wanted() {
    let case = Case::new().with_store();
    let steps = [("atsdb> ", "SELECT 7 AS seven;\r"), ("(1 row)", "exit\r")];
    let Some(shown) = session(&case, 100, &[("NO_COLOR", "")], &steps) else { return };
    assert!(shown.contains("\u{1b}[1;34mSELECT\u{1b}[0m \u{1b}[36m7\u{1b}[0m"), "{shown:?}");
}

#[test]
fn what_a_failed_statement_has_written_is_not_shown_with_the_next_result() {
    let case = Case::new();
    let steps = [
        ("atsdb> ", ".mode csv\r"),
        // The line was taken.
        ("\u{1b}[?2004l", "SELECT 1 / (3 - v) AS quotient FROM generate_series(1, 5) g(v);\r"),
        ("division by zero", "SELECT 41 + 1 AS answer;\r"),
        ("42\r\n", "quit\r"),
    ];
    let Some(shown) = session(&case, 100, &[], &steps) else { return };
    let (before, after) = shown.split_once("division by zero").unwrap();
    assert!(before.contains("quotient\r\n") && !after.contains("quotient\r\n"), "{shown}");
}
