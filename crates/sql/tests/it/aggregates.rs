//! Aggregates that work on whole chunks give the same answers as DataFusion's, which are used if the query below them
//! has a LIMIT.

use crate::render::{ask, sorted};
use crate::scripts::answer;
use crate::stores::{STORES, session};
use atsdb_sql::{Session, SessionOptions};

/// `FROM t` is replaced by a query of all rows with a LIMIT, which no operator over chunks accepts.
const QUERIES: [&str; 32] = [
    "SELECT count(*), count(v), sum(v), min(v), max(v), avg(v) FROM t",
    "SELECT sum(f), avg(f), min(f), max(f), count(f), sum(g), max(g), avg(g) FROM t",
    "SELECT sum(small), sum(big), avg(small), min(big), max(small), sum(wide) FROM t",
    "SELECT sum(v + 1), sum(10 - v), sum(small - 7), sum(-big), sum(big + 1 - 3), avg(v + 1), avg(2 - big) FROM t",
    "SELECT sensor, sum(v + 1), count(v), sum(CAST(big AS BIGINT) - 5), avg(big) FROM t WHERE v < 300 GROUP BY sensor",
    "SELECT min(time), max(time), min(day), max(day) FROM t WHERE v IS NOT NULL",
    "SELECT sensor, min(odd), max(odd), count(odd) FROM t GROUP BY sensor",
    "SELECT min(odd), max(odd), sum(odd), count(odd) FROM t WHERE sensor = 's6'",
    "SELECT later, count(*), sum(later) FROM t GROUP BY later",
    "SELECT sensor, max(big) FROM t GROUP BY sensor ORDER BY 2 DESC LIMIT 3",
    "SELECT v, count(*) FROM t GROUP BY v ORDER BY 2 DESC, 1 LIMIT 3",
    "SELECT v, sum(big) FROM t GROUP BY v ORDER BY sum(big) LIMIT 5",
    "SELECT v, sum(big) AS s FROM t GROUP BY v ORDER BY s DESC NULLS LAST LIMIT 5",
    "SELECT v, count(*), sum(small) FROM t GROUP BY v ORDER BY v DESC LIMIT 2 OFFSET 2",
    "SELECT count(*), avg(v) FROM t WHERE v > 1000000",
    "SELECT sensor, count(*), avg(v), max(f) FROM t GROUP BY sensor",
    "SELECT status, count(*), sum(v), min(f) FROM t GROUP BY status",
    "SELECT sensor, status, count(*), sum(small) FROM t GROUP BY sensor, status",
    "SELECT date_trunc('hour', time), count(*), avg(v) FROM t GROUP BY 1",
    "SELECT date_trunc('month', time), sensor, max(f) FROM t GROUP BY 1, 2",
    "SELECT time_bucket('15 minutes', time), status, count(v) FROM t GROUP BY 1, 2",
    "SELECT time_bucket('1 day', time, 'Europe/Zurich'), avg(small) FROM t GROUP BY 1",
    "SELECT date_bin('7 minutes', time, '2024-01-01T00:03:00Z'), sum(v) FROM t GROUP BY 1",
    "SELECT v, count(*) FROM t GROUP BY v",
    "SELECT day, small, count(*), max(big) FROM t GROUP BY day, small",
    "SELECT wide, count(*) FROM t GROUP BY wide",
    "SELECT sensor, sum(v) FROM t WHERE time >= '2024-01-01 05:00' AND time < '2024-01-02 01:30' GROUP BY sensor",
    "SELECT status, count(*) FROM t WHERE sensor = 's3' AND v < 300 GROUP BY status",
    "SELECT x.status, avg(x.v) FROM t AS x WHERE x.f IS NOT NULL GROUP BY x.status HAVING count(*) > 2",
    "SELECT sensor, later, count(later), max(later) FROM t GROUP BY sensor, later",
    "SELECT DISTINCT sensor, status FROM t",
    "SELECT a.sensor, a.n, b.n FROM (SELECT sensor, count(*) AS n FROM t GROUP BY sensor) a \
     JOIN (SELECT sensor, max(v) AS n FROM t GROUP BY sensor) b ON a.sensor = b.sensor",
];

fn plan(session: &Session, sql: &str) -> String {
    ask(session, &format!("EXPLAIN {sql}")).join("\n")
}

fn fill(session: &Session) {
    let columns = "time TIMESTAMP NOT NULL, sensor TEXT, status TEXT, v BIGINT, f DOUBLE, g REAL, small SMALLINT, big INT, \
                   wide BIGINT UNSIGNED, day DATE, odd DOUBLE";
    ask(session, &format!("CREATE TABLE t ({columns}) WITH (map = 'sensor:u16, status:u8', slice = 'day')"));
    // Halves and quarters add up exactly in any order.
    let values = "to_timestamp_seconds(1704067200 + value * 37), 's' || (value % 7), \
         CASE value % 3 WHEN 0 THEN 'ok' WHEN 1 THEN 'bad' END, CASE WHEN value % 5 > 0 THEN value % 900 - 450 END, \
         CASE WHEN value % 11 > 0 THEN (value % 64) / 4.0 END, (value % 32) / 2.0, value % 300 - 150, -value, \
         value * 1000003, CAST('2024-01-01' AS DATE) + CAST(value % 3 AS INT), \
         CASE value % 21 WHEN 6 THEN CAST('NaN' AS DOUBLE) WHEN 13 THEN -0.0 WHEN 20 THEN 0.0 WHEN 5 THEN -0.0 \
         WHEN 4 THEN CAST('-Infinity' AS DOUBLE) WHEN 11 THEN 7 END";
    ask(session, &format!("INSERT INTO t SELECT {values} FROM generate_series(CAST(0 AS BIGINT), 5999)"));
    session.engine().recompress(None).unwrap();
    ask(session, "ALTER TABLE t ADD COLUMN later INT DEFAULT 5");
    ask(session, "ALTER TABLE t ALTER COLUMN small TYPE BIGINT");
    let (columns, more) =
        ("time, sensor, v, later", "to_timestamp_seconds(1704240000 + value * 41), 's' || (value % 9)");
    ask(
        session,
        &format!("INSERT INTO t ({columns}) SELECT {more}, value, nullif(value % 4, 0) FROM generate_series(0, 699)"),
    );
}

#[test]
fn aggregates_of_chunks_are_those_of_rows() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        for sealed in [false, true] {
            if sealed {
                session.engine().recompress(None).unwrap();
            }
            for query in QUERIES {
                let rows = query.replace("FROM t", "FROM (SELECT * FROM t LIMIT 1000000) AS t");
                let rows = rows.replace("AS t AS x", "AS x");
                assert!(plan(&session, query).contains("AtsdbAggregate"), "{query}");
                assert!(!plan(&session, &rows).contains("AtsdbAggregate"), "{rows}");
                assert_eq!(sorted(&session, query), sorted(&session, &rows), "{query}");
            }
        }
    }
}

#[test]
fn other_aggregates_stay_with_datafusion() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    for query in [
        "SELECT v, max(big) FROM t GROUP BY v ORDER BY 2 DESC LIMIT 3",
        "SELECT DISTINCT v FROM t ORDER BY v LIMIT 3",
        "SELECT sensor, sum(v) FILTER (WHERE v > 0) FROM t GROUP BY sensor",
        "SELECT sensor, sum(v * 2) FROM t GROUP BY sensor",
        "SELECT f, count(*) FROM t GROUP BY f",
        "SELECT upper(sensor), count(*) FROM t GROUP BY upper(sensor)",
        "SELECT sensor, min(status) FROM t GROUP BY sensor",
        "SELECT sensor, count(*) FROM t GROUP BY ROLLUP (sensor)",
        "SELECT count(*) FROM t",
    ] {
        assert!(!plan(&session, query).contains("AtsdbAggregate"), "{query}");
        ask(&session, query);
    }
}

/// Any groups will do, but each must have all its rows.
#[test]
fn a_limit_of_groups_returns_some_of_all_groups() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        for query in [
            "SELECT CAST(g * 2 AS INT), v, count(*), sum(f), min(status) FROM t GROUP BY CAST(g * 2 AS INT), v",
            "SELECT v, count(DISTINCT sensor), max(big) FROM t WHERE f IS NOT NULL GROUP BY v",
            "SELECT small % 3, count(*) FILTER (WHERE v > 0), avg(v) FROM t GROUP BY 1",
            "SELECT 's: ' || v, day, bool_or(v > 0) FROM t GROUP BY 1, 2",
            "SELECT v % 4, array_agg(DISTINCT sensor ORDER BY sensor) FROM t GROUP BY 1",
        ] {
            let all = sorted(&session, query);
            for (limit, count_max) in [("LIMIT 1", 1), ("LIMIT 7", 7), ("LIMIT 3 OFFSET 2", 3), ("LIMIT 1000", 1_000)] {
                let limited = format!("{query} {limit}");
                assert!(plan(&session, &limited).contains("FirstGroupsExec"), "{limited}");
                let mut some = sorted(&session, &limited);
                let skipped = if limit.contains("OFFSET") { 2 } else { 0 };
                assert_eq!(some.len(), count_max.min(all.len() - skipped), "{limited}");
                assert!(some.iter().all(|group| all.contains(group)), "{limited}: {some:?}");
                some.dedup();
                assert_eq!(some.len(), count_max.min(all.len() - skipped), "a group is returned twice: {limited}");
            }
        }
    }
}

#[test]
fn groups_that_are_not_chosen_by_a_limit_alone_are_all_aggregated() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    for query in [
        "SELECT v, count(DISTINCT sensor) FROM t GROUP BY v ORDER BY v LIMIT 3",
        "SELECT v, count(DISTINCT sensor) FROM t GROUP BY v HAVING count(*) > 2 LIMIT 3",
        "SELECT v, count(DISTINCT sensor) FROM t GROUP BY v LIMIT 5000",
        "SELECT v, count(DISTINCT sensor) FROM t GROUP BY v",
        "SELECT sensor, status, count(DISTINCT odd) FROM t GROUP BY ROLLUP (sensor, status) LIMIT 3",
        "SELECT odd, count(DISTINCT sensor) FROM t GROUP BY odd LIMIT 3",
        "SELECT count(DISTINCT sensor) FROM t LIMIT 3",
        "SELECT v, array_agg(sensor ORDER BY random()) FROM t GROUP BY v LIMIT 3",
        "SELECT sensor, avg(v) FROM t GROUP BY sensor LIMIT 3",
        // Groups in order are complete before all rows are read.
        "SELECT value, count(*) FROM generate_series(1, 1000) GROUP BY value LIMIT 3",
    ] {
        assert!(!plan(&session, query).contains("FirstGroupsExec"), "{query}");
        ask(&session, query);
    }
}

#[test]
fn a_table_without_rows_has_one_group_or_none() {
    let (session, _directory) = session(STORES[0]);
    ask(&session, "CREATE TABLE t (time TIMESTAMP NOT NULL, sensor TEXT, v BIGINT) WITH (map = 'sensor:u8')");
    assert_eq!(ask(&session, "SELECT count(v), sum(v), max(v), avg(v) FROM t"), ["0 | NULL | NULL | NULL"]);
    assert_eq!(ask(&session, "SELECT sensor, sum(v) FROM t GROUP BY sensor"), Vec::<String>::new());
}

#[test]
fn a_recursive_query_may_aggregate_in_each_round() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    let query = "WITH RECURSIVE r AS (SELECT 0 AS n, CAST(0 AS BIGINT) AS s UNION ALL \
                 SELECT r.n + 1, r.s + a.s FROM r, (SELECT count(v) AS s FROM t) a WHERE r.n < 5) SELECT max(s) FROM r";
    let count: i64 = ask(&session, "SELECT count(v) FROM t")[0].parse().unwrap();
    assert_eq!(ask(&session, query), [(count * 5).to_string()]);
}

#[test]
fn the_sum_of_a_bigint_is_as_wide_as_it_has_to_be() {
    let (session, _directory) = session(STORES[0]);
    ask(&session, "CREATE TABLE t (time TIMESTAMP NOT NULL, v BIGINT, u BIGINT UNSIGNED)");
    ask(
        &session,
        "INSERT INTO t VALUES ('2024-01-01', 9223372036854775807, 18446744073709551615), ('2024-01-01', 1, 0)",
    );
    let query = "SELECT sum(v), sum(u), max(v), avg(v), avg(u) FROM t";
    assert!(plan(&session, query).contains("AtsdbAggregate"));
    let average = "4611686018427387904.0000000000000000 | 9223372036854775807.5000000000000000";
    assert_eq!(
        ask(&session, query),
        [format!("9223372036854775808 | 18446744073709551615 | 9223372036854775807 | {average}")]
    );
}

/// The same statement is repeated, because its later answers need no plan.
#[test]
fn sums_of_shifted_integers_are_read_from_chunks_unless_one_may_overflow() {
    let (session, _directory) = session(STORES[0]);
    ask(&session, "CREATE TABLE t (time TIMESTAMP NOT NULL, i INT, s SMALLINT)");
    ask(&session, "INSERT INTO t VALUES ('2024-01-01', 2147483646, 32767), ('2024-01-01', -5, -32768)");
    let (shifted, small) = ("SELECT sum(i + 1), sum(s + 1) FROM t", "SELECT sum(s + 1), sum(s - 1) FROM t");
    assert!(plan(&session, shifted).contains("AtsdbAggregate"));
    for _ in 0..4 {
        assert_eq!(ask(&session, shifted), ["2147483643 | 1"]);
    }
    ask(&session, "INSERT INTO t VALUES ('2024-01-02', 2147483647, NULL)");
    assert!(!plan(&session, shifted).contains("AtsdbAggregate"));
    for _ in 0..4 {
        let error = answer(&session, shifted).unwrap_err();
        assert!(error.contains("overflow: 2147483647 + 1"), "{error}");
    }
    assert!(plan(&session, small).contains("AtsdbAggregate"), "a SMALLINT plus 1 is always an INT");
    assert_eq!(ask(&session, small), ["1 | -3"]);
}

#[test]
fn more_groups_than_fit_the_memory_are_left_to_a_plan_that_spills() {
    let (session, _directory) = session("sqlite");
    ask(&session, "CREATE TABLE t (time TIMESTAMP NOT NULL, v BIGINT, w BIGINT, x BIGINT) WITH (slice = 'month')");
    let rows = "to_timestamp_seconds(value), value, value, value * 7919";
    ask(&session, &format!("INSERT INTO t SELECT {rows} FROM generate_series(CAST(0 AS BIGINT), 599999)"));
    // The groups of the first key are looked up by position, those of the second by hash.
    for key in ["time_bucket('1 second', time)", "x"] {
        let groups = format!("SELECT {key}, sum(v) AS s, max(v), min(v), sum(w), max(w), min(w) FROM t GROUP BY 1");
        let query = format!("SELECT count(*), sum(s) FROM ({groups})");
        assert!(plan(&session, &query).contains("AtsdbAggregate"));
        assert_eq!(ask(&session, &query), ["600000 | 179999700000"], "{key}");
    }
}

#[test]
fn many_new_groups_are_merged_from_their_partitions() {
    let (session, _directory) = session("memory");
    let options = SessionOptions { threads: 1, ..SessionOptions::default() };
    let session = Session::new(session.engine().clone(), options).unwrap();
    ask(&session, "CREATE TABLE t (time TIMESTAMP NOT NULL, v BIGINT, w INT) WITH (slice = 'month')");
    let rows = "to_timestamp_seconds(value), value % 300000 * 7919, value";
    ask(&session, &format!("INSERT INTO t SELECT {rows} FROM generate_series(CAST(0 AS BIGINT), 339999)"));
    let groups = "SELECT v, count(*) AS c, sum(w) AS s FROM t GROUP BY v";
    let query = format!("SELECT count(*), min(c), max(c), sum(s) FROM ({groups})");
    assert!(plan(&session, &query).contains("AtsdbAggregate"));
    assert_eq!(ask(&session, &query), ["300000 | 1 | 2 | 57799830000"]);
    let last = format!("{groups} ORDER BY s DESC LIMIT 2");
    // The group of a remainder r below 40,000 has the sum 2 r + 300,000, and any other the sum r.
    assert_eq!(ask(&session, &last), ["316752081 | 2 | 379998", "316744162 | 2 | 379996"]);
}
