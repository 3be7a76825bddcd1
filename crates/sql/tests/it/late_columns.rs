//! The first rows of an order are the same whether most of their columns are read before the sort or after it.

use crate::render::{ask, sorted};
use crate::stores::{STORES, session};
use atsdb_sql::{Session, SessionOptions};
use tempfile::TempDir;

/// Queries of the first rows in a complete order. Without their last part, which limits them, they sort all rows.
const QUERIES: [&str; 14] = [
    "SELECT * FROM t ORDER BY id",
    "SELECT * FROM t WHERE url LIKE '%google%' ORDER BY time DESC, id",
    "SELECT * FROM t WHERE url LIKE '%google%' AND v % 3 = 1 ORDER BY v DESC, id",
    "SELECT * FROM t WHERE status = 'ok' ORDER BY url, id DESC",
    "SELECT * FROM t WHERE time >= '2024-01-01T06:00:00Z' AND f > 2 ORDER BY f DESC, id",
    "SELECT * FROM t ORDER BY sensor DESC NULLS LAST, id",
    "SELECT * FROM t ORDER BY status, sensor, id",
    "SELECT * FROM t ORDER BY note DESC, id",
    "SELECT * FROM t ORDER BY v * -1, length(note), id",
    "SELECT id, sensor, status, note, born, price, f, v + 1 AS next FROM t WHERE length(url) > 20 ORDER BY v DESC, id",
    "SELECT note AS a, note AS b, sensor AS c, status AS d, born AS e FROM t ORDER BY id DESC",
    "SELECT * FROM (SELECT sensor, status, note, born, price, f, v % 10 AS digit, id FROM t) \
     WHERE digit > 3 ORDER BY digit, id",
    "SELECT * FROM t WHERE id % 2000 = 7 ORDER BY born, id",
    "SELECT * FROM t WHERE lower(status) = 'ok' ORDER BY lower(status), v, id",
];

/// The parts that limit them.
const LIMITS: [&str; 4] = ["LIMIT 1", "LIMIT 7", "LIMIT 20 OFFSET 13", "LIMIT 1500"];

fn fill(session: &Session) {
    let columns = "time TIMESTAMP NOT NULL, sensor TEXT, status TEXT, url TEXT, note TEXT, id BIGINT, v INT, f DOUBLE, \
                   born DATE, price DECIMAL(12, 2), tags INT[], is_even BOOLEAN";
    ask(session, &format!("CREATE TABLE t ({columns}) WITH (map = 'sensor:u16, status:u8', slice = 'day')"));
    let values = "to_timestamp_seconds(1704067200 + value * 370), 's' || (value % 390), \
         CASE value % 3 WHEN 0 THEN 'ok' WHEN 1 THEN 'bad' END, \
         CASE value % 17 WHEN 0 THEN NULL WHEN 1 THEN 'https://google.com/' || value \
         ELSE 'https://example.org/' || value END, \
         'note ' || (value * 7919 % 1000), value, nullif(value * 31 % 40, 7), \
         CASE value % 7 WHEN 0 THEN -1.5 WHEN 1 THEN CAST('NaN' AS DOUBLE) WHEN 3 THEN NULL ELSE value % 5 END, \
         DATE '2024-01-01', value * 1.25, ARRAY[1, 2], value % 2 = 0";
    for rows in ["generate_series(0, 2999)", "generate_series(3000, 5999)"] {
        ask(session, &format!("INSERT INTO t SELECT {values} FROM {rows}"));
    }
}

fn plan(session: &Session, sql: &str) -> String {
    ask(session, &format!("EXPLAIN {sql}")).join("\n")
}

#[test]
fn reading_columns_after_the_sort_changes_no_row() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        for sealed in [false, true] {
            if sealed {
                session.engine().recompress(None).unwrap();
            }
            for query in QUERIES {
                let all = ask(&session, query);
                assert!(!plan(&session, query).contains("FetchRows"), "{query}");
                for limit in LIMITS {
                    let limited = format!("{query} {limit}");
                    let numbers: Vec<usize> = limit.split(' ').filter_map(|word| word.parse().ok()).collect();
                    let (count, skipped) = (numbers[0], numbers.get(1).copied().unwrap_or(0));
                    let first: Vec<&String> = all.iter().skip(skipped).take(count).collect();
                    let found = ask(&session, &limited);
                    assert!(found.iter().eq(first), "{store}, sealed {sealed}: {limited}");
                    // A key that the condition makes constant is not compared, and the plan stays.
                    let has_constant_key = query.contains("lower(status) = 'ok'");
                    let plan = plan(&session, &limited);
                    assert_eq!(plan.contains("FetchRows: table=t"), !has_constant_key, "{limited}\n{plan}");
                }
            }
        }
    }
}

#[test]
fn a_plan_shows_which_columns_are_read_when() {
    let (session, _directory) = session("memory");
    fill(&session);
    let plan = plan(&session, "SELECT * FROM t WHERE url LIKE '%google%' ORDER BY time DESC LIMIT 10");
    let fetched = "FetchRows: table=t, columns=[sensor, status, url, note, id, v, f, born, price, tags, is_even]";
    assert!(plan.contains(fetched), "{plan}");
    assert!(plan.contains("AtsdbScan: table=t, columns=[time, url, chunk, row]"), "{plan}");
    assert!(plan.contains("latest first") && plan.contains("TopK(fetch=10)"), "{plan}");
}

#[test]
fn columns_are_read_before_the_sort_if_little_would_be_saved() {
    let (session, _directory) = session("memory");
    fill(&session);
    ask(&session, "CREATE TABLE m (a INT, b INT, c INT, d INT, e INT, f INT) WITH (engine = 'memory')");
    for query in [
        "SELECT time, sensor, id FROM t ORDER BY time LIMIT 3",
        "SELECT sensor, status, note, id, f FROM t WHERE sensor LIKE '%1' AND f + 1 > 2 ORDER BY note, id LIMIT 3",
        "SELECT * FROM t ORDER BY id LIMIT 5000",
        "SELECT * FROM t ORDER BY id",
        "SELECT * FROM t LIMIT 3",
        "SELECT * FROM t WHERE time < '2020-01-01' ORDER BY id LIMIT 3",
        "SELECT * FROM t AS x JOIN t AS y ON x.id = y.id ORDER BY x.id LIMIT 3",
        "SELECT sensor, born, f, note, count(*) FROM t GROUP BY sensor, born, f, note ORDER BY sensor LIMIT 3",
        "SELECT * FROM m ORDER BY a LIMIT 3",
    ] {
        assert!(!plan(&session, query).contains("FetchRows"), "{query}\n{}", plan(&session, query));
    }
}

/// The number that a metric has in a line of EXPLAIN ANALYZE.
fn metric(plan: &str, operator: &str, name: &str) -> usize {
    let line = plan.lines().find(|line| line.contains(operator)).unwrap_or_else(|| panic!("{plan}"));
    let value = line.split(&format!("{name}=")).nth(1).and_then(|rest| rest.split([',', ']']).next());
    value.unwrap_or_else(|| panic!("{line}")).trim().parse().unwrap()
}

#[test]
fn a_few_rows_of_a_wide_table_need_few_pages() {
    let (session, _directory) = session("memory");
    let columns: Vec<String> = (0..60).map(|column| format!("c{column} INT")).collect();
    ask(
        &session,
        &format!("CREATE TABLE wide (time TIMESTAMP, url TEXT, {}) WITH (slice = 'day')", columns.join(", ")),
    );
    let values: Vec<String> = (0..60).map(|column| format!("value + {column}")).collect();
    let days = "to_timestamp_seconds(value * 864), \
                'https://' || CASE WHEN value = 501 THEN 'rare' WHEN value % 50 = 0 THEN 'google' ELSE 'other' END";
    ask(&session, &format!("INSERT INTO wide SELECT {days}, {} FROM generate_series(0, 999)", values.join(", ")));
    session.engine().recompress(None).unwrap();
    let query = "SELECT * FROM wide WHERE url LIKE '%google%' ORDER BY c0 LIMIT 4";
    assert_eq!(ask(&session, query).len(), 4);
    let analyzed = ask(&session, &format!("EXPLAIN ANALYZE {query}")).join("\n");
    // The rows 0, 50, 100 and 150 are in the first two of ten days. A scan of all columns has 62 pages of each.
    assert_eq!(metric(&analyzed, "FetchRows", "chunks_read"), 2, "{analyzed}");
    assert_eq!(metric(&analyzed, "FetchRows", "pages_read"), 2 * 61, "{analyzed}");
    assert!(metric(&analyzed, "AtsdbScan", "pages_read") <= 10 * 2, "{analyzed}");
    // With a long constant a batch has four rows. The two rows of a chunk are in different batches, but each chunk is
    // read once.
    let long = "x".repeat(2_000_000);
    let query =
        format!("SELECT * FROM wide WHERE url LIKE '%google%' AND url <> '{long}' ORDER BY c0 % 100, c0 LIMIT 19");
    assert_eq!(ask(&session, &query).len(), 19);
    let analyzed = ask(&session, &format!("EXPLAIN ANALYZE {query}")).join("\n");
    assert_eq!(metric(&analyzed, "FetchRows", "chunks_read"), 10);
    let query = "SELECT * FROM wide WHERE url LIKE '%rare%'";
    assert_eq!(ask(&session, query).len(), 1);
    let analyzed = ask(&session, &format!("EXPLAIN ANALYZE {query}")).join("\n");
    assert!(analyzed.contains("first reads [url]"), "{analyzed}");
    assert_eq!(metric(&analyzed, "AtsdbScan", "pages_read"), 9 + 62, "{analyzed}");
}

/// Conditions, and whether their columns are read first.
const CONDITIONS: [(&str, bool); 9] = [
    ("url LIKE '%google%'", true),
    ("url LIKE '%google.com/4%' OR note LIKE '% 77%'", true),
    ("url IS NOT NULL AND length(url) < 23 AND v + id > 100", true),
    ("upper(sensor) = 'S17' AND lower(status) <> 'bad'", true),
    ("url || note LIKE '%org%'", true),
    ("length(note) < 0", true),
    ("sensor = 's3'", false),
    ("id + v + f + length(url) + length(note) + length(status) + length(sensor) > 3000", false),
    // Always true for a number that is not negative, but not the same each time.
    ("f > random() - 1", false),
];

#[test]
fn conditions_that_are_evaluated_first_change_no_row() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        for sealed in [false, true] {
            if sealed {
                session.engine().recompress(None).unwrap();
            }
            for (condition, is_first) in CONDITIONS {
                let wide = format!("SELECT * FROM t WHERE {condition}");
                let plan = plan(&session, &wide);
                assert_eq!(plan.contains("first reads ["), is_first, "{condition}\n{plan}");
                let id = |line: &String| line.split(" | ").nth(5).unwrap().to_owned();
                let mut found: Vec<String> = ask(&session, &wide).iter().map(id).collect();
                found.sort();
                let narrow = sorted(&session, &format!("SELECT id FROM t WHERE {condition}"));
                assert_eq!(found, narrow, "{store}, sealed {sealed}: {condition}");
            }
        }
    }
}

/// With one thread, the filter gets the rows of a chunk in order, 8,192 at a time. The last of 10,000 is a division by
/// zero.
#[test]
fn a_condition_that_fails_after_the_limit_is_reached_ends_no_query() {
    let (session, _directory) = one_thread();
    let values = "to_timestamp_seconds(value), value, 1, 2, 3, 4";
    ask(&session, &format!("INSERT INTO u SELECT {values} FROM generate_series(0, 9999)"));
    let query = "SELECT * FROM u WHERE 100 / (9999 - id) >= 0 LIMIT 1";
    let plan = plan(&session, query);
    assert!(plan.contains("first reads [id]"), "{plan}");
    assert_eq!(ask(&session, query).len(), 1);
}

/// A session with one thread and an empty table `u`.
fn one_thread() -> (Session, TempDir) {
    let (session, directory) = session("memory");
    let options = SessionOptions { threads: 1, ..SessionOptions::default() };
    let session = Session::new(session.engine().clone(), options).unwrap();
    ask(&session, "CREATE TABLE u (time TIMESTAMP, id BIGINT, a INT, b INT, c INT, d INT) WITH (slice = 'day')");
    (session, directory)
}

/// The second condition fails for row 9,005. The filter does not evaluate it there, because the first one holds for all
/// of the second 8,192 rows. A batch that also has the matching rows of the first 8,192, for which the first condition
/// does not hold, would need it.
#[test]
fn a_condition_that_a_batch_does_not_need_is_not_evaluated_in_another() {
    let (session, _directory) = one_thread();
    let values = "to_timestamp_seconds(value), value, 1, 2, 3, 4";
    ask(&session, &format!("INSERT INTO u SELECT {values} FROM generate_series(0, 59999)"));
    let condition = "id / 8192 = 1 OR 100 / (id - 9005) = id % 4 + (id - id % 8192)";
    let query = format!("SELECT * FROM u WHERE {condition}");
    let plan = plan(&session, &query);
    assert!(plan.contains("first reads [id]") && plan.contains("chunks=1 of 1"), "{plan}");
    assert_eq!(ask(&session, &query).len(), 8_192 + 2_048);
}

#[test]
fn conditions_are_not_evaluated_first_after_chunks_in_which_many_rows_match() {
    let (session, _directory) = one_thread();
    let values = "to_timestamp_seconds(value * 864), value, 1, 2, 3, 4";
    ask(&session, &format!("INSERT INTO u SELECT {values} FROM generate_series(0, 999)"));
    session.engine().recompress(None).unwrap();
    // All rows of the first five of ten days match.
    let query = "SELECT * FROM u WHERE 100000 / (id + 1) >= 200";
    assert_eq!(ask(&session, query).len(), 500);
    let analyzed = ask(&session, &format!("EXPLAIN ANALYZE {query}")).join("\n");
    assert!(analyzed.contains("first reads [id]"), "{analyzed}");
    assert_eq!(metric(&analyzed, "AtsdbScan", "pages_read"), 10 * 6, "{analyzed}");
}
