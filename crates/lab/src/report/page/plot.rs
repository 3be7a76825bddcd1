//! Plots as SVG within the page. Texts are HTML, and lengths are shares of the width there is, so that a narrow screen
//! makes bars shorter and not letters smaller. Colours are the style's.

use crate::measure::{CurvePoint, Unit};
use crate::report::grid::OURS;
use crate::report::page::lists::list;
use crate::report::results::{MeasureReport, MeasureResult};
use crate::workload::Fact;
use atsdb::count_text::format_count;
use maud::{Markup, html};

/// Colours of lines; further lines are dashed.
const COLOURS: usize = 8;

/// The maximum factor between the smallest and the largest figure. With a larger one, the bars are logarithmic.
const FACTOR_MAX: f64 = 200.0;

/// A bar for each contestant, its spread as a whisker, facts as dashed lines. Contestants without a figure are listed
/// below with their reason.
pub(super) fn bars(
    measure: &MeasureReport,
    facts: &[&Fact],
    other_tier: &dyn Fn(&str) -> Option<&'static str>,
) -> Markup {
    let spreads = || measure.results.iter().filter_map(|result| result.spread);
    let most = spreads().map(|spread| spread.max).fold(0.0, f64::max);
    let least = spreads().map(|spread| spread.min).filter(|least| *least > 0.0).fold(most, f64::min);
    // On a linear scale, a figure a thousand times larger than the others would hide them.
    let is_logarithmic = least > 0.0 && most / least > FACTOR_MAX;
    let share = |value: f64| {
        if most <= 0.0 {
            0.0
        } else if is_logarithmic {
            ((value * 2.0 / least).ln() / (most * 2.0 / least).ln() * 100.0).clamp(0.0, 100.0)
        } else {
            (value / most * 100.0).clamp(0.0, 100.0)
        }
    };
    let facts_here = || facts.iter().filter(|fact| fact.unit == measure.unit && fact.value <= most);
    let mut lines: Vec<String> =
        facts.iter().map(|fact| format!("dashed: {}, {}", fact.title, fact.unit.format(fact.value))).collect();
    if is_logarithmic {
        lines.push(format!("bars are logarithmic: from the shortest to the longest it is {:.0} times", most / least));
    }
    lines.extend(skipped(measure));
    html! {
        div.bars {
            @for result in measure.results.iter().filter(|it| it.spread.is_some() || it.skipped.is_none()) {
                "\n" b class=[(result.contestant == OURS).then_some("ours")] {
                    (result.contestant)
                    @if let Some(tier) = other_tier(&result.contestant) { " " small { (tier) } }
                }
                @if let Some(spread) = result.spread {
                    @let value = value_text(measure.unit, result);
                    svg role="img" aria-label=(value) {
                        rect.bar.ours[result.contestant == OURS] width=(percent(share(spread.median))) height="16" rx="2" {}
                        @if result.runs.len() > 1 {
                            (line("whisker", share(spread.min), share(spread.max), 8, 8))
                        }
                        @for fact in facts_here() { (line("fact", share(fact.value), share(fact.value), -2, 18)) }
                    }
                    span.value { (value) }
                } @else {
                    i.failed { "failed: " (result.failed.as_deref().unwrap_or("no figure")) }
                }
            }
        }
        (list("notes", &lines))
    }
}

/// A length as a share of the plot's width.
fn percent(share: f64) -> String {
    format!("{share:.2}%")
}

/// A line between two shares of the plot's width.
fn line(class: &str, from: f64, to: f64, y1: i32, y2: i32) -> Markup {
    html! { line class=(class) x1=(percent(from)) x2=(percent(to)) y1=(y1) y2=(y2) {} }
}

/// Contestants that skipped the measure, by their reason.
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
    // Only the first query of the first run is cold.
    if let Some(cold) = result.runs.first().and_then(|run| run.first) {
        text += &format!(", cold {}", unit.format(cold));
    }
    text
}

/// A line for each contestant that timed many operations, on one logarithmic scale: all, the middle half, the median
/// and two tails.
pub(super) fn latencies(measure: &MeasureReport) -> Markup {
    let timed = |result: &MeasureResult| {
        let found = result.runs.iter().find_map(|run| run.latencies.clone())?;
        (result.failed.is_none() && found.quantiles.len() > 4).then_some(found)
    };
    let all: Vec<_> = measure.results.iter().filter_map(|result| Some((&result.contestant, timed(result)?))).collect();
    if all.is_empty() {
        return Markup::default();
    }
    let least = all.iter().map(|(_, times)| times.quantiles[0].max(1e-4)).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|(_, times)| times.max).fold(0.0, f64::max).max(least * 1.01);
    let at = |value: f64| ((value.max(least) / least).ln() / (most / least).ln() * 100.0).clamp(0.0, 100.0);
    let mark = |value: f64| line("mark", at(value), at(value), 1, 15);
    let show = |value: f64| Unit::Milliseconds.format(value);
    html! {
        div.bars {
            @for (contestant, times) in &all {
                "\n" b { (contestant) }
                svg role="img" {
                    (line("range", at(times.quantiles[0]), at(times.max), 8, 8))
                    (line("half", at(times.quantiles[2]), at(times.quantiles[4]), 8, 8))
                    (mark(times.p50)) (mark(times.p95)) (mark(times.p99))
                }
                span.value {
                    (format!("{:.0}", times.per_second)) "/s"
                    @if times.errors > 0 { ", " (times.errors) " errors" }
                }
                i {
                    "p50 " (show(times.p50)) ", p95 " (show(times.p95)) ", p99 " (show(times.p99))
                    ", slowest " (show(times.max))
                }
                @if let Some(error) = &times.last_error { i.failed { (error) } }
            }
        }
        small { "logarithmic, " (show(least)) " to " (show(most)) "; marks at p50, p95, p99" }
    }
}

/// A line for each contestant whose figure was taken as its table grew.
pub(super) fn curves(measure: &MeasureReport) -> Markup {
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
    let rows = points().map(|point| point.rows).max().unwrap_or(0);
    let most = points().map(|point| point.value).fold(0.0, f64::max);
    if rows == 0 || most == 0.0 {
        return Markup::default();
    }
    let at = |point: &CurvePoint| {
        format!("{:.2},{:.2}", point.rows as f64 / rows as f64 * 100.0, 100.0 - point.value / most * 100.0)
    };
    html! {
        svg.curve role="img" aria-label="rate over the size of the table" {
            @for y in [12, 87, 162] { (line("grid", 0.0, 100.0, y, y)) }
            // Inside, shares of the plot's width and height; outside, letters that are not stretched.
            svg y="12" width="100%" height="150" viewBox="0 0 100 100" preserveAspectRatio="none" overflow="visible" {
                @for (position, (_, curve)) in curves.iter().enumerate() {
                    "\n" polyline style=(colour(position)) stroke-dasharray=[dashes(position)]
                        points=(curve.iter().map(at).collect::<Vec<_>>().join(" ")) {}
                }
            }
            text x="2" y="9" { (measure.unit.format(most)) }
            text x="2" y="84" { (measure.unit.format(most / 2.0)) }
            text x="0" y="180" { "0 rows" }
            text x="100%" y="180" text-anchor="end" { (format_count(rows)) " rows there" }
        }
        div.legend {
            @for (position, (contestant, _)) in curves.iter().enumerate() {
                span {
                    svg {
                        line x1="0" x2="22" y1="4" y2="4" style=(colour(position)) stroke-dasharray=[dashes(position)] {}
                    }
                    (contestant)
                }
            }
        }
    }
}

fn colour(position: usize) -> String {
    format!("stroke: var(--s{})", position % COLOURS)
}

fn dashes(position: usize) -> Option<&'static str> {
    (position >= COLOURS).then_some("5 4")
}
