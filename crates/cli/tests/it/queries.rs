//! Statements without a verb, without a store, and over files.

use crate::support::Case;

#[test]
fn sql_is_never_taken_for_the_name_of_a_file() {
    let case = Case::new().with_store();
    for arguments in
        [&["sql", "SELECT 1 AS a"][..], &["SELECT 1 AS a"], &["a.db", "SELECT 1 AS a"], &["sql", "a.db", "select 1 a"]]
    {
        let text = case.run(arguments).well().text();
        assert!(text.starts_with("a\n-\n1\n"), "{arguments:?}: {text}");
    }
    case.run(&["sql", "SELECT 1", "a.db"]).failed(1, &["the store comes first", "atsdb sql a.db \"SELECT 1\""]);
    case.run(&["import", "SELECT 1", "t", "x.csv"]).failed(1, &["this is SQL, not a store"]);
    case.run(&["tables", "SELECT 1"]).failed(1, &["this is SQL, not a store"]);
    assert_eq!(case.names(), ["a.db", "setup.sql"]);
}

#[test]
fn only_statements_that_write_create_a_store() {
    let case = Case::new();
    case.run(&["sql", "no.db", "SELECT 1"]).failed(2, &["no.db", "create no store"]);
    case.run_with(&["sql", "no.db"], "SELECT 1;\n").failed(2, &["no.db"]);
    case.run(&["no.db", "SHOW TABLES"]).failed(2, &["no.db"]);
    assert!(case.names().is_empty(), "{:?}", case.names());
    case.run(&["sql", "new.db", "CREATE TABLE t (a INT)"]).well();
    assert_eq!(case.query("new.db", "SELECT count(*) FROM t"), "0");
}

#[test]
fn tables_of_other_databases_are_imported_before_they_are_queried() {
    let case = Case::new().with_store();
    for url in ["sqlite:x.db#t", "postgresql://me:secret@localhost/x#t", "mariadb://localhost/x"] {
        let run = case.run(&["sql", &format!("SELECT * FROM '{url}'")]);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
        run.failed(3, &["not tables of other databases", "atsdb import STORE TABLE 'URL#TABLE'"]);
        let copy = format!("COPY readings FROM '{url}'");
        case.run(&["sql", "a.db", &copy]).failed(3, &["not tables of other databases"]);
    }
}

#[test]
fn statements_say_what_they_changed() {
    let case = Case::new().with_store();
    let run = |sql: &str| case.run(&["sql", "a.db", sql]).stderr;
    assert_eq!(run("UPDATE readings SET count = 1 WHERE sensor = 'a'"), "UPDATE 1\n");
    assert_eq!(run("DELETE FROM readings WHERE sensor = 'nobody'"), "DELETE 0\n");
    assert_eq!(run("SELECT 1"), "");
    let script =
        "INSERT INTO readings (time) VALUES ('2024-05-01'), ('2024-05-02');\nDELETE FROM readings WHERE count = 1;\n";
    let total = case.run_with(&["sql", "a.db"], script).stderr;
    assert_eq!(total, "2 statements executed, 3 rows changed\n");
}

#[test]
fn files_are_tables_of_a_query() {
    let case = Case::new().with_store();
    case.write(
        "day.csv",
        "Report of a day\nTime,Sensor,Temp\n2024-03-01 00:00:00,a,\"1,5\"\n2024-03-01 01:00:00,b,\"2,5\"\n",
    );
    case.write("more.jsonl", "{\"sensor\":\"a\",\"place\":{\"x\":1}}\n{\"sensor\":\"b\",\"place\":{\"x\":2}}\n");
    let query = |sql: &str| {
        let text = case.run(&["sql", sql, "--format", "csv"]).well().text();
        text.split_once('\n').map(|(_, rows)| rows.trim_end().to_owned()).unwrap_or_default()
    };
    assert_eq!(query("SELECT count(*), sum(temp), max(time) FROM 'day.csv'"), "2,4.0,2024-03-01T01:00:00Z");
    assert_eq!(query("SELECT day.temp FROM 'day.csv' WHERE sensor = 'b'"), "2.5");
    assert_eq!(query("SELECT count(*) FROM read_csv('day.csv', null = 'b') WHERE sensor IS NULL"), "1");
    for sql in ["SELECT * FROM day.csv", "SELECT * FROM \"day.csv\""] {
        case.run(&["sql", sql]).failed(3, &["no table named day.csv", "in quotes: FROM 'day.csv'"]);
    }
    let joined =
        "SELECT d.temp, \"place.x\" FROM 'day.csv' d JOIN read_json('more.jsonl') j ON d.sensor = j.sensor ORDER BY 1";
    assert_eq!(query(joined), "1.5,1\n2.5,2");
    assert_eq!(query("SELECT count(*) FROM read_csv('day.csv', skip = 1, header = false)"), "3");
    case.run(&["sql", "COPY (SELECT 1 AS n) TO 'n.parquet'"]).well();
    assert_eq!(query("SELECT n FROM read_parquet('n.parquet') UNION ALL SELECT n FROM 'n.parquet'"), "1\n1");
    let both = "read_json(['more.jsonl', 'n.jsonl'], file_column = 'file', union_by_name = true)";
    case.write("n.jsonl", "{\"sensor\":\"c\",\"place\":{\"x\":3}}\n");
    assert_eq!(query(&format!("SELECT sensor, file FROM {both} ORDER BY sensor")), "a,more\nb,more\nc,n");
    case.run(&["sql", "SELECT 1 FROM read_csv([])"]).failed(3, &["read_csv takes the name of a file, or a list"]);
    case.run(&["sql", "SELECT 1 FROM read_csv('day.csv', filename = true)"]).failed(3, &["file_column = 'filename'"]);
    case.run(&["sql", "SELECT tostartofhour(time) FROM 'day.csv'"]).failed(3, &["time_bucket('1 hour', x)"]);
    assert_eq!(query("SELECT extract(year FROM TIMESTAMP '2024-01-01')"), "2024");
    // With a store, and loading into one.
    assert_eq!(case.query("a.db", "SELECT count(*) FROM readings JOIN 'day.csv' d ON d.sensor = readings.sensor"), "1");
    case.run(&["sql", "a.db", "CREATE TABLE day AS SELECT * FROM 'day.csv'"]).well();
    assert_eq!(case.query("a.db", "SELECT sum(temp) FROM day"), "4.0");
    case.run(&["sql", "SELECT * FROM 'missing.csv'"]).failed(3, &["missing.csv"]);
    case.run(&["sql", "SELECT * FROM read_csv('day.csv', skp = 1)"])
        .failed(3, &["skp", "not an option of a file", "skip"]);
    case.run(&["sql", "a.db", "CREATE VIEW v AS SELECT * FROM 'day.csv'"])
        .failed(3, &["may not read files", "CREATE TABLE t AS SELECT"]);
    case.write("short.csv", "a,b\n1,2\n3\n");
    let hint = "hint: correct the line, or leave such lines out: read_csv('FILE', skip_bad = true)";
    case.run(&["sql", "SELECT * FROM 'short.csv'"]).failed(3, &["short.csv, line 3", hint]);
    let run = case.run(&["sql", "SELECT sum(a) FROM read_csv('short.csv', skip_bad = true)", "--format", "csv"]);
    assert_eq!((run.code, run.text().lines().last()), (0, Some("1")), "{}", run.stderr);
    let left_out = "note: short.csv: left out 1 bad record, the first is short.csv, line 3: has 1 field";
    assert!(run.stderr.starts_with(left_out), "{}", run.stderr);
}

#[test]
fn errors_about_files_name_the_options_of_a_query() {
    let case = Case::new();
    case.write("two.csv", "a,b\n1,2\n2,3\n\nc,d\n3,4\n");
    case.write("wider.csv", "a,b\n1,2\n2,3\n\nc,d,e\n3,4,5\n");
    let alone =
        "hint: if another table begins there, read_csv('FILE', skip = 4) reads it alone; otherwise correct the line";
    let or_left_out = format!("{alone}, or leave such lines out: read_csv('FILE', skip_bad = true)");
    let refused = |sql: &str, parts: &[&str]| {
        let run = case.run(&["sql", sql]);
        assert!(run.code != 0 && parts.iter().all(|part| run.stderr.contains(part)), "{sql}: {}", run.stderr);
        assert!(!run.stderr.contains("--"), "{sql}: {}", run.stderr);
    };
    refused("SELECT * FROM 'two.csv'", &["line 5: another table", alone]);
    refused("SELECT * FROM 'wider.csv'", &["wider.csv, line 5", &or_left_out]);
    case.write("drawn.txt", "disk usage\n\nName    Size   Used\n/a b    1G     2G\n/c      1G     2G\n");
    refused("SELECT * FROM 'drawn.txt'", &["drawn.txt: blanks align its columns", "sep = 'space', skip = N"]);
    for option in ["columns", "omit", "time"] {
        let message = format!("{option}: no column named x");
        refused(&format!("SELECT * FROM read_csv('two.csv', skip = 4, {option} = 'x')"), &[&message]);
    }
    let message = "unpivot: two.csv: no column named x";
    refused("SELECT * FROM read_csv('two.csv', skip = 4, unpivot = 'x')", &[message]);
}

#[test]
fn options_that_mean_nothing_for_parquet_are_refused_when_a_query_is_planned() {
    let case = Case::new();
    case.run(&["sql", "COPY (SELECT 1 AS n) TO 'n.parquet'"]).well();
    for (option, what) in [
        ("skip = 1", "skip is for separated values, and n.parquet is not in that format"),
        ("sep = ';'", "sep is for separated values"),
        ("quote = ''", "quote is for separated values"),
        ("path = 'a'", "path is for JSON and line protocol"),
        ("unpivot = 'n'", "columns become rows in separated values only"),
    ] {
        let sql = format!("EXPLAIN SELECT n FROM read_parquet('n.parquet', {option})");
        let run = case.run(&["sql", &sql]);
        assert!(run.code != 0 && run.stderr.contains(what) && !run.stderr.contains("--"), "{option}: {}", run.stderr);
    }
}

#[test]
fn statements_note_what_a_file_says_otherwise_than_they_read_it() {
    let case = Case::new();
    case.write("x.csv", "code,v\nDE,0.1234567890123456789\nNA,2.5\n,\\N\n");
    case.write("plain.csv", "code,v\nDE,1\n\"NA\",2\n,\n");
    let null = "note: x.csv: taken as NULL: \"NA\" once (code); read_csv('FILE', null = 'TEXT') replaces these texts\n";
    let rounded = "note: x.csv: column v: 1 value of more than 17 digits rounded to DOUBLE, the first is \
                   \"0.1234567890123456789\"; atsdb import --map v keeps all digits, as text\n";
    let run =
        case.run(&["sql", "SELECT count(a.code), count(*) FROM 'x.csv' a CROSS JOIN 'x.csv' b", "--format", "csv"]);
    assert_eq!((run.code, run.text().lines().last()), (0, Some("3,9")), "{}", run.stderr);
    assert_eq!(run.stderr, format!("{null}{rounded}"), "each note comes once");
    let copied = case.run(&["sql", "a.db", "CREATE TABLE t (code TEXT, v DOUBLE); COPY t FROM 'x.csv'"]);
    assert!(copied.code == 0 && copied.stderr.contains(null) && copied.stderr.contains(rounded), "{}", copied.stderr);
    assert_eq!(case.query("a.db", "SELECT count(code), count(*) FROM t"), "1,3");
    // The texts were named, or are words in quotes.
    let named = case.run(&["sql", "SELECT code FROM read_csv('x.csv', null = 'NA')"]);
    assert!(!named.stderr.contains("taken as NULL"), "{}", named.stderr);
    case.run(&["sql", "SELECT count(code) FROM 'plain.csv'"]).well();
}

#[test]
fn the_order_of_day_and_month_is_an_option_of_a_file() {
    let case = Case::new();
    case.write("d.csv", "day,v\n01/02/2024,1\n03/04/2024,2\n");
    case.run(&["sql", "SELECT max(day) FROM 'd.csv'"]).failed(
        1,
        &["no date shows which number is the day", "hint: name the order: read_csv('FILE', date_order = 'dmy')"],
    );
    for (order, last) in [("dmy", "2024-04-03"), ("mdy", "2024-03-04")] {
        let sql = format!("SELECT max(day) FROM read_csv('d.csv', date_order = '{order}')");
        let text = case.run(&["sql", &sql, "--format", "csv"]).well().text();
        assert_eq!(text.lines().last(), Some(last), "{order}");
    }
    case.run(&["sql", "SELECT 1 FROM read_csv('d.csv', date_order = 'ymd')"])
        .failed(3, &["date_order", "cannot be that"]);
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let case = Case::new();
    let table = "time,v\n2024-01-01,1\n2024-01-02,2\n";
    let run = case.run_with(&["sql", "SELECT sum(v), max(time) FROM '/dev/stdin'", "--format", "csv"], table).well();
    assert_eq!(run.text().lines().last(), Some("3,2024-01-02"));
    case.run_with(&["import", "a.db", "t", "/dev/stdin"], table).well();
    assert_eq!(case.query("a.db", "SELECT sum(v) FROM t"), "3");
    case.run_with(&["import", "a.db", "t", "/dev/stdin"], "time,v\n2024-01-01,x\n")
        .failed(2, &["/dev/stdin, line 2", "\"x\""]);
}

#[test]
fn queries_read_only_the_columns_of_parquet_that_they_need() {
    let case = Case::new();
    let rows = "SELECT 1700000000 + i AS ts, 's' || (i % 5) AS s, i AS n, i / CAST(4 AS DOUBLE) AS x, DATE '2024-01-01' AS d, \
                '2024-01-0' || (1 + i % 9) AS texts FROM generate_series(0, 99999) t(i)";
    for file in ["a.parquet", "a.arrow"] {
        case.run(&["sql", &format!("COPY ({rows}) TO '{file}'")]).well();
        let query = |sql: &str| {
            let run = case.run(&["sql", &sql.replace("FILE", &format!("'{file}'")), "--format", "csv"]).well();
            run.text().lines().skip(1).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(query("SELECT count(*) FROM FILE"), "100000");
        // Whole numbers in a column of such a name are times, whichever columns are asked for.
        assert_eq!(query("SELECT max(ts) FROM FILE"), "2023-11-16T01:59:59Z");
        assert_eq!(
            query("SELECT s, sum(n), max(x) FROM FILE WHERE ts < '2023-11-15' GROUP BY 1 ORDER BY 1 LIMIT 1"),
            "s0,4092800,1598.75"
        );
        assert_eq!(query("SELECT texts, d FROM FILE WHERE n = 99999"), "2024-01-01,2024-01-01");
        assert_eq!(query("SELECT count(*) FROM FILE a JOIN FILE b ON a.n = b.n + 1 WHERE a.s = 's1'"), "20000");
        case.run(&["import", "a.db", &file[2..], file]).well();
        let types = |sql: &str| query(&format!("DESCRIBE {sql}")).replace(",false", ",true");
        let stored = case.run(&["sql", "a.db", &format!("DESCRIBE {}", &file[2..]), "--format", "csv"]).text();
        let stored = stored
            .lines()
            .skip(1)
            .map(|line| line.split(',').take(2).collect::<Vec<_>>().join(","))
            .collect::<Vec<_>>();
        let found = types("SELECT * FROM FILE");
        for column in stored {
            assert!(found.contains(&column), "{file}: {column} is not in {found}");
        }
    }
}

#[test]
fn files_have_the_types_in_queries_that_an_import_gives() {
    let case = Case::new();
    let id = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let table = "CREATE TABLE s (time TIMESTAMP, id UUID, doc JSON, price DECIMAL(10, 2), clock TIME, ids UUID[])";
    let row =
        format!("INSERT INTO s VALUES ('2024-01-01', '{id}', '{{\"a\": [1]}}', 1.50, '12:30:00', '{{{id},NULL}}')");
    case.run(&["sql", "a.db", &format!("{table}; {row}")]).well();
    for file in ["b.parquet", "b.arrow"] {
        case.run(&["sql", "a.db", &format!("COPY (SELECT * FROM s) TO '{file}'")]).well();
        let copy = &file[2..];
        case.run(&["import", "a.db", copy, file]).well();
        let types = |sql: &str| {
            let text = case.run(&["sql", "a.db", sql, "--format", "csv"]).well().text();
            let column = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
            text.lines().skip(1).map(column).collect::<Vec<_>>()
        };
        let imported = types(&format!("DESCRIBE {copy}"));
        assert_eq!(types(&format!("DESCRIBE SELECT * FROM '{file}'")), imported, "{file}");
        assert!(imported.contains(&"id,UUID".to_owned()) && imported.contains(&"doc,JSON".to_owned()), "{imported:?}");
        let query = |sql: &str| {
            let text = case.run(&["sql", sql, "--format", "csv"]).well().text();
            text.lines().skip(1).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(query(&format!("SELECT id, price, clock FROM '{file}'")), format!("{id},1.50,12:30:00"), "{file}");
        assert_eq!(
            query(&format!("SELECT count(*) FROM '{file}' WHERE id = '{id}' AND ids[1] = '{id}'")),
            "1",
            "{file}"
        );
    }
}

#[test]
fn the_flags_of_an_import_are_options_of_the_functions() {
    let case = Case::new();
    case.write("w.csv", "day,clock,s1,s2,note\n2024-01-01,10:00,1,2,x\n2024-01-01,11:00,3,4,y\n");
    case.write("bare.csv", "1700000000000,a\n1700000001000,b\n");
    let query = |sql: &str| {
        let text = case.run(&["sql", sql, "--format", "csv"]).well().text();
        text.lines().skip(1).collect::<Vec<_>>().join(" ")
    };
    let long = "read_csv('w.csv', omit = 'note', unpivot = 's*', unpivot_into = 'sensor,v', time = 'day,clock')";
    assert_eq!(
        query(&format!("SELECT max(time), count(*), sum(v), min(sensor) FROM {long}")),
        "2024-01-01T11:00:00Z,4,10,s1"
    );
    let apart = "read_csv('w.csv', time = 'day', columns = 'day,c=clock')";
    assert_eq!(query(&format!("SELECT max(day), max(c) FROM {apart}")), "2024-01-01,11:00");
    let bare = "read_csv('bare.csv', header = false, columns = 'ts,name', time_unit = 'ms', file_column = 'file')";
    assert_eq!(query(&format!("SELECT max(ts), max(name), max(file) FROM {bare}")), "2023-11-14T22:13:21Z,b,bare");
    case.run(&["sql", "COPY (SELECT 1 AS n, 'x' AS s) TO 'n.parquet'"]).well();
    let parquet = "read_parquet('n.parquet', columns = 'm=n', file_column = 'file')";
    assert_eq!(query(&format!("SELECT m, file FROM {parquet}")), "1,n");
    for (options, message) in [
        ("skp = 1", "the options are columns, date_order, decimal_separator"),
        ("unpivot_into = 'a,b'", "it names the columns that unpivot makes"),
        ("skip = 'x'", "it is a number of lines"),
        ("time_unit = 'h'", "time_unit: "),
    ] {
        let run = case.run(&["sql", &format!("SELECT * FROM read_csv('w.csv', {options})")]);
        assert!(run.code != 0 && run.stderr.contains(message), "{options}: {}", run.stderr);
    }
}

/// Times that are texts are read as the texts of CSV files are; if one of them is not a time, the column is text.
#[test]
fn times_of_parquet_may_be_texts() {
    let case = Case::new();
    let texts = "'2024-01-01 10:0' || (i % 10) AS time, i AS v FROM generate_series(0, 9) t(i)";
    case.run(&["sql", &format!("COPY (SELECT {texts}) TO 'a.parquet'")]).well();
    let odd = "CASE i WHEN 9 THEN 'unknown' ELSE '2024-01-01 10:0' || (i % 10) END AS time, i AS v FROM generate_series(0, 9) t(i)";
    case.run(&["sql", &format!("COPY (SELECT {odd}) TO 'b.parquet'")]).well();
    let query = |sql: &str| case.run(&["sql", sql, "--format", "csv"]).well().text();
    assert_eq!(query("SELECT count(*), max(time) FROM 'a.parquet'"), "count(*),max(time)\n10,2024-01-01T10:09:00Z\n");
    assert_eq!(query("SELECT max(v), max(time) AS t FROM 'b.parquet'"), "max(v),t\n9,unknown\n");
    case.run(&["import", "a.db", "t", "a.parquet"]).well();
    assert_eq!(case.query("a.db", "SELECT max(time) FROM t"), "2024-01-01T10:09:00Z");
}

#[test]
fn files_of_more_rows_than_fit_the_memory_are_queried() {
    let case = Case::new();
    let row = |row: u32| format!("{},s{},{},{}\n", 1_700_000_000 + row, row % 7, f64::from(row) / 8.0, row % 100);
    case.write("big.csv", format!("ts,sensor,v,n\n{}", (0..200_000).map(row).collect::<String>()));
    for sql in [
        "SELECT count(*) FROM 'big.csv'",
        "SELECT sensor, n, sum(v), max(ts) FROM 'big.csv' WHERE n < 2 GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT v, sensor FROM 'big.csv' ORDER BY v LIMIT 3",
        "SELECT count(*), sum(b.v) FROM 'big.csv' a JOIN 'big.csv' b ON a.ts = b.ts WHERE a.n = 5",
    ] {
        let (wide, narrow) = (case.run(&["sql", sql]), case.run(&["sql", sql, "--memory", "16MiB"]));
        assert_eq!(narrow.code, 0, "{sql}: {}", narrow.stderr);
        assert_eq!(narrow.text(), wide.text(), "{sql}");
    }
}

#[test]
fn unknown_formats_are_refused() {
    let case = Case::new();
    case.run(&["sql", "SELECT 1", "-o", "x.xlsx"]).failed(1, &["x.xlsx", "spreadsheets open .csv"]);
    assert!(case.names().is_empty());
}

#[test]
fn the_doctors_statements_keep_keys_indexes_defaults_numbers_and_views() {
    let case = Case::new();
    let rows = "SELECT TIMESTAMP '2024-01-01' + i * INTERVAL '1 hour', 'c' || (i % 7), 'd' || (i % 3), i FROM \
                generate_series(1, 2000) g(i)";
    let declared = "CREATE TABLE k (id BIGINT GENERATED ALWAYS AS IDENTITY, time TIMESTAMP, c TEXT, d TEXT NOT NULL \
                    DEFAULT 'none', v DOUBLE, PRIMARY KEY (c, time), INDEX of_v (v)) WITH (time = 'time', slice = 'hour')";
    let script = format!(
        "{declared}; INSERT INTO k (time, c, d, v) {rows}; CREATE VIEW w AS SELECT c, sum(v) AS s FROM k GROUP BY c;
         CREATE TABLE r (time TIMESTAMP, c TEXT, d TEXT, v DOUBLE) WITH (time = 'time'); INSERT INTO r {rows};
         CREATE ROLLUP daily ON r EVERY '1 day' AS SELECT c, sum(v) AS s FROM r GROUP BY c"
    );
    case.run(&["sql", "a.db", &script]).well();
    let hash = "SELECT count(*), sum(id), sum(v), min(d), max(c) FROM k";
    let before = case.query("a.db", hash);
    let json = case.run(&["doctor", "a.db", "--format", "json"]).well().text();
    let advice: serde_json::Value = serde_json::from_str(&json).unwrap();
    for fix in advice.as_array().unwrap().iter().map(|advice| advice["fix"].as_str().unwrap()) {
        let statements: Vec<&str> = fix.lines().filter(|line| !line.starts_with("atsdb ")).collect();
        if !statements.is_empty() {
            case.run(&["sql", "a.db", &statements.join("\n")]).well();
        }
    }
    let schema = case.run(&["schema", "a.db"]).well().text();
    let changed = "d TEXT NOT NULL DEFAULT 'none',\n    v DOUBLE,\n    PRIMARY KEY (c, time),\n    INDEX of_v (v)\n) WITH \
                   (time = 'time', slice = 'year', map = 'c:u8, d:u8')";
    // A rollup reads the column c, and not d.
    for part in [changed, "map = 'd:u8'", "CREATE ROLLUP daily", "setval('public.k_id_seq', 2000)"] {
        assert!(schema.contains(part), "{part}: {schema}");
    }
    assert_eq!(case.query("a.db", hash), before);
    assert_eq!(case.query("a.db", "SELECT sum(s) FROM w"), "2001000.0");
    let after = case.run(&["doctor", "a.db", "--format", "json"]).well().text();
    assert!(!after.contains("dictionary") && !after.contains("too many"), "{after}");
}

#[test]
fn the_doctor_finds_what_is_slow_large_or_risky_and_its_statements_work() {
    let case = Case::new();
    let rows: String = (0..3_000)
        .map(|row| {
            format!(
                "2024-{:02}-{:02} 00:00:{:02},state{},v{}\n",
                row % 12 + 1,
                row % 28 + 1,
                row % 60,
                row % 3,
                row % 220
            )
        })
        .collect();
    case.write("w.csv", format!("time,state,device\n{rows}"));
    let table = "CREATE TABLE t (time TIMESTAMP, state TEXT, device TEXT) WITH (time = 'time', slice = 'hour', map = 'device:u8')";
    case.run(&["sql", "a.db", table]).well();
    assert_eq!(case.run(&["import", "a.db", "t", "w.csv"]).code, 0);
    let found = case.run(&["doctor", "a.db"]).well().text();
    for part in [
        "column state is text of 3 values among 3,000 rows",
        "the dictionary of column device holds 220 of 256 values",
        "SET (map = 'device:u16')",
        "backups were not checked: pass their folder or bucket with --backup",
        "atsdb backup a.db",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let json = case.run(&["doctor", "a.db", "t", "--format", "json"]).well().text();
    let advice: serde_json::Value = serde_json::from_str(&json).unwrap();
    for fix in advice.as_array().unwrap().iter().map(|advice| advice["fix"].as_str().unwrap()) {
        let statements: Vec<&str> = fix.lines().filter(|line| !line.starts_with("atsdb ")).collect();
        if !statements.is_empty() {
            case.run(&["sql", "a.db", &statements.join("\n")]).well();
        }
    }
    case.run(&["recompress", "a.db"]).well();
    case.run(&["backup", "a.db", "backups"]);
    assert_eq!(case.run(&["doctor", "a.db", "--backup", "backups"]).well().text(), "nothing to advise\n");
    // Backups of another store, and those of some of the tables, do not protect this one.
    case.run(&["sql", "b.db", "CREATE TABLE t (a INT); CREATE TABLE u (a INT)"]).well();
    for tables in [&["t"][..], &[]] {
        let found = case.run(&["doctor", "b.db", "--backup", "backups"]).well().text();
        assert!(found.contains("no whole backup of this store in backups"), "{tables:?}: {found}");
        case.run(&[&["backup", "b.db", "backups"], tables].concat());
    }
    assert_eq!(case.run(&["doctor", "b.db", "--backup", "backups"]).well().text(), "nothing to advise\n");
    assert_eq!(case.query("a.db", "SELECT count(DISTINCT state), count(*) FROM t"), "3,3000");
}

#[test]
fn the_doctor_finds_rows_that_are_not_sealed_and_too_many_slices() {
    let case = Case::new();
    let fill = "CREATE TABLE t (time TIMESTAMP, v DOUBLE) WITH (time = 'time', slice = 'day');
                INSERT INTO t SELECT TIMESTAMP '2024-01-01' + i * INTERVAL '1 day', i FROM generate_series(0, 249) g(i)";
    case.run(&["sql", "a.db", fill]).well();
    let found = case.run(&["doctor", "a.db", "t"]).well().text();
    for part in [
        "slow: table t: 250 chunks are not sealed\n  atsdb recompress a.db t\n",
        "slow: table t: too many slices: 250 slices of 1 row on average\n",
        "t SET (slice = 'year');\n  atsdb recompress a.db t\n",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    case.run(&["sql", "a.db", "ALTER TABLE t SET (slice = 'year')"]).well();
    case.run(&["recompress", "a.db", "t"]).well();
    assert_eq!(case.run(&["doctor", "a.db", "t"]).well().text(), "nothing to advise\n");
    assert_eq!(case.query("a.db", "SELECT count(*), sum(v) FROM t"), "250,31125.0");
    let many = "CREATE TABLE u (time TIMESTAMP, v DOUBLE) WITH (time = 'time', slice = 'day');
                INSERT INTO u SELECT TIMESTAMP '2024-01-01' + i * INTERVAL '1 second', i FROM generate_series(1, 120000) g(i)";
    case.run(&["sql", "a.db", many]).well();
    let found = case.run(&["doctor", "a.db", "u"]).well().text();
    let finding =
        "large: table u: 120,000 of 120,000 rows are not sealed: sealed rows take less space\n  atsdb recompress";
    assert!(found.contains(finding), "{found}");
    case.run(&["recompress", "a.db", "u"]).well();
    assert_eq!(case.run(&["doctor", "a.db", "u"]).well().text(), "nothing to advise\n");
}

#[test]
fn a_script_needs_no_store() {
    let case = Case::new();
    case.write("v.csv", "v\n1\n2\n");
    let script = "CREATE TABLE t AS SELECT max(v) AS s FROM 'v.csv';\nSELECT s FROM t;\n";
    case.write("q.sql", script);
    let note = "note: no store was named";
    for run in [
        case.run(&["sql", "-f", "q.sql", "--format", "csv"]),
        case.run_with(&["sql", "--format", "csv"], script),
        case.run_with(&["sql", "-f", "-", "--format", "csv"], script),
    ] {
        assert!(run.code == 0 && run.stderr.contains(note), "{}", run.stderr);
        assert_eq!(run.text(), "s\n2\n");
    }
    assert_eq!(case.run_with(&["sql", "--format", "csv"], "SELECT 1 AS a").well().text(), "a\n1\n");
}

#[test]
fn an_error_shows_its_position_in_the_statement() {
    let case = Case::new().with_store();
    case.run(&["sql", "a.db", "SELECT count,\n  sensr FROM readings"])
        .failed(3, &["error: no column named sensr\n", "\n    sensr FROM readings\n    ^\n"]);
    case.run(&["sql", "SELECT (1"]).failed(3, &["  SELECT (1\n           ^\n"]);
    case.write("s.sql", "SELECT 1;\nSELECT sensr\nFROM readings;\n");
    case.run(&["sql", "a.db", "-f", "s.sql"]).failed(3, &["s.sql, line 2: no column", "  SELECT sensr\n         ^\n"]);
}
