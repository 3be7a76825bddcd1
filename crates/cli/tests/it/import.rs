//! Import of small files with quirks. The importer's own cases are tested in its crate.

use crate::support::Case;

#[test]
fn a_table_is_created_from_what_the_file_shows() {
    let case = Case::new();
    case.write("w.csv", "time,place,temp\n2024-03-01 00:00:00,x,1.5\n2024-03-01 01:00:00,y,NA\n");
    let run = case.run(&["import", "a.db", "weather", "w.csv"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = run.text();
    assert!(text.starts_with("CREATE TABLE weather ("), "{text}");
    let last = text.lines().last().unwrap();
    for part in ["2 rows in ", " rows/s", "durability full"] {
        assert!(last.contains(part), "{part:?} is not in {last}");
    }
    // The pages that every table has say nothing about two rows.
    assert!(!last.contains("bytes a row"), "{last}");
    let numbers: String = (0..1_000).map(|number| format!("{number}\n")).collect();
    case.write("n.csv", format!("n\n{numbers}"));
    let many = case.run(&["import", "a.db", "numbers", "n.csv"]).text();
    assert!(many.contains(" bytes a row"), "{many}");
    assert_eq!(case.query("a.db", "SELECT count(*), count(temp) FROM weather"), "2,1");
    let schema = case.run(&["schema", "a.db", "weather"]).well().text();
    assert!(text.starts_with(&schema), "{schema}");
}

#[test]
fn rows_are_added_to_a_table_that_is_there() {
    let case = Case::new();
    case.write("1.csv", "time,v\n2024-03-01,1\n");
    case.write("2.csv", "time,v\n2024-03-02,2\n");
    assert_eq!(case.run(&["import", "a.db", "t", "1.csv"]).code, 0);
    let run = case.run(&["import", "a.db", "t", "2.csv", "--durability", "off"]);
    assert!(!run.text().contains("CREATE TABLE") && run.text().contains("durability off"), "{}", run.text());
    assert_eq!(case.query("a.db", "SELECT sum(v), count(*) FROM t"), "3,2");
}

#[test]
fn only_the_rows_of_a_store_in_memory_are_lost_at_exit() {
    let case = Case::new();
    case.write("1.csv", "time,v\n2024-03-01,1\n");
    for (url, durability) in [("memory:", "durability none"), ("a.db", "durability full")] {
        let run = case.run(&["import", url, "t", "1.csv", "--engine", "memory"]);
        assert!(run.code == 0 && run.text().contains(durability), "{url}: {}", run.text());
    }
    // The commit of the import has saved the rows of a table in memory.
    assert_eq!(case.query("a.db", "SELECT v FROM t"), "1");
}

#[test]
fn stdin_separators_nulls_and_file_names_are_understood() {
    let case = Case::new();
    let run =
        case.run_with(&["import", "a.db", "t", "-", "--null", "-4.0"], "epoch;rtt\n1475280000;1.5\n1475280240;-4.0\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(case.query("a.db", "SELECT count(rtt), count(*) FROM t"), "1,2");
    case.write("p1.csv", "epoch,rtt\n1475280000,1.5\n");
    case.write("p2.csv", "epoch,rtt\n1475280000,2.5\n");
    let run = case.run(&["import", "b.db", "t", "p1.csv", "p2.csv", "--file-column", "probe"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(case.query("b.db", "SELECT probe, rtt FROM t ORDER BY probe"), "p1,1.5\np2,2.5");
}

#[test]
fn a_bad_record_stops_everything_or_is_counted() {
    let case = Case::new();
    let rows: String = (0..10).map(|second| format!("2024-03-01 00:00:0{second},{second}\n")).collect();
    case.write("bad.csv", format!("time,v\n{rows}2024-03-01 00:01:00\n2024-03-01 00:02:00,12\n"));
    case.run(&["import", "a.db", "t", "bad.csv"]).failed(2, &["bad.csv", "line 12", "--skip-bad"]);
    assert!(!case.path("a.db").exists());
    let run = case.run(&["import", "a.db", "t", "bad.csv", "--skip-bad"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("1 bad record") && run.stderr.contains("line 12"), "{}", run.stderr);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "11");
}

#[test]
fn flags_that_an_existing_table_does_not_follow_are_reported() {
    let case = Case::new();
    case.write("w.csv", "time,v,s\n2024-03-01,1,x\n");
    let import = |flags: &[&str]| case.run(&[&["import", "a.db", "t", "w.csv"], flags].concat());
    assert_eq!(import(&["--slice", "month", "--map", "s:u16", "--key", "s"]).code, 0);
    let same = import(&["--slice", "month", "--map", "s:u16", "--key", "s"]);
    assert_eq!((same.code, same.stderr.as_str()), (0, ""));
    let other = import(&["--slice", "day", "--map", "s:u8", "--map", "v", "--key", "v"]);
    assert_eq!(other.code, 0, "{}", other.stderr);
    assert!(other.stderr.contains("ignored: --slice day, --key v, --map s:u8, --map v"), "{}", other.stderr);
    import(&["--map", "ss"]).failed(2, &["ss", "did you mean s?"]);
}

#[test]
fn a_full_dictionary_names_the_flag_that_declares_a_wider_one() {
    let case = Case::new();
    let rows: String = (0..300).map(|row| format!("2024-03-01,v{row}\n")).collect();
    case.write("w.csv", format!("time,s\n{rows}"));
    case.run(&["import", "a.db", "t", "w.csv", "--map", "s:u8"]).failed(2, &["dictionary of column s", "--map s:u16"]);
    case.run(&["sql", "a.db", "CREATE TABLE t (time DATE, s TEXT) WITH (time = 'time', map = 's:u8')"]).well();
    case.run(&["import", "a.db", "t", "w.csv"]).failed(2, &["dictionary of column s", "into a new table"]);
}

#[test]
fn create_only_stores_no_row() {
    let case = Case::new();
    case.write("w.csv", "time,v\n2024-03-01,1\n");
    let run = case.run(&["import", "a.db", "t", "w.csv", "--create-only", "--slice", "month"]).well();
    assert!(run.text().contains("slice = 'month'"), "{}", run.text());
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "0");
}

#[test]
fn a_batch_with_an_id_counts_once() {
    let case = Case::new();
    case.write("w.csv", "time,v\n2024-03-01,1\n");
    let arguments = ["import", "a.db", "t", "w.csv", "--batch-id", "b1"];
    assert_eq!((case.run(&arguments).code, case.run(&arguments).code), (0, 0));
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "1");
}

#[test]
fn wrong_flags_store_nothing_and_say_what_is_right() {
    let case = Case::new();
    case.write("w.csv", "time,sensor\n2024-03-01,1\n");
    case.run(&["import", "a.db", "t", "no.csv"]).failed(2, &["no.csv"]);
    case.run(&["import", "a.db", "t", "w.csv", "--slice", "decade"]).failed(1, &["decade", "hour, day, week"]);
    case.run(&["import", "a.db", "t", "w.csv", "--key", "senser"]).failed(2, &["senser", "did you mean sensor?"]);
    case.run(&["import", "a.db", "t", "w.csv", "--delimiter", "ab"]).failed(1, &["ab", "one ASCII character"]);
    case.run(&["import", "a.db", "t"]).failed(1, &["FILE"]);
    let tables = case.run(&["tables", "a.db", "--format", "json"]);
    assert!(tables.code == 2 || tables.text() == "[]\n", "{}", tables.text());
}

#[test]
fn rows_of_a_table_in_memory_are_saved_with_the_import() {
    let case = Case::new();
    let table = "CREATE TABLE t1 (c1 INT, INDEX (c1)) ENGINE = memory;
        CREATE TABLE t2 (id INT PRIMARY KEY, name TEXT) ENGINE = memory;";
    case.run_with(&["sql", "a.db"], table).well();
    case.write("one.txt", "5\n6\n5\n");
    let arguments = ["import", "a.db", "t1", "one.txt", "--batch-id", "b1"];
    let text = case.run(&arguments).well().text();
    assert!(text.starts_with("3 rows in ") && !text.contains("CREATE TABLE"), "{text}");
    assert!(case.run(&arguments).well().text().contains("imported before"));
    assert_eq!(case.query("a.db", "SELECT count(*), sum(c1) FROM t1 WHERE c1 = 5"), "2,10");
    case.run(&["import", "a.db", "t1", "one.txt"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t1"), "6");
    case.write("two.csv", "name,id\na,1\n,2\n");
    case.run(&["import", "a.db", "t2", "two.csv"]).well();
    let again = case.run(&["import", "a.db", "t2", "two.csv", "--again"]);
    again.failed(2, &["key (id): (1) already exists"]);
    assert_eq!(case.query("a.db", "SELECT id, name FROM t2 ORDER BY id"), "1,a\n2,");
    let tables = case.run(&["tables", "a.db", "--format", "json"]).well().text();
    assert_eq!(tables.matches("\"kind\": \"memory\"").count(), 2, "{tables}");
    let stats = case.run(&["stats", "a.db", "t1", "--format", "json"]).well().text();
    assert!(stats.contains("\"rows\": 6") && stats.contains("\"chunks\": 1"), "{stats}");
    assert!(case.run(&["verify", "a.db"]).well().text().contains("8 rows"));
    case.run(&["export", "a.db", "t2", "-o", "out.csv"]).well();
    assert_eq!(std::fs::read_to_string(case.path("out.csv")).unwrap(), "id,name\n1,a\n2,\n");
}

#[test]
fn a_table_in_memory_is_created_by_flags() {
    let case = Case::new();
    case.write("codes.txt", "a1\nb2\na1\n");
    let flags = ["--engine", "memory", "--index", "column1", "--no-header", "--time", "none"];
    for url in ["memory:", "a.db"] {
        let text = case.run(&[&["import", url, "codes", "codes.txt"], &flags[..]].concat()).well().text();
        assert!(text.contains("INDEX codes_column1 (column1)") && text.contains("engine = 'memory'"), "{text}");
        assert!(text.contains("3 rows in ") && text.contains(" rows/s"), "{text}");
    }
    assert_eq!(case.query("a.db", "SELECT count(*) FROM codes WHERE column1 = 'a1'"), "2");
    case.write("w.csv", "time,place,temp\n2024-03-01 00:00:00,x,1.5\n2024-03-01 01:00:00,x,\n");
    case.run(&["import", "a.db", "w", "w.csv", "--engine", "memory", "--index", "place,time"]).well();
    assert_eq!(case.query("a.db", "SELECT count(temp) FROM w WHERE place = 'x' AND time = '2024-03-01'"), "1");
    case.run(&["import", "a.db", "v", "w.csv", "--engine", "memory", "--map", "place"]).failed(1, &["mapped columns"]);
    case.run(&["import", "a.db", "v", "w.csv", "--index", "plaice"]).failed(2, &["did you mean place?"]);
    let run =
        case.run(&["import", "a.db", "codes", "codes.txt", "--no-header", "--index", "column1", "--engine", "memory"]);
    assert!(run.code == 0 && run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn a_checkpoint_keeps_the_rows_of_tables_in_memory() {
    let case = Case::new();
    let script = "CREATE TABLE t1 (c1 INT, INDEX (c1)) ENGINE = memory;
        INSERT INTO t1 VALUES (1), (2), (3);
        CHECKPOINT t1;
        DELETE FROM t1 WHERE c1 = 1;
        SELECT count(*) FROM t1;";
    assert!(case.run_with(&["sql", "a.db", "--format", "csv"], script).well().text().ends_with("\n2\n"));
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t1"), "3");
    case.run(&["recompress", "a.db"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*), sum(c1) FROM t1"), "3,6");
    case.run(&["sql", "a.db", "ALTER TABLE t1 SET (max_memory = '10')"]).well();
    case.run(&["sql", "a.db", "SELECT * FROM t1"]).failed(3, &["table t1 is full", "max_memory"]);
    case.run(&["sql", "a.db", "ALTER TABLE t1 SET (max_memory = '1 MiB')"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*), sum(c1) FROM t1"), "3,6");
}

#[test]
fn a_key_that_the_statement_shows_is_kept_by_a_second_import() {
    let case = Case::new();
    case.write("a.csv", "date,symbol,v\n2024-01-01,A,1\n2024-01-01,B,2\n");
    let arguments = ["import", "a.db", "t", "a.csv", "--key", "symbol,date"];
    assert!(case.run(&arguments).well().text().contains("PRIMARY KEY"));
    let again = case.run(&[&arguments[..], &["--again"]].concat());
    assert_ne!(again.code, 0, "{}", again.stderr);
    assert!(!again.stderr.contains("not used"), "{}", again.stderr);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "2");
}

#[test]
fn the_same_files_count_once_unless_imported_again() {
    let case = Case::new();
    case.write("1.csv", "time,v\n2024-03-01,1\n");
    case.write("2.csv", "time,v\n2024-03-02,2\n");
    let import = |arguments: &[&str]| case.run(&[&["import", "a.db", "t"], arguments].concat()).well().text();
    import(&["1.csv"]);
    assert!(import(&["1.csv"]).contains("imported into this table before"));
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "1");
    // The same content under another name counts as the same file; other content does not.
    std::fs::copy(case.path("1.csv"), case.path("copy.csv")).unwrap();
    assert!(import(&["copy.csv"]).contains("before"));
    assert!(!import(&["2.csv"]).contains("before"));
    import(&["1.csv", "--again"]);
    assert_eq!(case.query("a.db", "SELECT count(*), sum(v) FROM t"), "3,4");
    // After the rows were removed, the file can be imported again, also into a new table of the same name.
    case.run(&["sql", "a.db", "TRUNCATE t"]);
    assert!(!import(&["1.csv"]).contains("before"));
    case.run(&["sql", "a.db", "DROP TABLE t"]);
    assert!(import(&["1.csv"]).contains("CREATE TABLE"));
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "1");
}

#[test]
fn of_a_folder_only_the_new_files_are_stored() {
    let case = Case::new();
    std::fs::create_dir(case.path("f")).unwrap();
    let import = |arguments: &[&str]| case.run(&[&["import", "a.db", "t"], arguments].concat());
    let count = || case.query("a.db", "SELECT count(*) FROM t");
    case.write("f/1.csv", "time,v\n2024-03-01,1\n");
    case.write("f/2.csv", "time,v\n2024-03-02,2\n");
    case.write("f/copy.csv", "time,v\n2024-03-01,1\n");
    let first = import(&["f"]);
    assert!(first.stderr.contains("note: f/copy.csv has the content of f/1.csv"), "{}", first.stderr);
    assert_eq!(count(), "2");
    case.write("f/3.csv", "time,v\n2024-03-03,3\n");
    let second = import(&["f"]);
    assert!(second.stderr.contains("left out 2 files that this table got before"), "{}", second.stderr);
    assert!(second.text().contains("1 row in"), "{}", second.text());
    assert_eq!(count(), "3");
    assert!(import(&["f"]).text().contains("imported into this table before"));
    // Compressed it is the same file; with its name as a column it is not.
    let packed = std::process::Command::new("gzip").args(["-k", "f/2.csv"]).current_dir(case.path("")).status();
    if packed.is_ok_and(|status| status.success()) {
        assert!(import(&["f/2.csv.gz"]).text().contains("before"));
    }
    import(&["f", "--again"]);
    assert_ne!(count(), "3");
    let named = case.run(&["import", "a.db", "u", "f/1.csv", "f/copy.csv", "--file-column", "file"]);
    assert!(!named.stderr.contains("has the content"), "{}", named.stderr);
    assert_eq!(case.query("a.db", "SELECT count(DISTINCT file) FROM u"), "2");
}

#[test]
fn replaced_rows_and_lacking_columns_are_reported() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT) WITH (on_conflict = 'replace')"])
        .well();
    case.write("1.csv", "id,v,w\n1,1,1\n2,2,2\n");
    case.write("2.csv", "id,v\n2,9\n3,3\n");
    assert!(!case.run(&["import", "a.db", "t", "1.csv"]).text().contains("replaced"));
    let run = case.run(&["import", "a.db", "t", "2.csv"]);
    assert!(run.text().contains("2 rows stored; 1 row replaced"), "{}", run.text());
    assert!(run.stderr.contains("note: the files have no column w, which is NULL"), "{}", run.stderr);
    assert_eq!(case.query("a.db", "SELECT sum(v), count(w) FROM t"), "13,1");
}

#[test]
fn a_table_of_a_sqlite_file_is_imported() {
    let case = Case::new();
    let file = rusqlite::Connection::open(case.path("old.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE r (ts INTEGER, id TEXT, v REAL, ok BOOLEAN, raw BLOB);
         INSERT INTO r VALUES (1700000000, '007', 1, 1, x'00ff'), (1700000060, 'it''s \"x\"', NULL, 0, NULL);
         CREATE VIEW w AS SELECT id FROM r",
    )
    .unwrap();
    case.run(&["import", "a.db", "t", "sqlite:old.db"]).failed(1, &["several tables", "sqlite:old.db#r", "r, w"]);
    case.run(&["import", "a.db", "t", "sqlite:old.db"]).failed(1, &["'sqlite:old.db#r'"]);
    case.run(&["import", "a.db", "t", "sqlite:old.db#q"]).failed(2, &["no table named q"]);
    case.run(&["import", "a.db", "t", "sqlite:none.db#q"]).failed(2, &["no file none.db"]);
    case.run(&["import", "a.db", "t", "old.db"]).failed(1, &["sqlite:old.db#TABLE"]);
    case.run(&["sql", "store.db", "CREATE TABLE r (a INT)"]).well();
    for name in ["sqlite:store.db#r", "sqlite:store.db"] {
        case.run(&["import", "a.db", "t", name])
            .failed(1, &["store.db is a store of atsdb", "atsdb copy store.db URL", "--allow-non-empty"]);
    }
    assert!(!case.path("a.db").exists());
    case.run(&["import", "a.db", "t", "sqlite:old.db#r"]).well();
    let rows = case.query("a.db", "SELECT ts, id, v, ok, raw FROM t ORDER BY ts");
    assert_eq!(rows, "2023-11-14T22:13:20Z,007,1.0,true,\\x00ff\n2023-11-14T22:14:20Z,\"it's \"\"x\"\"\",,false,");
    let run = case.run(&["import", "a.db", "u", "sqlite:old.db#w"]);
    assert!(run.code == 0 && run.stderr.contains("a plain table"), "{}", run.stderr);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM u"), "2");
    // Columns that are left out are not read: this text would be refused.
    file.execute_batch("UPDATE r SET id = CAST(x'ff' AS TEXT)").unwrap();
    let refused = case.run(&["import", "a.db", "all", "sqlite:old.db#r"]);
    refused.failed(2, &["row 1, column \"id\": a text is not UTF-8"]);
    for (table, flags) in [("some", ["--columns", "v,ts,at=ok"]), ("rest", ["--omit", "id,raw"])] {
        case.run(&[&["import", "a.db", table, "sqlite:old.db#r"], &flags[..]].concat()).well();
        assert_eq!(case.query("a.db", &format!("SELECT sum(v), count(ts) FROM {table}")), "1.0,2");
    }
    case.run(&["import", "a.db", "n", "sqlite:old.db#r", "--omit", "idd"]).failed(2, &["no column named idd", "id?"]);
}

#[test]
fn a_table_of_a_sqlite_file_without_rows_has_its_declared_columns() {
    let case = Case::new();
    let file = rusqlite::Connection::open(case.path("old.db")).unwrap();
    file.execute_batch("CREATE TABLE r (time DATETIME, day DATE, id VARCHAR(9), v REAL, n INTEGER, ok BOOLEAN, x)")
        .unwrap();
    case.run(&["import", "a.db", "r", "sqlite:old.db#r", "--omit", "n"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*) FROM r"), "0");
    let columns = "SELECT string_agg(data_type, ', ' ORDER BY ordinal_position) FROM information_schema.columns \
                   WHERE table_name = 'r'";
    assert_eq!(case.query("a.db", columns), "\"TIMESTAMP, DATE, TEXT, DOUBLE, BOOLEAN, TEXT\"");
}

#[test]
fn a_dry_run_shows_everything_and_stores_nothing() {
    let case = Case::new();
    case.write("w.csv", "time,v,note\n2024-03-01,1,NA\n2024-03-02,2,x\n2024-03-03\n");
    let run = case.run(&["import", "a.db", "t", "w.csv", "--dry-run"]);
    let refused = case.run(&["import", "a.db", "t", "w.csv"]);
    assert_eq!((run.code, refused.code), (2, 2), "{}", run.stderr);
    assert!(run.stderr.ends_with(&refused.stderr), "{} does not end with {}", run.stderr, refused.stderr);
    let text = run.text();
    for part in ["CREATE TABLE t (", "2024-03-01 | 1 | NULL", "would be refused for these records", "dry run"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(run.stderr.contains("taken as NULL: \"NA\" once (note)"), "{}", run.stderr);
    assert!(run.stderr.contains("w.csv, line 4: has 1 field, the file has 3 columns"), "{}", run.stderr);
    assert_eq!(case.names(), ["w.csv"]);
    let skipping = case.run(&["import", "a.db", "t", "w.csv", "--dry-run", "--skip-bad"]);
    assert!(skipping.code == 0 && skipping.text().contains("2 rows would be stored"), "{}", skipping.text());
    case.run(&["sql", "a.db", "CREATE TABLE t (time DATE, v TINYINT, note TEXT) WITH (time = 'time')"]);
    case.write("x.csv", "time,v,note\n2024-03-01,1000,x\n");
    let existing = case.run(&["import", "a.db", "t", "x.csv", "--dry-run"]);
    assert!(!existing.text().contains("CREATE TABLE") && existing.stderr.contains("out of the range of TINYINT"));
    assert_eq!(existing.code, 2);
    case.run(&["import", "a.db", "t", "x.csv", "--dry-run", "--key", "vv"]).failed(2, &["vv", "did you mean v?"]);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "0");
}

#[test]
fn only_a_table_takes_rows_also_in_a_dry_run() {
    let case = Case::new();
    let create = "CREATE TABLE t (time TIMESTAMP, v INT); CREATE VIEW v AS SELECT v FROM t; CREATE SEQUENCE s;
                  CREATE ROLLUP r ON t EVERY '1 day' AS SELECT sum(v) AS v FROM t";
    case.run(&["sql", "a.db", create]).well();
    case.write("1.csv", "time,v\n2024-03-01,1\n");
    for (name, what) in [("v", "a view:"), ("s", "a sequence:"), ("r", "a rollup, whose rows are computed from t:")] {
        for flags in [&[][..], &["--dry-run"]] {
            case.run(&[&["import", "a.db", name, "1.csv"], flags].concat()).failed(1, &[&format!("{name} is {what}")]);
        }
    }
}

#[test]
fn a_dry_run_knows_the_files_that_the_table_got() {
    let case = Case::new();
    for (name, row) in [("1.csv", "2024-03-01,1"), ("2.csv", "2024-03-02,2"), ("copy.csv", "2024-03-02,2")] {
        case.write(name, format!("time,v\n{row}\n"));
    }
    let twice = case.run(&["import", "a.db", "t", "2.csv", "copy.csv", "--dry-run"]);
    assert!(twice.text().contains("1 row would be stored") && twice.stderr.contains("stored once"), "{}", twice.stderr);
    case.run(&["import", "a.db", "t", "2.csv"]).well();
    case.run(&["import", "a.db", "u", "1.csv"]).well();
    let dry = |table: &str, rest: &[&str]| {
        let run = case.run(&[&["import", "a.db", table, "--dry-run"], rest].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        format!("{}{}", run.text(), run.stderr)
    };
    assert!(dry("u", &["1.csv"]).contains("these files were imported into this table before; nothing would be stored"));
    let one = dry("u", &["1.csv", "2.csv"]);
    assert!(one.contains("1 row would be stored") && one.contains("left out 1 file that this table got"), "{one}");
    assert!(dry("u", &["1.csv", "--again"]).contains("1 row would be stored"));
    assert!(dry("t", &["1.csv"]).contains("1 row would be stored"), "another table got the file");
    assert_eq!(case.query("a.db", "SELECT count(*) FROM u"), "1");
    assert!(case.run(&["import", "a.db", "u", "2.csv"]).well().text().contains("1 row in"), "nothing was recorded");
}

#[test]
fn a_table_that_numbers_its_rows_gives_defaults_too_and_needs_neither_in_the_file() {
    let case = Case::new();
    let create = "CREATE TABLE s (id SERIAL, a INT, unit TEXT NOT NULL DEFAULT 'mm', b INT);
                  CREATE TABLE i (id INT GENERATED ALWAYS AS IDENTITY, a INT, unit TEXT DEFAULT 'mm', b INT)";
    case.run(&["sql", "a.db", create]).well();
    case.write("1.csv", "b,a\n20,10\n21,11\n");
    case.write("2.jsonl", "{\"a\":12,\"b\":22}\n");
    let exported = case.run(&["export", "a.db", "-q", "SELECT 13 AS a, 23 AS b", "-o", "3.parquet"]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    case.write("4.csv", "id,a,b,unit\n1000000,14,24,m\n");
    for table in ["s", "i"] {
        for file in ["1.csv", "2.jsonl", "3.parquet", "4.csv"] {
            let run = case.run(&["import", "a.db", table, file]);
            assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        }
        let rows = case.query("a.db", &format!("SELECT a, unit, b FROM {table} ORDER BY a"));
        assert_eq!(rows, "10,mm,20\n11,mm,21\n12,mm,22\n13,mm,23\n14,m,24", "{table}");
        let numbers = case.query("a.db", &format!("SELECT count(DISTINCT id), min(id), max(id) FROM {table}"));
        assert_eq!(numbers, "5,1,1000000", "{table}");
    }
    // A statement gives values to the columns in their order, and no column may be missing between them.
    case.run(&["sql", "a.db", "COPY s FROM '2.jsonl'"])
        .failed(3, &["the file has no column id", "COPY s (a, unit, b) FROM 'FILE'"]);
    case.run(&["sql", "a.db", "COPY s (a, b) FROM '2.jsonl'"]).well();
    assert_eq!(case.query("a.db", "SELECT count(DISTINCT id), min(unit) FROM s WHERE a = 12 AND b = 22"), "2,mm");
}

#[test]
fn a_table_with_default_functions_needs_neither_time_nor_uuid_in_the_file() {
    let case = Case::new();
    let create = "CREATE TABLE t (time TIMESTAMP DEFAULT now(), id UUID DEFAULT gen_random_uuid(), a INT)";
    case.run(&["sql", "a.db", create]).well();
    case.write("1.csv", "a\n1\n2\n");
    let exported = case.run(&["export", "a.db", "-q", "SELECT 3 AS a", "-o", "2.parquet"]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    case.write("3.csv", "time,a\n2024-01-01,4\n");
    for file in ["1.csv", "2.parquet", "3.csv"] {
        let run = case.run(&["import", "a.db", "t", file]);
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
    }
    let found = "SELECT count(*), count(DISTINCT id), count(DISTINCT time) FROM t WHERE time > '2025-01-01' OR a = 4";
    assert_eq!(case.query("a.db", found), "4,4,3");
    case.run(&["import", "a.db", "t", "1.csv", "3.csv", "--again"])
        .failed(2, &["column time: only some of the files have it, and its default is now()"]);
}

#[test]
fn files_are_named_as_they_were_given() {
    let case = Case::new();
    for (folder, rows) in [("jan", "time,v\n2024-01-01,1\n"), ("feb", "time,v\n2024-02-01,1\nnoon,2\n")] {
        std::fs::create_dir(case.path(folder)).unwrap();
        case.write(&format!("{folder}/a.csv"), rows);
    }
    for files in [&["jan/a.csv", "feb/a.csv"][..], &["feb/a.csv"], &["feb"], &["feb/*.csv"]] {
        let run = case.run(&[&["import", "a.db", "t"], files].concat());
        run.failed(2, &["error: feb/a.csv, line 3, column time"]);
    }
    case.write("feb/b.txt", "only words\n");
    case.run(&["import", "a.db", "t", "feb/b.txt", "--sheet", "x"]).failed(1, &["error: feb/b.txt has no sheet"]);
    std::fs::remove_file(case.path("feb/b.txt")).unwrap();
    let flags = ["jan/a.csv", "feb/a.csv", "--file-column", "file", "--skip-bad"];
    assert_eq!(case.run(&[&["import", "a.db", "t"], &flags[..]].concat()).code, 0);
    assert_eq!(case.query("a.db", "SELECT DISTINCT file FROM t"), "a");
}

#[test]
fn skipped_rows_are_counted() {
    let case = Case::new();
    let table = "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (on_conflict = 'keep')";
    case.run(&["sql", "a.db", table]);
    case.write("1.csv", "id,v\n1,1\n2,2\n");
    case.write("2.csv", "id,v\n2,9\n3,3\n");
    case.run(&["import", "a.db", "t", "1.csv"]);
    let text = case.run(&["import", "a.db", "t", "2.csv"]).text();
    assert!(text.contains("1 row stored; 1 row left out, whose keys exist"), "{text}");
    assert_eq!(case.query("a.db", "SELECT sum(v) FROM t"), "6");
}

#[test]
fn folders_patterns_columns_and_documents_are_imported() {
    let case = Case::new();
    std::fs::create_dir(case.path("logs")).unwrap();
    case.write("logs/a.csv", "time,v,w\n2024-03-01,1,x\n");
    case.write("logs/b.csv", "time,v,w\n2024-03-02,2,y\n");
    case.write("logs/c.txt", "no table");
    case.run(&["import", "a.db", "t", "logs/*.csv", "--columns", "day=time,v", "--time", "day"]).well();
    assert_eq!(case.query("a.db", "SELECT * FROM t ORDER BY day"), "2024-03-01,1\n2024-03-02,2");
    std::fs::remove_file(case.path("logs/c.txt")).unwrap();
    case.run(&["import", "a.db", "u", "logs", "--omit", "w"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*), sum(v) FROM u"), "2,3");
    case.write("logs/c.txt", "no table\n1,2\n");
    let folder = case.run(&["import", "a.db", "v", "logs"]);
    folder.failed(1, &["c.txt has no column in common", "name the files as 'logs/*.csv'"]);
    case.run(&["sql", "SELECT * FROM 'logs'"]).failed(1, &["c.txt", "name the files as 'logs/*.csv'"]);
    case.run(&["import", "a.db", "u", "logs/*.json"]).failed(2, &["no file matches logs/*.json"]);
    case.write("d.json", "{\"n\":2,\"items\":[{\"a\":1},{\"a\":2}]}");
    assert_eq!(case.run(&["import", "a.db", "d", "d.json"]).code, 0);
    assert_eq!(case.query("a.db", "SELECT sum(a) FROM d"), "3");
    case.run(&["import", "a.db", "z", "logs/a.csv", "--zone", "Mars/Base"])
        .failed(1, &["no time zone named Mars/Base"]);
}
