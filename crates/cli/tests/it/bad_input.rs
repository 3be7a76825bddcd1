//! Errors name what is wrong and have the right exit code.

use crate::support::{Case, Run};
use std::process::Stdio;

#[test]
fn exit_codes_distinguish_usage_store_and_sql() {
    let case = Case::new().with_store();
    case.run(&["sql", "a.db", "SELECT 1", "--durability", "maybe"]).failed(1, &["maybe", "full, normal or off"]);
    case.run(&["tables", "no.db"]).failed(2, &["no.db"]);
    case.run(&["sql", "a.db", "SELEC 1"]).failed(3, &[]);
    case.run(&["sql", "a.db", "SELECT senser FROM readings"]).failed(3, &["senser", "did you mean sensor?"]);
    case.run(&["sql", "a.db", "SELECT * FROM reading"]).failed(3, &["reading", "did you mean readings?"]);
    case.run(&["stats", "a.db", "reading"]).failed(2, &["did you mean readings?"]);
    assert!(!case.path("no.db").exists());
}

#[test]
fn hints_name_what_was_probably_meant() {
    let case = Case::new().with_store();
    std::fs::create_dir(case.path("backups")).unwrap();
    case.run(&["copy", "a.db", "backups"]).failed(2, &["is a directory", "hint: atsdb backup STORE backups"]);
    let quoted = "SELECT minv FROM (SELECT 1 AS \"Min V\") t";
    case.run(&["sql", quoted]).failed(3, &["no column named minv", "did you mean \"Min V\"?"]);
    case.run(&["sql", "SELECT abc"]).failed(3, &["no column named abc", "single quotes: 'abc'", "FROM"]);
    let listed = case.run(&["sql", "a.db", "--format", "csv", "SHOW FUNCTIONS LIKE 'read%'"]).well().text();
    for name in ["read_csv,", "read_json,", "read_parquet,", "read_xlsx,"] {
        assert!(listed.contains(name), "{listed}");
    }
}

#[test]
fn misspelt_flags_and_commands_get_the_nearest() {
    let case = Case::new();
    case.run(&["sql", "memory:", "SELECT 1", "--tming"]).failed(1, &["--tming", "did you mean --timing?"]);
    case.run(&["improt", "a.db", "t", "x.csv"]).failed(1, &["no command named improt", "did you mean atsdb import?"]);
    case.run(&["tabels"]).failed(1, &["did you mean atsdb tables?"]);
    case.run(&["listen", "a.db"]).failed(1, &["no command named listen", "available: sql, import"]);
    case.run(&["sql"]).failed(1, &["no statements", "URL"]);
    let run = case.run(&["export", "a.db", "t", "--format", "xml"]);
    assert!(!run.stderr.contains("For more information"), "{}", run.stderr);
    run.failed(1, &["xml", "possible values: table, csv"]);
    assert!(case.names().is_empty(), "{:?}", case.names());
}

#[test]
fn an_import_without_a_table_does_not_take_the_first_file_for_its_name() {
    let case = Case::new();
    case.write("feb.csv", "time,a\n2024-02-01,1\n");
    case.write("jan.csv", "time,a\n2024-01-01,1\n");
    let message = "feb.csv is a file, but this argument names the table";
    for flags in [&["import", "a.db", "feb.csv", "jan.csv"][..], &["import", "a.db", "feb.csv", "jan.csv", "--dry-run"]]
    {
        case.run(flags).failed(1, &[message, "atsdb import URL TABLE FILE"]);
    }
    case.run_with(&["a.db"], ".import days feb.csv\n").failed(1, &[message, ".import FILE TABLE"]);
    case.run(&["sql", "b.db", "CREATE TABLE \"feb.csv\" (time DATE, a INT)"]).well();
    assert_eq!(case.run(&["import", "b.db", "feb.csv", "jan.csv"]).code, 0, "the table is there");
}

#[test]
fn a_header_without_rows_makes_no_table_of_texts() {
    let case = Case::new();
    case.write("today.csv", "time,v\n");
    for flags in [&["import", "a.db", "t", "today.csv"][..], &["import", "a.db", "t", "today.csv", "--dry-run"]] {
        let run = case.run(flags);
        assert!(run.code == 2 && run.stderr.contains("error: there are no rows"), "{}", run.stderr);
    }
    assert!(!case.path("a.db").exists());
    case.write("next.csv", "time,v\n2024-01-01,1\n");
    case.run(&["import", "a.db", "t", "today.csv", "next.csv"]).well();
    assert_eq!(case.run(&["import", "a.db", "t", "today.csv", "--again"]).code, 0, "the table has its types");
    assert_eq!(case.query("a.db", "SELECT time, v FROM t"), "2024-01-01,1");
    assert_eq!(case.run(&["import", "a.db", "texts", "today.csv", "--create-only"]).code, 0);
}

#[test]
fn a_new_store_is_not_named_like_a_file_of_rows() {
    let case = Case::new().with_store();
    let message = ["has the name of a data file, not of a store", "atsdb export STORE TABLE -o out."];
    case.run(&["copy", "a.db", "out.csv"]).failed(1, &message);
    case.run(&["sql", "out.parquet", "CREATE TABLE t (a INT)"]).failed(1, &message);
    assert!(!case.path("out.csv").exists() && !case.path("out.parquet").exists());
    case.run(&["sql", "sqlite:out.csv", "CREATE TABLE t (a INT)"]).well();
    case.run(&["sql", "out.csv", "INSERT INTO t VALUES (1)"]).well();
}

#[test]
fn statements_of_other_databases_are_refused_with_what_to_write() {
    let case = Case::new();
    for (statement, instead) in [
        ("ATTACH 'other.db'", "atsdb copy SOURCE TARGET TABLE"),
        ("DETACH other", "a session has one store"),
        ("INSTALL httpfs", "there are no extensions"),
        ("LOAD httpfs", "there are no extensions"),
        ("OPTIMIZE TABLE t", "by itself"),
        ("EXPORT DATABASE 'folder'", "atsdb backup"),
        ("PIVOT t ON name USING sum(x)", "FILTER (WHERE"),
        ("USE other", "SET search_path"),
        ("PRAGMA table_info('t')", "DESCRIBE t"),
        ("SET TIME ZONE 'Europe/Berlin'", "AT TIME ZONE"),
    ] {
        case.run(&["sql", "memory:", statement]).failed(3, &["is not supported yet", "hint: ", instead]);
    }
}

#[test]
fn a_parameter_without_a_value_says_how_to_give_one() {
    let case = Case::new();
    case.run(&["sql", "SELECT $1"]).failed(3, &["the parameter $1", "atsdb sql -p 1=VALUE"]);
    case.run(&["sql", "SELECT $day", "-p", "dy=1"]).failed(3, &["the parameter $day", "did you mean $dy?"]);
    assert_eq!(case.run(&["sql", "SELECT $1 + 1 AS n", "-p", "1=2", "--format", "csv"]).well().text(), "n\n3\n");
}

#[test]
fn an_error_of_an_argument_names_the_help_that_explains_it() {
    let case = Case::new().with_store();
    case.run(&["lab"]).failed(1, &["atsdb lab needs a command", "available: list, run", "atsdb lab --help"]);
    case.run(&["user", "lst", "a.db"]).failed(1, &["no command named lst", "did you mean atsdb user list?"]);
    case.run(&["lab", "everything"]).failed(1, &["no command named everything", "available: list, run"]);
    case.run(&["help", "lab", "everything"]).failed(1, &["no command named everything", "available: list, run"]);
    case.run(&["import", "a.db", "t", "x.csv", "--skip", "two"])
        .failed(1, &["invalid value 'two' for '--skip <LINES>': write a whole number", "atsdb import --help"]);
    case.run(&["completions", "x"]).failed(1, &["possible values: bash", "atsdb completions --help"]);
    case.run(&["export", "a.db", "readings", "x.csv"])
        .failed(1, &["'x.csv'", "to write the result to a file, pass -o"]);
    case.run(&["sql", "a.db", "SELECT 1", "x.csv"]).failed(1, &["pass -o x.csv"]);
    for arguments in
        [&["sql", "a.db", "SELECT", "1"][..], &["sql", "SELECT", "1"], &["a.db", "select", "count", "FROM", "readings"]]
    {
        case.run(arguments).failed(1, &["the statement is not in quotes", "as one argument"]);
    }
    case.run(&["completions", "bash", "x.csv"]).failed(1, &["usage: atsdb completions"]);
}

#[test]
fn files_that_are_not_stores_are_left_alone() {
    let case = Case::new();
    case.write("notes.txt", "these are notes, and no store at all, however long they may become in the end");
    case.run(&["sql", "notes.txt", "SELECT 1"]).failed(2, &["notes.txt", "SELECT * FROM 'notes.txt'"]);
    assert!(case.read("notes.txt").starts_with("these are notes"));
    case.run(&["sql", "redis://host/db", "SELECT 1"]).failed(1, &["redis"]);
    case.run_with(&["import", "-", "t", "-"], "a\n1\n").failed(1, &["- is stdin, not a store"]);
    assert_eq!(case.names(), ["notes.txt"]);
}

#[test]
fn output_that_cannot_be_written_is_named_and_nothing_else() {
    let case = Case::new().with_store();
    let run = case.run(&["export", "a.db", "readings", "-o", "no/x.csv"]);
    assert!(!run.stderr.contains(".part"), "{}", run.stderr);
    run.failed(2, &["cannot write no/x.csv: No such file", "hint: create its folder first"]);
    if std::path::Path::new("/dev/full").exists() {
        for format in ["csv", "json", "parquet", "arrow"] {
            let arguments = ["export", "a.db", "readings", "-o", "/dev/full", "--format", format];
            case.run(&arguments).failed(2, &["cannot write /dev/full: No space left", "hint: free some space"]);
        }
    }
}

#[test]
fn every_result_that_stdout_does_not_take_is_an_error() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let case = Case::new().with_store();
    case.write("weather.csv", "");
    let table = ["export", "a.db", "readings", "--format", "csv"];
    let demo = ["demo", "weather.csv", "--dir", "demo"];
    for arguments in [&["--version"][..], &["--help"], &["help", "import"], &["sql", "--help"], &table, &demo] {
        let run = Run::of(case.command(arguments).stdin(Stdio::null()).stdout(full.try_clone().unwrap()));
        run.failed(2, &["cannot write stdout: No space left", "hint: free some space"]);
    }
}

#[test]
fn a_dry_run_refuses_a_store_that_the_import_could_not_create() {
    let case = Case::new();
    case.write("1.csv", "time,v\n2024-03-01,1\n");
    for (url, code, parts) in [
        ("no/a.db", 2, ["no does not exist", "hint: create it first, or correct the path"]),
        ("sqlite:no/a?split=slice", 2, ["no does not exist", "hint: create it first, or correct the path"]),
        ("new.csv", 1, ["new.csv has the name of a data file", "hint: name the store air.db"]),
    ] {
        for flags in [&[][..], &["--dry-run"]] {
            case.run(&[&["import", url, "t", "1.csv"], flags].concat()).failed(code, &parts);
        }
    }
    case.run(&["import", "a.db", "t", "1.csv", "--dry-run"]).well();
    assert_eq!(case.names(), ["1.csv"]);
}

#[test]
fn read_only_refuses_to_write() {
    let case = Case::new().with_store();
    case.run(&["sql", "a.db", "DROP TABLE readings", "--read-only"]).failed(2, &["without --read-only"]);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM readings"), "3");
}

#[test]
fn help_and_version_end_well() {
    let case = Case::new();
    let help = case.run(&["--help"]).well().text();
    assert!(help.contains("Examples:") && help.contains("recompress"), "{help}");
    let version = case.run(&["--version"]).well().text();
    assert!(version.starts_with("atsdb ") && version.contains("SQLite 3."), "{version}");
    assert!(case.run(&["import", "--help"]).well().text().contains("--skip-bad"));
}

#[test]
fn flags_override_the_environment_whose_settings_are_checked() {
    let case = Case::new();
    let run = |variable: &str, value: &str, arguments: &[&str]| {
        let output = case.command(arguments).env(variable, value).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let select = ["sql", "memory:", "SELECT 1"];
    assert_eq!(run("ATSDB_CACHE", "lots", &select).0, Some(1));
    assert_eq!(run("ATSDB_CACHE", "16MiB", &select), (Some(0), String::new()));
    assert_eq!(run("ATSDB_DURABILITY", "maybe", &select).0, Some(1));
    assert_eq!(run("ATSDB_DURABILITY", "maybe", &["sql", "memory:", "SELECT 1", "--durability", "off"]).0, Some(0));
}
