//! Materialized views as psql shows them: command tags, errors and the catalogue.

use crate::support::{Served, output_of_psql};
use std::process::Command;

/// Returns the output of psql for a script, or `None` if psql is not installed.
fn shown(served: &Served, arguments: &[&str], script: &str) -> Option<String> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-A", "-v", "VERBOSITY=verbose", "-h", "127.0.0.1", "-U", "me", "-d", "air"]);
    psql.arg("-p").arg(served.pg().port().to_string()).args(arguments);
    let output = output_of_psql(&mut psql, script)?;
    Some(String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

const DECLARATIONS: &str = "CREATE MATERIALIZED VIEW m AS SELECT sensor, count FROM readings;\n\
    CREATE MATERIALIZED VIEW e (one) AS SELECT 1 AS a WITH NO DATA;\n";

#[test]
fn statements_have_the_tags_and_errors_of_postgresql() {
    let served = Served::with_tables();
    let Some(found) = shown(&served, &["-t"], DECLARATIONS) else { return };
    assert_eq!(found, "SELECT 3\nCREATE MATERIALIZED VIEW\n");
    for (statement, expected) in [
        ("REFRESH MATERIALIZED VIEW m", "REFRESH MATERIALIZED VIEW\n"),
        (
            "SELECT * FROM e",
            "ERROR:  55000: materialized view \"e\" has not been populated\n\
             HINT:  Use the REFRESH MATERIALIZED VIEW command.\n",
        ),
        ("INSERT INTO m VALUES ('a', 1)", "ERROR:  42809: cannot change materialized view \"m\"\n"),
        ("UPDATE m SET count = 1", "ERROR:  42809: cannot change materialized view \"m\"\n"),
        ("DELETE FROM m", "ERROR:  42809: cannot change materialized view \"m\"\n"),
        ("COPY m FROM STDIN", "ERROR:  42809: cannot copy to materialized view \"m\"\n"),
        (
            "REFRESH MATERIALIZED VIEW CONCURRENTLY m",
            "ERROR:  55000: cannot refresh materialized view \"public.m\" concurrently\n\
             HINT:  Create a unique index with no WHERE clause on one or more columns of the materialized view.\n",
        ),
        (
            "REFRESH MATERIALIZED VIEW CONCURRENTLY e",
            "ERROR:  0A000: CONCURRENTLY cannot be used when the materialized view is not populated\n",
        ),
        ("REFRESH MATERIALIZED VIEW CONCURRENTLY e WITH NO DATA", "ERROR:  42601: "),
        ("DROP TABLE readings", "ERROR:  2BP01: cannot drop table readings because other objects depend on it"),
        ("DROP TABLE m", "ERROR:  42809: "),
        ("ALTER TABLE m DROP COLUMN count", "ERROR:  42809: "),
        ("CREATE TEMPORARY MATERIALIZED VIEW t AS SELECT 1 AS a", "ERROR:  42601: "),
        (
            "CREATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT 1 AS a",
            "CREATE MATERIALIZED VIEW\nNOTICE:  42P07: relation \"m\" already exists, skipping\n",
        ),
        (
            "DROP MATERIALIZED VIEW IF EXISTS nope",
            "DROP MATERIALIZED VIEW\nNOTICE:  00000: materialized view \"nope\" does not exist, skipping\n",
        ),
        ("ALTER MATERIALIZED VIEW e RENAME COLUMN one TO two", "ALTER MATERIALIZED VIEW\n"),
        ("DROP MATERIALIZED VIEW m, e", "DROP MATERIALIZED VIEW\n"),
    ] {
        let found = shown(&served, &["-t"], &format!("{statement};\n")).unwrap();
        assert!(found.starts_with(expected), "{statement}: {found}");
    }
}

#[test]
fn the_catalogue_has_them_as_materialized_views() {
    let served = Served::with_tables();
    let script = format!("{DECLARATIONS}CREATE UNIQUE INDEX by_count ON m (count);\n");
    if shown(&served, &["-t"], &script).is_none() {
        return;
    }
    for (query, expected) in [
        (
            "SELECT relname, relkind, relispopulated, relhasindex FROM pg_class WHERE relkind = 'm' ORDER BY 1",
            "e|m|f|f\nm|m|t|t\n",
        ),
        (
            "SELECT matviewname, hasindexes, ispopulated, definition FROM pg_matviews WHERE matviewname = 'm'",
            "m|t|t| SELECT sensor, count FROM readings;\n",
        ),
        ("SELECT table_name FROM information_schema.tables WHERE table_name IN ('m', 'e')", ""),
        ("SELECT attname FROM pg_attribute WHERE attrelid = 'e'::regclass AND attnum > 0", "one\n"),
        ("SELECT indexname FROM pg_indexes WHERE tablename = 'm'", "by_count\n"),
        ("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 'm'", "3\n"),
    ] {
        assert_eq!(shown(&served, &["-t"], &format!("{query};\n")).unwrap(), expected, "{query}");
    }
    let listed = shown(&served, &["-t"], "\\dm\n").unwrap();
    assert!(
        listed.contains("public|e|materialized view|") && listed.contains("public|m|materialized view|"),
        "{listed}"
    );
    let described = shown(&served, &[], "\\d+ m\n").unwrap();
    for part in ["Materialized view \"public.m\"", "\"by_count\" UNIQUE, btree (count)", "View definition:"] {
        assert!(described.contains(part), "{part} is not in {described}");
    }
}
