//! A statement that reads a choice of rows in several places computes it once.

use crate::render::ask;
use crate::stores::{STORES, session};
use atsdb_sql::Session;

fn fill(session: &Session) {
    ask(session, "CREATE TABLE t (time TIMESTAMP NOT NULL, n INT, g INT)");
    ask(
        session,
        "INSERT INTO t SELECT TIMESTAMP '2024-01-01' + i * INTERVAL '1 minute', i, i % 13 \
         FROM generate_series(1, 20000) AS s(i)",
    );
}

fn shared_count(session: &Session, sql: &str) -> usize {
    ask(session, &format!("EXPLAIN {sql}")).iter().filter(|line| line.contains("SharedRowsExec")).count()
}

#[test]
fn only_copies_of_a_choice_are_shared() {
    let (session, _directory) = session(STORES[0]);
    fill(&session);
    for (sql, expected) in [
        ("WITH x AS (SELECT n FROM t WHERE n > 5 LIMIT 3) SELECT count(*) FROM x WHERE n IN (SELECT n FROM x)", 2),
        ("WITH x AS (SELECT DISTINCT ON (g) g, n FROM t) SELECT count(*) FROM x AS a JOIN x AS b USING (g, n)", 2),
        // It is read once.
        ("WITH x AS (SELECT n FROM t WHERE n > 5 LIMIT 3) SELECT count(*) FROM (SELECT n FROM x LIMIT 2) s", 0),
        // All rows are read, in whichever order.
        ("WITH x AS (SELECT g, count(*) AS c FROM t GROUP BY g) SELECT count(*) FROM x AS a JOIN x AS b USING (c)", 0),
        // Each is a choice of its own.
        (
            "SELECT count(*) FROM (SELECT n FROM t WHERE n > 5 LIMIT 3) AS a, \
             (SELECT n FROM t WHERE n > 5 LIMIT 3) AS b",
            0,
        ),
    ] {
        assert_eq!(shared_count(&session, sql), expected, "{sql}");
    }
}

#[test]
fn each_execution_computes_the_rows_anew() {
    for store in STORES {
        let (session, _directory) = session(store);
        fill(&session);
        let sql = "WITH x AS (SELECT n, count(*) AS c FROM t GROUP BY n LIMIT 3) \
             SELECT count(*), min(n) > 10000 FROM x WHERE n IN (SELECT n FROM x)";
        for _ in 0..4 {
            assert!(ask(&session, sql)[0].starts_with("3 |"), "{store}");
        }
        ask(&session, "DELETE FROM t WHERE n <= 10000");
        assert_eq!(ask(&session, sql), ["3 | true"], "{store}");
        ask(&session, "DELETE FROM t");
        assert_eq!(ask(&session, sql), ["0 | NULL"], "{store}");
    }
}
