//! `report.html`: one file that opens offline. Styles and plots are embedded; it loads nothing and runs no script.
//!
//! Owned here: the page. Not owned: plots (`plot`), the comparison with an earlier run (`comparison`).

mod lists;
mod plot;

use crate::report::comparison::Verdict;
use crate::report::grid::factor;
use crate::report::page::lists::list;
use crate::report::results::{ContestantReport, MeasureReport, Report, WorkloadReport};
use atsdb::count_text::format_count;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

impl Report {
    /// The page for this run, compared with an earlier run if given.
    pub fn to_html(&self, before: Option<&Self>) -> String {
        let title = format!("atsdb lab, {}", if self.date.is_empty() { "a run" } else { &self.date });
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) }
                    style { "\n" (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        (self.head(&title))
                        @if let Some(before) = before { (self.comparison_section(before)) }
                        @for workload in &self.workloads { (self.workload_section(workload)) }
                        (self.contestants_section())
                    }
                }
            }
            "\n"
        };
        page.into_string()
    }

    fn head(&self, title: &str) -> Markup {
        let memory = self.machine.memory_bytes.map(|bytes| format!(", {} GiB", bytes >> 30)).unwrap_or_default();
        let settings = &self.settings;
        let runs =
            if settings.repeat == 1 { "one run".to_owned() } else { format!("median of {} runs", settings.repeat) };
        html! {
            "\n" h1 { (title) }
            p.sub {
                (self.machine.cores) " cores of " (self.machine.processor) (memory) ", " (self.machine.kernel)
                br;
                "atsdb " (self.version) ", seed " (settings.seed) ", durability " (settings.durability)
                " unless a name says otherwise, " (settings.tuning.name()) " settings, " (runs)
            }
            @if self.interrupted {
                p.warning { "This run was interrupted: these are the figures until then." }
            }
            nav {
                @for workload in &self.workloads { a href={ "#" (workload.name) } { (workload.name) } " " }
                a href="#contestants" { "contestants" }
            }
        }
    }

    fn workload_section(&self, workload: &WorkloadReport) -> Markup {
        let measured = workload.measures.iter().filter(|measure| !measure.results.is_empty());
        let mut group: Option<&str> = None;
        let titled = measured.map(|measure| {
            // An indented title continues the one before.
            let title = match measure.title.strip_prefix("  ") {
                Some(rest) => group.map_or(rest.to_owned(), |group| format!("{group}: {rest}")),
                None => {
                    group = Some(measure.title.split(':').next().unwrap_or(&measure.title));
                    measure.title.clone()
                }
            };
            (measure, title)
        });
        let broken = workload.broken.iter();
        let broken = broken.map(|broken| format!("{} did not reach the end: {}", broken.contestant, broken.reason));
        html! {
            "\n" section id=(workload.name) {
                h2 { (workload.name) }
                p.sub { (workload.summary) ". " (format_count(workload.rows)) " rows." }
                (list("notes", &workload.notes))
                (list("published", &workload.sources()))
                div.plots {
                    @for (measure, title) in titled { (self.measure_figure(workload, measure, &title)) }
                }
                (list("warning", &broken.collect::<Vec<_>>()))
            }
        }
    }

    fn measure_figure(&self, workload: &WorkloadReport, measure: &MeasureReport, title: &str) -> Markup {
        let better = if measure.unit.more_is_better() { "more is better" } else { "less is better" };
        let facts: Vec<_> = workload.facts.iter().filter(|fact| fact.measures.contains(&measure.name)).collect();
        let published = workload.published.iter().filter(|published| published.measure == measure.name);
        let published: Vec<String> = published.map(|published| published.line(measure)).collect();
        html! {
            "\n" figure {
                figcaption { (title) " " small { (better) } }
                (plot::bars(measure, &facts, &|contestant| self.other_tier(contestant)))
                (plot::latencies(measure))
                (plot::curves(measure))
                (list("published", &published))
            }
        }
    }

    /// The tier of a contestant, where it is not the run's.
    fn other_tier(&self, contestant: &str) -> Option<&'static str> {
        let tier = self.contestants.iter().find(|report| report.name == contestant)?.tier?;
        (tier.name() != self.settings.durability).then(|| tier.name())
    }

    fn contestants_section(&self) -> Markup {
        html! {
            "\n" section #contestants {
                h2 { "Contestants" }
                dl {
                    @for ContestantReport { name, summary, version, tier, settings, absent } in &self.contestants {
                        "\n" dt { (name) " " small { (summary) } }
                        dd {
                            @if let Some(version) = version {
                                (version)
                                @if let Some(tier) = tier { ", durability " (tier) }
                                ". " span { (settings.join(", ")) }
                            } @else {
                                "Absent: " (absent.as_deref().unwrap_or("unknown"))
                            }
                        }
                    }
                }
            }
        }
    }

    fn comparison_section(&self, before: &Self) -> Markup {
        html! {
            "\n" section #comparison {
                h2 { "Beside an earlier run" }
                p.sub {
                    "Before: " (before.date) " " (before.version) "; after: " (self.date) " " (self.version) "."
                }
                div.wide {
                    table {
                        tr {
                            @for heading in ["workload", "measure", "contestant", "before", "after", "factor", ""] {
                                th { (heading) }
                            }
                        }
                        @for compared in before.compared(self) {
                            "\n" tr class=(class_of(compared.verdict)) {
                                td { (compared.workload) }
                                td { (compared.title) }
                                td { (compared.contestant) }
                                td { (compared.unit.format(compared.before.median)) }
                                td { (compared.unit.format(compared.after.median)) }
                                td { (factor(compared.advantage)) }
                                td { (compared.verdict.text()) }
                            }
                        }
                    }
                }
                (list("notes", &before.not_compared(self)))
            }
        }
    }
}

fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Noise | Verdict::Unknown => "noise",
    }
}
