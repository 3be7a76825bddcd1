//! Plots as SVG within the page. Texts are HTML, and lengths are shares of the width there is, so that a narrow screen
//! makes bars shorter and not letters smaller. Colours are the style's.

use super::{escape, put};
use crate::measure::{CurvePoint, Unit};
use crate::report::{MeasureReport, MeasureResult};
use crate::table::{OURS, grouped};
use crate::workload::Fact;

/// Colours of lines; further lines are dashed.
const COLOURS: usize = 8;

/// With figures further apart than this, the lengths of bars are logarithms.
const FACTOR_MAX: f64 = 200.0;

/// A bar for each contestant, its spread as a whisker, facts as dashed lines. Below stands who has none, and why.
pub(super) fn bars(
    measure: &MeasureReport,
    facts: &[&Fact],
    tier_of: &dyn Fn(&str) -> Option<&'static str>,
    page: &mut String,
) {
    let spreads = || measure.results.iter().filter_map(|result| result.spread);
    let most = spreads().map(|spread| spread.max).fold(0.0, f64::max);
    let least = spreads().map(|spread| spread.min).filter(|least| *least > 0.0).fold(most, f64::min);
    // Beside one that is a thousand times another the others would all look like nothing.
    let is_logarithmic = least > 0.0 && most / least > FACTOR_MAX;
    let share = |value: f64| match (most > 0.0, is_logarithmic) {
        (true, true) => ((value * 2.0 / least).ln() / (most * 2.0 / least).ln() * 100.0).clamp(0.0, 100.0),
        (true, false) => (value / most * 100.0).clamp(0.0, 100.0),
        (false, _) => 0.0,
    };
    put(page, "<div class=\"bars\">\n");
    for result in measure.results.iter().filter(|result| result.spread.is_some() || result.skipped.is_none()) {
        let ours = if result.contestant == OURS { " class=\"ours\"" } else { "" };
        let tier = tier_of(&result.contestant).map(|tier| format!(" <small>{tier}</small>")).unwrap_or_default();
        put(page, &format!("<b{ours}>{}{tier}</b>", escape(&result.contestant)));
        let Some(spread) = result.spread else {
            let reason = result.failed.as_deref().unwrap_or("no figure");
            put(page, &format!("<i class=\"failed\">failed: {}</i>\n", escape(reason)));
            continue;
        };
        let class = if result.contestant == OURS { "bar ours" } else { "bar" };
        let mut svg =
            format!("<rect class=\"{class}\" width=\"{:.2}%\" height=\"16\" rx=\"2\"/>", share(spread.median));
        if result.runs.len() > 1 {
            let (low, high) = (share(spread.min), share(spread.max));
            svg += &format!("<line class=\"whisker\" x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"8\" y2=\"8\"/>");
        }
        for fact in facts.iter().filter(|fact| fact.unit == measure.unit && fact.value <= most) {
            let at = share(fact.value);
            svg += &format!("<line class=\"fact\" x1=\"{at:.2}%\" x2=\"{at:.2}%\" y1=\"-2\" y2=\"18\"/>");
        }
        let value = value_text(measure.unit, result);
        put(page, &format!("<svg role=\"img\" aria-label=\"{}\">{svg}</svg>", escape(&value)));
        put(page, &format!("<span class=\"value\">{}</span>\n", escape(&value)));
    }
    put(page, "</div>\n");
    let mut lines: Vec<String> =
        facts.iter().map(|fact| format!("dashed: {}, {}", fact.title, fact.unit.format(fact.value))).collect();
    if is_logarithmic {
        lines.push(format!("bars are logarithmic: from the shortest to the longest it is {:.0} times", most / least));
    }
    lines.extend(skipped(measure));
    super::list(page, "notes", &lines);
}

/// Who could not, by the reason.
fn skipped(measure: &MeasureReport) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for result in measure.results.iter().filter(|result| result.spread.is_none() && result.failed.is_none()) {
        let Some(reason) = result.skipped.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, contestants)) => contestants.push(&result.contestant),
            None => reasons.push((reason, vec![&result.contestant])),
        }
    }
    reasons.into_iter().map(|(reason, who)| format!("skipped by {}: {reason}", who.join(", "))).collect()
}

fn value_text(unit: Unit, result: &MeasureResult) -> String {
    let Some(spread) = result.spread else { return String::new() };
    let mut text = unit.format(spread.median);
    if result.runs.len() > 1 {
        text += &format!(" ±{:.0} %", spread.relative() * 100.0);
    }
    // Of the first run: the others' first is no colder.
    if let Some(cold) = result.runs.first().and_then(|run| run.first) {
        text += &format!(", cold {}", unit.format(cold));
    }
    text
}

/// A line for each contestant that timed many operations, on one logarithmic scale: all, the middle half, the median
/// and two tails.
pub(super) fn latencies(measure: &MeasureReport, page: &mut String) {
    let timed = |result: &MeasureResult| {
        let found = result.runs.iter().find_map(|run| run.latencies.clone())?;
        (result.failed.is_none() && found.quantiles.len() > 4).then_some(found)
    };
    let all: Vec<_> = measure.results.iter().filter_map(|result| Some((&result.contestant, timed(result)?))).collect();
    let least = all.iter().map(|(_, times)| times.quantiles[0].max(1e-4)).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|(_, times)| times.max).fold(0.0, f64::max).max(least * 1.01);
    if all.is_empty() {
        return;
    }
    let at = |value: f64| ((value.max(least) / least).ln() / (most / least).ln() * 100.0).clamp(0.0, 100.0);
    put(page, "<div class=\"bars\">\n");
    for (contestant, times) in &all {
        let line = |class: &str, from: f64, to: f64| {
            let (from, to) = (at(from), at(to));
            format!("<line class=\"{class}\" x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"8\" y2=\"8\"/>")
        };
        let mark = |value: f64| {
            let x = at(value);
            format!("<line class=\"mark\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"1\" y2=\"15\"/>")
        };
        let svg = [
            line("range", times.quantiles[0], times.max),
            line("half", times.quantiles[2], times.quantiles[4]),
            mark(times.p50),
            mark(times.p95),
            mark(times.p99),
        ];
        let errors = if times.errors > 0 { format!(", {} errors", times.errors) } else { String::new() };
        put(page, &format!("<b>{}</b><svg role=\"img\">{}</svg>", escape(contestant), svg.concat()));
        put(page, &format!("<span class=\"value\">{:.0}/s{errors}</span>", times.per_second));
        let show = |value: f64| Unit::Milliseconds.format(value);
        let text = format!(
            "p50 {}, p95 {}, p99 {}, slowest {}",
            show(times.p50),
            show(times.p95),
            show(times.p99),
            show(times.max)
        );
        put(page, &format!("<i>{text}</i>\n"));
        if let Some(error) = &times.last_error {
            put(page, &format!("<i class=\"failed\">{}</i>\n", escape(error)));
        }
    }
    put(page, "</div>\n");
    let scale = format!("logarithmic, {} to {}", Unit::Milliseconds.format(least), Unit::Milliseconds.format(most));
    put(page, &format!("<small>{scale}; marks at p50, p95, p99</small>\n"));
}

/// A line for each contestant whose figure was taken as its table grew.
pub(super) fn curves(measure: &MeasureReport, page: &mut String) {
    let curves: Vec<(&str, &[CurvePoint])> = measure
        .results
        .iter()
        .filter(|result| result.spread.is_some())
        .filter_map(|result| {
            let curve = result.runs.iter().map(|run| run.curve.as_slice()).find(|curve| curve.len() > 1)?;
            Some((result.contestant.as_str(), curve))
        })
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve.iter());
    let rows = points().map(|point| point.rows).max().unwrap_or(0) as f64;
    let most = points().map(|point| point.value).fold(0.0, f64::max);
    if rows == 0.0 || most == 0.0 {
        return;
    }
    put(page, "<svg class=\"curve\" role=\"img\" aria-label=\"rate over the size of the table\">\n");
    // Inside, shares of the plot's width and height; outside, letters that are not stretched.
    put(page, "<line x1=\"0\" x2=\"100%\" y1=\"12\" y2=\"12\"/><line x1=\"0\" x2=\"100%\" y1=\"87\" y2=\"87\"/>");
    put(page, "<line x1=\"0\" x2=\"100%\" y1=\"162\" y2=\"162\"/>\n");
    put(
        page,
        "<svg y=\"12\" width=\"100%\" height=\"150\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" overflow=\"visible\">\n",
    );
    for (position, (_, curve)) in curves.iter().enumerate() {
        let at = |point: &CurvePoint| {
            format!("{:.2},{:.2}", point.rows as f64 / rows * 100.0, 100.0 - point.value / most * 100.0)
        };
        let line: Vec<String> = curve.iter().map(at).collect();
        put(page, &format!("<polyline {} points=\"{}\"/>\n", stroke(position), line.join(" ")));
    }
    put(page, "</svg>\n");
    put(page, &format!("<text x=\"2\" y=\"9\">{}</text>", escape(&measure.unit.format(most))));
    put(page, &format!("<text x=\"2\" y=\"84\">{}</text>", escape(&measure.unit.format(most / 2.0))));
    put(page, "<text x=\"0\" y=\"180\">0 rows</text>");
    put(
        page,
        &format!("<text x=\"100%\" y=\"180\" text-anchor=\"end\">{} rows there</text>\n</svg>\n", grouped(rows as u64)),
    );
    put(page, "<div class=\"legend\">");
    for (position, (contestant, _)) in curves.iter().enumerate() {
        let line = format!("<svg><line x1=\"0\" x2=\"22\" y1=\"4\" y2=\"4\" {}/></svg>", stroke(position));
        put(page, &format!("<span>{line}{}</span>", escape(contestant)));
    }
    put(page, "</div>\n");
}

fn stroke(position: usize) -> String {
    let dash = if position < COLOURS { "" } else { " stroke-dasharray=\"5 4\"" };
    format!("style=\"stroke: var(--s{})\"{dash}", position % COLOURS)
}
