//! What a run counts.

use std::collections::BTreeMap;
use std::fmt;

/// Failures that are made smaller; the others only show their statement.
const REDUCED_MAX: usize = 6;

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) queries: usize,
    pub(crate) changes: usize,
    /// Answers of layouts that were compared.
    pub(crate) compared: usize,
    pub(crate) rows: usize,
    /// Conditions whose three parts were added up.
    pub(crate) partitions: usize,
    /// What atsdb refuses.
    pub(crate) refused: Causes,
    /// What the oracle refuses: mistakes of the generator.
    pub(crate) oracle_refused: Causes,
    pub(crate) failures: Vec<String>,
}

impl Report {
    pub(crate) fn has_time_to_reduce(&self) -> bool {
        self.failures.len() < REDUCED_MAX
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queries, changes, compared, rows, partitions, refused, oracle_refused, .. } = self;
        writeln!(f, "{queries} queries, {rows} rows, {compared} answers, {partitions} partitions, {changes} changes")?;
        writeln!(f, "refused by atsdb: {refused}")?;
        write!(f, "refused by the oracle: {oracle_refused}")
    }
}

/// How often something was refused, by cause, with the shortest statement.
#[derive(Default)]
pub(crate) struct Causes(BTreeMap<String, (usize, String)>);

impl Causes {
    pub(crate) fn count(&mut self, why: &str, sql: &str) {
        let cause: String =
            why.chars().take(60).map(|letter| if letter.is_ascii_digit() { '#' } else { letter }).collect();
        let (count, example) = self.0.entry(cause).or_insert_with(|| (0, sql.to_owned()));
        *count += 1;
        if sql.len() < example.len() {
            *example = sql.to_owned();
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.0.values().map(|(count, _)| count).sum()
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.total())?;
        let mut causes: Vec<_> = self.0.iter().collect();
        causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (cause, (count, example)) in causes {
            write!(f, "\n  {count} x {cause}: {example:.300}")?;
        }
        Ok(())
    }
}
