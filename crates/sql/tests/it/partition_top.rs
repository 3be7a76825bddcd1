//! A condition on a rank gives the same answer whether rows are dropped below the window function or not.

use crate::render::{ask, sorted};
use crate::stores::{STORES, session};
use atsdb_sql::Session;

/// `<= n` on a rank becomes `+ 0 <= n`, which the operator does not recognise. Each order is complete, or the function
/// gives rows with the same order the same rank.
const QUERIES: [&str; 16] = [
    "SELECT * FROM (SELECT sensor, v, id, row_number() OVER (PARTITION BY sensor ORDER BY v DESC, id) AS r FROM t) WHERE r <= 3",
    "SELECT * FROM (SELECT sensor, time, row_number() OVER (PARTITION BY sensor ORDER BY time DESC) AS r FROM t) WHERE r <= 2",
    "SELECT * FROM (SELECT sensor, time, v, row_number() OVER (PARTITION BY sensor ORDER BY time) AS r FROM t) WHERE r <= 1",
    "SELECT * FROM (SELECT sensor, v, rank() OVER (PARTITION BY sensor ORDER BY v) AS r FROM t) WHERE r <= 4",
    "SELECT * FROM (SELECT status, f, rank() OVER (PARTITION BY status ORDER BY f DESC) AS r FROM t) WHERE r <= 2",
    "SELECT * FROM (SELECT status, f, rank() OVER (PARTITION BY status ORDER BY f DESC NULLS LAST, g) AS r FROM t) WHERE r <= 5",
    "SELECT * FROM (SELECT sensor, status, v, rank() OVER (PARTITION BY sensor, status ORDER BY v NULLS FIRST) AS r FROM t) \
     WHERE r <= 2 AND v > 0",
    "SELECT sensor, sum(id) FROM (SELECT *, row_number() OVER (PARTITION BY sensor, status ORDER BY note, id) AS r FROM t) \
     WHERE r <= 5 GROUP BY sensor",
    "SELECT * FROM (SELECT id % 10 AS k, id, rank() OVER (PARTITION BY id % 10 ORDER BY note DESC) AS r FROM t) WHERE r <= 2",
    "SELECT * FROM (SELECT sensor, id, row_number() OVER w AS r, rank() OVER w AS s, dense_rank() OVER w AS d FROM t \
     WINDOW w AS (PARTITION BY sensor ORDER BY id DESC)) WHERE r <= 3 AND d > 1",
    "SELECT * FROM (SELECT status, f, id, rank() OVER (PARTITION BY status ORDER BY f, id) AS r FROM t) WHERE r <= 3",
    "SELECT * FROM (SELECT sensor, id, row_number() OVER w AS r, lead(id) OVER w AS n FROM t \
     WINDOW w AS (PARTITION BY sensor ORDER BY id)) WHERE r <= 3",
    "SELECT * FROM (SELECT sensor, id, row_number() OVER w AS r, count(*) OVER (PARTITION BY sensor) AS n FROM t \
     WINDOW w AS (PARTITION BY sensor ORDER BY id)) WHERE r <= 3",
    "SELECT * FROM (SELECT sensor, dense_rank() OVER (PARTITION BY sensor ORDER BY v) AS r FROM t) WHERE r <= 2",
    "SELECT * FROM (SELECT f, id, row_number() OVER (PARTITION BY f ORDER BY id) AS r FROM t) WHERE r <= 2",
    "SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) AS r FROM t) WHERE r <= 2",
];

/// The number of queries that have the operator in their plan. The others have a function that later rows change, a
/// partition by a DOUBLE, or no partition.
const WITH_OPERATOR: usize = 11;

fn fill(session: &Session) {
    let columns = "time TIMESTAMP NOT NULL, sensor TEXT, status TEXT, note TEXT, id BIGINT, v INT, f DOUBLE, g REAL";
    ask(session, &format!("CREATE TABLE t ({columns}) WITH (map = 'sensor:u16, status:u8', slice = 'day')"));
    let values = "to_timestamp_seconds(1704067200 + value * 37), 's' || (value % 90), \
         CASE value % 3 WHEN 0 THEN 'ok' WHEN 1 THEN 'bad' END, 'note ' || (value * 7919 % 1000), value, \
         nullif(value * 31 % 40, 7), CASE value % 7 WHEN 0 THEN -0.0 WHEN 1 THEN 0.0 WHEN 2 THEN CAST('NaN' AS DOUBLE) \
         WHEN 3 THEN NULL ELSE value % 5 END, value % 11";
    for rows in ["generate_series(0, 5999)", "generate_series(5000, 7999)"] {
        ask(session, &format!("INSERT INTO t SELECT {values} FROM {rows}"));
    }
}

fn plan(session: &Session, sql: &str) -> String {
    ask(session, &format!("EXPLAIN {sql}")).join("\n")
}

#[test]
fn dropping_rows_early_changes_no_answer() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        for sealed in [false, true] {
            if sealed {
                session.engine().recompress(None).unwrap();
            }
            for (at, query) in QUERIES.iter().enumerate() {
                let unrecognised = query.replace("r <= ", "r + 0 <= ");
                let is_used = plan(&session, query).contains("PartitionTopExec");
                assert_eq!(is_used, at < WITH_OPERATOR, "{query}\n{}", plan(&session, query));
                assert!(!plan(&session, &unrecognised).contains("PartitionTopExec"), "{unrecognised}");
                assert_eq!(sorted(&session, query), sorted(&session, &unrecognised), "{query}");
            }
        }
    }
}

#[test]
fn each_form_of_a_bound_is_recognised() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    let from = "(SELECT sensor, id, row_number() OVER (PARTITION BY sensor ORDER BY id DESC) AS r FROM t)";
    let two = sorted(&session, &format!("SELECT * FROM {from} WHERE r + 0 <= 2"));
    for bound in ["r <= 2", "r < 3", "2 >= r", "3 > r", "r BETWEEN 1 AND 2", "r <= 2 AND id >= 0"] {
        let query = format!("SELECT * FROM {from} WHERE {bound}");
        assert!(plan(&session, &query).contains("PartitionTopExec: first 2 of [sensor"), "{}", plan(&session, &query));
        assert_eq!(sorted(&session, &query), two, "{bound}");
    }
    let one = sorted(&session, &format!("SELECT * FROM {from} WHERE r + 0 = 2"));
    let query = format!("SELECT * FROM {from} WHERE r = 2");
    assert!(plan(&session, &query).contains("PartitionTopExec"));
    assert_eq!(sorted(&session, &query), one);
    for bound in
        ["r > 2", "r >= 2", "r <> 2", "r <= 0", "r < 1", "r = -1", "r <= 2 OR id = 7", "r <= 100000", "r <= id"]
    {
        let query = format!("SELECT * FROM {from} WHERE {bound}");
        assert!(!plan(&session, &query).contains("PartitionTopExec"), "{bound}");
        let unrecognised = query.replace("WHERE r ", "WHERE r + 0 ");
        assert_eq!(sorted(&session, &query), sorted(&session, &unrecognised), "{bound}");
    }
}

/// If the operator and the window each drew numbers of their own, rows that come early would be favoured.
#[test]
fn rows_in_a_random_order_are_dropped_by_the_numbers_that_the_window_compares() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    for order in ["random()", "id, random()"] {
        let query = format!(
            "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY status ORDER BY {order}) AS r FROM t) WHERE r <= 3"
        );
        let plan = plan(&session, &query);
        assert_eq!(plan.matches("random()) AS order").count(), 1, "{plan}");
        assert!(!plan.split("physical_plan").skip(1).any(|line| line.contains("by [random")), "{plan}");
    }
}

#[test]
fn the_latest_rows_of_each_series_are_found_without_sorting_all() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    session.engine().recompress(None).unwrap();
    let query = "EXPLAIN ANALYZE SELECT * FROM (SELECT sensor, time, v, \
                 row_number() OVER (PARTITION BY sensor ORDER BY time DESC) AS r FROM t) WHERE r <= 2";
    let plan = ask(&session, query).join("\n");
    assert!(plan.contains("latest first") && plan.contains("PartitionTopExec"), "{plan}");
    // Of 9,000 rows 180 are wanted; each thread and each chunk may let some more pass.
    let dropped = plan.split("rows_dropped=").nth(1).and_then(|rest| rest.split([',', ']']).next()).unwrap();
    let dropped: f64 = dropped.replace(" K", "").parse().unwrap();
    assert!(dropped > 8.0 && dropped < 9.0, "{plan}");
}
