//! Keys: how many rows an INSERT says it added, whatever is left out or replaced.

use crate::stores::session;
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
