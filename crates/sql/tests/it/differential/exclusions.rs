//! What the generator leaves out, because atsdb is known to answer otherwise than PostgreSQL. The list may only shrink:
//! what answers as PostgreSQL does is no longer an exclusion.

use super::run::differs;
use super::sides::atsdb::Atsdb;
use super::sides::layout::LAYOUTS;
use super::sides::oracle;
use super::types::{Dialect, Type};

struct Exclusion {
    /// What PostgreSQL does, and what atsdb does.
    what: &'static str,
    /// A query that shows it.
    sql: &'static str,
    types: &'static [Type],
}

const EXCLUSIONS: [Exclusion; 15] = [
    Exclusion {
        what: "A number with a point is a NUMERIC in PostgreSQL, and a DOUBLE here.",
        sql: "SELECT 0.1 + 0.2 = 0.3 AS c0",
        types: &[Type::Bool],
    },
    Exclusion {
        what: "An integer is an INT in PostgreSQL if it fits, and a BIGINT here, where this is no overflow.",
        sql: "SELECT 2147483647 + 1 AS c0",
        types: &[Type::Int],
    },
    Exclusion {
        what: "A sum of BIGINTs is a NUMERIC in PostgreSQL, whose quotient has a fraction, and a BIGINT here.",
        sql: "SELECT sum(CAST(n AS BIGINT)) / 4 AS c0 FROM (VALUES (10), (20)) AS t(n)",
        types: &[Type::Numeric],
    },
    Exclusion {
        what: "An average of BIGINTs is a NUMERIC in PostgreSQL, and a DOUBLE here, which has 53 bits.",
        sql: "SELECT avg(n) > 9007199254740992 AS c0 FROM (VALUES (9007199254740993)) AS t(n)",
        types: &[Type::Bool],
    },
    Exclusion {
        what: "The text of a TIMESTAMPTZ says its offset in PostgreSQL; here all times are UTC, which is not said.",
        sql: "SELECT CAST(TIMESTAMPTZ '2024-01-01 00:00:00+00' AS TEXT) AS c0",
        types: &[Type::Text],
    },
    Exclusion {
        what: "A number as INTERVAL counts seconds in PostgreSQL, and months here.",
        sql: "SELECT CAST('1' AS INTERVAL) = INTERVAL '1 second' AS c0",
        types: &[Type::Bool],
    },
    Exclusion {
        what: "INTERVAL '1.5' HOUR has its fraction in PostgreSQL, and not here.",
        sql: "SELECT INTERVAL '1.5' HOUR = INTERVAL '90 minutes' AS c0",
        types: &[Type::Bool],
    },
    Exclusion {
        what: "SELECT * over USING begins with the merged columns in PostgreSQL; here they stand where the left table has them.",
        sql: "SELECT * FROM (SELECT 1 AS a, 2 AS k) AS l JOIN (SELECT 2 AS k, 3 AS b) AS r USING (k)",
        types: &[Type::Int, Type::Int, Type::Int],
    },
    Exclusion {
        what: "A function of rows in the SELECT list makes rows in PostgreSQL, and a list here.",
        sql: "SELECT count(*) AS c0 FROM (SELECT generate_series(1, 3)) AS t",
        types: &[Type::Int],
    },
    Exclusion {
        what: "A float divided by zero is an error in PostgreSQL, and infinite here.",
        sql: "SELECT x / 0 AS c0 FROM (VALUES (CAST(1 AS DOUBLE PRECISION))) AS t(x)",
        types: &[Type::Float],
    },
    Exclusion {
        what: "A constant condition over an aggregate of all rows leaves no row in PostgreSQL; here it goes below it.",
        sql: "SELECT 1 AS c0 FROM (SELECT 1 AS one, count(x) AS n FROM (VALUES (1)) AS v(x)) AS d WHERE 1 > d.one",
        types: &[Type::Int],
    },
    Exclusion {
        what: "A LIMIT is lost here where it orders by constants alone and there is a LIMIT below it.",
        sql: "SELECT * FROM (SELECT 9.25 AS c0 FROM (SELECT * FROM four LIMIT 1000000) AS l) AS d ORDER BY c0 LIMIT 3",
        types: &[Type::Float],
    },
    Exclusion {
        what: "regr_r2 of equal values is 1 in PostgreSQL, and NULL here.",
        sql: "SELECT regr_r2(0, n) AS c0 FROM (VALUES (1), (2)) AS t(n)",
        types: &[Type::Float],
    },
    Exclusion {
        what: "ALL and ANY over a table of the same name compare its column with itself here.",
        sql: "WITH t AS (SELECT n AS i FROM (VALUES (1), (2), (3)) AS v(n)) SELECT count(*) AS c0 FROM t WHERE i >= ALL (SELECT i FROM t)",
        types: &[Type::Int],
    },
    Exclusion {
        what: "var_pop of numbers whose squares do not fit is an error in PostgreSQL or a number, and infinite here.",
        sql: "SELECT var_pop(x) AS c0 FROM (VALUES (CAST('1e200' AS DOUBLE PRECISION)), (CAST('-1e200' AS DOUBLE PRECISION))) AS t(x)",
        types: &[Type::Float],
    },
];

#[test]
fn what_is_excluded_differs() {
    let Some(mut postgres) = oracle::oracle(Dialect::Postgres) else { return };
    let here = Atsdb::new(LAYOUTS[0]).unwrap();
    for sql in ["CREATE TABLE four (x INT)", "INSERT INTO four VALUES (1), (2), (3), (4)"] {
        postgres.execute(sql).unwrap();
        here.execute(sql).unwrap();
    }
    for Exclusion { what, sql, types } in &EXCLUSIONS {
        let (wanted, found) = (postgres.query(sql, types), here.query(sql, types));
        assert!(differs(&wanted, &found, false), "no exclusion any more: {what}\n{sql}: {wanted:?} and {found:?}");
    }
}
