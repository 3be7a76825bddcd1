//! Grouping by a mapped column gives the same answer as grouping by unmapped strings, whatever operators lie in
//! between, and works on indices if possible.

use crate::render::{ask, sorted};
use crate::stores::{STORES, session};
use atsdb_sql::Session;

/// Each query runs on `mapped` and on `plain`, which has the same rows with unmapped texts.
const QUERIES: [&str; 22] = [
    "SELECT status, count(*), sum(v) FROM t GROUP BY status",
    "SELECT sensor, status, count(*), max(time) FROM t GROUP BY sensor, status",
    "SELECT x.status, min(x.v) FROM t AS x WHERE x.v % 2 = 0 GROUP BY x.status",
    "SELECT upper(s), n FROM (SELECT status AS s, count(*) AS n FROM (SELECT status, v FROM t WHERE v > 5) GROUP BY status)",
    "SELECT time_bucket('10 minutes', time) AS b, status, avg(v) FROM t GROUP BY b, status",
    "SELECT DISTINCT status FROM t",
    "SELECT DISTINCT status, sensor FROM t WHERE sensor < 's2'",
    "SELECT sensor, count(DISTINCT status) FROM t GROUP BY sensor",
    "SELECT count(DISTINCT status), count(DISTINCT sensor) FROM t",
    "SELECT status, count(status), min(status), max(sensor) FROM t GROUP BY status",
    "SELECT status, count(*) FROM t GROUP BY status HAVING status > 'a' AND count(*) > 1",
    "SELECT status FROM t GROUP BY status ORDER BY status DESC NULLS LAST LIMIT 2",
    "SELECT concat(status, '!'), count(*) FROM t GROUP BY concat(status, '!')",
    "SELECT status, sensor, count(*) FROM t GROUP BY ROLLUP (status, sensor)",
    "SELECT a.status, count(*) FROM t a JOIN t b ON a.sensor = b.sensor AND a.v = b.v GROUP BY a.status",
    "SELECT status, count(*) FROM (SELECT status FROM t UNION ALL SELECT sensor FROM t) GROUP BY status",
    "SELECT status FROM t UNION SELECT sensor FROM t",
    "SELECT sensor, (SELECT count(*) FROM t u WHERE u.status = 'ok') FROM t GROUP BY sensor",
    "WITH g AS (SELECT sensor, status, sum(v) AS s FROM t GROUP BY sensor, status) SELECT status, sum(s) FROM g GROUP BY status",
    "SELECT status, count(*) FILTER (WHERE status = 'ok'), count(*) FROM t WHERE status IS NOT NULL GROUP BY status",
    "SELECT kind, status, count(*) FROM t GROUP BY kind, status",
    "SELECT kind, rank() OVER (ORDER BY kind) FROM t GROUP BY kind",
];

/// Creates the tables with rows of 400 sensors, then adds a column and more rows.
fn tables(session: &Session) {
    let columns = "(time TIMESTAMP, sensor TEXT, status TEXT, v BIGINT)";
    ask(session, &format!("CREATE TABLE mapped {columns} WITH (map = 'sensor:u16, status:u8', slice = 'hour')"));
    ask(session, &format!("CREATE TABLE plain {columns} WITH (slice = 'hour')"));
    for table in ["mapped", "plain"] {
        let rows = "SELECT to_timestamp_seconds(value * 9), 's' || (value % 400), \
                    CASE value % 3 WHEN 0 THEN 'ok' WHEN 1 THEN 'bad' END, value FROM generate_series(0, 1199)";
        ask(session, &format!("INSERT INTO {table} {rows}"));
    }
    session.engine().recompress(None).unwrap();
    for (table, kind) in [("mapped", "TEXT DEFAULT 'usual', SET (map = 'kind:u32')"), ("plain", "TEXT DEFAULT 'usual'")]
    {
        ask(session, &format!("ALTER TABLE {table} ADD COLUMN kind {kind}"));
        let rows = "SELECT to_timestamp_seconds(value * 9), 's' || (value % 500), 'new ' || (value % 7), value, \
                    nullif('kind ' || (value % 5), 'kind 0') FROM generate_series(1100, 1499)";
        ask(session, &format!("INSERT INTO {table} {rows}"));
    }
}

#[test]
fn groups_of_indices_are_groups_of_strings() {
    for store in STORES {
        let (session, _directory) = session(store);
        tables(&session);
        for sealed in [false, true] {
            if sealed {
                session.engine().recompress(None).unwrap();
            }
            for query in QUERIES {
                let of = |table: &str| {
                    sorted(
                        &session,
                        &query
                            .replace("FROM t", &format!("FROM {table}"))
                            .replace("JOIN t ", &format!("JOIN {table} ")),
                    )
                };
                let (mapped, plain) = (of("mapped"), of("plain"));
                assert!(!plain.is_empty());
                assert_eq!(mapped, plain, "{store}, sealed {sealed}: {query}");
            }
        }
    }
}

#[test]
fn a_plan_shows_that_it_groups_by_indices_and_reads_no_strings() {
    let (session, _directory) = session("memory");
    tables(&session);
    for query in [QUERIES[0], QUERIES[2], QUERIES[4], QUERIES[7]] {
        let plan = ask(&session, &format!("EXPLAIN {}", query.replace("FROM t", "FROM mapped"))).join("\n");
        assert!(plan.contains("columns=[") && plan.contains("index of s"), "{query}: {plan}");
    }
    let plan = ask(&session, "EXPLAIN SELECT status, count(*) FROM mapped GROUP BY status").join("\n");
    assert!(plan.contains("columns=[index of status]"), "{plan}");
}
