//! Generated statements run here and on a database whose answers count as right, on the same rows: the answers must be
//! the same for every layout of the rows.
//!
//! A seed stands for one run of [`run::STEPS`] statements. From it come the tables ([`schema`]) and the statements
//! ([`queries`], [`grouped`], [`windows`], [`subqueries`], [`templates`], [`prepared`], [`extensions`], [`changes`],
//! [`keys`]) with their expressions ([`expressions`], [`conditions`]). The oracle ([`sides::oracle`]) is PostgreSQL, or
//! SQLite for what both support. atsdb takes part with many sides, one for each layout of the rows ([`sides::layout`]),
//! of which one prepares the queries with parameters. The oracle is compared with the first layout, and that with the
//! others.
//! Queries that only atsdb has are compared between the layouts.
//! A condition is also checked by itself: the rows for which it is true, false and NULL must be all rows together.
//!
//! Statements that atsdb refuses are counted by cause; known differences are listed in [`exclusions`]. A failure is
//! reduced ([`reduce`]) and shown with its seed, statements and both answers.
//!
//! `ATSDB_TEST_SEED=n` sets the first seed, and `ATSDB_TEST_QUERIES=n` the number of statements.
//!
//! The generator avoids some things in which the dialects differ by design. In both: division only by positive literals
//! unless an error is intended, no overflow, NULLS FIRST or LAST always given, no product that is -0.0 (which DISTINCT
//! distinguishes from 0.0 here). SQLite: no numbers in place of text or text in place of numbers, `LIKE` with
//! `case_sensitive_like`, upper case only of ASCII letters, one set operation at a time (SQLite gives INTERSECT no
//! precedence). PostgreSQL: integers stay small if their width matters.

mod changes;
pub(crate) mod choice;
mod conditions;
mod exclusions;
mod expressions;
mod extensions;
mod generator;
mod grouped;
mod keys;
mod prepared;
mod queries;
mod query;
mod reduce;
mod report;
mod run;
mod schema;
mod shorter;
mod sides;
mod subqueries;
mod templates;
mod types;
mod windows;

use report::Report;
use run::{STEPS, Sides};
use types::Dialect;

/// The most statements that atsdb may refuse, of a hundred.
const REFUSED_PERCENT_MAX: usize = 5;
/// The most statements that the oracle may refuse, of a hundred.
const ORACLE_REFUSED_PERCENT_MAX: usize = 1;
/// So many seeds follow that of `ATSDB_TEST_SEED` before those of the other test.
const OTHER_SEEDS: u64 = 1_000_000;
/// After this many failures, a run ends.
const FAILURES_MAX: usize = 20;

#[test]
fn generated_statements_answer_as_sqlite_does() {
    check(Dialect::Sqlite, 400, 0);
}

#[test]
fn generated_statements_answer_as_postgresql_does() {
    check(Dialect::Postgres, 800, 0);
}

/// The same with other seeds, so that two cores share the work.
#[test]
fn other_generated_statements_answer_as_postgresql_does() {
    check(Dialect::Postgres, 800, OTHER_SEEDS);
}

#[allow(clippy::print_stderr, reason = "the counts are what a long run is for")]
fn check(dialect: Dialect, queries: usize, seeds_after: u64) {
    let Some(mut sides) = Sides::new(dialect) else { return };
    let queries = std::env::var("ATSDB_TEST_QUERIES").map_or(queries, |text| text.parse().expect("a number"));
    let first = atsdb_testkit::seed() + seeds_after;
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
