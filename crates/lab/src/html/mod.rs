//! `report.html`: one file that opens offline. Styles and plots are in it; nothing is loaded, nothing runs.
//!
//! Owned here: the page. Not owned: plots (`plot`), what was compared (`compare`).

mod plot;

use crate::compare::Verdict;
use crate::report::{ContestantReport, MeasureReport, Report, WorkloadReport};
use crate::table::{factor, grouped};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

impl Report {
    /// The page of this run; beside an earlier one, where that is given.
    pub fn to_html(&self, before: Option<&Self>) -> String {
        let mut page = String::with_capacity(64 << 10);
        let title = format!("atsdb lab, {}", if self.date.is_empty() { "a run" } else { &self.date });
        put(&mut page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        put(&mut page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        put(
            &mut page,
            &format!("<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n", escape(&title)),
        );
        self.head(&mut page, &title);
        if let Some(before) = before {
            self.comparison(before, &mut page);
        }
        for workload in &self.workloads {
            self.section(workload, &mut page);
        }
        self.who(&mut page);
        put(&mut page, "</main>\n</body>\n</html>\n");
        page
    }

    fn head(&self, page: &mut String, title: &str) {
        let memory = self.machine.memory_bytes.map(|bytes| format!(", {} GiB", bytes >> 30)).unwrap_or_default();
        let machine =
            format!("{} cores of {}{memory}, {}", self.machine.cores, self.machine.processor, self.machine.kernel);
        let settings = &self.settings;
        let how = format!(
            "atsdb {}, seed {}, durability {} unless a name says otherwise, {} settings, {}",
            self.version,
            settings.seed,
            settings.durability,
            settings.tuning.name(),
            if settings.repeat == 1 { "one run".to_owned() } else { format!("median of {} runs", settings.repeat) },
        );
        put(
            page,
            &format!("<h1>{}</h1>\n<p class=\"sub\">{}<br>{}</p>\n", escape(title), escape(&machine), escape(&how)),
        );
        if self.interrupted {
            put(page, "<p class=\"warning\">This run was interrupted: these are the figures until then.</p>\n");
        }
        put(page, "<nav>");
        for workload in &self.workloads {
            let name = escape(&workload.name);
            put(page, &format!("<a href=\"#{name}\">{name}</a> "));
        }
        put(page, "<a href=\"#contestants\">contestants</a></nav>\n");
    }

    fn section(&self, workload: &WorkloadReport, page: &mut String) {
        let name = escape(&workload.name);
        put(page, &format!("<section id=\"{name}\">\n<h2>{name}</h2>\n"));
        put(page, &format!("<p class=\"sub\">{}. {} rows.</p>\n", escape(&workload.summary), grouped(workload.rows)));
        list(page, "notes", &workload.notes);
        list(page, "published", &workload.sources());
        let mut group: Option<&str> = None;
        put(page, "<div class=\"plots\">\n");
        for measure in workload.measures.iter().filter(|measure| !measure.results.is_empty()) {
            // A title that is indented goes on from the one before.
            let title = match measure.title.strip_prefix("  ") {
                Some(rest) => group.map_or(rest.to_owned(), |group| format!("{group}: {rest}")),
                None => {
                    group = Some(measure.title.split(':').next().unwrap_or(&measure.title));
                    measure.title.clone()
                }
            };
            self.measure(workload, measure, &title, page);
        }
        put(page, "</div>\n");
        let broken: Vec<String> = workload
            .broken
            .iter()
            .map(|broken| format!("{} did not reach the end: {}", broken.contestant, broken.reason))
            .collect();
        list(page, "warning", &broken);
        put(page, "</section>\n");
    }

    fn measure(&self, workload: &WorkloadReport, measure: &MeasureReport, title: &str, page: &mut String) {
        let better = if measure.unit.more_is_better() { "more is better" } else { "less is better" };
        put(page, &format!("<figure>\n<figcaption>{} <small>{better}</small></figcaption>\n", escape(title)));
        let facts: Vec<_> = workload.facts.iter().filter(|fact| fact.measures.contains(&measure.name)).collect();
        plot::bars(measure, &facts, &|contestant| self.tier_of(contestant), page);
        plot::latencies(measure, page);
        plot::curves(measure, page);
        let published = workload.published.iter().filter(|published| published.measure == measure.name);
        let lines: Vec<String> = published.map(|published| published.line(measure)).collect();
        list(page, "published", &lines);
        put(page, "</figure>\n");
    }

    /// The tier of a contestant, where it is not the run's.
    fn tier_of(&self, contestant: &str) -> Option<&'static str> {
        let tier = self.contestants.iter().find(|report| report.name == contestant)?.tier?;
        (tier.name() != self.settings.durability).then(|| tier.name())
    }

    fn who(&self, page: &mut String) {
        put(page, "<section id=\"contestants\">\n<h2>Contestants</h2>\n<dl>\n");
        for ContestantReport { name, summary, version, tier, settings, absent } in &self.contestants {
            put(page, &format!("<dt>{} <small>{}</small></dt>\n", escape(name), escape(summary)));
            let text = match (version, absent) {
                (Some(version), _) => {
                    let tier = tier.map(|tier| format!(", durability {tier}")).unwrap_or_default();
                    format!("{}{tier}. <span>{}</span>", escape(version), escape(&settings.join(", ")))
                }
                (None, reason) => format!("Absent: {}", escape(reason.as_deref().unwrap_or("unknown"))),
            };
            put(page, &format!("<dd>{text}</dd>\n"));
        }
        put(page, "</dl>\n</section>\n");
    }

    fn comparison(&self, before: &Self, page: &mut String) {
        put(page, "<section id=\"comparison\">\n<h2>Beside an earlier run</h2>\n");
        let when = format!("Before: {} {}; after: {} {}.", before.date, before.version, self.date, self.version);
        put(page, &format!("<p class=\"sub\">{}</p>\n<div class=\"wide\"><table>\n", escape(&when)));
        put(
            page,
            "<tr><th>workload</th><th>measure</th><th>contestant</th><th>before</th><th>after</th><th>factor</th><th></th></tr>\n",
        );
        for compared in before.compared(self) {
            let class = match compared.verdict {
                Verdict::Better => "better",
                Verdict::Worse => "worse",
                Verdict::Noise | Verdict::Unknown => "noise",
            };
            let unit = compared.unit;
            put(
                page,
                &format!(
                    "<tr class=\"{class}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    escape(&compared.workload),
                    escape(&compared.title),
                    escape(&compared.contestant),
                    unit.format(compared.before.median),
                    unit.format(compared.after.median),
                    factor(compared.advantage),
                    compared.verdict.text(),
                ),
            );
        }
        put(page, "</table></div>\n");
        list(page, "notes", &before.not_compared(self));
        put(page, "</section>\n");
    }
}

fn list(page: &mut String, class: &str, lines: &[String]) {
    if !lines.is_empty() {
        put(page, &format!("<ul class=\"{class}\">\n"));
        lines.iter().for_each(|line| put(page, &format!("<li>{}</li>\n", escape(line))));
        put(page, "</ul>\n");
    }
}

fn put(page: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = page.write_str(text);
}

/// A text as it stands in the page.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Controls have no place in a page.
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
