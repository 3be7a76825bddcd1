//! The commands that report, and those that change stored data.

use crate::support::Case;
use serde_json::Value;

fn json(case: &Case, verb: &str) -> Value {
    let text = case.run(&[verb, "a.db", "--format", "json"]).well().text();
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn stats_has_the_fields_that_programs_rely_on() {
    let case = Case::new().with_store();
    let stats = json(&case, "stats");
    let table = &stats[0];
    assert_eq!(
        (table["name"].as_str(), table["rows"].as_u64(), table["slices"].as_u64()),
        (Some("readings"), Some(3), Some(2))
    );
    for field in ["chunks", "fresh_chunks", "bytes", "bytes_per_row"] {
        assert!(table[field].as_f64().is_some_and(|number| number > 0.0), "{field}: {table}");
    }
    assert_eq!(table["time_min"].as_str(), Some("2024-03-01T00:00:00Z"));
    assert_eq!(table["time_max"].as_str(), Some("2024-03-02T00:00:00Z"));
    let column = &table["columns"][1];
    assert_eq!((column["name"].as_str(), column["type"].as_str()), (Some("sensor"), Some("text")));
    assert!(column["encoding"].is_string() && column["bytes"].as_u64().is_some(), "{column}");
    let text = case.run(&["stats", "a.db", "readings"]).well().text();
    assert!(text.contains("bytes a row") && text.contains("encoding"), "{text}");
    assert!(!case.run(&["stats", "a.db"]).well().text().contains("the store:"));
    case.run(&["sql", "a.db", "CREATE TABLE other (a INT); INSERT INTO other VALUES (1)"]).well();
    let text = case.run(&["stats", "a.db"]).well().text();
    assert!(text.contains("\nthe store: 2 tables, 4 rows, "), "{text}");
}

#[test]
fn tables_schema_and_slices_show_what_there_is() {
    let case = Case::new().with_store();
    let tables = json(&case, "tables");
    assert_eq!((tables[0]["name"].as_str(), tables[0]["time"].as_str()), (Some("readings"), Some("time")));
    assert_eq!(json(&case, "schema")[0]["columns"][1]["map"].as_str(), Some("u8"));
    let schema = case.run(&["schema", "a.db"]).well().text();
    case.run(&["sql", "b.db", &schema]).well();
    assert_eq!(case.run(&["schema", "b.db"]).well().text(), schema);
    let slices = json(&case, "slices");
    assert_eq!(slices.as_array().unwrap().len(), 2);
    assert_eq!((slices[0]["slice"].as_str(), slices[0]["rows"].as_u64()), (Some("2024-03-01"), Some(2)));
    for verb in ["tables", "slices"] {
        assert!(case.run(&[verb, "a.db", "readings"]).well().text().contains("readings"), "{verb}");
    }
}

#[test]
fn recompress_seals_and_changes_no_answer() {
    let case = Case::new().with_store();
    let rows = case.query("a.db", "SELECT * FROM readings ORDER BY time");
    let text = case.run(&["recompress", "a.db"]).well().text();
    assert!(text.starts_with("sealed 3 rows in 2 slices: ") && text.contains("; 2 chunks before, 2 after; "), "{text}");
    assert!(text.contains("durability full"), "{text}");
    assert_eq!(json(&case, "stats")[0]["fresh_chunks"].as_u64(), Some(0));
    assert_eq!(case.query("a.db", "SELECT * FROM readings ORDER BY time"), rows);
    assert_eq!(case.run(&["recompress", "a.db", "readings"]).well().text(), "everything is sealed already\n");
}

#[test]
fn retain_drops_what_has_expired() {
    let case = Case::new();
    let sql = "CREATE TABLE t (time TIMESTAMP, v INT) WITH (time = 'time', retention = '2 years');
        INSERT INTO t VALUES ('1999-01-01T00:00:00Z', 1); INSERT INTO t SELECT date_trunc('second', now()), 2";
    let run = case.run(&["sql", "a.db", sql]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let dropped = json(&case, "retain");
    assert_eq!(dropped["rows"].as_u64(), Some(1), "{dropped}");
    assert_eq!(case.query("a.db", "SELECT v FROM t"), "2");
    assert_eq!(case.run(&["retain", "a.db", "t"]).well().text(), "nothing has expired\n");
}

#[test]
fn verify_is_quiet_about_a_whole_store_and_names_what_is_damaged() {
    let case = Case::new().with_store();
    assert!(case.run(&["verify", "a.db"]).well().text().starts_with("no damage: 1 table,"));
    // A rollup keeps a change log, which nobody sees as a table.
    let rollup =
        "CREATE TABLE t (time TIMESTAMP, v INT); CREATE ROLLUP r ON t EVERY '1 day' AS SELECT sum(v) AS v FROM t";
    case.run(&["sql", "rollup.db", rollup]).well();
    assert!(case.run(&["verify", "rollup.db"]).well().text().starts_with("no damage: 2 tables,"));
    let store = rusqlite::Connection::open(case.path("a.db")).unwrap();
    // A small chunk has its pages in its row; the last bytes belong to the last page.
    let damage = "UPDATE atsdb_chunk SET pages = CAST(substr(pages, 1, length(pages) - 4) || x'00000000' AS BLOB)
        WHERE id = (SELECT min(id) FROM atsdb_chunk)";
    assert_eq!(store.execute(damage, []).unwrap(), 1);
    drop(store);
    let run = case.run(&["verify", "a.db"]);
    assert!(run.text().contains("table readings, chunk "), "{}", run.text());
    run.failed(2, &["damaged in 1 place"]);
    let run = case.run(&["verify", "a.db", "readings", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.text()).unwrap();
    assert_eq!((run.code, report["findings"].as_array().map(Vec::len)), (2, Some(1)), "{report}");
}

#[test]
fn verify_of_a_cut_file_says_what_else_to_do() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)"]).well();
    let file = std::fs::OpenOptions::new().write(true).open(case.path("a.db")).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let run = case.run(&["verify", "a.db"]).failed(2, &["a.db is damaged", "backup"]);
    assert!(!run.stderr.contains("run verify"), "{}", run.stderr);
}

#[test]
fn verify_does_not_take_a_shortage_for_damage() {
    let case = Case::new();
    // A page file for each day.
    let fill = "CREATE TABLE t (time TIMESTAMP, x DOUBLE) WITH (time = 'time', slice = 'day');
                INSERT INTO t SELECT to_timestamp(1704067200 + i * 10), random() FROM generate_series(1, 360000) AS s(i)";
    case.run(&["sql", "sqlite:air?split=slice", fill]).well();
    case.run(&["recompress", "air"]).well();
    case.run(&["backup", "air", "backups"]);
    for place in ["air", "backups"] {
        assert!(case.run(&["verify", place]).well().text().starts_with("no damage"));
    }
    let mut places = 0;
    for handles in (6..=40).step_by(2) {
        for place in ["air", "backups"] {
            let run = case.run_with_handles(handles, &["verify", place]);
            let output = format!("{handles} handles: {}{}", run.text(), run.stderr);
            assert!(run.code == 0 || run.code == 4, "exit code {}, {output}", run.code);
            assert!(!output.contains("damaged in"), "{output}");
            assert_eq!(run.code == 4, run.stderr.contains("hint: "), "{output}");
            places += u32::from(output.contains("could not be checked") && output.contains("Too many open files"));
        }
    }
    for handles in [5, 6, 8] {
        let run = case.run_with_handles(handles, &["sql", "air", "SELECT count(*) FROM t"]);
        if run.code != 0 {
            assert!(run.stderr.contains("oo many"), "{handles} handles: {}", run.stderr);
        }
    }
    assert!(places > 3, "only {places} runs met with a page file that they could not open");
    // The server cannot be reached, so nothing is known about the store.
    let run = case.run(&["verify", "postgresql://nobody@127.0.0.1:1/air"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("error: no connection to ") && run.stderr.contains("hint: "), "{}", run.stderr);
}

/// A program that gets no memory may be ended by the system, but what it says of the store stays true.
#[cfg(target_os = "linux")]
#[test]
fn verify_does_not_take_a_lack_of_memory_for_damage() {
    let case = Case::new().with_store();
    for kibibytes in (50_000..=500_000).step_by(50_000) {
        let run = case.run_with_memory(kibibytes, &["verify", "a.db"]);
        let output = format!("{kibibytes} KiB: {}{}", String::from_utf8_lossy(&run.stdout), run.stderr);
        let is_true = if run.code == 0 { output.contains("no damage") } else { !output.contains("damaged") };
        assert!(is_true, "exit code {}, {output}", run.code);
    }
    case.run(&["verify", "a.db"]).well();
}

#[cfg(target_os = "linux")]
#[test]
fn a_lack_of_threads_is_reported_and_neither_damage_nor_a_panic() {
    let case = Case::new().with_store();
    case.write("a.csv", "a,b\n1,2\n");
    let commands: [&[&str]; 8] = [
        &["verify", "a.db"],
        &["sql", "a.db", "SELECT count(*) FROM readings"],
        &["import", "a.db", "t", "a.csv"],
        &["import", "a.db", "t", "a.csv", "--dry-run"],
        &["copy", "a.db", "b.db"],
        &["verify", "s3://bucket/backups"],
        &["sql", "postgresql://nobody@127.0.0.1:1/air", "SELECT 1"],
        &["export", "a.db", "readings", "-o", "r.csv"],
    ];
    let mut refused = 0;
    for command in commands {
        let run = case.run_without_threads(command);
        let output = format!("{command:?}, exit code {}: {}{}", run.code, run.text(), run.stderr);
        assert!([0, 2, 4].contains(&run.code), "{output}");
        assert!(!output.contains("panicked") && !output.contains("damaged"), "{output}");
        let is_reported = run.stderr.contains("cannot start") && run.stderr.contains("hint: ");
        assert!(run.code == 0 || is_reported, "{output}");
        refused += u32::from(run.code != 0);
    }
    assert!(refused > 3, "only {refused} commands met with a thread that could not start");
    // The stacks of the threads for queries take more address space than there is.
    let mut refused = 0;
    for kibibytes in (200_000..=400_000).step_by(50_000) {
        let run = case.run_with_memory(kibibytes, &["sql", "a.db", "SELECT count(*), max(time) FROM readings"]);
        assert!(!run.stderr.contains("panicked") && !run.stderr.contains("damaged"), "{kibibytes} KiB: {}", run.stderr);
        refused += u32::from(run.stderr.contains("cannot start"));
    }
    assert!(refused > 0, "the threads for queries could always start");
    assert!(case.run(&["verify", "a.db"]).well().text().starts_with("no damage"));
}

#[test]
fn a_view_is_listed_as_one_and_takes_no_rows() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a + 1 AS b FROM t"]).well();
    let tables = case.run(&["tables", "a.db"]).well().text();
    assert!(tables.lines().any(|line| line.starts_with("v ") && line.contains("view")), "{tables}");
    assert!(case.run(&["schema", "a.db", "v"]).well().text().starts_with("CREATE VIEW v AS SELECT a + 1 AS b FROM t"));
    case.write("a.csv", "a\n1\n");
    case.run(&["import", "a.db", "v", "a.csv"]).failed(1, &["v is a view"]);
    for verb in ["stats", "slices", "verify", "recompress"] {
        case.run(&[verb, "a.db"]).well();
    }
}

#[test]
fn rollup_computes_what_is_stale_and_retain_leaves_the_summary() {
    let case = Case::new().with_store();
    let declare =
        "CREATE ROLLUP daily ON readings EVERY '1 day' AS SELECT sensor, count(*) AS n FROM readings GROUP BY 1";
    case.run(&["sql", "a.db", declare]).well();
    case.run(&["sql", "a.db", "INSERT INTO readings (time, sensor) VALUES ('2024-02-29', 'late')"]).well();
    let rows = case.query("a.db", "SELECT * FROM daily ORDER BY time, sensor");
    assert!(rows.contains("late"), "{rows}");
    let text = case.run(&["rollup", "a.db", "daily"]).well().text();
    assert!(text.contains("daily") && text.contains("readings"), "{text}");
    let refreshed = json(&case, "rollup");
    assert_eq!((refreshed[0]["name"].as_str(), refreshed[0]["rows"].as_u64()), (Some("daily"), Some(0)));
    assert_eq!(case.query("a.db", "SELECT * FROM daily ORDER BY time, sensor"), rows);
    assert!(case.run(&["tables", "a.db"]).well().text().contains("rollup"));
    let schema = case.run(&["schema", "a.db"]).well().text();
    assert!(schema.contains("CREATE ROLLUP daily ON readings EVERY '1 day'"), "{schema}");
    case.run(&["sql", "b.db", &schema]).well();
    assert_eq!(case.run(&["schema", "b.db"]).well().text(), schema);
    case.run(&["sql", "a.db", "INSERT INTO readings (time, sensor) VALUES ('2024-02-28', 'later')"]).well();
    let rows = case.query("a.db", "SELECT * FROM daily ORDER BY time, sensor");
    case.run(&["sql", "a.db", "ALTER TABLE readings SET (retention = '1 day')"]).well();
    case.run(&["retain", "a.db"]).well();
    assert!(case.query("a.db", "SELECT count(*) FROM readings").contains('0'));
    assert_eq!(case.query("a.db", "SELECT * FROM daily ORDER BY time, sensor"), rows);
    assert!(rows.contains("later"));
    let exported = case.run(&["export", "a.db", "daily"]).well().text();
    assert!(exported.starts_with("time,sensor,n\n") && exported.contains(",later,1"), "{exported}");
}
