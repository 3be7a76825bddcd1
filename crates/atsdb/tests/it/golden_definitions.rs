//! A golden store with constraints and what belongs to definitions beside columns: foreign keys, CHECK, an identity,
//! literal DEFAULTs, an enumerated type and materialized views.

use crate::content::assert_sound;
use crate::golden::golden_of;
use crate::support::{open_quiet, rows};
use atsdb::arrow::array::AsArray;
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::DataType;
use atsdb::{Database, ErrorKind};

/// Sealed chunks and a fresh one. The second view has never been refreshed.
fn write(db: &Database) {
    db.sql(
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
         CREATE TABLE gateways (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, place TEXT NOT NULL UNIQUE);
         INSERT INTO gateways (place) VALUES ('cellar'), ('roof'), ('yard');
         CREATE TABLE meters (id INT PRIMARY KEY, gateway INT DEFAULT 1 REFERENCES gateways ON DELETE CASCADE,
           place TEXT CONSTRAINT meters_place REFERENCES gateways (place) ON DELETE SET NULL,
           label TEXT DEFAULT 'none', feels mood DEFAULT 'ok',
           level INT DEFAULT 3 CONSTRAINT meters_level CHECK (level BETWEEN 0 AND 9),
           replaces INT REFERENCES meters (id));
         INSERT INTO meters (id) VALUES (1), (2);
         INSERT INTO meters (id, gateway, place, feels) VALUES (3, 2, 'roof', 'sad'), (4, 3, 'roof', 'happy');
         INSERT INTO meters (id, level, replaces) VALUES (5, 9, 1);
         CREATE MATERIALIZED VIEW moods AS
           SELECT CAST(feels AS TEXT) AS feels, count(*) AS n, sum(level) AS total FROM meters GROUP BY feels;
         CREATE UNIQUE INDEX moods_feels ON moods (feels);
         CREATE MATERIALIZED VIEW later AS SELECT id FROM meters WITH NO DATA",
    )
    .unwrap();
    db.engine().recompress(None).unwrap();
    db.sql("INSERT INTO meters (id, gateway, feels) VALUES (6, NULL, 'sad')").unwrap();
}

/// The rows of an answer as texts.
fn answer(db: &Database, query: &str) -> Vec<String> {
    let found = rows(db, query);
    let columns: Vec<_> = found.columns().iter().map(|column| cast(column, &DataType::Utf8).unwrap()).collect();
    let row = |row: usize| {
        let cells = columns.iter().map(|column| column.as_string::<i32>());
        let cells = cells.map(|cells| cells.iter().nth(row).flatten().unwrap_or("NULL").to_owned());
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..found.num_rows()).map(row).collect()
}

#[test]
fn definitions_of_a_store_of_format_3_are_read_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = golden_of("format3", folder.path(), "definitions.db", write);
    let file = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT group_concat(definition) FROM atsdb_table";
    let stored: String = file.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(file);
    let fields = [
        r#""labels":["sad","ok","happy"]}"#,
        r#""identity":{"always":true,"start":1,"increment":1}"#,
        r#""default":{"text":"none"}"#,
        r#""default":{"text":"ok"},"enumeration":{"type":{"name":"mood"},"labels":["sad","ok","happy"]}"#,
        r#""checks":[{"name":"meters_level","condition":"level BETWEEN 0 AND 9","columns":[5]}]"#,
        r#"{"name":"meters_place","columns":[2],"parent":{"name":"gateways"},"#,
        r#""parent_columns":["id"],"on_delete":"cascade"}"#,
        r#""parent_columns":["place"],"on_delete":"set_null"}"#,
        r#"{"name":"meters_replaces_fkey","columns":[6],"parent":{"name":"meters"},"parent_columns":["id"]}"#,
        r#""unique":[{"name":"moods_feels","columns":[0],"index":true}]"#,
        r#""populated":true,"refreshes":0}"#,
        r#""materialized":{"query":"SELECT id FROM meters","populated":false,"refreshes":0}"#,
    ];
    for field in fields {
        assert!(stored.contains(field), "{field} is not in {stored}");
    }
    let db = open_quiet(&path).unwrap();
    assert_sound(&db);
    assert_eq!(answer(&db, "SELECT * FROM moods ORDER BY feels"), ["happy 1 3", "ok 3 15", "sad 1 3"]);
    let refused = |sql: &str| db.sql(sql).map(drop).unwrap_err();
    for (sql, kind, part) in [
        ("INSERT INTO meters (id, gateway) VALUES (7, 9)", ErrorKind::ForeignKeyViolation, "meters_gateway_fkey"),
        ("INSERT INTO meters (id, level) VALUES (7, 10)", ErrorKind::CheckViolation, "meters_level"),
        ("INSERT INTO meters (id) VALUES (5)", ErrorKind::DuplicateKey, "(5)"),
        ("INSERT INTO meters (id, feels) VALUES (7, 'angry')", ErrorKind::InvalidValue, "enum mood"),
    ] {
        let error = refused(sql);
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        assert!(error.message().contains(part), "{sql}: {error}");
    }
    assert!(refused("SELECT * FROM later").message().contains("has not been populated"));
    // New rows get numbers and defaults, a deletion is followed, and views are computed anew.
    db.sql("INSERT INTO gateways (place) VALUES ('attic'); INSERT INTO meters (id) VALUES (7)").unwrap();
    db.sql("DELETE FROM gateways WHERE id = 2").unwrap();
    db.sql("REFRESH MATERIALIZED VIEW moods; REFRESH MATERIALIZED VIEW later").unwrap();
    db.engine().recompress(None).unwrap();
    let places = ["1 cellar", "3 yard", "4 attic"];
    assert_eq!(answer(&db, "SELECT id, place FROM gateways ORDER BY id"), places);
    let meters = [
        "6 NULL NULL none sad 3 NULL",
        "1 1 NULL none ok 3 NULL",
        "2 1 NULL none ok 3 NULL",
        "5 1 NULL none ok 9 1",
        "7 1 NULL none ok 3 NULL",
        "4 3 NULL none happy 3 NULL",
    ];
    let query = "SELECT id, gateway, place, label, feels, level, replaces FROM meters ORDER BY feels, id";
    assert_eq!(answer(&db, query), meters);
    assert_eq!(answer(&db, "SELECT * FROM moods ORDER BY feels"), ["happy 1 3", "ok 4 18", "sad 1 3"]);
    assert_eq!(answer(&db, "SELECT count(*) FROM later"), ["6"]);
    assert_sound(&db);
}
