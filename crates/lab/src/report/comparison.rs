//! Two runs compared: the factor by which the later one is better, and whether the difference exceeds the noise.

use crate::measure::{Spread, Unit};
use crate::report::grid::{Grid, factor};
use crate::report::results::{MeasureResult, Report, WorkloadReport};
use strum::IntoStaticStr;

/// One figure in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedFigure {
    /// The workload.
    pub workload: String,
    /// The measure, for people.
    pub title: String,
    /// The contestant.
    pub contestant: String,
    /// The unit of both figures.
    pub unit: Unit,
    /// The earlier run.
    pub before: Spread,
    /// The later run.
    pub after: Spread,
    /// The factor by which the later figure is better.
    pub advantage: f64,
    /// The meaning of the difference.
    pub verdict: Verdict,
}

/// The meaning of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum Verdict {
    /// Every later run was better than every earlier one.
    #[strum(serialize = "better")]
    Better,
    /// Every later run was worse than every earlier one.
    #[strum(serialize = "WORSE")]
    Worse,
    /// The runs overlap.
    #[strum(serialize = "within noise")]
    Noise,
    /// A single run has no spread to compare.
    #[strum(serialize = "single runs: unknown")]
    Unknown,
}

impl Verdict {
    /// Returns the verdict as text for people.
    pub fn text(self) -> &'static str {
        self.into()
    }
}

impl Report {
    /// The figures that both runs have, in the order of this one, which is the earlier run. Workloads of different
    /// sizes are left out: [`not_compared`](Self::not_compared) names them.
    pub fn compared(&self, after: &Self) -> Vec<ComparedFigure> {
        let mut all = Vec::new();
        for (workload, later) in self.shared(after).filter(|(workload, later)| workload.rows == later.rows) {
            for measure in &workload.measures {
                let Some(other) = later.measures.iter().find(|other| other.name == measure.name) else { continue };
                for result in &measure.results {
                    let other = other.results.iter().find(|other| other.contestant == result.contestant);
                    let (Some(before), Some((after, runs))) =
                        (result.spread, other.and_then(|other| Some((other.spread?, other.runs.len()))))
                    else {
                        continue;
                    };
                    all.push(ComparedFigure {
                        workload: workload.name.clone(),
                        title: measure.title.trim().to_owned(),
                        contestant: result.contestant.clone(),
                        unit: measure.unit,
                        before,
                        after,
                        advantage: measure.unit.advantage(after.median, before.median),
                        verdict: verdict(measure.unit, result, before, after, runs),
                    });
                }
            }
        }
        all
    }

    /// Limitations of the comparison, for people.
    pub fn not_compared(&self, after: &Self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (workload, later) in self.shared(after).filter(|(workload, later)| workload.rows != later.rows) {
            reasons.push(format!("{}: {} rows, then {}", workload.name, workload.rows, later.rows));
        }
        let names = |report: &Self| report.workloads.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        let (ours, theirs) = (names(self), names(after));
        reasons.extend(ours.iter().filter(|name| !theirs.contains(name)).map(|name| format!("{name}: only before")));
        reasons.extend(theirs.iter().filter(|name| !ours.contains(name)).map(|name| format!("{name}: only after")));
        if self.machine != after.machine {
            reasons.push("the machines differ: factors are of machines as well".to_owned());
        }
        if self.settings.durability != after.settings.durability || self.settings.tuning != after.settings.tuning {
            reasons.push("durability or tuning differ: factors are of settings as well".to_owned());
        }
        reasons
    }

    /// Returns both runs as text for a terminal. This run is the earlier one.
    pub fn to_comparison(&self, after: &Self) -> String {
        let mut grid = Grid::default();
        grid.row(["", "", "before", "after", "factor", ""]);
        let mut workload = String::new();
        for compared in self.compared(after) {
            if compared.workload != workload {
                workload.clone_from(&compared.workload);
                grid.row([workload.as_str()]);
            }
            let show = |spread: &Spread| {
                format!("{} ±{:.0} %", compared.unit.format(spread.median), spread.relative() * 100.0)
            };
            grid.row([
                format!("  {}", compared.title),
                compared.contestant.clone(),
                show(&compared.before),
                show(&compared.after),
                factor(compared.advantage),
                compared.verdict.text().to_owned(),
            ]);
        }
        let mut text = format!("before: {} {}\nafter:  {} {}\n\n", self.date, self.version, after.date, after.version);
        grid.write(&mut text);
        for reason in self.not_compared(after) {
            text.push_str(&format!("not compared alike: {reason}\n"));
        }
        text
    }

    fn shared<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = (&'a WorkloadReport, &'a WorkloadReport)> {
        self.workloads.iter().filter_map(|workload| {
            let later = after.workloads.iter().find(|later| later.name == workload.name)?;
            Some((workload, later))
        })
    }
}

fn verdict(unit: Unit, result: &MeasureResult, before: Spread, after: Spread, runs: usize) -> Verdict {
    if result.runs.len() < 2 || runs < 2 {
        return Verdict::Unknown;
    }
    if after.min <= before.max && before.min <= after.max {
        return Verdict::Noise;
    }
    if unit.advantage(after.median, before.median) > 1.0 { Verdict::Better } else { Verdict::Worse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Figure;

    fn judged(before: &[f64], after: &[f64]) -> Verdict {
        let result =
            MeasureResult { runs: before.iter().map(|value| Figure::of(*value)).collect(), ..MeasureResult::default() };
        let spread = |figures: &[f64]| Spread::of(figures).expect("figures");
        verdict(Unit::Milliseconds, &result, spread(before), spread(after), after.len())
    }

    #[test]
    fn only_runs_that_do_not_overlap_say_something() {
        assert_eq!(judged(&[10.0, 12.0], &[8.0, 9.0]), Verdict::Better);
        assert_eq!(judged(&[10.0, 12.0], &[13.0, 14.0]), Verdict::Worse);
        assert_eq!(judged(&[10.0, 12.0], &[12.0, 14.0]), Verdict::Noise);
        assert_eq!(judged(&[10.0], &[1.0, 1.1]), Verdict::Unknown);
    }
}
