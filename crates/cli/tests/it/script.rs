//! Scripts from files and stdin, parameters, and the first error.

use crate::support::Case;

#[test]
fn a_script_comes_from_an_argument_a_file_or_stdin() {
    let case = Case::new();
    case.write("q.sql", "\u{feff}-- a comment\nSELECT 1 AS a;\n\nSELECT 2 AS a");
    let expected = "a\n1\na\n2\n";
    for arguments in [&["sql", "memory:", "SELECT 1 AS a; SELECT 2 AS a"][..], &["sql", "memory:", "-f", "q.sql"]] {
        let arguments = [arguments, &["--format", "csv"]].concat();
        assert_eq!(case.run(&arguments).well().text(), expected, "{arguments:?}");
    }
    let input = case.read("q.sql");
    assert_eq!(case.run_with(&["sql", "memory:", "-f", "-", "--format", "csv"], &input).well().text(), expected);
    assert_eq!(case.run_with(&["sql", "memory:", "--format", "csv"], &input).well().text(), expected);
    assert_eq!(case.run_with(&["--format", "csv"], &input).well().text(), expected);
}

#[test]
fn statements_without_rows_print_nothing() {
    let case = Case::new();
    let run = case.run(&["sql", "a.db", "CREATE TABLE t (time TIMESTAMP, v INT); INSERT INTO t VALUES (0, 1)"]).well();
    assert_eq!(run.text(), "");
}

#[test]
fn a_script_stops_at_its_first_error_and_names_its_line() {
    let case = Case::new();
    case.write("q.sql", "CREATE TABLE t (time TIMESTAMP, v INT);\n\nSELECT nothing FROM t;\nDROP TABLE t;\n");
    case.run(&["sql", "a.db", "-f", "q.sql"]).failed(3, &["q.sql", "line 3", "nothing"]);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "0");
    case.write("s.sql", "SELECT 1;\nSELECT 2;\nSELECT FROM WHERE;\n");
    case.run(&["sql", "memory:", "-f", "s.sql"]).failed(3, &["s.sql", "line 3"]);
    case.run_with(&["a.db"], "SELECT 1;\nSELEKT 2;\n").failed(3, &["stdin", "line 2"]);
}

#[test]
fn a_transaction_that_is_left_open_is_reported() {
    let case = Case::new().with_store();
    let script = "BEGIN;\nINSERT INTO readings (time) VALUES ('2024-06-01');\n";
    for arguments in [&["sql", "a.db", script][..], &["sql", "a.db"], &["a.db"]] {
        let run = case.run_with(arguments, script);
        assert!(run.stderr.contains("warning: the transaction was not committed"), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(case.query("a.db", "SELECT count(*) FROM readings"), "3");
    let run = case.run_with(&["sql", "a.db"], format!("{script}COMMIT;\n"));
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM readings"), "4");
}

#[test]
fn parameters_are_values_and_nothing_else() {
    let case = Case::new().with_store();
    let sql = "SELECT count(*) AS n FROM readings WHERE sensor = $s";
    let count = |value: &str| {
        let param = format!("s={value}");
        case.run(&["sql", "a.db", sql, "-p", &param, "--format", "csv"]).well().text()
    };
    assert_eq!(
        (count("a"), count("x' OR 'a' = 'a"), count("b,\"c")),
        ("n\n1\n".into(), "n\n0\n".into(), "n\n1\n".into())
    );
    case.run(&["sql", "a.db", sql]).failed(3, &["$s"]);
    case.run(&["sql", "a.db", sql, "-p", "s"]).failed(1, &["NAME=VALUE"]);
}

#[test]
fn a_file_that_is_not_there_creates_no_store() {
    let case = Case::new();
    case.run(&["sql", "a.db", "-f", "no.sql"]).failed(2, &["no.sql"]);
    assert!(!case.path("a.db").exists());
}

#[test]
fn a_long_script_of_inserts_runs() {
    let case = Case::new();
    let inserts: String = (0..2_000).map(|row| format!("INSERT INTO t VALUES ({row}, {row});\n")).collect();
    let script =
        format!("CREATE TABLE t (time TIMESTAMP, v INT);\n{inserts}SELECT count(*) AS n, sum(v) AS s FROM t;\n");
    let run = case.run_with(&["sql", "memory:", "--format", "csv", "--durability", "off"], script).well();
    assert_eq!(run.text(), "n,s\n2000,1999000\n");
}

#[test]
fn a_table_whose_time_is_not_obvious_is_noted() {
    let case = Case::new();
    let run = case.run(&["sql", "a.db", "CREATE TABLE z (id INT PRIMARY KEY, deleted_at TIMESTAMPTZ)"]);
    let parts = ["note: column deleted_at becomes the time of table z", "WITH (time = 'none')"];
    assert!(run.code == 0 && parts.iter().all(|part| run.stderr.contains(part)), "{}", run.stderr);
    for declared in [
        "(id INT PRIMARY KEY, deleted_at TIMESTAMPTZ NOT NULL)",
        "(id INT PRIMARY KEY, created_at TIMESTAMPTZ DEFAULT now())",
        "(id INT, at TIMESTAMPTZ, PRIMARY KEY (id, at))",
        "(id INT PRIMARY KEY, time TIMESTAMPTZ)",
        "(at TIMESTAMPTZ, v DOUBLE)",
        "(id INT PRIMARY KEY, deleted_at TIMESTAMPTZ) WITH (time = 'none')",
        "(id INT PRIMARY KEY, deleted_at TIMESTAMPTZ) WITH (time = 'deleted_at')",
    ] {
        case.run(&["sql", "memory:", &format!("CREATE TABLE z {declared}")]).well();
    }
}
