//! A small run of every workload on every contestant, in child processes as usual.

use crate::{folder, is_tested};
use atsdb_lab::server::ServerUrls;
use atsdb_lab::{CHILD_VARIABLE, Progress, Report, RunOptions, Tier, contestants, list, run, workloads};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The lab starts this test as its child process. As an ordinary test it does nothing.
#[test]
fn child() {
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        atsdb_lab::run_child().expect("a job");
    }
}

pub(crate) fn options(folder: &Path) -> RunOptions {
    let mut options = RunOptions::new(folder).expect("this program's path");
    let program = options.child_command[0].clone();
    options.child_command = [program.as_str(), "run::child", "--exact", "--nocapture"].map(str::to_owned).to_vec();
    options.start_command = options.child_command.clone();
    options.rows = Some(5_000);
    options.repeat = 2;
    options.date = "2024-01-01".to_owned();
    options
}

#[test]
fn every_contestant_answers_alike_and_what_it_cannot_do_has_a_reason() {
    check_contestants(0);
}

#[test]
fn every_contestant_answers_alike_in_the_other_workloads() {
    check_contestants(1);
}

/// Runs every second workload from the first or the second one: two tests share the time of waiting for servers.
fn check_contestants(first: usize) {
    let folder = folder();
    let mut options = options(folder.path());
    options.workloads =
        workloads::all().iter().skip(first).step_by(2).map(|workload| workload.name().to_owned()).collect();
    let names = contestants::all().iter().map(|contestant| contestant.name());
    options.contestants = names.filter(|name| is_tested(name)).map(str::to_owned).collect();
    options.rows = Some(2_000);
    options.repeat = 1;
    let report = run(&options, &mut |_| ()).expect("a report");
    let present = report.contestants.iter().filter(|contestant| contestant.version.is_some());
    let contestants: Vec<&str> = present.clone().map(|contestant| contestant.name.as_str()).collect();
    for absent in report.contestants.iter().filter(|contestant| contestant.version.is_none()) {
        assert!(absent.absent.is_some(), "{} says why it is not there", absent.name);
        eprintln!("{} is not tested here: {}", absent.name, absent.absent.as_deref().unwrap_or_default());
    }
    let mut wrong: Vec<String> = Vec::new();
    for workload in &report.workloads {
        assert!(workload.broken.is_empty(), "{:?}", workload.broken);
        for measure in &workload.measures {
            assert_eq!(measure.results.len(), contestants.len(), "{} is measured or skipped", measure.name);
            for result in &measure.results {
                let place = format!("{} of {}", measure.name, result.contestant);
                wrong.extend(result.failed.iter().map(|reason| format!("{place}: {reason}")));
                let tier = present
                    .clone()
                    .find(|contestant| contestant.name == result.contestant)
                    .and_then(|found| found.tier);
                // A contestant that was skipped before it opened anything has no durability.
                if result.spread.is_some() {
                    assert_eq!(Some(result.durability.as_str()), tier.map(Tier::name), "{place}");
                }
                let has_reason = result.skipped.is_some() || result.failed.is_some();
                assert!(has_reason != result.spread.is_some(), "{place}: a figure or a reason");
                assert!(result.runs.iter().all(|run| run.value > 0.0 && run.value.is_finite()), "{place}");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left behind");
    let tiers = [
        ("sqlite", Tier::Full),
        ("sqlite:memory", Tier::None),
        ("mariadb:innodb", Tier::Full),
        ("mariadb:myisam", Tier::Off),
        ("postgres", Tier::Full),
        ("postgres:unlogged", Tier::None),
    ];
    for (name, tier) in tiers {
        let found = present.clone().find(|contestant| contestant.name == name);
        assert!(found.is_none_or(|contestant| contestant.tier == Some(tier)), "{name} is {tier}");
    }
}

#[test]
fn the_order_rotates_and_results_survive_their_file() {
    let folder = folder();
    let mut options = options(folder.path());
    options.contestants = ["sqlite", "atsdb"].map(str::to_owned).to_vec();
    options.workloads = vec!["series".to_owned()];
    let (mut bounds, mut steps) = (0, Vec::new());
    let report = run(&options, &mut |progress| match progress {
        Progress::Removed { folder } => panic!("{} was there", folder.display()),
        Progress::Bound { disk_bytes, time } => bounds += u32::from(disk_bytes > 0 && !time.is_zero()),
        Progress::Step { step, steps: all, contestant, .. } => {
            assert!(step <= all);
            if steps.last().is_none_or(|(last, _)| *last != step) {
                steps.push((step, contestant.to_owned()));
            }
        }
    })
    .expect("a report");
    assert_eq!(bounds, 1, "the bound is stated once");
    let names: Vec<&str> = steps.iter().map(|(_, name)| name.as_str()).collect();
    let (first, second) = names.split_at(names.len() / 2);
    let pairs = first.chunks(2).zip(second.chunks(2));
    pairs.for_each(|(first, second)| assert_eq!((first[0], first[1]), (second[1], second[0]), "the order rotates"));
    let measured = report.workloads.iter().flat_map(|workload| &workload.measures).flat_map(|measure| &measure.results);
    assert!(measured.clone().all(|result| result.spread.is_none() || result.runs.len() == 2));

    let json = report.to_json().expect("JSON");
    let again: Report = serde_json::from_str(&json).expect("the same shape");
    // A number may lose its last bit in JSON, which can change its rounding.
    let shape = |table: String| table.replace(|letter: char| letter.is_ascii_digit(), "");
    assert_eq!(shape(again.to_table()), shape(report.to_table()), "results.json draws the same table");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["format"], 2);
    assert_eq!(value["date"], "2024-01-01");
    assert_eq!(value["workloads"][0]["rows"], 5_000);
    assert_eq!(value["workloads"][0]["measures"][0]["unit"], "rows_per_second");
    assert!(value["machine"]["cores"].as_u64().is_some_and(|cores| cores > 0));

    let table = report.to_table();
    assert!(table.contains("series: 5,000 rows, seed 1, durability full, tuned settings, median of 2 runs"), "{table}");
    assert!(table.contains("Shannon entropy, 8 columns"), "{table}");
}

#[test]
fn a_stopped_run_keeps_what_it_has() {
    let folder = folder();
    let mut options = options(folder.path());
    options.contestants = ["sqlite", "atsdb"].map(str::to_owned).to_vec();
    options.workloads = vec!["series".to_owned()];
    let stop = options.stop.clone();
    let report = run(&options, &mut |progress| {
        if let Progress::Step { doing: "reading rows back", .. } = progress {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .expect("a report");
    assert!(report.interrupted);
    let first = &report.workloads[0].measures[0];
    assert_eq!((first.name.as_str(), first.results.len()), ("append_rows", 1));
    assert!(report.to_table().contains("interrupted"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left behind");
}

#[test]
fn a_child_that_dies_is_reported_with_its_last_words() {
    let folder = folder();
    let mut options = options(folder.path());
    options.contestants = ["sqlite", "atsdb"].map(str::to_owned).to_vec();
    options.child_command = ["sh", "-c", "echo no memory >&2; exit 7"].map(str::to_owned).to_vec();
    let report = run(&options, &mut |_| ()).expect("a report");
    let broken = &report.workloads[0].broken;
    assert_eq!(broken.len(), 2);
    assert!(broken[0].reason.contains("exit status: 7: no memory"), "{}", broken[0].reason);
}

#[test]
fn unknown_names_get_the_nearest() {
    let folder = folder();
    let mut options = options(folder.path());
    options.workloads = vec!["serie".to_owned()];
    let error = run(&options, &mut |_| ()).expect_err("no such workload").to_string();
    assert!(error.contains("no workload named serie") && error.contains("series"), "{error}");
    options.workloads.clear();
    options.contestants = vec!["sqlit".to_owned()];
    let error = run(&options, &mut |_| ()).expect_err("no such contestant").to_string();
    assert!(error.contains("no contestant named sqlit") && error.contains("did you mean sqlite"), "{error}");
}

#[test]
fn the_list_names_workloads_and_contestants_with_their_versions() {
    let listed = list(&ServerUrls::default());
    assert!(listed.iter().all(|listed| !listed.summary.is_empty()));
    for name in ["series", "sqlite", "sqlite:memory", "atsdb"] {
        assert!(listed.iter().any(|listed| listed.name == name && listed.presence.is_ok()), "{name} is always there");
    }
    let mysql = listed.iter().find(|listed| listed.name == "mysql").expect("mysql");
    assert!(
        mysql.presence.as_ref().is_err_and(|reason| reason.contains("ATSDB_LAB_MYSQL_URL")),
        "{:?}",
        mysql.presence
    );
}

#[test]
fn a_time_that_is_over_at_once_still_measures_something() {
    let folder = folder();
    let mut options = options(folder.path());
    options.contestants = ["sqlite", "atsdb"].map(str::to_owned).to_vec();
    options.workloads = vec!["series".to_owned()];
    // With one row, the bounded time is 5 µs: it is over before the first insert begins.
    (options.rows, options.repeat) = (Some(1), 1);
    let report = run(&options, &mut |_| ()).expect("a report");
    assert!(report.workloads[0].broken.is_empty(), "{:?}", report.workloads[0].broken);
    for name in ["minute_insert_narrow", "minute_insert_wide"] {
        let measure = report.workloads[0].measures.iter().find(|measure| measure.name == name).expect(name);
        for result in &measure.results {
            assert_eq!(result.failed, None, "{name}");
            assert!(result.runs.iter().all(|run| run.value > 0.0), "{name} of {}", result.contestant);
        }
    }
}
