//! The workloads with many queries of one table: their rows never change, and the contestants' answers agree.

use crate::run::options;
use crate::{folder, is_tested};
use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use atsdb_lab::generator::groups::GroupsGenerator;
use atsdb_lab::generator::hits::{HitsGenerator, PageView, hits_batch};
use atsdb_lab::generator::hosts::{HostsGenerator, hosts_of};
use atsdb_lab::{MeasureReport, RowDigest, WorkloadReport, run};

/// The answers of the others are compared with those of the first.
const CONTESTANTS: [&str; 7] = ["sqlite", "duckdb", "clickhouse", "questdb", "influxdb", "victoriametrics", "atsdb"];

/// Runs a workload. No measure may fail, and a missing one needs a reason.
fn asked(workload: &str, rows: u64) -> WorkloadReport {
    let folder = folder();
    let mut options = options(folder.path());
    options.workloads = vec![workload.to_owned()];
    options.contestants = CONTESTANTS.into_iter().filter(|name| is_tested(name)).map(str::to_owned).collect();
    (options.rows, options.repeat) = (Some(rows), 1);
    let mut report = run(&options, &mut |_| ()).expect("a report");
    for absent in report.contestants.iter().filter(|contestant| contestant.version.is_none()) {
        eprintln!("{} is not tested here: {}", absent.name, absent.absent.as_deref().unwrap_or_default());
    }
    let workload = report.workloads.remove(0);
    assert!(workload.broken.is_empty(), "{:?}", workload.broken);
    for measure in &workload.measures {
        for result in &measure.results {
            let place = format!("{} of {}", measure.name, result.contestant);
            assert_eq!(result.failed, None, "{place}");
            let is_atsdb_asked = result.contestant == "atsdb" && measure.name != "index";
            assert!(result.spread.is_some() || !is_atsdb_asked, "{place}: {:?}", result.skipped);
        }
    }
    workload
}

/// Returns the contestants that answered, each with its number of rows.
fn answers(measure: &MeasureReport) -> Vec<(&str, u64)> {
    let answer = |figure: &atsdb_lab::Figure| figure.answer.as_ref().map(|answer| answer.rows);
    let results = measure.results.iter();
    results.filter_map(|result| Some((result.contestant.as_str(), answer(result.runs.first()?)?))).collect()
}

fn measure<'a>(workload: &'a WorkloadReport, name: &str) -> &'a MeasureReport {
    workload.measures.iter().find(|measure| measure.name == name).expect(name)
}

#[test]
fn the_questions_of_groupby_have_one_answer() {
    let workload = asked("groupby", 8_000);
    for number in 1..=10 {
        let answers = answers(measure(&workload, &format!("q{number}")));
        let sqlite_can = ![6, 9].contains(&number);
        assert_eq!(answers.iter().any(|(name, _)| *name == "sqlite"), sqlite_can, "q{number}: {answers:?}");
        assert!(answers.contains(&("atsdb", 1)), "q{number}: {answers:?}");
    }
    let skipped = measure(&workload, "q6").results[0].skipped.clone();
    assert_eq!(skipped.as_deref(), Some("has no median as an aggregate"));
}

#[test]
fn the_queries_of_tsbs_have_one_answer() {
    // 12 hosts for six hours.
    let rows = 12 * 2_160;
    assert_eq!(hosts_of(rows), 12);
    let workload = asked("tsbs", rows);
    let expected = [
        ("single-groupby-1-1-1", 60..=61),
        ("single-groupby-1-1-12", 360..=360),
        ("single-groupby-5-8-1", 60..=61),
        ("cpu-max-all-8", 6..=6),
        ("double-groupby-all", 72..=72),
        ("high-cpu-all", 100..=10_000),
        ("lastpoint", 12..=12),
        ("groupby-orderby-limit", 5..=5),
    ];
    for (name, rows) in expected {
        for (contestant, found) in answers(measure(&workload, name)) {
            assert!(rows.contains(&found), "{name} of {contestant}: {found} rows");
        }
    }
    assert!(workload.measures.iter().skip(4).all(|measure| answers(measure).len() >= 2), "two at least answer");
}

#[test]
fn the_queries_of_hits_have_one_answer() {
    let workload = asked("hits", 30_000);
    for (number, rows) in [(8, 1..=8), (13, 10..=10), (20, 1..=100), (24, 10..=10), (28, 1..=25), (37, 10..=10)] {
        let answers = answers(measure(&workload, &format!("q{number}")));
        assert!(answers.iter().all(|(_, found)| rows.contains(found)) && answers.len() >= 2, "q{number}: {answers:?}");
    }
    let skipped = measure(&workload, "q29").results[0].skipped.clone();
    assert_eq!(skipped.as_deref(), Some("has no regexp_replace"));
}

#[test]
fn the_rows_of_a_seed_never_change() {
    let mut groups = GroupsGenerator::new(1, 20_000);
    assert_eq!(digest([groups.batch(20_000)]), RowDigest { rows: 20_000, sum: GROUPS });
    let mut hosts = HostsGenerator::new(1, 20_000);
    assert_eq!(digest([hosts.batch(7), hosts.batch(19_993)]), RowDigest { rows: 20_000, sum: HOSTS });
    let views: Vec<PageView> = HitsGenerator::new(1, 20_000).take(2_000).collect();
    assert_eq!(digest([hits_batch(&views)]), RowDigest { rows: 2_000, sum: HITS });
    let mut hosts = HostsGenerator::new(2, 20_000);
    assert_ne!(digest([hosts.batch(20_000)]).sum, HOSTS);
}

#[test]
fn more_than_three_days_of_a_hundred_hosts_are_many_hosts() {
    let (three_days, six_hours) = (100 * 25_920, 4_000 * 2_160);
    let hosts = [0, 12 * 2_160, 1_000_000, three_days, three_days + 1, six_hours, 10 * six_hours].map(hosts_of);
    assert_eq!(hosts, [10, 12, 100, 100, 1_200, 4_000, 4_000]);
    let batch = HostsGenerator::new(1, six_hours).batch(4_001);
    let names = cast(batch.column(1), &DataType::Utf8).expect("texts");
    let name = |row| names.as_string::<i32>().value(row);
    assert_eq!([0, 3_999, 4_000].map(name), ["host_0", "host_3999", "host_0"]);
}

const GROUPS: u64 = 391_094_938_608_583_779;
const HOSTS: u64 = 4_135_852_262_525_879_100;
const HITS: u64 = 6_868_308_843_519_874_528;

fn digest<const COUNT: usize>(batches: [arrow::array::RecordBatch; COUNT]) -> RowDigest {
    let mut digest = RowDigest::default();
    batches.iter().for_each(|batch| digest.add_batch(batch).expect("a digest"));
    digest
}
