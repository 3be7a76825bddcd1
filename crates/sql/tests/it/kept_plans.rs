//! Cached plans: a repeated query sees the rows and definitions of the moment at which it runs.

use crate::render::{ask, lines};
use crate::stores::{session, session_over};
use arrow::datatypes::DataType;
use atsdb_core::{Durability, ErrorKind};
use atsdb_sql::{Answer, ParameterValue, Session};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use std::sync::Arc;
use std::time::Duration;

/// The second run of each query uses the plan of the first, or reads the rows directly.
const QUESTIONS: [&str; 12] = [
    "SELECT time, n FROM t WHERE sensor = 's1' AND time >= '2024-01-01' ORDER BY time DESC LIMIT 2",
    "SELECT n FROM t WHERE n = 3",
    "SELECT n AS m, sensor FROM t AS u WHERE m2 IS NULL AND sensor IN ('s1', 's2') ORDER BY n DESC, sensor",
    "SELECT * FROM t ORDER BY n LIMIT 3",
    "SELECT n FROM (SELECT n, sensor FROM t ORDER BY n LIMIT 4) AS first WHERE sensor = 's1'",
    "SELECT sensor, count(*), sum(n) FROM t GROUP BY sensor ORDER BY sensor",
    "SELECT sensor, max(time) FROM t GROUP BY sensor ORDER BY sensor",
    "SELECT time_bucket('1 hour', time) AS hour, avg(n) FROM t WHERE sensor = 's2' GROUP BY hour ORDER BY hour",
    "SELECT a.n, b.n FROM t AS a JOIN t AS b ON a.n = b.n - 1 WHERE a.sensor = 's1' ORDER BY 1",
    "SELECT count(*) FROM t WHERE n > (SELECT avg(n) FROM t)",
    "WITH few AS (SELECT n FROM t WHERE n < 5) SELECT sum(n) FROM few",
    "SELECT v.n FROM v ORDER BY n",
];

fn filled(session: &Session) {
    ask(session, "CREATE TABLE t (time TIMESTAMP, sensor TEXT, n INT, m2 INT) WITH (map = 'sensor:u8')");
    ask(session, "CREATE VIEW v AS SELECT n FROM t WHERE n % 2 = 0");
    insert(session, 0..20);
}

fn insert(session: &Session, numbers: std::ops::Range<i32>) {
    let rows: Vec<String> =
        numbers.map(|n| format!("('2024-01-01 00:{:02}:00', 's{}', {n}, NULL)", n % 60, n % 3)).collect();
    ask(session, &format!("INSERT INTO t VALUES {}", rows.join(", ")));
}

/// Returns the answer of a new session, which has no cached plans.
fn fresh(session: &Session, sql: &str) -> Vec<String> {
    ask(&Session::new(session.engine().clone(), atsdb_sql::SessionOptions::default()).unwrap(), sql)
}

#[test]
fn a_question_asked_again_sees_new_rows() {
    for store in ["memory", "sqlite"] {
        let (session, _directory) = session(store);
        filled(&session);
        for step in 1..4 {
            for sql in QUESTIONS {
                let wanted = fresh(&session, sql);
                assert!((0..3).all(|_| ask(&session, sql) == wanted), "{store}, step {step}: {sql}");
            }
            insert(&session, step * 20..step * 20 + 20);
            session.engine().recompress(None).unwrap();
        }
        ask(&session, "DELETE FROM t WHERE n > 7");
        for sql in QUESTIONS {
            assert_eq!(ask(&session, sql), fresh(&session, sql), "{store}: {sql}");
        }
    }
}

#[test]
fn a_definition_changed_by_another_process_is_seen_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    let open = || session_over(Arc::new(SqliteStore::open(&directory.path().join("test.db"), &options).unwrap()));
    let (here, elsewhere) = (open(), open());
    filled(&here);
    let all = "SELECT * FROM t WHERE n = 4";
    let evens = "SELECT count(*) FROM v";
    let changes = [
        "ALTER TABLE t ADD COLUMN extra INT DEFAULT 9",
        "ALTER TABLE t RENAME COLUMN m2 TO m3",
        "CREATE OR REPLACE VIEW v AS SELECT n FROM t WHERE n % 2 = 1 AND n > 10",
        "CREATE INDEX ON t (n)",
        "ALTER TABLE t DROP COLUMN m3",
        "ALTER TABLE t ALTER COLUMN n TYPE BIGINT",
    ];
    for change in changes {
        for sql in [all, evens] {
            assert!((0..3).all(|_| ask(&here, sql) == fresh(&elsewhere, sql)), "{sql}");
        }
        ask(&elsewhere, change);
        for sql in [all, evens] {
            assert_eq!(ask(&here, sql), fresh(&elsewhere, sql), "{change}: {sql}");
        }
    }
    assert_eq!(ask(&here, evens), ["5"]);
    let names = |session: &Session| {
        let statement = session.statements(all).next().unwrap().unwrap();
        let Answer::Rows(rows) = session.execute(&statement, &[]).unwrap() else { panic!() };
        rows.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<String>>()
    };
    assert_eq!(names(&here), ["time", "sensor", "n", "extra"]);
    ask(&elsewhere, "DROP VIEW v");
    ask(&elsewhere, "DROP TABLE t");
    ask(&elsewhere, "CREATE TABLE t (N INT, other TEXT)");
    ask(&elsewhere, "INSERT INTO t VALUES (4, 'new')");
    assert_eq!(names(&here), ["N", "other"]);
    assert_eq!(ask(&here, all), ["4 | new"]);
    let statement = here.statements(evens).next().unwrap().unwrap();
    assert_eq!(here.execute(&statement, &[]).unwrap_err().kind(), ErrorKind::Sql);
}

#[test]
fn only_a_transaction_sees_its_own_definitions_and_rows() {
    let (first, _directory) = session("sqlite");
    let second = first.sharing();
    filled(&first);
    let all = "SELECT * FROM t WHERE n = 4";
    let before = ["2024-01-01T00:04:00Z | s1 | 4 | NULL"];
    for _ in 0..2 {
        assert_eq!(ask(&first, all), before);
        ask(&first, "BEGIN");
        assert_eq!(ask(&first, all), before);
        ask(&first, "ALTER TABLE t ADD COLUMN mine INT DEFAULT 1");
        ask(&second, "BEGIN");
        ask(&second, "ALTER TABLE t ADD COLUMN others TEXT DEFAULT 'x'");
        for _ in 0..3 {
            assert_eq!(ask(&first, all), ["2024-01-01T00:04:00Z | s1 | 4 | NULL | 1"]);
            assert_eq!(ask(&second, all), ["2024-01-01T00:04:00Z | s1 | 4 | NULL | x"]);
        }
        ask(&second, "ROLLBACK");
        assert_eq!(ask(&second, all), before);
        ask(&first, "INSERT INTO t (time, n) VALUES ('2024-01-02', 4)");
        assert_eq!(ask(&first, all).len(), 2);
        assert_eq!(ask(&second, all).len(), 1);
        ask(&first, "ROLLBACK");
    }
    assert_eq!(ask(&first, all), before);
}

#[test]
fn plans_of_volatile_queries_are_not_kept() {
    let (session, _directory) = session("memory");
    filled(&session);
    for sql in ["SELECT now()", "SELECT random()", "SELECT now(), n FROM t WHERE n = 1"] {
        let first = ask(&session, sql);
        std::thread::sleep(Duration::from_millis(2));
        assert_ne!(ask(&session, sql), first, "{sql}");
    }
    ask(&session, "CREATE ROLLUP hourly ON t EVERY '1 hour' AS SELECT sum(n) AS n FROM t");
    let of_rollup = "SELECT sum(n) FROM hourly";
    for step in 1..4 {
        assert_eq!(ask(&session, of_rollup), ask(&session, "SELECT sum(n) FROM t"));
        insert(&session, step * 20..step * 20 + 20);
        if step == 2 {
            session.refresh_rollups(None).unwrap();
        }
    }
}

#[test]
fn a_prepared_question_answers_each_value() {
    let (session, _directory) = session("sqlite");
    filled(&session);
    session.engine().recompress(None).unwrap();
    insert(&session, 20..60);
    let prepared = session
        .prepare("SELECT n, sensor FROM t WHERE sensor = $1 AND n >= $2 AND time < $3 ORDER BY n DESC LIMIT $4", &[])
        .unwrap();
    for (sensor, least, until, limit) in [
        ("s1", 0, "2025-01-01", 3),
        ("s2", 11, "2024-01-01 00:30:00", 9),
        ("s0", 99, "2025-01-01", 3),
        ("none", 0, "2025-01-01", 5),
    ] {
        let values: [ParameterValue; 4] = [sensor.into(), least.into(), until.into(), i64::from(limit).into()];
        let literal = format!(
            "SELECT n, sensor FROM t WHERE sensor = '{sensor}' AND n >= {least} AND time < '{until}' \
             ORDER BY n DESC LIMIT {limit}"
        );
        let wanted = fresh(&session, &literal);
        for _ in 0..3 {
            let Answer::Rows(rows) = session.execute_prepared(&prepared, &values).unwrap() else { panic!() };
            let found: Vec<String> = rows.flat_map(|batch| lines(&batch.unwrap())).collect();
            assert_eq!(found, wanted, "{literal}");
        }
    }
    let nothing: [ParameterValue; 4] = [ParameterValue::null(), 0.into(), "2025-01-01".into(), ParameterValue::null()];
    let Answer::Rows(rows) = session.execute_prepared(&prepared, &nothing).unwrap() else { panic!() };
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
}

#[test]
fn the_first_rows_by_time_are_found_in_the_chunks_that_have_them() {
    let (session, _directory) = session("sqlite");
    ask(&session, "CREATE TABLE t (time TIMESTAMP, sensor TEXT, n INT) WITH (map = 'sensor:u8')");
    for part in 0..4 {
        // The parts overlap in time, and each time occurs twice in a part.
        ask(
            &session,
            &format!(
                "INSERT INTO t SELECT to_timestamp_seconds(1704067200 + (value + {part} * 40) / 2 * 40000), \
                 's' || (value % 3), value + {part} * 1000 FROM generate_series(0, 99)"
            ),
        );
        if part == 1 {
            session.engine().recompress(None).unwrap();
        }
    }
    for order in ["time", "time DESC", "time, n DESC", "time DESC, n", "n, time"] {
        let asked = format!("SELECT time, n FROM t WHERE sensor = $1 AND time > $2 ORDER BY {order}, n LIMIT $3");
        let prepared = session.prepare(&asked, &[]).unwrap();
        for (sensor, after, limit) in [("s1", "2024-01-03", 1_i64), ("s2", "2023-01-01", 7), ("s0", "2024-01-20", 50)] {
            let literal = asked.replace("$1", &format!("'{sensor}'")).replace("$2", &format!("'{after}'"));
            let wanted = fresh(&session, &literal.replace("$3", &limit.to_string()));
            for _ in 0..3 {
                let values: [ParameterValue; 3] = [sensor.into(), after.into(), limit.into()];
                let Answer::Rows(rows) = session.execute_prepared(&prepared, &values).unwrap() else { panic!() };
                let found: Vec<String> = rows.flat_map(|batch| lines(&batch.unwrap())).collect();
                assert_eq!(found, wanted, "{order}, {sensor}");
            }
        }
    }
}

#[test]
fn the_types_of_parameters_follow_the_definitions() {
    let (session, _directory) = session("sqlite");
    let types = |session: &Session| {
        let prepare = || session.prepare("SELECT a FROM t WHERE a = $1", &[]).unwrap().parameter_types()[0].clone();
        let first = prepare();
        assert_eq!(prepare(), first);
        first
    };
    ask(&session, "CREATE TABLE t (a INT)");
    assert_eq!(types(&session), DataType::Int32);
    let declared = session.prepare("SELECT a FROM t WHERE a = $1", &[Some(DataType::Int64)]).unwrap();
    assert_eq!(declared.parameter_types(), [DataType::Int64]);
    assert_eq!(types(&session), DataType::Int32);
    let other = session.sharing();
    ask(&other, "DROP TABLE t");
    ask(&other, "CREATE TABLE t (a TEXT)");
    assert_eq!(types(&session), DataType::Utf8);
    ask(&session, "BEGIN");
    ask(&session, "DROP TABLE t");
    ask(&session, "CREATE TABLE t (a DOUBLE)");
    assert_eq!((types(&session), types(&other)), (DataType::Float64, DataType::Utf8));
    ask(&session, "ROLLBACK");
    assert_eq!(types(&session), DataType::Utf8);
}
