//! Advice on a file: the winner of each measure, its advantage, how certain that is, and what would change it.

use crate::advise::AdviseInput;
use crate::measure::{Tier, Unit};
use crate::report::grid::{Grid, factor};
use crate::report::results::{MeasureReport, MeasureResult, Report};
use serde::Serialize;

/// The advice for a file's owner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The best contestant of each measure.
    pub winners: Vec<Winner>,
    /// Changes that would lead to another answer.
    pub but: Vec<String>,
    /// The commands that repeat the measurement.
    pub commands: Vec<String>,
}

/// The best contestant of a measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Winner {
    /// The measure's name.
    pub measure: String,
    /// The measure's title.
    pub title: String,
    /// The contestant.
    pub winner: String,
    /// The winner's figure, in `unit`.
    pub figure: f64,
    /// The figure's unit.
    pub unit: Unit,
    /// The second, and the factor by which the winner was better.
    pub next: Option<(String, f64)>,
    /// The last, and the factor by which the winner was better.
    pub last: Option<(String, f64)>,
    /// Whether every run of the winner was better than every run of the second. False of single runs.
    pub is_sure: bool,
    /// The durability of the winner's commits.
    pub durability: String,
}

impl Report {
    /// The advice of a run of the workload `advise`. `commands` repeat the measurement.
    pub fn advice(&self, commands: Vec<String>) -> Advice {
        let measures = || self.workloads.iter().flat_map(|workload| &workload.measures);
        let winners: Vec<Winner> = measures().filter_map(winner).collect();
        let mut but = Vec::new();
        let unsure = winners.iter().filter(|winner| !winner.is_sure && winner.next.is_some());
        let unsure: Vec<&str> = unsure.map(|winner| winner.title.trim()).collect();
        if !unsure.is_empty() && self.settings.repeat < 2 {
            but.push("each ran once, which does not show the spread: --repeat 3".to_owned());
        } else if !unsure.is_empty() {
            but.push(format!("within noise, so that more runs could turn it round: {}", unsure.join(", ")));
        }
        for (measure, winner) in measures().filter_map(|measure| Some((measure, winner(measure)?))) {
            but.extend(safest(measure, &winner));
        }
        if self.settings.durability != "full" {
            but.push(format!("commits survived only what {} promises: --durability full", self.settings.durability));
        }
        let absent = self.contestants.iter().filter_map(|report| Some((&report.name, report.absent.as_ref()?)));
        but.extend(absent.map(|(name, reason)| format!("{name} was not measured: {reason}")));
        let rows = self.workloads.first().map_or(0, |workload| workload.rows) as f64;
        let sizes = measures().filter(|measure| measure.unit == Unit::BytesPerRow).flat_map(|measure| &measure.results);
        let largest = sizes.filter_map(|result| Some(result.spread?.median * rows)).fold(0.0, f64::max);
        if self.machine.memory_bytes.is_some_and(|memory| largest < memory as f64) {
            but.push("every store fits into this machine's memory; of a larger file the smaller reads less".to_owned());
        }
        Advice { winners, but, commands }
    }
}

fn ranked(measure: &MeasureReport) -> Vec<&MeasureResult> {
    let mut ranked: Vec<&MeasureResult> = measure.results.iter().filter(|result| result.spread.is_some()).collect();
    let median = |result: &MeasureResult| result.spread.map_or(0.0, |spread| spread.median);
    ranked.sort_by(|a, b| median(a).total_cmp(&median(b)));
    if measure.unit.more_is_better() {
        ranked.reverse();
    }
    ranked
}

fn winner(measure: &MeasureReport) -> Option<Winner> {
    let ranked = ranked(measure);
    let (best, spread) = (ranked.first()?, ranked.first()?.spread?);
    let against = |other: &&MeasureResult| {
        let other_spread = other.spread?;
        Some((other.contestant.clone(), measure.unit.advantage(spread.median, other_spread.median)))
    };
    let is_apart = |other: &&MeasureResult| {
        let apart = other.spread.is_some_and(|other| spread.max < other.min || other.max < spread.min);
        apart && best.runs.len() > 1 && other.runs.len() > 1
    };
    Some(Winner {
        measure: measure.name.clone(),
        title: measure.title.clone(),
        winner: best.contestant.clone(),
        figure: spread.median,
        unit: measure.unit,
        next: ranked.get(1).and_then(against),
        last: ranked.last().filter(|_| ranked.len() > 2).and_then(against),
        is_sure: ranked.get(1).is_some_and(is_apart),
        durability: best.durability.clone(),
    })
}

/// The winner among the contestants of the strictest tier, if the overall winner is not one of them.
fn safest(measure: &MeasureReport, winner: &Winner) -> Option<String> {
    const TIERS: [Tier; 4] = [Tier::Full, Tier::Normal, Tier::Off, Tier::None];
    let ranked = ranked(measure);
    let strictest = TIERS.iter().find(|tier| ranked.iter().any(|result| result.durability == tier.name()))?;
    let safe = ranked.iter().find(|result| result.durability == strictest.name())?;
    (safe.contestant != winner.winner).then(|| {
        let factor = measure.unit.advantage(winner.figure, safe.spread.map_or(winner.figure, |spread| spread.median));
        format!(
            "{}: {} has durability {}; of those with {strictest}, {} is best, {} worse",
            measure.title.trim(),
            winner.winner,
            winner.durability,
            safe.contestant,
            self::factor(factor)
        )
    })
}

impl Advice {
    /// Formats the advice for a terminal.
    pub fn to_text(&self, input: &AdviseInput) -> String {
        let mut text = String::new();
        input.notes().iter().take(2).for_each(|note| text.push_str(&format!("{note}\n")));
        text.push('\n');
        let mut grid = Grid::default();
        grid.row(["", "best", "figure", "next", "better by", "last", "better by", "sure"]);
        for winner in &self.winners {
            let other = |other: &Option<(String, f64)>| match other {
                Some((name, by)) => (name.clone(), factor(*by)),
                None => Default::default(),
            };
            let ((next, by_next), (last, by_last)) = (other(&winner.next), other(&winner.last));
            let sure = match (&winner.next, winner.is_sure) {
                (None, _) => "alone",
                (_, true) => "yes",
                (_, false) => "no",
            };
            grid.row([
                winner.title.trim().to_owned(),
                winner.winner.clone(),
                winner.unit.format(winner.figure),
                next,
                by_next,
                last,
                by_last,
                sure.to_owned(),
            ]);
        }
        grid.write(&mut text);
        text.push_str("\nsure: every run of the best was better than every run of the next\n\nwhat would change it:\n");
        self.but.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        text.push_str("\nto measure it again:\n");
        self.commands.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Figure, Spread};

    fn measure(results: &[(&str, &str, &[f64])]) -> MeasureReport {
        let result = |(contestant, durability, figures): &(&str, &str, &[f64])| MeasureResult {
            contestant: (*contestant).to_owned(),
            durability: (*durability).to_owned(),
            runs: figures.iter().map(|value| Figure::of(*value)).collect(),
            spread: Spread::of(figures),
            ..MeasureResult::default()
        };
        let results = results.iter().map(result).collect();
        MeasureReport { name: "load".to_owned(), title: "load".to_owned(), unit: Unit::RowsPerSecond, results }
    }

    #[test]
    fn the_best_wins_and_is_sure_only_when_apart() {
        let apart = measure(&[("a", "full", &[10.0, 11.0]), ("b", "full", &[20.0, 22.0]), ("c", "full", &[1.0, 1.0])]);
        let won = winner(&apart).expect("a winner");
        assert_eq!((won.winner.as_str(), won.is_sure), ("b", true));
        assert_eq!(won.next, Some(("a".to_owned(), 2.0)));
        let close = measure(&[("a", "full", &[10.0, 21.0]), ("b", "full", &[20.0, 22.0])]);
        assert!(!winner(&close).expect("a winner").is_sure);
        let single = measure(&[("a", "full", &[10.0]), ("b", "full", &[20.0])]);
        assert!(!winner(&single).expect("a winner").is_sure, "one run tells nothing");
    }

    #[test]
    fn a_winner_that_forgets_is_told_beside_one_that_does_not() {
        let mixed = measure(&[("safe", "full", &[10.0]), ("fast", "none", &[20.0])]);
        let line = safest(&mixed, &winner(&mixed).expect("a winner")).expect("a line");
        assert!(line.contains("safe is best") && line.contains("2.00 x"), "{line}");
        let same = measure(&[("safe", "full", &[30.0]), ("fast", "none", &[20.0])]);
        assert_eq!(safest(&same, &winner(&same).expect("a winner")), None);
    }
}
