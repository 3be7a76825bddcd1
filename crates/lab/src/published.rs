//! What an experiment's authors measured in their day: a ratio of two systems, with its source, to stand beside the
//! ratio of today.

use crate::measure::{Spread, Unit};
use crate::report::MeasureReport;
use serde::{Deserialize, Serialize};

/// A published ratio of two systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The measure it stands beside.
    pub measure: String,
    /// Who was so many times better: a contestant's name, or a word of it.
    pub better: String,
    /// Than whom.
    pub worse: String,
    /// By which factor `better` was better; below 1 it was worse.
    pub ratio: f64,
    /// The figures the ratio is made of, and the systems of that day.
    pub figures: String,
    /// Where it was published.
    pub source: String,
}

impl Published {
    /// Of two figures of one unit.
    pub fn new(measure: &str, unit: Unit, better: (&str, &str, f64), worse: (&str, &str, f64), source: &str) -> Self {
        Self {
            measure: measure.to_owned(),
            better: better.0.to_owned(),
            worse: worse.0.to_owned(),
            ratio: unit.advantage(better.2, worse.2),
            figures: format!("{} {}, {} {}", better.1, better.2, worse.1, worse.2),
            source: source.to_owned(),
        }
    }

    /// The same ratio in this run, with the names of the two, where both have a figure.
    pub(crate) fn today(&self, measure: &MeasureReport) -> Option<(String, String, f64)> {
        let of = |wanted: &str| -> Option<(String, Spread)> {
            let has = |exact: bool| {
                measure.results.iter().find(|result| {
                    let matches = if exact { result.contestant == wanted } else { result.contestant.contains(wanted) };
                    matches && result.spread.is_some()
                })
            };
            let result = has(true).or_else(|| has(false))?;
            Some((result.contestant.clone(), result.spread?))
        };
        let ((better, ours), (worse, theirs)) = (of(&self.better)?, of(&self.worse)?);
        Some((better, worse, measure.unit.advantage(ours.median, theirs.median)))
    }

    /// The ratio of then, and that of now where there is one, as a line of text. The source is told apart.
    pub(crate) fn line(&self, measure: &MeasureReport) -> String {
        let now = self
            .today(measure)
            .map_or_else(String::new, |(better, worse, ratio)| format!("; here {better} {} {worse}", times(ratio)));
        format!("published: {} {} {} ({}){now}", self.better, times(self.ratio), self.worse, self.figures)
    }
}

fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.1} x") } else { format!("{ratio:.2} x") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::MeasureResult;

    #[test]
    fn then_and_now_stand_side_by_side() {
        let seconds = Unit::Milliseconds;
        let published = Published::new("insert", seconds, ("sqlite", "SQLite", 3.0), ("innodb", "InnoDB", 27.0), "S");
        assert_eq!(published.ratio, 9.0);
        let result = |name: &str, median| MeasureResult {
            contestant: name.to_owned(),
            spread: Spread::of(&[median]),
            ..MeasureResult::default()
        };
        let results = vec![result("sqlite-normal", 7.0), result("sqlite", 1.0), result("mariadb:innodb", 4.0)];
        let (name, title) = ("insert".to_owned(), String::new());
        let mut measure = MeasureReport { name, title, unit: seconds, results };
        assert!(published.line(&measure).contains("here sqlite 4.00 x mariadb:innodb"), "{}", published.line(&measure));
        measure.results.truncate(2);
        assert!(!published.line(&measure).contains("here"), "not both are in this run");
    }
}
