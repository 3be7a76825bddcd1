//! Runs scripts in the language of Prometheus' own PromQL tests.

use super::compare::{Expected, compare};
use super::literals::Converter;
use super::series::{Item, is_start_line, number, parse_series};
use super::source::Memory;
use atsdb_prom::evaluate::{
    LOOKBACK_MS, Limits, Outcome, ResultSeries, ResultValue, Sample, evaluate_instant, evaluate_range,
};
use atsdb_prom::promql::parse;
use regex::Regex;
use std::sync::Arc;

/// The results of a script's queries.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    /// The number of queries that have native histograms.
    pub(crate) native: usize,
    pub(crate) native_failed: usize,
    /// The line and the reason of each failure.
    pub(crate) failed: Vec<String>,
}

/// A condition on warnings or errors.
enum Check {
    Any,
    Message(String),
    Pattern(Regex),
}

impl Check {
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Message(message) => message == text,
            Self::Pattern(regex) => regex.is_match(text),
        }
    }
}

/// An `eval` command.
#[derive(Default)]
struct Query {
    line: usize,
    text: String,
    range: Option<(i64, i64, i64)>,
    time: i64,
    expected: Expected,
    /// The times of the samples of an expected range vector.
    samples: Option<(i64, i64)>,
    fail: Vec<Check>,
    warn: Vec<Check>,
    info: Vec<Check>,
    no_warn: bool,
    no_info: bool,
}

fn milliseconds(text: &str) -> i64 {
    (number(text).unwrap_or_else(|| panic!("not a duration: {text}")) * 1000.0).round() as i64
}

/// Runs a script.
pub(crate) fn run(script: &str) -> Report {
    let lines: Vec<&str> =
        script.lines().map(str::trim).map(|line| if line.starts_with('#') { "" } else { line }).collect();
    let mut memory = Memory::default();
    let mut report = Report::default();
    let mut place = 0;
    while place < lines.len() {
        let line = lines[place];
        let block: Vec<&str> = lines[place + 1..].iter().take_while(|line| !line.is_empty()).copied().collect();
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "" => {}
            "clear" => memory.clear(),
            _ if word.starts_with("load") => {
                load(&mut memory, line, &block);
                place += block.len();
            }
            _ if word.starts_with("eval") => {
                // In an older form, the next command may follow without an empty line.
                let block: Vec<&str> = block.iter().take_while(|line| !line.starts_with("eval")).copied().collect();
                let query = query(line, &block, place + 1);
                place += block.len();
                evaluate(&memory, &query, &mut report);
            }
            _ => panic!("line {}: {line}", place + 1),
        }
        place += 1;
    }
    report
}

fn load(memory: &mut Memory, line: &str, block: &[&str]) {
    let (command, step) = line.split_once(char::is_whitespace).unwrap();
    let step = milliseconds(step.trim());
    let mut converter = Converter::default();
    for line in block.iter().filter(|line| !is_start_line(line)) {
        let (labels, items) = parse_series(line);
        for (place, item) in items.iter().enumerate() {
            let time = step * place as i64;
            match item {
                Item::Gap => {}
                Item::Value(value) => {
                    memory.add(labels.clone(), time, *value);
                    converter.add(&labels, time, *value);
                }
                Item::Histogram(histogram, _) => memory.add_histogram(labels.clone(), time, histogram),
            }
        }
    }
    if command == "load_with_nhcb" {
        for (labels, time, histogram) in converter.histograms() {
            memory.add_histogram(labels, time, &histogram);
        }
    }
}

fn query(line: &str, block: &[&str], number_of_line: usize) -> Query {
    let instant = Regex::new(r"^eval(?:_(fail|warn|ordered|info))?\s+instant\s+(?:at\s+(.+?))?\s+(.+)$").unwrap();
    let range =
        Regex::new(r"^eval(?:_(fail|warn|info))?\s+range\s+from\s+(.+)\s+to\s+(.+)\s+step\s+(.+?)\s+(.+)$").unwrap();
    let mut query = Query { line: number_of_line, ..Query::default() };
    let kind = if let Some(parts) = instant.captures(line) {
        query.time = milliseconds(&parts[2]);
        query.text = parts[3].to_owned();
        parts.get(1)
    } else {
        let parts = range.captures(line).unwrap_or_else(|| panic!("line {number_of_line}: {line}"));
        query.range = Some((milliseconds(&parts[2]), milliseconds(&parts[3]), milliseconds(&parts[4])));
        query.text = parts[5].to_owned();
        parts.get(1)
    };
    match kind.map(|kind| kind.as_str()) {
        Some("fail") => query.fail.push(Check::Any),
        Some("warn") => query.warn.push(Check::Pattern(Regex::new("").unwrap())),
        Some("info") => query.info.push(Check::Pattern(Regex::new("").unwrap())),
        Some("ordered") => query.expected.ordered = true,
        _ => {}
    }
    for line in block {
        expectation(&mut query, line);
    }
    query
}

fn expectation(query: &mut Query, line: &str) {
    if let Some(rest) = line.strip_prefix("expect range vector from ") {
        let words: Vec<&str> = rest.split_whitespace().collect();
        query.samples = Some((milliseconds(words[0]), milliseconds(words[4])));
        query.time = milliseconds(words[2]);
    } else if let Some(rest) = line.strip_prefix("expect string ") {
        let text = parse(rest).unwrap();
        let atsdb_prom::promql::ExprKind::Text(text) = text.kind else { panic!("{line}") };
        query.expected.text = Some(text);
    } else if let Some(rest) = line.strip_prefix("expected_fail_message ") {
        query.fail = vec![Check::Message(rest.trim().to_owned())];
    } else if let Some(rest) = line.strip_prefix("expected_fail_regexp ") {
        query.fail = vec![Check::Pattern(Regex::new(rest.trim()).unwrap())];
    } else if let Some(rest) = line.strip_prefix("expect ") {
        let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let check = if let Some(message) = rest.trim().strip_prefix("msg:") {
            Check::Message(message.trim().to_owned())
        } else if let Some(pattern) = rest.trim().strip_prefix("regex:") {
            Check::Pattern(Regex::new(pattern.trim()).unwrap())
        } else {
            Check::Any
        };
        match kind {
            "fail" => query.fail.push(check),
            "warn" => query.warn.push(check),
            "info" => query.info.push(check),
            "no_warn" => query.no_warn = true,
            "no_info" => query.no_info = true,
            "ordered" => query.expected.ordered = true,
            _ => panic!("{line}"),
        }
    } else if let Some(value) = number(line) {
        query.expected.scalar = Some(value);
    } else {
        let (labels, items) = parse_series(line);
        query.expected.series.push((labels, items));
    }
}

fn outcome(memory: &Memory, query: &Query, range: Option<(i64, i64, i64)>) -> Result<Outcome, String> {
    let expr = parse(&query.text).map_err(|error| error.to_string())?;
    let limits = Limits { lookback_ms: LOOKBACK_MS, samples_max: 10_000_000, stop: &|| false };
    let outcome = match range {
        Some(range) => evaluate_range(memory, &query.text, &expr, range, &limits),
        None => evaluate_instant(memory, &query.text, &expr, query.time, &limits),
    };
    outcome.map_err(|error| error.to_string())
}

fn evaluate(memory: &Memory, query: &Query, report: &mut Report) {
    let result = check(memory, query);
    let native = usize::from(memory.touched_native.replace(false));
    report.native += native;
    match result {
        Ok(()) => report.passed += 1,
        Err(reason) => {
            report.native_failed += native;
            report.failed.push(format!("line {}: {}: {reason}", query.line, query.text));
        }
    }
}

fn check(memory: &Memory, query: &Query) -> Result<(), String> {
    let outcome = match outcome(memory, query, query.range) {
        Ok(_) if !query.fail.is_empty() => return Err("did not fail".to_owned()),
        Ok(outcome) => outcome,
        Err(error) => {
            let expected = query.fail.iter().all(|check| check.holds(&error)) && !query.fail.is_empty();
            return if expected { Ok(()) } else { Err(format!("failed: {error}")) };
        }
    };
    remarks("warning", &outcome.warnings, &query.warn, query.no_warn)?;
    remarks("info", &outcome.infos, &query.info, query.no_info)?;
    let (start, step) = match (query.range, query.samples) {
        (Some((start, _, step)), _) => (start, step),
        (None, Some(samples)) => samples,
        (None, None) => (query.time, 0),
    };
    compare(&outcome.value, &query.expected, start, step)?;
    as_range(memory, query)
}

fn remarks(kind: &str, found: &[String], checks: &[Check], none: bool) -> Result<(), String> {
    if none && !found.is_empty() {
        return Err(format!("unexpected {kind} {found:?}"));
    }
    for check in checks {
        if !found.iter().any(|text| check.holds(text)) {
            return Err(format!("missing {kind}, got {found:?}"));
        }
    }
    match found.iter().find(|text| !checks.is_empty() && !checks.iter().any(|check| check.holds(text))) {
        Some(text) => Err(format!("unexpected {kind} {text:?}")),
        None => Ok(()),
    }
}

/// Checks that an instant query gives the value of a range query at that time.
fn as_range(memory: &Memory, query: &Query) -> Result<(), String> {
    let expected = &query.expected;
    if query.range.is_some() || query.samples.is_some() || expected.ordered || expected.text.is_some() {
        return Ok(());
    }
    // These functions depend on the query's own range.
    if ["range()", "step()", "start()", "end()"].iter().any(|word| query.text.contains(word)) {
        return Ok(());
    }
    let outcome = match outcome(memory, query, Some((query.time - 60_000, query.time + 60_000, 60_000))) {
        Ok(outcome) => outcome,
        // At the other times the query may fail, for example because of duplicates.
        Err(_) => return Ok(()),
    };
    let ResultValue::Matrix(series) = outcome.value else { return Err("a range query yields a matrix".to_owned()) };
    let number = |series: &ResultSeries| series.points.iter().find(|point| point.0 == query.time).map(|point| point.1);
    let at = |series: &ResultSeries| match series.histograms.iter().find(|point| point.0 == query.time) {
        Some(point) => Some(Sample::Histogram(Arc::clone(&point.1))),
        None => number(series).map(Sample::Number),
    };
    let values = series.iter().filter_map(|series| Some((series.labels.clone(), query.time, at(series)?)));
    let value = match expected.scalar {
        Some(_) => ResultValue::Scalar(query.time, number(&series[0]).unwrap()),
        None => ResultValue::Vector(values.collect()),
    };
    compare(&value, expected, query.time, 0).map_err(|reason| format!("as a range query: {reason}"))
}
