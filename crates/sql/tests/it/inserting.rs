//! `INSERT`s of literals: whether statements are gathered or executed one by one, the table ends up the same, and so
//! does each statement's answer.

use crate::scripts::answer;
use crate::stores::{STORES, session};
use atsdb_core::{Error, ErrorKind, Result, Store};
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Answer, Session, SessionOptions};
use std::sync::Arc;

/// A generator of random numbers.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const TABLES: [&str; 3] = [
    "CREATE TABLE keyed (id INT, tag TEXT, x DOUBLE DEFAULT 1.5, PRIMARY KEY (id, tag)) WITH (map = 'tag:u8')",
    "CREATE TABLE readings (time TIMESTAMP, sensor TEXT, n INT, note TEXT, UNIQUE (sensor, time), UNIQUE (n)) \
     WITH (map = 'sensor:u32', slice = 'day')",
    "CREATE TABLE plain (a BIGINT, b TEXT)",
];
const QUESTIONS: [&str; 3] = [
    "SELECT * FROM keyed ORDER BY id, tag, x",
    "SELECT * FROM readings ORDER BY time, sensor, n, note",
    "SELECT * FROM plain ORDER BY a, b",
];

/// Returns the beginning of a statement, and the values of its rows.
fn insert(dice: &mut Dice) -> (String, Vec<Vec<String>>) {
    let opening = ["INSERT INTO", "INSERT INTO", "INSERT INTO", "INSERT OR IGNORE INTO", "REPLACE INTO"];
    let opening = opening[dice.throw(5) as usize];
    let table = dice.throw(5);
    // If an existing key ends the transaction, few rows have one.
    let few = if opening == "INSERT INTO" && dice.throw(40) > 0 { 1_000_000 } else { 60 };
    let row = |dice: &mut Dice| match table {
        0 => vec![dice.throw(few).to_string(), format!("'t{}'", dice.throw(3)), dice.throw(9).to_string()],
        1 => vec![format!("'t{}'", dice.throw(3)), dice.throw(few).to_string()],
        2 | 3 => {
            let n = if dice.throw(3) == 0 { "NULL".to_owned() } else { dice.throw(few).to_string() };
            let sensor = if dice.throw(9) == 0 { "NULL".to_owned() } else { format!("'s{}'", dice.throw(5)) };
            let second = dice.throw(few);
            let (day, hour, minute) = (1 + second / 86_400, second / 3_600 % 24, second / 60 % 60);
            let time = format!("'2024-01-{day:02} {hour:02}:{minute:02}:{:02}'", second % 60);
            vec![time, sensor, n, format!("'it''s {}'", dice.throw(9))]
        }
        _ => vec![dice.throw(9).to_string(), format!("'{}'", dice.throw(9))],
    };
    let row_count = if dice.throw(3) == 0 { 1 + dice.throw(20) } else { 1 };
    let rows = (0..row_count).map(|_| row(dice)).collect();
    let into = match table {
        0 => "keyed",
        1 => "keyed (tag, id)",
        2 | 3 => "readings (time, sensor, n, note)",
        _ => "plain",
    };
    (format!("{opening} {into} VALUES"), rows)
}

fn run(session: &Session, sql: &str) -> Result<Option<u64>> {
    let statement = session.statements(sql).next().unwrap().unwrap();
    match session.execute(&statement, &[])? {
        Answer::Done { row_count, .. } => Ok(row_count),
        Answer::Rows(rows) => rows.collect::<Result<Vec<_>>>().map(|_| None),
    }
}

#[test]
fn both_ways_give_the_same_table() {
    for store in STORES {
        let ((fast, _one), (general, _other)) = (session(store), session(store));
        let both = |sql: &str| (run(&fast, sql), run(&general, sql));
        TABLES.iter().for_each(|sql| assert!(both(sql).0.is_ok()));
        let mut dice = Dice(2_024);
        let mut refused = 0;
        for transaction in 0..12 {
            assert!(both("BEGIN").0.is_ok());
            for step in 0..60 {
                let (opening, rows) = insert(&mut dice);
                let text = |values: &[String]| format!("({})", values.join(", "));
                let plain: Vec<String> = rows.iter().map(|row| text(row)).collect();
                // A value in parentheses is not a literal.
                let nested = |row: &Vec<String>| row.iter().map(|value| format!("({value})")).collect::<Vec<_>>();
                let odd: Vec<String> = rows.iter().map(|row| text(&nested(row))).collect();
                let got = run(&fast, &format!("{opening} {}", plain.join(", ")));
                let expected = run(&general, &format!("{opening} {}", odd.join(", ")));
                // If several keys exist, the error may name any of them.
                let shown = |result: &Result<Option<u64>>| result.as_ref().copied().map_err(Error::kind);
                assert_eq!(shown(&got), shown(&expected), "{store}: {opening} {}", plain.join(", "));
                if got.is_err() {
                    refused += 1;
                    break;
                }
                match dice.throw(30) {
                    0 => {
                        let change = "UPDATE readings SET n = n + 1000 WHERE sensor = 's1'";
                        let (got, expected) = both(change);
                        assert_eq!(got.is_ok(), expected.is_ok(), "{store}: {change}");
                        if got.is_err() {
                            break;
                        }
                    }
                    1 => {
                        let (got, expected) = both("DELETE FROM keyed WHERE id % 3 = 0");
                        assert_eq!(got.unwrap(), expected.unwrap(), "{store}: step {step}");
                    }
                    2 => QUESTIONS.iter().for_each(|sql| {
                        assert_eq!(answer(&fast, sql).unwrap(), answer(&general, sql).unwrap(), "{store}: step {step}");
                    }),
                    _ => {}
                }
            }
            let (got, expected) = both("COMMIT");
            assert_eq!(got.is_ok(), expected.is_ok(), "{store}: {transaction}");
            for sql in QUESTIONS {
                assert_eq!(answer(&fast, sql).unwrap(), answer(&general, sql).unwrap(), "{store}: {transaction}");
            }
            if transaction % 4 == 3 {
                fast.engine().recompress(None).unwrap();
            }
        }
        assert!((2..12).contains(&refused), "{refused} of 12 transactions met a key that is there");
        assert!(answer(&fast, QUESTIONS[0]).unwrap().len() > 30);
    }
}

#[test]
fn a_transaction_sees_what_gathers_in_it() {
    for store in STORES {
        let (session, _directory) = session(store);
        run(&session, "CREATE TABLE t (id INT PRIMARY KEY, x INT)").unwrap();
        run(&session, "CREATE TABLE u (x INT)").unwrap();
        run(&session, "INSERT INTO t VALUES (5, 0), (6, 0)").unwrap();
        run(&session, "BEGIN").unwrap();
        for id in [9, 1, 7, 3] {
            run(&session, &format!("INSERT INTO t VALUES ({id}, {id})")).unwrap();
            run(&session, &format!("INSERT INTO u VALUES ({id})")).unwrap();
        }
        let totals =
            || answer(&session, "SELECT count(*), sum(x), (SELECT count(*) FROM u) AS u FROM t").unwrap()[1].clone();
        assert_eq!(totals(), "6 | 20 | 4");
        assert_eq!(run(&session, "UPDATE t SET x = x + 1 WHERE id > 5").unwrap(), Some(3));
        run(&session, "INSERT INTO t VALUES (2, 0)").unwrap();
        assert_eq!(run(&session, "DELETE FROM t WHERE id IN (1, 2)").unwrap(), Some(2));
        // These keys are free again.
        run(&session, "INSERT INTO t VALUES (2, 100)").unwrap();
        run(&session, "INSERT INTO t VALUES (1, 100)").unwrap();
        run(&session, "ALTER TABLE u ADD COLUMN y INT").unwrap();
        run(&session, "INSERT INTO u VALUES (1, 2)").unwrap();
        run(&session, "COMMIT").unwrap();
        assert_eq!(totals(), "7 | 222 | 5");
    }
}

#[test]
fn a_statement_that_is_refused_leaves_nothing_of_itself() {
    let (session, _directory) = session("sqlite");
    run(&session, "CREATE TABLE t (id INT PRIMARY KEY, tag TEXT) WITH (map = 'tag:u8')").unwrap();
    run(&session, "BEGIN").unwrap();
    run(&session, "INSERT INTO t VALUES (1, 'a')").unwrap();
    run(&session, "SAVEPOINT before").unwrap();
    let refused = |sql: &str| {
        let error = run(&session, sql).unwrap_err();
        assert!(run(&session, "INSERT INTO t VALUES (9, 'a')").is_err(), "the transaction takes nothing more");
        error
    };
    let error = refused("INSERT INTO t VALUES (2, 'a'), (3, 'a'), ('x', 'a')");
    assert!(error.to_string().contains("row 3"), "{error}");
    run(&session, "ROLLBACK TO before").unwrap();
    let error = refused("INSERT INTO t VALUES (2, 'a'), (3)");
    assert!(error.to_string().contains("1 values for 2 columns"), "{error}");
    run(&session, "ROLLBACK TO before").unwrap();
    run(&session, "INSERT INTO t VALUES (3, 'b')").unwrap();
    assert_eq!(answer(&session, "SELECT count(*) FROM t").unwrap()[1], "2");
    let error = refused("INSERT INTO t VALUES (4, 'a'), (1, 'a')");
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert!(error.to_string().contains("key (id): (1) already exists"), "{error}");
    assert!(run(&session, "COMMIT").is_err());
    assert_eq!(answer(&session, "SELECT count(*) FROM t").unwrap()[1], "0");
}

#[test]
fn the_string_that_is_one_too_many_is_reported_by_its_statement() {
    let (session, _directory) = session("memory");
    run(&session, "CREATE TABLE t (tag TEXT, n INT) WITH (map = 'tag:u8')").unwrap();
    run(&session, "INSERT INTO t VALUES ('tag 0', 0), ('tag 1', 1)").unwrap();
    run(&session, "BEGIN").unwrap();
    for n in 0..256 {
        run(&session, &format!("INSERT INTO t VALUES ('tag {n}', {n})")).unwrap();
    }
    run(&session, "INSERT INTO t VALUES ('tag 7', 7)").unwrap();
    let error = run(&session, "INSERT INTO t VALUES ('tag 256', 256)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn two_transactions_do_not_both_add_a_key() {
    let (one, _directory) = session("memory");
    let other = Session::new(one.engine().clone(), atsdb_sql::SessionOptions::default()).unwrap();
    run(&one, "CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    for session in [&one, &other] {
        run(session, "BEGIN").unwrap();
        run(session, "INSERT INTO t VALUES (1)").unwrap();
    }
    run(&one, "COMMIT").unwrap();
    assert_eq!(run(&other, "COMMIT").unwrap_err().kind(), ErrorKind::DuplicateKey);
}

#[test]
fn a_transaction_sees_no_newer_rows_after_a_rollback_to_a_savepoint() {
    for first in ["SELECT count(*) FROM t", "INSERT INTO t VALUES (1)"] {
        let [own, other] = sessions_of_two_processes();
        let done = |session: &Session, text: &str| answer(session, text).map(drop).unwrap();
        let count = || answer(&own, "SELECT count(*) FROM t").unwrap()[1..].to_vec();
        done(&own, "CREATE TABLE t (id INT PRIMARY KEY)");
        ["BEGIN", "SAVEPOINT one", first, "SAVEPOINT two"].into_iter().for_each(|text| done(&own, text));
        done(&other, "INSERT INTO t VALUES (2)");
        done(&own, "ROLLBACK TO one");
        done(&own, "UPDATE t SET id = 3");
        assert_eq!(count(), ["0"], "{first}");
        done(&own, "COMMIT");
        assert_eq!(count(), ["1"], "{first}");
    }
}

/// Two sessions of one store whose engines know nothing of each other, like those of two processes.
fn sessions_of_two_processes() -> [Session; 2] {
    let store = Arc::new(MemoryStore::new([7; 16]));
    [(), ()].map(|()| {
        let options = EngineOptions { maintenance: false, ..EngineOptions::default() };
        let engine = Engine::new(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
        Session::new(engine, SessionOptions::default()).unwrap()
    })
}

#[test]
fn a_statement_follows_the_definitions_that_another_process_has_changed() {
    let [own, other] = sessions_of_two_processes();
    let done = |session: &Session, text: &str| answer(session, text).map(drop).unwrap();
    let rows = |text: &str| answer(&own, text).unwrap()[1..].to_vec();
    done(&own, "CREATE TABLE t (a INT)");
    done(&own, "INSERT INTO t VALUES (1)");
    done(&other, "ALTER TABLE t ADD COLUMN b INT");
    done(&own, "INSERT INTO t VALUES (2, 3)");
    done(&own, "INSERT INTO t (a, b) VALUES (3, 4)");
    done(&other, "ALTER TABLE t ALTER COLUMN a TYPE BIGINT");
    done(&own, "INSERT INTO t VALUES (3000000000, 5)");
    assert_eq!(rows("SELECT a, b FROM t ORDER BY a"), ["1 | NULL", "2 | 3", "3 | 4", "3000000000 | 5"]);

    // The statement means the table that has the name now, although it would fit the other one.
    done(&other, "ALTER TABLE t RENAME TO u");
    done(&other, "CREATE TABLE t (a BIGINT, b INT)");
    done(&own, "INSERT INTO t VALUES (6, 6)");
    assert_eq!(rows("SELECT a, b FROM t"), ["6 | 6"]);
    assert_eq!(rows("SELECT count(*) FROM u"), ["4"]);

    done(&other, "ALTER TABLE t ADD CONSTRAINT k UNIQUE (a)");
    let error = answer(&own, "INSERT INTO t VALUES (6, 7)").unwrap_err();
    assert!(error.contains("already exists"), "{error}");
    done(&other, "DROP TABLE t");
    let error = answer(&own, "INSERT INTO t VALUES (8, 8)").unwrap_err();
    assert!(error.contains("no table named t"), "{error}");
    done(&other, "ALTER TABLE u RENAME TO t");
    done(&own, "INSERT INTO t VALUES (9, 9)");
    done(&own, "INSERT INTO t VALUES (10, 10)");
    assert_eq!(rows("SELECT count(*) FROM t"), ["6"]);
}
