//! Transactions on a store with one failing call: if COMMIT was acknowledged, everything is stored, otherwise
//! everything or nothing.

use crate::scripts::answer;
use crate::stores::session_over;
use atsdb_memory::MemoryStore;
use atsdb_sql::Session;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::sync::Arc;

const SETUP: &str = "
    CREATE TABLE keyed (id INT PRIMARY KEY, tag TEXT) WITH (map = 'tag:u8');
    CREATE TABLE plain (a BIGINT, b TEXT);
    CREATE TABLE memory (id INT PRIMARY KEY, tag TEXT) WITH (engine = 'memory');
    INSERT INTO keyed VALUES (1, 'old'), (2, 'old');
    INSERT INTO plain VALUES (1, 'old');
    INSERT INTO memory VALUES (1, 'old');
    CREATE TABLE parents (id INT PRIMARY KEY);
    CREATE TABLE children (id INT PRIMARY KEY, parent INT REFERENCES parents ON DELETE CASCADE);
    INSERT INTO parents VALUES (1), (2);
    INSERT INTO children VALUES (1, 1), (2, 2)";

const TRANSACTION: [&str; 18] = [
    "BEGIN",
    "INSERT INTO keyed VALUES (3, 'new')",
    "INSERT INTO keyed VALUES (4, 'new')",
    "INSERT INTO memory VALUES (3, 'new')",
    "SELECT count(*) FROM keyed",
    "UPDATE keyed SET tag = 'changed' WHERE id = 1",
    "INSERT INTO parents VALUES (3)",
    "INSERT INTO children VALUES (3, 3)",
    "DELETE FROM parents WHERE id = 1",
    "SAVEPOINT a",
    "INSERT INTO plain VALUES (2, 'taken back')",
    "CREATE TABLE taken_back (a INT)",
    "DELETE FROM keyed",
    "ROLLBACK TO a",
    "INSERT INTO plain SELECT a + 10, 'new' FROM plain",
    "DELETE FROM memory WHERE id = 1",
    "CREATE INDEX of_texts ON plain (b)",
    "COMMIT",
];

const QUESTION: &str = "
    SELECT 'keyed' AS place, id::BIGINT AS id, tag FROM keyed UNION ALL SELECT 'plain', a, b FROM plain
    UNION ALL SELECT 'memory', id::BIGINT, tag FROM memory
    UNION ALL SELECT 'parents', id::BIGINT, 'here' FROM parents
    UNION ALL SELECT 'children', id::BIGINT, 'of ' || parent FROM children ORDER BY 1, 2";

const OLD: [&str; 8] = [
    "children 1 of 1",
    "children 2 of 2",
    "keyed 1 old",
    "keyed 2 old",
    "memory 1 old",
    "parents 1 here",
    "parents 2 here",
    "plain 1 old",
];
const NEW: [&str; 11] = [
    "children 2 of 2",
    "children 3 of 3",
    "keyed 1 changed",
    "keyed 2 old",
    "keyed 3 new",
    "keyed 4 new",
    "memory 3 new",
    "parents 2 here",
    "parents 3 here",
    "plain 1 old",
    "plain 11 new",
];

fn rows(session: &Session) -> Vec<String> {
    answer(session, QUESTION).unwrap().into_iter().skip(1).map(|row| row.replace(" | ", " ")).collect()
}

/// Runs the transaction with one failing call. Returns false if there were fewer calls.
fn run(number: i64, fails: Fails) -> bool {
    let faults = Faults::new(fails);
    let store = FaultyStore::new(Arc::new(MemoryStore::new([7; 16])), &faults);
    let session = session_over(Arc::new(store));
    answer(&session, SETUP).unwrap();
    assert_eq!(rows(&session), OLD);
    faults.arm(number);
    let (mut failed, mut committed) = (None, false);
    for statement in TRANSACTION {
        match answer(&session, statement) {
            Ok(_) => committed = statement == "COMMIT",
            Err(error) => {
                failed = Some(format!("{statement}: {error}"));
                break;
            }
        }
    }
    let label = format!("call {number} ({:?}) fails {fails:?}; {failed:?}", faults.failed());
    let _pause = faults.pause();
    if session.in_transaction() {
        answer(&session, "ROLLBACK").unwrap();
    }
    let found = rows(&session);
    // Rows in memory belong to the process: if the answer to the commit is lost, they stay as they were.
    let is_unheard = fails == Fails::After && faults.failed() == Some("commit");
    let stored =
        |rows: &[&str]| rows.iter().filter(|row| !row.starts_with("memory")).map(|row| (*row).to_owned()).collect();
    let (found_stored, new_stored): (Vec<String>, Vec<String>) =
        (stored(&found.iter().map(String::as_str).collect::<Vec<_>>()), stored(&NEW));
    let is_whole = found == OLD || found == NEW || (is_unheard && found_stored == new_stored);
    assert!(is_whole, "{label}: {found:?}");
    assert!(!committed || found == NEW, "{label}: acknowledged, and not there: {found:?}");
    assert!(committed || is_unheard || found == OLD, "{label}: reported as failed, and there: {found:?}");
    assert!(failed.is_some() || committed, "{label}");
    // Further work succeeds.
    answer(&session, "INSERT INTO keyed VALUES (9, 'further'); UPDATE keyed SET tag = 'again' WHERE id = 9").unwrap();
    assert!(rows(&session).contains(&"keyed 9 again".to_owned()), "{label}");
    faults.failed().is_some()
}

#[test]
fn a_transaction_is_stored_whole_or_not_at_all_whichever_call_fails() {
    for fails in [Fails::Before, Fails::After] {
        let calls = (0..).take_while(|number| run(*number, fails)).count();
        assert!(calls > 10, "hardly anything was called");
    }
}
