//! Generated statements, run here and by a database whose answers are the right ones, on the same rows: the answers are
//! the same, however the rows lie.
//!
//! A seed stands for one run of [`run::STEPS`] statements. It makes up the tables ([`schema`]) and the statements
//! ([`queries`], [`grouped`], [`changes`], [`keys`]) of expressions ([`expressions`], [`conditions`]). An oracle
//! ([`sides::oracle`]) answers: PostgreSQL, or SQLite for what both know. Of atsdb there are many sides, one for each
//! layout of the rows ([`sides::layout`]). The oracle is compared with the first layout, and that with the others. A
//! condition is also checked by itself: the rows for which it holds, does not hold and is NULL are all rows.
//!
//! What atsdb refuses is counted by cause; what it is known to answer otherwise is listed in [`exclusions`]. A failure
//! is made smaller ([`reduce`]) and shown with its seed, statements and both answers.
//!
//! `ATSDB_TEST_SEED=n` begins with another seed and `ATSDB_TEST_QUERIES=n` says how many statements there are.
//!
//! Where the dialects differ by right, the generator goes around. All: division only by positive literals but where an
//! error is looked for, no overflow, places of NULL always said, no product that makes -0.0 (which DISTINCT tells from
//! 0.0 here). SQLite: no numbers where text is wanted or text where numbers are, `LIKE` with `case_sensitive_like`,
//! capitals only of ASCII letters, one set operation at a time (SQLite gives INTERSECT no precedence). PostgreSQL: a
//! number with a point is cast to `DOUBLE PRECISION`, which it is here anyway; integers stay small where their width
//! decides.

mod changes;
mod choice;
mod conditions;
mod exclusions;
mod expressions;
mod generator;
mod grouped;
mod keys;
mod queries;
mod reduce;
mod report;
mod run;
mod schema;
mod shorter;
mod sides;
mod types;

use report::Report;
use run::{STEPS, Sides};
use types::Dialect;

/// What atsdb refuses, of a hundred statements.
const REFUSED_PERCENT_MAX: usize = 5;
/// What the oracle refuses.
const ORACLE_REFUSED_PERCENT_MAX: usize = 1;
/// Failures after which the rest does not matter.
const FAILURES_MAX: usize = 20;

#[test]
fn generated_statements_answer_as_sqlite_does() {
    check(Dialect::Sqlite, 400);
}

#[test]
fn generated_statements_answer_as_postgresql_does() {
    check(Dialect::Postgres, 1_600);
}

#[allow(clippy::print_stderr, reason = "the counts are what a long run is for")]
fn check(dialect: Dialect, queries: usize) {
    let Some(mut sides) = Sides::new(dialect) else { return };
    let queries = std::env::var("ATSDB_TEST_QUERIES").map_or(queries, |text| text.parse().expect("a number"));
    let first = atsdb_testkit::seed();
    let mut report = Report::default();
    for seed in first..first + queries.div_ceil(STEPS) as u64 {
        let known = report.failures.len();
        sides.run(seed, &mut report);
        report.failures[known..].iter().for_each(|failure| eprintln!("{failure}\n"));
        if report.failures.len() >= FAILURES_MAX {
            break;
        }
    }
    eprintln!("{dialect:?}: {report}");
    assert!(report.failures.is_empty(), "{} failures:\n{}", report.failures.len(), report.failures.join("\n\n"));
    let most = |percent: usize| (report.queries + report.changes) * percent / 100;
    assert!(report.refused.total() <= most(REFUSED_PERCENT_MAX), "{}", report.refused);
    assert!(report.oracle_refused.total() <= most(ORACLE_REFUSED_PERCENT_MAX), "{}", report.oracle_refused);
}
