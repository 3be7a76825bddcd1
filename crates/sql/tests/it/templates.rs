//! Queries that differ only in constants: one that is read directly, because two others were planned, gives the answer
//! of a session that has planned nothing.

use crate::render::{ask, lines};
use crate::stores::session;
use atsdb_sql::{Answer, Session, SessionOptions};

const COLUMNS: [&str; 11] = ["time", "mapped", "plain", "i2", "i4", "i8", "f4", "f8", "d", "day", "is_on"];

const FILL: [&str; 3] = [
    "CREATE TABLE t (time TIMESTAMP, mapped TEXT, plain VARCHAR(20), i2 SMALLINT, i4 INT, i8 BIGINT, f4 REAL, \
     f8 DOUBLE, d DECIMAL(9, 2), day DATE, is_on BOOLEAN) WITH (map = 'mapped:u8')",
    "INSERT INTO t SELECT TIMESTAMP '2024-01-01' + n * INTERVAL '12 hours', 's' || n % 3, n::text, n, n, n * 1000000000::bigint, \
     n / 10.0, n / 10.0, n / 4.0, DATE '2024-01-01' + n::int, n % 2 = 0 FROM generate_series(0, 19) AS s(n)",
    "INSERT INTO t (time, mapped, plain) VALUES ('2024-02-01', '5', ''), ('2024-02-02', NULL, '0.1'), ('2024-02-03', '', 'a''b')",
];

/// Each class of constants appears several times, so that the later ones are read directly where that is possible.
const CONSTANTS: [&str; 32] = [
    "'s1'",
    "'s2'",
    "'s0'",
    "'5'",
    "5",
    "3",
    "0",
    "7",
    "'7'",
    "1.5",
    "0.1",
    "'0.1'",
    "0.3",
    "3000000000",
    "70000",
    "-1",
    "'2024-01-02'",
    "'2024-01-03'",
    "'2024-01-02 12:00:00'",
    "'2024-01-02T12:00:00+02:00'",
    "'2024-01-02 12:00:00.5'",
    "'2024-01-02 12:00:00.0000004'",
    "'2024-01-02 12:00:00.0000006'",
    "' 2024-01-02'",
    "'today'",
    "'true'",
    "'t'",
    "''",
    "'a''b'",
    "'none'",
    "NULL",
    "9223372036854775807",
];

fn outcome(session: &Session, sql: &str) -> Result<Vec<String>, String> {
    let statement = session.statements(sql).next().unwrap().unwrap();
    // The value that an error names may be that of any row.
    let shown = |error: atsdb_core::Error| format!("{:?}", error.kind());
    match session.execute(&statement, &[]).map_err(shown)? {
        Answer::Rows(rows) => {
            rows.map(|batch| batch.map(|batch| lines(&batch)).map_err(shown)).collect::<Result<Vec<_>, _>>()
        }
        Answer::Done { .. } => unreachable!("a query has rows"),
    }
    .map(|batches| batches.concat())
}

#[test]
fn other_constants_give_the_answer_of_a_query_that_is_planned() {
    let (session, _directory) = session("sqlite");
    FILL.iter().for_each(|sql| drop(ask(&session, sql)));
    session.engine().recompress(None).unwrap();
    for column in COLUMNS {
        for form in [
            "SELECT plain FROM t WHERE COLUMN = CONSTANT ORDER BY time, plain",
            "SELECT plain, mapped FROM t WHERE COLUMN>=CONSTANT AND i4 < 15 ORDER BY time DESC, plain LIMIT 3",
            "SELECT plain FROM (SELECT * FROM t) AS u WHERE mapped = 's1' AND COLUMN BETWEEN CONSTANT AND CONSTANT ORDER BY plain",
        ] {
            for constant in CONSTANTS {
                let sql = form.replace("COLUMN", column).replace("CONSTANT", constant);
                let fresh = Session::new(session.engine().clone(), SessionOptions::default()).unwrap();
                assert_eq!(outcome(&session, &sql), outcome(&fresh, &sql), "{sql}");
            }
        }
    }
}

#[test]
fn aggregates_with_other_constants_give_the_answer_of_a_query_that_is_planned() {
    let (session, _directory) = session("sqlite");
    FILL.iter().for_each(|sql| drop(ask(&session, sql)));
    session.engine().recompress(None).unwrap();
    // Rows that are not sealed yet.
    ask(&session, FILL[1]);
    for form in [
        "SELECT count(*), sum(i4), avg(f8), min(time), max(f4) FROM t WHERE COLUMN = CONSTANT",
        "SELECT date_trunc('day', time) AS day, mapped, sum(i8), count(f8) FROM t WHERE COLUMN >= CONSTANT AND i4 < 15 \
         GROUP BY date_trunc('day', time), mapped HAVING count(*) > 1 ORDER BY mapped DESC NULLS LAST, day LIMIT 5",
        "SELECT mapped || '!' AS m, round(avg(d), 1), median(f8) FROM (SELECT mapped, d, f8, COLUMN AS c FROM t) AS u \
         WHERE c <= CONSTANT GROUP BY mapped ORDER BY 1 OFFSET 1",
        "SELECT DISTINCT mapped FROM t WHERE COLUMN < CONSTANT AND time > '2024-01-03' ORDER BY mapped",
        "SELECT i2 % 2, sum(i2) FROM t WHERE COLUMN = CONSTANT GROUP BY i2 % 2 ORDER BY 1",
        "SELECT sum(i8 * 1000000000) FROM t WHERE COLUMN >= CONSTANT",
    ] {
        for column in COLUMNS {
            for constant in CONSTANTS {
                let sql = form.replace("COLUMN", column).replace("CONSTANT", constant);
                let fresh = Session::new(session.engine().clone(), SessionOptions::default()).unwrap();
                assert_eq!(outcome(&session, &sql), outcome(&fresh, &sql), "{sql}");
            }
        }
    }
}
