//! A report for the terminal: a table for each workload, contestants side by side.

use crate::measure::Unit;
use crate::report::grid::{Grid, OURS, factor};
use crate::report::results::{ContestantReport, MeasureResult, Report, Settings, WorkloadReport};
use atsdb::count_text::format_count;

/// The reason why some contestants have no figure.
struct ReasonNote {
    reason: String,
    contestants: Vec<String>,
}

/// The maximum number of contestants whose factors are shown in the terminal. With more, only the page and the JSON
/// show them.
const FACTORS_MAX: usize = 3;

impl Report {
    /// The report as text for a terminal. A figure is the median of the runs, with half their range in percent; a
    /// factor above 1 means that atsdb is better.
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        let memory = self.machine.memory_bytes.map(|bytes| format!(", {} GiB", bytes >> 30)).unwrap_or_default();
        let Settings { seed, repeat, durability, tuning } = &self.settings;
        line(
            &mut text,
            &format!("{} cores of {}{memory}, {}", self.machine.cores, self.machine.processor, self.machine.kernel),
        );
        let versions: Vec<String> = self
            .contestants
            .iter()
            .map(|contestant| match (&contestant.version, &contestant.absent) {
                (Some(version), _) => {
                    let tier = contestant.tier.map(|tier| format!(", durability {tier}")).unwrap_or_default();
                    format!("{}: {version}{tier} ({})", contestant.name, contestant.settings.join(", "))
                }
                (None, reason) => format!("{}: absent, {}", contestant.name, reason.as_deref().unwrap_or("unknown")),
            })
            .collect();
        versions.iter().for_each(|version| line(&mut text, version));
        for workload in &self.workloads {
            let title = format!(
                "\n{}: {} rows, seed {seed}, durability {durability}, {} settings, {}",
                workload.name,
                format_count(workload.rows),
                tuning.name(),
                if *repeat == 1 { "one run".to_owned() } else { format!("median of {repeat} runs") }
            );
            line(&mut text, &title);
            self.workload(workload, &mut text);
        }
        if self.interrupted {
            line(&mut text, "\ninterrupted: these are the figures until then");
        }
        text
    }

    fn workload(&self, workload: &WorkloadReport, text: &mut String) {
        let names: Vec<&str> = self
            .contestants
            .iter()
            .filter(|contestant| contestant.version.is_some())
            .map(|contestant| contestant.name.as_str())
            .collect();
        let others: Vec<&str> = names.iter().copied().filter(|name| *name != OURS && names.contains(&OURS)).collect();
        let others = if others.len() > FACTORS_MAX { Vec::new() } else { others };
        let mut grid = Grid::default();
        let factors = others.iter().map(|other| format!("{OURS} / {other}"));
        let title = |name: &&str| match self.contestants.iter().find(|contestant| contestant.name == **name) {
            Some(ContestantReport { tier: Some(tier), .. }) if tier.name() != self.settings.durability => {
                format!("{name} ({tier})")
            }
            _ => (*name).to_owned(),
        };
        grid.row([String::new()].into_iter().chain(names.iter().map(title)).chain(factors));

        let (mut notes, mut published): (Vec<ReasonNote>, Vec<String>) = Default::default();
        for measure in &workload.measures {
            if measure.results.is_empty() {
                continue;
            }
            let of = |name: &str| measure.results.iter().find(|result| result.contestant == name);
            let mut row = vec![measure.title.clone()];
            row.extend(names.iter().map(|name| cell(of(name), measure.unit, &mut notes)));
            row.extend(others.iter().map(|other| match (median(of(OURS)), median(of(other))) {
                (Some(ours), Some(theirs)) => factor(measure.unit.advantage(ours, theirs)),
                _ => String::new(),
            }));
            grid.row(row);
            for fact in workload.facts.iter().filter(|fact| fact.measures.first() == Some(&measure.name)) {
                let mut row = vec![format!("  {}: {}", fact.title, fact.unit.format(fact.value))];
                row.extend(names.iter().map(|name| match median(of(name)) {
                    Some(median) => format!("{} of it", factor(median / fact.value)),
                    None => String::new(),
                }));
                grid.row(row);
            }
            if measure.results.iter().any(|result| latencies(result).is_some()) {
                let mut row = vec!["    p95, p99, errors".to_owned()];
                row.extend(names.iter().map(|name| of(name).and_then(latencies).unwrap_or_default()));
                grid.row(row);
            }
            published.extend(
                workload
                    .published
                    .iter()
                    .filter(|published| published.measure == measure.name)
                    .map(|published| format!("{}: {}", measure.title.trim(), published.line(measure))),
            );
        }
        workload.notes.iter().for_each(|note| line(text, note));
        grid.write(text);
        published.extend(workload.sources());
        published.iter().for_each(|published| line(text, published));
        for (position, note) in notes.iter().enumerate() {
            line(text, &format!("[{}] {}: {}", position + 1, note.contestants.join(", "), note.reason));
        }
        for broken in &workload.broken {
            line(text, &format!("{} did not reach the end: {}", broken.contestant, broken.reason));
        }
    }
}

fn cell(result: Option<&MeasureResult>, unit: Unit, notes: &mut Vec<ReasonNote>) -> String {
    let Some(result) = result else { return String::new() };
    let mut note = |word: &str, reason: &str| {
        let position = notes.iter().position(|note| note.reason == reason).unwrap_or_else(|| {
            notes.push(ReasonNote { reason: reason.to_owned(), contestants: Vec::new() });
            notes.len() - 1
        });
        let contestants = &mut notes[position].contestants;
        if !contestants.contains(&result.contestant) {
            contestants.push(result.contestant.clone());
        }
        format!("{word} [{}]", position + 1)
    };
    match (&result.failed, &result.skipped, &result.spread) {
        (Some(reason), _, _) => note("FAILED", reason),
        (None, _, Some(spread)) if result.runs.len() > 1 => {
            format!("{} ±{:.0} %", unit.format(spread.median), spread.relative() * 100.0)
        }
        (None, _, Some(spread)) => unit.format(spread.median),
        (None, Some(reason), None) => note("skipped", reason),
        (None, None, None) => String::new(),
    }
}

/// The tails of latencies of single operations.
fn latencies(result: &MeasureResult) -> Option<String> {
    let latencies = result.runs.iter().find_map(|run| run.latencies.as_ref())?;
    result.spread?;
    let errors = if latencies.errors == 0 { String::new() } else { format!(", {} err", latencies.errors) };
    Some(format!("{:.2}, {:.2} ms{errors}", latencies.p95, latencies.p99))
}

fn median(result: Option<&MeasureResult>) -> Option<f64> {
    result?.spread.map(|spread| spread.median)
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
