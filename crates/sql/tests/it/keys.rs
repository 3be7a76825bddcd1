//! Keys: the number of rows that an INSERT reports if rows are skipped or replaced.

use crate::render::lines;
use crate::stores::{STORES, session};
use atsdb_sql::{Answer, Session};

fn count(session: &Session, sql: &str) -> Option<u64> {
    let statement = session.statements(sql).next().unwrap().unwrap();
    match session.execute(&statement, &[]).unwrap() {
        Answer::Done { row_count, .. } => row_count,
        Answer::Rows(_) => panic!("rows"),
    }
}

#[test]
fn rows_count_that_were_inserted_or_replaced() {
    let (session, _directory) = session("memory");
    let count = |sql: &str| count(&session, sql);
    count("CREATE TABLE t (id INT PRIMARY KEY, x INT)");
    assert_eq!(count("INSERT INTO t VALUES (1, 1), (2, 2)"), Some(2));
    assert_eq!(count("INSERT OR IGNORE INTO t VALUES (1, 9), (3, 3), (3, 4)"), Some(1));
    assert_eq!(count("INSERT INTO t SELECT id, 5 FROM t ON CONFLICT DO NOTHING"), Some(0));
    assert_eq!(count("REPLACE INTO t VALUES (1, 7), (4, 7)"), Some(2));
    count("BEGIN");
    assert_eq!(count("INSERT IGNORE INTO t VALUES (4, 8), (5, 8)"), Some(1));
    assert_eq!(count("INSERT IGNORE INTO t VALUES (5, 9), (6, 9)"), Some(1));
    count("COMMIT");
}

#[test]
fn keys_of_rows_that_a_transaction_deleted_are_free_in_it() {
    for store in STORES {
        for emptied in ["DELETE FROM k", "TRUNCATE k", "DELETE FROM k WHERE id > 0"] {
            for inserted in [
                "INSERT INTO k VALUES (2, 'new')",
                "INSERT INTO k SELECT 2, 'new'",
                "REPLACE INTO k VALUES (2, 'new')",
                "REPLACE INTO k SELECT 2, 'new'",
                "INSERT OR IGNORE INTO k VALUES (2, 'new')",
                "INSERT OR IGNORE INTO k SELECT 2, 'new'",
                "INSERT INTO k SELECT 2, 'new' WHERE true ON CONFLICT (id) DO NOTHING",
                "INSERT INTO k VALUES (2, 'new') ON CONFLICT (id) DO UPDATE SET v = 'updated'",
            ] {
                let (session, _directory) = session(store);
                let done = [
                    "CREATE TABLE k (id BIGINT PRIMARY KEY, v TEXT)",
                    "INSERT INTO k VALUES (1, 'a'), (2, 'b'), (3, 'c')",
                    "BEGIN",
                    emptied,
                    inserted,
                    "COMMIT",
                ];
                let counts: Vec<_> = done.into_iter().map(|sql| count(&session, sql)).collect();
                assert_eq!(counts[4], Some(1), "{store}: {emptied}; {inserted}");
                assert_eq!(rows(&session), ["2 | new"], "{store}: {emptied}; {inserted}");
            }
        }
    }
}

#[test]
fn an_unknown_column_is_reported_with_its_table_once() {
    let (session, _directory) = session("memory");
    count(&session, "CREATE TABLE k (id BIGINT)");
    for added in ["UNIQUE (other)", "CHECK (other > 1)"] {
        let sql = format!("ALTER TABLE k ADD {added}");
        let statement = session.statements(&sql).next().unwrap().unwrap();
        let Err(error) = session.execute(&statement, &[]) else { panic!("{added}") };
        assert_eq!(error.message(), "table k: no column named other", "{added}");
    }
}

fn rows(session: &Session) -> Vec<String> {
    let statement = session.statements("SELECT * FROM k ORDER BY id").next().unwrap().unwrap();
    let Answer::Rows(rows) = session.execute(&statement, &[]).unwrap() else { panic!("no rows") };
    rows.flat_map(|batch| lines(&batch.unwrap())).collect()
}
