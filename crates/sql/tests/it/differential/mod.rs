//! Generated statements, run here and by SQLite on the same rows: the answers are the same, whether the rows are
//! fresh, half sealed or sealed.
//!
//! A seed stands for one run: tables are made and filled, then the generator gives step after step. A query is
//! compared; changes (`Step::Changes`) are executed on both sides, and what queries answer afterwards shows whether
//! they did the same. `ATSDB_DIFFERENTIAL=first..end` runs other seeds, as 0..1000. A failure prints its seed, the
//! statement and both answers.
//!
//! Where the dialects differ by right, the generator goes around: division and remainder only by positive
//! literals (by 0 SQLite says NULL, here it is an error), no numbers where text is wanted or text where numbers
//! are, no overflow, `LIKE` in SQLite with `case_sensitive_like`, capitals only of ASCII letters, one set operation
//! at a time (SQLite gives INTERSECT no precedence), places of NULL always said, no product that makes -0.0 (which
//! DISTINCT tells from 0.0 here).

mod changes;
mod choice;
mod expressions;
mod keys;
mod queries;
mod sides;

use crate::stores::State;
use choice::Choice;
use queries::{Step, next_step};
use sides::{Here, Oracle, fill};

/// Statements of one seed.
const STEPS: usize = 40;

/// What DataFusion cannot plan at all is left out, but not more than this many of a hundred.
const UNSUPPORTED_PERCENT_MAX: usize = 5;

#[test]
fn generated_statements_answer_as_sqlite_does() {
    let seeds = match std::env::var("ATSDB_DIFFERENTIAL") {
        Ok(range) => {
            let (first, end) = range.split_once("..").expect("first..end");
            first.parse().expect("a seed")..end.parse().expect("a seed")
        }
        Err(_) => 0..12,
    };
    let (mut failures, mut compared, mut unsupported) = (Vec::new(), 0, Vec::new());
    for seed in seeds {
        run(seed, &mut failures, &mut compared, &mut unsupported);
        assert!(failures.len() < 20, "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    assert!(
        unsupported.len() * 100 <= (compared + unsupported.len()) * UNSUPPORTED_PERCENT_MAX,
        "{} of {} statements are not supported:\n{}",
        unsupported.len(),
        compared + unsupported.len(),
        unsupported.join("\n")
    );
}

fn run(seed: u64, failures: &mut Vec<String>, compared: &mut usize, unsupported: &mut Vec<String>) {
    let mut choice = Choice::new(seed);
    let oracle = Oracle::new();
    let here: Vec<Here> = [("memory", State::Fresh), ("sqlite", State::HalfSealed), ("memory", State::Sealed)]
        .map(|(store, state)| Here::new(store, state))
        .into();
    fill(&mut choice, &oracle, &here);
    for _ in 0..STEPS {
        let (sql, is_ordered) = match next_step(&mut choice) {
            Step::Query { sql, is_ordered } => (sql, is_ordered),
            Step::Changes(statements) => {
                for sql in statements {
                    oracle.execute(&sql);
                    here.iter().for_each(|here| here.execute(&sql));
                }
                continue;
            }
        };
        let mut wanted = oracle.query(&sql);
        if !is_ordered {
            wanted.sort();
        }
        for here in &here {
            let mut found = match here.query(&sql) {
                Ok(found) => found,
                Err(error) if is_unsupported(&error) => {
                    unsupported.push(format!("{error}: {sql}"));
                    break;
                }
                Err(error) => vec![vec![format!("ERROR {error}")]],
            };
            if !is_ordered {
                found.sort();
            }
            *compared += 1;
            if found != wanted {
                failures.push(format!(
                    "seed {seed}, {:?}: {sql}\nhere:   {}\nSQLite: {}",
                    here.state,
                    shown(&found, &wanted),
                    shown(&wanted, &found)
                ));
                break;
            }
        }
    }
}

/// What DataFusion says it cannot do; also where it takes `f(x) = x` to mean that a sort by x is one by f(x), and its
/// own check then refuses the plan.
fn is_unsupported(error: &str) -> bool {
    error.contains("not supported") || error.contains("does not satisfy order requirements")
}

/// How many rows there are, and those that are not on the other side.
fn shown(rows: &[Vec<String>], others: &[Vec<String>]) -> String {
    let own: Vec<String> = rows.iter().filter(|row| !others.contains(row)).take(6).map(|row| row.join(" | ")).collect();
    match own.is_empty() {
        true => format!("{} rows, all on the other side too; first {:?}", rows.len(), rows.first()),
        false => format!("{} rows, among them only here: {}", rows.len(), own.join(" // ")),
    }
}
