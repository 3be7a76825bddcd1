//! Schemas: they survive a reopen, and copies and backups have them, also those without tables.

use crate::support::{open, rows};
use atsdb::arrow::array::AsArray;
use atsdb::{BackupOptions, BackupSelector, CopyOptions, Database, ErrorKind, Record, Selection};
use std::path::Path;

#[derive(Record)]
struct Reading {
    a: String,
}

fn run(db: &Database, script: &str) {
    script.split(';').for_each(|statement| drop(db.sql(statement).unwrap()));
}

fn filled(path: &Path) -> Database {
    let db = open(path);
    run(
        &db,
        "CREATE SCHEMA Lab; CREATE SCHEMA empty; CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('public'); \
         CREATE TABLE lab.t (a TEXT); INSERT INTO lab.t VALUES ('lab'); \
         CREATE VIEW lab.v AS SELECT a FROM lab.t; \
         CREATE TABLE lab.r (time TIMESTAMP, x INT) WITH (time = 'time'); \
         INSERT INTO lab.r VALUES ('2024-01-01', 1), ('2024-01-01 00:30:00', 2); \
         CREATE ROLLUP lab.hours ON lab.r EVERY '1 hour' AS SELECT sum(x) AS x FROM lab.r",
    );
    db
}

fn names(db: &Database) -> Vec<String> {
    let mut names: Vec<String> = db.engine().tables().unwrap().into_iter().map(|table| table.definition.name).collect();
    names.sort();
    names
}

fn check(db: &Database) {
    assert_eq!(db.engine().schemas().unwrap(), ["empty", "Lab"]);
    assert_eq!(names(db), ["Lab.hours", "Lab.r", "Lab.t", "Lab.v", "t"]);
    let text = |query: &str| rows(db, query).column(0).as_string::<i32>().value(0).to_owned();
    assert_eq!((text("SELECT a FROM t"), text("SELECT a FROM LAB.t")), ("public".to_owned(), "lab".to_owned()));
    assert_eq!(text("SELECT a FROM lab.v"), "lab");
    assert_eq!(text("SELECT x::TEXT FROM lab.hours"), "3");
}

#[test]
fn a_store_that_is_opened_again_has_its_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(filled(&path));
    let db = open(&path);
    check(&db);
    assert!(db.engine().verify(None).unwrap().findings.is_empty());
    assert_eq!(db.engine().table("LAB.T").unwrap().definition.local_name(), "t");
}

#[test]
fn a_typed_table_is_in_the_schema_that_its_name_begins_with() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder.path().join("a.db"));
    for _ in 0..2 {
        let mut appender = db.table::<Reading>("lab.readings").unwrap().appender().unwrap();
        appender.push(0, &Reading { a: "new".to_owned() }).unwrap();
        appender.flush().unwrap();
    }
    assert_eq!(rows(&db, "SELECT a FROM lab.readings").num_rows(), 2);
    assert_eq!(db.engine().table("lab.readings").unwrap().definition.schema.as_deref(), Some("Lab"));
    // Without such a schema, the point is a part of the name.
    db.table::<Reading>("pm2.5").unwrap();
    assert_eq!(rows(&db, r#"SELECT a FROM "pm2.5""#).num_rows(), 0);
}

#[test]
fn copies_and_backups_have_the_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder.path().join("a.db"));
    let copy = open(&folder.path().join("b.db"));
    db.copy_into(&copy, &CopyOptions::default()).unwrap();
    check(&copy);
    run(&db, "INSERT INTO lab.t VALUES ('more'); ALTER SCHEMA empty RENAME TO e; CREATE SCHEMA late");
    db.copy_into(&copy, &CopyOptions::default()).unwrap();
    assert!(copy.engine().schemas().unwrap().contains(&"late".to_owned()));
    assert!(copy.engine().schemas().unwrap().contains(&"e".to_owned()));
    assert_eq!(rows(&copy, "SELECT * FROM lab.t").num_rows(), 2);

    let archive = folder.path().join("backups");
    let archive = archive.to_str().unwrap();
    let whole = open(&folder.path().join("c.db"));
    filled(&folder.path().join("d.db")).backup(archive, &BackupOptions::default()).unwrap();
    whole.restore(archive, &BackupSelector::Latest, &CopyOptions::default()).unwrap();
    check(&whole);
}

#[test]
fn a_copied_table_brings_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder.path().join("a.db"));
    let copy = open(&folder.path().join("b.db"));
    let selection = Selection { tables: vec!["lab.T".to_owned()], ..Selection::default() };
    let options = CopyOptions { selection, ..CopyOptions::default() };
    db.copy_into(&copy, &options).unwrap();
    assert_eq!((names(&copy), copy.engine().schemas().unwrap()), (vec!["Lab.t".to_owned()], vec!["Lab".to_owned()]));
    run(&copy, "CREATE TABLE lab.own (a INT)");
    let error = copy.sql("CREATE SCHEMA lab").map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
}

#[test]
fn a_schema_that_the_target_has_is_the_same_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = filled(&folder.path().join("a.db"));
    let copy = open(&folder.path().join("b.db"));
    run(&copy, "CREATE SCHEMA lab; CREATE SCHEMA own");
    db.copy_into(&copy, &CopyOptions::default()).unwrap();
    assert_eq!(copy.engine().schemas().unwrap(), ["empty", "Lab", "own"]);
    db.copy_into(&copy, &CopyOptions::default()).unwrap();
}
