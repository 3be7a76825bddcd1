//! `LOAD DATA` and `COPY ... FROM`: the whole file or nothing is stored, and errors name the place.

use crate::support::Case;

const TABLE: &str = "CREATE TABLE t1 (time TIMESTAMP, place TEXT, n INT DEFAULT 7, x DOUBLE) WITH (map = 'place:u8');";

#[test]
fn files_in_the_forms_of_mysql_and_postgresql_go_into_the_named_columns() {
    let case = Case::new();
    case.write("tabs.txt", "2024-03-01 00:00:00\ta\t1\t\\N\n2024-03-01 01:00:00\tb\t2\t2.5\n");
    case.write("commas.csv", "when,where\n2024-03-02,\"c, d\"\n");
    case.write("copy.csv", "9;2024-03-03\n-;2024-03-04\n");
    case.write("one.txt", "5\n6\n");
    let script = format!(
        "{TABLE}
        LOAD DATA INFILE \"tabs.txt\" INTO TABLE t1;
        LOAD DATA LOCAL INFILE 'commas.csv' INTO TABLE t1 FIELDS TERMINATED BY ',' IGNORE 1 LINES (time, place);
        COPY t1 (n, time) FROM 'copy.csv' WITH (FORMAT csv, DELIMITER ';', NULL '-');
        CREATE TABLE t2 (c1 int, index (c1)) engine memory;
        LOAD DATA INFILE \"one.txt\" INTO TABLE t2;
        SELECT sum(c1), count(*) FROM t2;"
    );
    let loaded = case.run_with(&["sql", "a.db", "--format", "csv"], script).well().text();
    assert!(loaded.ends_with("\n11,2\n"), "{loaded}");
    assert_eq!(
        case.query("a.db", "SELECT time, place, n, x FROM t1 ORDER BY time"),
        "2024-03-01T00:00:00Z,a,1,\n2024-03-01T01:00:00Z,b,2,2.5\n2024-03-02T00:00:00Z,\"c, d\",7,\n\
         2024-03-03T00:00:00Z,,9,\n2024-03-04T00:00:00Z,,,"
    );
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t2"), "0", "rows in memory go with their process");
}

#[test]
fn a_bad_value_leaves_nothing_and_is_named_with_its_place() {
    let case = Case::new();
    let rows: String = (0..20_000).map(|n| format!("2024-03-01,a,{n},0.5\n")).collect();
    case.write("bad.csv", format!("{rows}2024-03-02,a,many,0.5\n"));
    case.run_with(&["sql", "a.db"], TABLE).well();
    case.run(&["sql", "a.db", "COPY t1 FROM 'bad.csv' CSV"]).failed(3, &["bad.csv", "line 20001", "column n", "many"]);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t1"), "0");
    case.run(&["sql", "a.db", "COPY t1 (time, n) FROM 'bad.csv' CSV"])
        .failed(3, &["bad.csv", "line 1", "extra data after last expected column"]);
    case.run(&["sql", "a.db", "COPY t1 FROM 'nowhere.csv' CSV"]).failed(3, &["nowhere.csv"]);
    case.run(&["sql", "a.db", "LOAD DATA INFILE 'bad.csv' INTO TABLE t9"]).failed(3, &["no table named t9"]);
}

#[test]
fn rows_copied_into_a_file_can_be_copied_back() {
    let case = Case::new();
    let script = format!(
        "{TABLE}
        INSERT INTO t1 VALUES ('2024-03-01', 'a, b', 1, NULL), ('2024-03-02', NULL, 2, 2.5);
        COPY t1 TO 'out.csv';
        COPY (SELECT time, n * 2 AS n FROM t1 ORDER BY time) TO 'twice.tsv.gz';
        COPY t1 (time, x) TO 'out.parquet';
        CREATE TABLE t2 AS SELECT * FROM t1 WHERE false;
        COPY t2 FROM 'out.csv' CSV HEADER;"
    );
    case.run_with(&["sql", "a.db"], script).well();
    let rows = case.query("a.db", "SELECT * FROM t1 ORDER BY time");
    assert_eq!(case.query("a.db", "SELECT * FROM t2 ORDER BY time"), rows);
    case.run(&["import", "b.db", "p", "out.parquet"]).well();
    case.run(&["import", "b.db", "t", "twice.tsv.gz"]).well();
    assert_eq!(case.query("b.db", "SELECT count(x), count(*) FROM p"), "1,2");
    assert_eq!(case.query("b.db", "SELECT sum(n) FROM t"), "6");
    case.run(&["sql", "a.db", "COPY (SELECT 1 + 1, 7 # 2 FROM t1 LIMIT 1) TO 'headed.csv'"]).well();
    assert_eq!(case.read("headed.csv"), "1 + 1,7 # 2\n2,5\n");
    case.run(&["sql", "a.db", "COPY nothing TO 'new.csv'"]).failed(3, &["no table named nothing"]);
    assert!(!case.path("new.csv").exists());
}

#[test]
fn options_choose_the_formats_of_postgresql() {
    let case = Case::new();
    let script = format!(
        "{TABLE}
        INSERT INTO t1 VALUES ('2024-03-01 12:00:00.5', E'a\tb, \"c\"', 1, NULL), ('2024-03-02', NULL, 2, 1e20);
        CREATE TABLE t2 AS SELECT * FROM t1 WHERE false;
        COPY (SELECT * FROM t1 ORDER BY time) TO 'plain.unknown';
        COPY t1 TO 'b.bin' BINARY;
        COPY (SELECT * FROM t1 ORDER BY time) TO 'quoted.csv' WITH (FORMAT csv, HEADER, FORCE_QUOTE (n), NULL '-');
        COPY (SELECT time, n FROM t1 ORDER BY n) TO 'n.txt.gz' (HEADER);"
    );
    case.run_with(&["sql", "a.db"], script).well();
    assert_eq!(
        case.read("plain.unknown"),
        "2024-03-01 12:00:00.5+00\ta\\tb, \"c\"\t1\t\\N\n2024-03-02 00:00:00+00\t\\N\t2\t1e+20\n"
    );
    assert_eq!(
        case.read("quoted.csv"),
        "time,place,n,x\n2024-03-01 12:00:00.5+00,\"a\tb, \"\"c\"\"\",\"1\",-\n2024-03-02 00:00:00+00,-,\"2\",1e+20\n"
    );
    let rows = case.query("a.db", "SELECT * FROM t1 ORDER BY time");
    for copy in [
        "COPY t2 FROM 'plain.unknown'",
        "COPY t2 FROM 'b.bin' (FORMAT binary)",
        "COPY t2 FROM 'quoted.csv' (FORMAT csv, HEADER match, NULL '-')",
        "COPY t2 FROM $file CSV HEADER NULL '-'",
    ] {
        case.run(&["sql", "a.db", "-p", "file=quoted.csv", &format!("TRUNCATE t2; {copy}")]).well();
        assert_eq!(case.query("a.db", "SELECT * FROM t2 ORDER BY time"), rows, "{copy}");
    }
    case.run(&["sql", "a.db", "TRUNCATE t2; COPY t2 (time, n) FROM 'n.txt.gz' (HEADER) WHERE n > 1"]).well();
    assert_eq!(case.query("a.db", "SELECT count(*), max(n) FROM t2"), "1,2");
    case.run(&["sql", "a.db", "COPY t2 FROM 'quoted.csv' (FORMAT csv, HEADER match)"])
        .failed(3, &["quoted.csv", "line 2", "column x", "double precision"]);
    case.write("n.csv", "time,n\n2024-03-01,1\n");
    case.run(&["sql", "a.db", "COPY t2 FROM 'x' (FORMAT xml)"]).failed(3, &["COPY format \"xml\" not recognized"]);
    case.run(&["sql", "a.db", "COPY t2 (time, n) FROM 'n.csv' (FORMAT csv)"]).failed(3, &["add HEADER"]);
    case.run(&["sql", "a.db", "COPY t2 FROM PROGRAM 'rm'"]).failed(3, &["name a file"]);
    case.run(&["sql", "a.db", "COPY t2 FROM 'n.txt.gz' WHERE n IN (SELECT 1)"]).failed(3, &["subquery"]);
}

#[test]
fn copy_to_replaces_no_file_unless_asked_and_writes_none_when_read_only() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (n INT); INSERT INTO t VALUES (1)"]);
    case.write("there.csv", "mine");
    case.run(&["sql", "a.db", "COPY t TO 'there.csv'"]).failed(3, &["there.csv", "already exists", "OVERWRITE"]);
    std::os::unix::fs::symlink("elsewhere.csv", case.path("link.csv")).unwrap();
    case.run(&["sql", "a.db", "COPY t TO 'link.csv'"]).failed(3, &["link.csv", "already exists"]);
    assert!(!case.path("elsewhere.csv").exists() && case.read("there.csv") == "mine");
    case.run(&["sql", "a.db", "--read-only", "COPY t TO 'new.csv'"]).failed(3, &["--read-only", "atsdb export"]);
    assert!(!case.path("new.csv").exists());
    case.run(&["sql", "a.db", "COPY t TO 'there.csv' WITH (OVERWRITE)"]).well();
    assert_eq!(case.read("there.csv"), "n\n1\n");
}

#[test]
fn copy_takes_the_name_of_a_format_besides_those_of_postgresql() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (n INT, s TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)"]).well();
    let rows = case.query("a.db", "SELECT * FROM t ORDER BY n");
    for format in ["parquet", "arrow", "json", "jsonl", "ndjson"] {
        let (table, file) = (format!("from_{format}"), format!("{format}.rows"));
        let script = format!(
            "CREATE TABLE {table} (n INT, s TEXT); COPY t TO '{file}' (FORMAT {format}); \
             COPY {table} FROM '{file}' (FORMAT {format})"
        );
        case.run(&["sql", "a.db", &script]).well();
        assert_eq!(case.query("a.db", &format!("SELECT * FROM {table} ORDER BY n")), rows, "{format}");
    }
    assert!(case.read("jsonl.rows").starts_with("{\"n\":1,"), "{}", case.read("jsonl.rows"));
    case.run(&["sql", "a.db", "COPY t TO 'x' (FORMAT xml)"]).failed(3, &["not recognized", "hint: ", "parquet"]);
    case.run(&["sql", "a.db", "COPY t TO 'x' (FORMAT parquet, HEADER)"]).failed(3, &["no other option"]);
    for copy in ["COPY t TO 'x.parquet.gz'", "COPY t TO 'x.gz' (FORMAT parquet)"] {
        case.run(&["sql", "a.db", copy]).failed(3, &["compressed internally", "hint: end the file with .parquet\n"]);
    }
    case.run(&["sql", "a.db", "COPY t TO 'x.xlsx'"]).failed(3, &["hint: end it with .csv, "]);
    assert!(["x", "x.gz", "x.parquet.gz", "x.xlsx"].iter().all(|name| !case.path(name).exists()));
}

#[test]
fn copy_from_takes_patterns_and_folders_as_queries_do() {
    let case = Case::new();
    std::fs::create_dir(case.path("d")).unwrap();
    case.write("d/a.csv", "n\n1\n");
    case.write("d/b.csv", "n\n2\n");
    let script = "CREATE TABLE t (n INT); COPY t FROM 'd/*.csv'; COPY t FROM 'd' (FORMAT csv, HEADER)";
    case.run(&["sql", "a.db", script]).well();
    assert_eq!(case.query("a.db", "SELECT n, count(*) FROM t GROUP BY n ORDER BY n"), "1,2\n2,2");
    case.run(&["sql", "a.db", "COPY t FROM 'd/*.json'"]).failed(3, &["no file matches d/*.json"]);
    // A file may have the name of a pattern.
    case.write("[x].csv", "n\n7\n");
    case.run(&["sql", "a.db", "COPY t FROM '[x].csv'"]).well();
    assert_eq!(case.query("a.db", "SELECT max(n) FROM t"), "7");
}

#[test]
fn copy_to_stdout_writes_there_in_the_order_of_the_statements() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (n INT, s TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)"]).well();
    let script =
        "SELECT 0 AS zero; COPY (SELECT * FROM t ORDER BY n) TO STDOUT (FORMAT csv, HEADER); SELECT 3 AS three";
    let run = case.run(&["sql", "a.db", "--format", "csv", script]).well();
    assert_eq!(run.text(), "zero\n0\nn,s\n1,x\n2,\nthree\n3\n");
    let run = case.run(&["sql", "a.db", "--read-only", "COPY (SELECT * FROM t ORDER BY n) TO STDOUT"]).well();
    assert_eq!(run.text(), "1\tx\n2\t\\N\n");
    // A file for the results has no rows that go elsewhere.
    for copy in ["COPY t TO STDOUT", "copy (select 1) to stdout (format csv)"] {
        let run = case.run(&["sql", "a.db", "-o", "out.csv", copy]);
        run.failed(1, &["COPY TO STDOUT writes to the standard output, not to out.csv", "COPY ... TO 'FILE'"]);
        assert!(!case.path("out.csv").exists(), "{copy}");
    }
    case.run(&["sql", "a.db", "-o", "-", "COPY t TO STDOUT"]).well();
    case.run(&["sql", "a.db", "COPY t FROM STDIN"]).failed(3, &["COPY FROM STDIN", "atsdb import URL TABLE -"]);
}
