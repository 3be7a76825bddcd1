//! Command lines as people type them: help, options before the command, SQL without a command. Those that fail or only
//! read create no store.

use crate::support::Case;

#[test]
fn help_is_a_command_and_makes_no_store() {
    let case = Case::new();
    let program = case.run(&["help"]).well().text();
    assert!(program.contains("Usage: atsdb") && program == case.run(&["--help"]).well().text(), "{program}");
    assert_eq!(case.run(&["help", "lab", "run"]).well().text(), case.run(&["lab", "run", "--help"]).well().text());
    case.run(&["help", "sq"]).failed(1, &["no command named sq", "did you mean atsdb sql?"]);
    assert!(case.names().is_empty(), "{:?}", case.names());
}

#[test]
fn options_may_come_before_the_command() {
    let case = Case::new().with_store();
    assert_eq!(case.run(&["--cache", "2GiB", "sql", "select 1", "--format", "csv"]).well().text(), "1\n1\n");
    let text = case.run(&["--format", "json", "--memory=1GiB", "tables", "a.db"]).well().text();
    assert!(text.contains("\"readings\""), "{text}");
    case.run(&["--timing", "tabels"]).failed(1, &["no command named tabels", "did you mean atsdb tables?"]);
    case.run(&["--read-only", "import", "a.db", "t", "x.csv"]).failed(1, &["--read-only"]);
}

#[test]
fn several_words_are_sql_and_no_name_of_a_store() {
    let case = Case::new();
    for (sql, code) in [("selct 1", 3), ("pivit x", 3), ("my data", 3)] {
        case.run(&[sql]).failed(code, &["syntax error"]);
        case.run(&["sql", sql]).failed(code, &["syntax error"]);
    }
    for sql in ["-- a comment\nselect 1", "(select 1)", "/* one */ values (1)"] {
        assert!(case.run(&[sql, "--format", "csv"]).well().text().ends_with("\n1\n"), "{sql}");
    }
    assert!(case.names().is_empty(), "{:?}", case.names());
    case.run(&["my data.db", "create table t (a int)"]).well();
    assert_eq!(case.query("./my data.db", "select count(*) from t"), "0");
}

#[test]
fn statements_without_a_store_say_that_nothing_is_kept() {
    let case = Case::new();
    let said = |arguments: &[&str]| {
        let run = case.run(arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr.contains("nothing of this is kept; name one first to keep it: atsdb sql air.db")
    };
    let create = "create table t (a int); insert into t values (1)";
    assert!(said(&["sql", create]) && said(&[create]) && said(&["create view v as select 1"]));
    for kept in [
        &["select 1"][..],
        &["sql", "create table t (a int); drop table t"],
        &["sql", "memory:", create],
        &["sql", "kept.db", create],
        &["set timezone = 'UTC'"],
    ] {
        assert!(!said(kept), "{kept:?}");
    }
    assert_eq!(case.names(), ["kept.db"]);
}

#[test]
fn what_fails_or_only_reads_leaves_no_store() {
    let case = Case::new();
    case.write("ragged.csv", "a,b\n1,2\n3\n");
    case.run(&["import", "n.db", "t", "nosuch.csv"]).failed(2, &["no file nosuch.csv", "hint: check the path"]);
    let ragged = case.run(&["import", "n.db", "t", "ragged.csv"]);
    assert!(ragged.code != 0 && ragged.stderr.contains("line 3"), "{}", ragged.stderr);
    case.run(&["sql", "n.db", "create table"]).failed(3, &[]);
    case.run(&["sql", "n.db", "insert into tt values (1)"]).failed(3, &["tt"]);
    assert_eq!(case.run(&["sql", "n.db", "create table t (a int); drop table t; select b"]).code, 3);
    case.run_with(&["n.db"], "select 1;\n").well();
    case.run_with(&["n.db"], "select nothing;\n").failed(3, &["nothing"]);
    assert_eq!(case.names(), ["ragged.csv"]);
    // What was stored before a failure stays, and so does a store that was there.
    assert_eq!(case.run(&["sql", "n.db", "create table t (a int); select b"]).code, 3);
    assert_eq!(case.query("n.db", "select count(*) from t"), "0");
    case.run(&["sql", "n.db", "drop table t"]).well();
    case.run(&["sql", "n.db", "insert into tt values (1)"]).failed(3, &["tt"]);
    assert!(case.path("n.db").exists());
}
