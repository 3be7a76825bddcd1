//! The counts of a run.

use std::collections::BTreeMap;
use std::fmt;

/// The most failures that are reduced. Of the others only the statement is shown.
const REDUCED_MAX: usize = 6;

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) queries: usize,
    pub(crate) changes: usize,
    /// The number of layouts' answers that were compared.
    pub(crate) compared: usize,
    pub(crate) rows: usize,
    /// The number of conditions whose three parts were compared with all rows.
    pub(crate) partitions: usize,
    /// Statements that atsdb refuses.
    pub(crate) refused: Causes,
    /// Statements that the oracle refuses, which are mistakes of the generator.
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

/// The number of refused statements by cause, with the shortest one.
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
