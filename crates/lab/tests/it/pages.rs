//! The page of a run, which works offline, the comparison of two runs, and the measures of every workload on two
//! contestants.

use crate::folder;
use crate::run::options;
use atsdb_lab::{Report, run};
use std::sync::LazyLock;

/// All workloads with few rows, run twice.
static REPORT: LazyLock<Report> = LazyLock::new(|| {
    let folder = folder();
    let mut options = options(folder.path());
    options.rows = Some(4_000);
    options.contestants = ["sqlite", "atsdb"].map(str::to_owned).to_vec();
    run(&options, &mut |_| ()).expect("a report")
});

#[test]
fn all_workloads_have_figures_or_reasons() {
    let names: Vec<&str> = REPORT.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(names, ["pinger", "memory", "series", "mass", "split", "groupby", "hits", "tsbs", "ingest", "serve"]);
    for workload in &REPORT.workloads {
        assert!(workload.broken.is_empty(), "{:?}", workload.broken);
        for result in workload.measures.iter().flat_map(|measure| &measure.results) {
            assert_eq!(result.failed, None, "{} of {}", result.contestant, workload.name);
        }
    }
    let find = |workload: &str, measure: &str| {
        let workload = REPORT.workloads.iter().find(|found| found.name == workload).expect("a workload");
        workload.measures.iter().find(|found| found.name == measure).expect("a measure")
    };
    for result in &find("pinger", "write_2_2").results {
        let latencies = result.runs[0].latencies.as_ref().expect("latencies");
        assert!(latencies.count > 0 && latencies.p50 <= latencies.p95 && latencies.p99 <= latencies.max);
    }
    for measure in [find("split", "insert"), find("pinger", "data")] {
        for run in measure.results.iter().flat_map(|result| &result.runs) {
            assert!(!run.curve.is_empty(), "the rate over the size of the table");
        }
    }
    let sqlite = &find("split", "count_attached").results[0];
    assert_eq!(sqlite.runs[0].answer.as_ref().map(|answer| answer.rows), Some(1));
    let answers = |measure: &str| find("split", measure).results[0].runs[0].answer.clone().expect("an answer");
    assert_eq!(answers("count_attached"), answers("count_large"), "ten files hold what one holds");
    assert_eq!(answers("range_at_once"), answers("range_large"));
}

#[test]
fn the_page_needs_nothing_and_is_whole() {
    let mut report = REPORT.clone();
    report.workloads[0].notes.push("<script>alert(\"&\")</script>".to_owned());
    let page = report.to_html(Some(&REPORT));
    for needs in ["<script", "src=", "url(", "@import", "<link", "http:", "https:"] {
        assert!(!page.contains(needs), "{needs}");
    }
    assert!(page.contains("&lt;script&gt;alert(&quot;&amp;&quot;)"));
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"));
    assert!(page.contains("<polyline") && page.contains("p99") && page.contains("class=\"whisker\""));
    let open = unclosed(&page);
    assert!(open.is_empty(), "not closed: {open:?}");
}

/// Returns the elements that are open at the end, or the first one that is closed without being open.
fn unclosed(page: &str) -> Vec<String> {
    const EMPTY: [&str; 3] = ["meta", "br", "!DOCTYPE"];
    let mut open: Vec<String> = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        let name = tag.split_whitespace().next().expect("a tag has a name").to_owned();
        match name.strip_prefix('/') {
            Some(closed) if open.last().is_some_and(|last| last == closed) => drop(open.pop()),
            Some(_) => return vec![format!("{name} after {open:?}")],
            None if tag.ends_with('/') || EMPTY.contains(&name.as_str()) => {}
            None => open.push(name),
        }
    }
    open
}

#[test]
fn two_runs_are_compared_beyond_their_noise() {
    let mut later = REPORT.clone();
    let measure = later.workloads[3].measures.iter_mut().find(|measure| measure.name == "insert").expect("a measure");
    let spread = measure.results[0].spread.as_mut().expect("a figure");
    (spread.min, spread.median, spread.max) = (spread.max * 4.0, spread.max * 5.0, spread.max * 6.0);
    later.workloads[4].rows += 1;
    let text = REPORT.to_comparison(&later);
    let line = text.lines().find(|line| line.contains("INSERT one row") && line.contains("sqlite")).expect("a line");
    assert!(line.ends_with("better"), "{line}");
    let same = text.lines().filter(|line| line.contains("within noise")).count();
    assert!(same > 20, "a run compared with itself differs nowhere: {text}");
    assert!(!text.contains("WORSE"), "{text}");
    assert!(text.contains("split: 4000 rows, then 4001"), "{text}");
}

#[test]
fn a_report_of_the_first_format_is_read() {
    let text = include_str!("../compat/report-1.json");
    let report: Report = serde_json::from_str(text).expect("an earlier shape");
    assert!(report.to_html(None).contains("series") && report.format <= atsdb_lab::REPORT_FORMAT);
}
