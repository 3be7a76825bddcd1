//! Compares published ratios with those of a run.

use crate::measure::Spread;
use crate::report::results::MeasureReport;
use crate::workload::PublishedRatio;

impl PublishedRatio {
    /// The ratio of the same two contestants in this run, with their names, if both have a figure.
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

    /// A line with the published ratio, and with the ratio of this run if it has one. The source is listed elsewhere.
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
    use crate::measure::Unit;
    use crate::report::results::MeasureResult;

    #[test]
    fn then_and_now_stand_side_by_side() {
        let seconds = Unit::Milliseconds;
        let published =
            PublishedRatio::new("insert", seconds, ("sqlite", "SQLite", 3.0), ("innodb", "InnoDB", 27.0), "S");
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
