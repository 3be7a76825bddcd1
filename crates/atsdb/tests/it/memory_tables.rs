//! Tables in memory, used from a program: appending structs and Arrow batches, and passing the rows on to the next
//! process.

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use atsdb::{Database, ErrorKind, OpenOptions};
use std::path::Path;
use std::sync::Arc;

#[derive(atsdb::Record)]
struct Code {
    id: i32,
    name: String,
}

fn open(path: &Path) -> Database {
    OpenOptions::new().maintenance(false).open(path.to_str().unwrap()).unwrap()
}

fn found(db: &Database, ids: Vec<i32>) -> Vec<u32> {
    let keys: ArrayRef = Arc::new(Int32Array::from(ids));
    db.memory_table("codes").unwrap().lookup(&["id"]).unwrap().find(&[keys]).unwrap().probes
}

#[test]
fn structs_and_batches_go_into_tables_in_memory_and_a_checkpoint_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let db = open(&path);
    db.sql("CREATE TABLE codes (id INT NOT NULL, name TEXT NOT NULL, INDEX (id)) ENGINE = memory").unwrap();
    let mut appender = db.appender("codes").unwrap();
    for id in 0..10_000 {
        appender.push_plain(&Code { id, name: format!("code {id}") }).unwrap();
    }
    appender.flush().unwrap();
    // A large batch becomes one part and is indexed by all cores.
    let batch = |first: i32| {
        let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(first..first + 300_000));
        let names = (first..first + 300_000).map(|id| Some(format!("{id:020}")));
        let names: ArrayRef = Arc::new(names.collect::<StringArray>());
        RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
    };
    let mut appender = db.appender("codes").unwrap();
    appender.append(&batch(1_000_000)).unwrap();
    appender.append(&batch(2_000_000)).unwrap();
    assert!(found(&db, vec![1_000_000]).is_empty());
    appender.flush().unwrap();
    assert_eq!(found(&db, vec![7, -1, 1_000_000, 2_299_999, 2_300_000]), [0, 2, 3]);
    assert_eq!(db.memory_table("codes").unwrap().row_count(), 610_000);

    assert_eq!(open(&path).memory_table("codes").unwrap().row_count(), 0);
    assert_eq!(db.checkpoint(&["codes"]).unwrap(), 610_000);
    drop(db);
    let db = open(&path);
    assert_eq!(found(&db, vec![7, -1, 1_000_000, 2_299_999, 2_300_000]), [0, 2, 3]);
    assert_eq!(db.checkpoint(&["nothing"]).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn tables_that_do_not_fit_into_the_process_are_refused_when_they_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let db = open(&path);
    db.sql("CREATE TABLE codes (id INT, INDEX (id)) ENGINE = memory; CREATE TABLE kept (n INT); INSERT INTO kept VALUES (1);")
        .unwrap();
    db.sql("INSERT INTO codes SELECT value FROM generate_series(1, 200000); CHECKPOINT").unwrap();
    let small = OpenOptions::new().maintenance(false).resident_bytes(1 << 20).open(path.to_str().unwrap()).unwrap();
    let error = small.memory_table("codes").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("table codes is full"), "{error}");
    // Statements on other tables, or on the definition alone, still work.
    small.sql("SELECT * FROM kept").unwrap();
    small.sql("SELECT rows FROM atsdb.tables").unwrap();
    small.sql("DROP TABLE codes").unwrap();
}
