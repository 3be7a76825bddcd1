//! Statements that the generator avoids, because atsdb is known to answer them differently from PostgreSQL. The list
//! may only shrink: a test fails if an entry no longer differs.

use super::run::differs;
use super::sides::atsdb::Atsdb;
use super::sides::layout::LAYOUTS;
use super::sides::oracle;
use super::types::{Dialect, Type};

struct Exclusion {
    /// The behaviour of PostgreSQL and of atsdb.
    what: &'static str,
    /// A query that shows the difference.
    sql: &'static str,
    types: &'static [Type],
}

const EXCLUSIONS: [Exclusion; 1] = [Exclusion {
    what: "The text of a TIMESTAMPTZ says its offset in PostgreSQL; here all times are UTC, which is not said.",
    sql: "SELECT CAST(TIMESTAMPTZ '2024-01-01 00:00:00+00' AS TEXT) AS c0",
    types: &[Type::Text],
}];

#[test]
fn every_exclusion_differs() {
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
