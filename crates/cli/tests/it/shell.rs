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
fn a_command_of_the_shell_may_be_an_argument() {
    let case = Case::new().with_store();
    assert!(case.run(&["a.db", ".tables read"]).well().text().contains("\nreadings |"));
    assert!(!case.run(&["a.db", "\\dt other"]).well().text().contains("readings"));
    assert!(case.run(&["a.db", ".help chart"]).well().text().starts_with(".chart [QUERY]"));
    case.run(&["a.db", ".tabels"]).failed(1, &["command line, line 1: no command named .tabels", ".tables?"]);
    case.run(&["memory:", ".tables"]).well();
}

#[test]
fn a_command_that_only_reads_wants_a_store_that_is_there() {
    let case = Case::new();
    for command in [".tables", "\\dt", ".schema", ".dump", ".save other.db"] {
        case.run(&["new.db", command]).failed(2, &["new.db", "hint: check the name; ", "create no store"]);
    }
    for command in [".tables", ".tables read", "\\dt"] {
        let hint = format!("hint: the store comes first: atsdb air.db \"{command}\"");
        for arguments in [&[command][..], &[command, "CREATE TABLE t (a INT)"], &["sql", command, "SELECT 1"]] {
            case.run(arguments).failed(1, &["this is a command of the shell, not a store", &hint]);
        }
    }
    assert!(case.names().is_empty(), "{:?}", case.names());
    // Others may make one, and a store may have any name.
    case.write("more.sql", "CREATE TABLE t (a INT);\n");
    assert_eq!(case.run(&["new.db", ".read more.sql"]).code, 0);
    assert!(case.path("new.db").exists());
    assert_eq!(case.run_with(&[".air.db"], "CREATE TABLE t (a INT);\n").code, 0);
    assert!(case.path(".air.db").exists());
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
    command.env("ATSDB_URL", "env.db").stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"CREATE TABLE t (a INT);").unwrap();
    assert!(child.wait().unwrap().success() && case.path("env.db").exists());
}

#[test]
fn commands_of_psql_and_words_work_in_a_pipe() {
    let case = Case::new();
    let input = "\
CREATE TABLE t (id INT, v INT, INDEX of_v (v)) WITH (engine = 'memory');
CREATE VIEW w AS SELECT v FROM t;
.mode csv
\\d t
\\di
\\dv
\\df time_bucket
\\du
\\l
quit
SELECT 'not reached';
";
    let text = case.run_with(&["a.db"], input).well().text();
    for part in ["CREATE TABLE t (", "t,of_v,v", "\nw,", "time_bucket,", "there are no users", "a.db\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("not reached"), "{text}");
}

#[test]
fn a_dump_makes_the_same_tables() {
    let case = Case::new().with_store();
    case.run(&["sql", "a.db", "CREATE TABLE p (a TEXT, b BLOB, c DATE, d REAL); CREATE VIEW v AS SELECT a FROM p"])
        .well();
    case.run(&[
        "sql",
        "a.db",
        "INSERT INTO p VALUES ('it''s', '\\x00ff', '2024-02-29', 'NaN'), (NULL, NULL, NULL, -0.5)",
    ])
    .well();
    let dump = case.run_with(&["a.db"], ".dump\n").well().text();
    case.run_with(&["b.db"], &dump).well();
    for table in ["readings", "p", "v"] {
        let rows = |url: &str| case.query(url, &format!("SELECT * FROM {table} ORDER BY 1"));
        assert_eq!(rows("a.db"), rows("b.db"), "{table}");
    }
    assert_eq!(case.run(&["schema", "a.db"]).well().text(), case.run(&["schema", "b.db"]).well().text());
    let one = case.run_with(&["a.db"], ".dump p\n").well().text();
    assert!(one.contains("INSERT INTO p VALUES\n  ('it''s', ") && !one.contains("readings"), "{one}");
}

#[test]
fn a_dump_keeps_where_sequences_begin_and_are() {
    let case = Case::new();
    let made = "CREATE SEQUENCE s START WITH 5; SELECT nextval('s'); CREATE SEQUENCE down INCREMENT BY -1; \
                CREATE SEQUENCE early START WITH 10; ALTER SEQUENCE early RESTART WITH -3; \
                CREATE TABLE t (id INT GENERATED ALWAYS AS IDENTITY (START WITH 3), x INT); \
                INSERT INTO t (x) VALUES (1)";
    case.run(&["sql", "a.db", made]).well();
    let dump = case.run_with(&["a.db"], ".dump\n").well().text();
    assert!(dump.contains("CREATE SEQUENCE s START WITH 5;\nSELECT setval('public.s', 5);"), "{dump}");
    case.run_with(&["b.db"], &dump).well();
    let next = |url: &str| {
        let drawn = case.query(url, "SELECT nextval('s'), nextval('down'), nextval('early')");
        case.run(&["sql", url, "INSERT INTO t (x) VALUES (2)"]).well();
        (drawn, case.query(url, "SELECT id FROM t ORDER BY id"))
    };
    assert_eq!(next("a.db"), next("b.db"));
    case.run(&["sql", "b.db", "ALTER SEQUENCE s RESTART; ALTER TABLE t ALTER COLUMN id RESTART"]).well();
    let schema = case.run(&["schema", "b.db"]).well().text();
    assert!(schema.contains("CREATE SEQUENCE s START WITH 5;\n") && schema.contains("START WITH 3"), "{schema}");
    let tables = case.run(&["tables", "b.db"]).well().text();
    assert!(tables.contains("\nt ") && !tables.contains("early"), "{tables}");
}

#[test]
fn a_dump_keeps_rows_that_constraints_need_not_hold_for() {
    let case = Case::new();
    let made = "CREATE TABLE p (id INT PRIMARY KEY); CREATE TABLE t (a INT, b INT REFERENCES p DEFERRABLE); \
                INSERT INTO t VALUES (-1, NULL); ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0) NOT VALID; \
                ALTER TABLE t ADD CONSTRAINT of_p FOREIGN KEY (a) REFERENCES p NOT VALID";
    case.run(&["sql", "a.db", made]).well();
    let dump = case.run_with(&["a.db"], ".dump\n").well().text();
    let added = "COMMIT;\nALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0) NOT VALID;\n\
                 ALTER TABLE t ADD CONSTRAINT of_p FOREIGN KEY (a) REFERENCES p(id) NOT VALID;\n";
    assert!(dump.ends_with(added), "{dump}");
    case.run_with(&["b.db"], &dump).well();
    assert_eq!(case.query("a.db", "SELECT * FROM t"), case.query("b.db", "SELECT * FROM t"));
    assert_eq!(case.run(&["schema", "a.db"]).well().text(), case.run(&["schema", "b.db"]).well().text());
}

#[test]
fn a_file_is_imported_and_a_result_is_drawn() {
    let case = Case::new();
    case.write("my file.csv", "time,v\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n");
    let input = ".import 'my file.csv' t --slice day\n.chart --spark SELECT time, v FROM t ORDER BY 1;\n.chart SELECT time, v FROM t\n";
    let text = case.run_with(&["a.db"], input).text();
    assert!(text.contains("v ▁▅█ 1 to 3\n") && text.contains("└"), "{text}");
    assert!(text.contains("3 rows in"), "{text}");
    case.run_with(&["a.db"], ".import x.csv t --nosuch\n").failed(1, &["--nosuch"]);
}
