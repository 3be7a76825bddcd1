//! Temporary tables of several sessions: each sees its own, and nothing is left of them.

use crate::render::ask;
use crate::stores::session;
use atsdb_core::ErrorKind;
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Session, SessionOptions};
use std::sync::Arc;

fn run(session: &Session, sql: &str) -> atsdb_core::Result<()> {
    for statement in session.statements(sql) {
        session.execute(&statement?, &[]).map(drop)?;
    }
    Ok(())
}

#[test]
fn sessions_do_not_see_each_others_temporary_tables() {
    for store in ["memory", "sqlite"] {
        let (first, _directory) = session(store);
        let (second, third) = (first.sharing(), first.sharing());
        run(&first, "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)").unwrap();
        run(&first, "CREATE TEMP TABLE t (a TEXT); INSERT INTO t VALUES ('first')").unwrap();
        run(&second, "CREATE TEMP TABLE t (b INT, a INT); INSERT INTO t VALUES (7, 2), (8, 2)").unwrap();
        // The same text means another table in each session, also when its plan is kept.
        for _ in 0..3 {
            assert_eq!(ask(&first, "SELECT max(a) AS a FROM t"), ["first"]);
            assert_eq!(ask(&second, "SELECT max(a) AS a FROM t"), ["2"]);
            assert_eq!(ask(&third, "SELECT max(a) AS a FROM t"), ["1"]);
            assert_eq!(first.prepare("SELECT * FROM t", &[]).unwrap().schema().unwrap().fields().len(), 1);
            assert_eq!(second.prepare("SELECT * FROM t", &[]).unwrap().schema().unwrap().fields().len(), 2);
        }
        run(&second, "DELETE FROM t").unwrap();
        assert_eq!(ask(&third, "SELECT count(*) FROM t"), ["1"]);
        assert_eq!(first.engine().tables().unwrap().len(), 1, "the store has the stored one");
        let uncommitted = "BEGIN; CREATE TEMP TABLE mine (a INT); INSERT INTO mine VALUES (1)";
        run(&third, uncommitted).unwrap();
        assert!(run(&third.sharing(), "SELECT * FROM mine").is_err());
        run(&third, "COMMIT").unwrap();
        assert_eq!(ask(&third, "SELECT a FROM mine"), ["1"]);
    }
}

#[test]
fn the_memory_of_a_session_is_free_when_it_ends() {
    let engine = EngineOptions { maintenance: false, resident_bytes: 1 << 20, ..EngineOptions::default() };
    let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), engine).unwrap();
    let first = Session::new(engine, SessionOptions { threads: 1, ..SessionOptions::default() }).unwrap();
    let fill = "CREATE TEMP TABLE big AS SELECT value FROM generate_series(1, 200000)";
    for _ in 0..5 {
        let second = first.sharing();
        run(&second, fill).unwrap();
        let error = run(&first, "CREATE TEMP TABLE other AS SELECT value FROM generate_series(1, 100000)").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
    run(&first, fill).unwrap();
    run(&first, "DROP TABLE big").unwrap();
    run(&first.sharing(), fill).unwrap();
}

#[test]
fn temporary_tables_are_not_saved() {
    let (session, _directory) = session("sqlite");
    run(&session, "CREATE TABLE kept (a INT) WITH (engine = 'memory'); INSERT INTO kept VALUES (1)").unwrap();
    run(&session, "CREATE TEMP TABLE brief (a INT); INSERT INTO brief VALUES (1)").unwrap();
    run(&session, "CHECKPOINT").unwrap();
    let error = run(&session, "CHECKPOINT brief").unwrap_err().to_string();
    assert!(error.contains("temporary"), "{error}");
    assert_eq!(
        ask(&session, "SELECT name, kind, rows, chunks FROM atsdb.tables ORDER BY name"),
        ["brief | temporary | 1 | 0", "kept | memory | 1 | 1"]
    );
}
