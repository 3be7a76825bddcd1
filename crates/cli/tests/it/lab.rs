//! The lab on the command line. Its workloads are tested in their own crate.

use crate::support::Case;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_lab_lists_what_it_has() {
    // It may also print what a killed lab left on this machine.
    let text = Case::new().run(&["lab", "list"]).text();
    assert!(text.contains("series") && text.contains("sqlite"), "{text}");
}

#[test]
fn a_small_run_compares_and_can_be_shown_again() {
    let case = Case::new();
    let options = "--contestants sqlite,atsdb --rows 2000 --repeat 1 --durability off -o r.json";
    let arguments: Vec<&str> = ["lab", "run", "series"].into_iter().chain(options.split(' ')).collect();
    let run = case.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let results: serde_json::Value = serde_json::from_str(&case.read("r.json")).unwrap();
    assert!(results.is_object(), "{results}");
    assert_eq!(case.run(&["lab", "report", "r.json"]).well().text(), run.text());
    let compared = case.run(&["lab", "report", "r.json", "r.json", "--html", "r.html"]).well().text();
    assert!(compared.contains("before") && compared.contains("single runs: unknown"), "{compared}");
    assert!(case.read("r.html").contains("Beside an earlier run"));
    assert!(!case.path("r.partial.json").exists(), "complete results leave no partial ones");
    case.run(&["lab", "run", "seres"]).failed(1, &["seres", "did you mean series?"]);
}

/// Starts a lab in the folder `scratch`, and waits until it is loading.
fn at_work(case: &Case) -> Child {
    let _ = std::fs::create_dir(case.path("scratch"));
    let options = "--contestants sqlite,atsdb --rows 400000 --repeat 1 --durability off --dir scratch -o r.json";
    let arguments: Vec<&str> = ["lab", "run", "series"].into_iter().chain(options.split(' ')).collect();
    let mut command = case.command_ignoring("", &arguments);
    let lab = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a lab");
    let started = Instant::now();
    let begun = case.path(&format!("scratch/atsdb-lab-{}/run-1/narrow", lab.id()));
    while !begun.exists() {
        assert!(started.elapsed() < Duration::from_secs(300), "nothing was begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    lab
}

fn signal(lab: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &lab.id().to_string()]).status().expect("kill").success());
}

fn is_clean(case: &Case) -> bool {
    std::fs::read_dir(case.path("scratch")).expect("a folder").next().is_none()
}

#[test]
fn a_lab_that_is_asked_to_end_keeps_what_it_has_and_leaves_nothing() {
    for name in ["-INT", "-TERM"] {
        let case = Case::new();
        let mut lab = at_work(&case);
        signal(&lab, name);
        assert_eq!(lab.wait().expect("its end").code(), Some(130), "{name}");
        let results: serde_json::Value = serde_json::from_str(&case.read("r.json")).unwrap();
        assert_eq!(results["interrupted"], true, "{name}");
        assert!(is_clean(&case) && !case.path("r.partial.json").exists(), "{name}: {:?}", case.names());
    }
}

#[test]
fn what_a_killed_lab_leaves_is_removed_by_the_next() {
    let case = Case::new();
    let living = at_work(&case);
    // So that it lives as long as the test needs it.
    signal(&living, "-STOP");
    let mut lab = at_work(&case);
    signal(&lab, "-KILL");
    lab.wait().expect("its end");
    assert!(!is_clean(&case));
    let next = case.run(&["lab", "run", "mass", "--rows", "50", "--contestants", "sqlite", "--dir", "scratch"]);
    assert!(next.stderr.contains(&format!("removed scratch/atsdb-lab-{}", lab.id())), "{}", next.stderr);
    assert!(!next.stderr.contains(&format!("-{},", living.id())), "one that lives is left alone: {}", next.stderr);
    signal(&living, "-TERM");
    signal(&living, "-CONT");
    assert_eq!({ living }.wait().expect("its end").code(), Some(130));
    assert!(is_clean(&case), "nothing is left in the end");
}

#[test]
fn rows_are_given_to_all_workloads_or_to_one() {
    let case = Case::new();
    let run = |rows: &str| {
        let end = "--contestants sqlite:memory --repeat 1 --format json".split(' ');
        let arguments: Vec<&str> = ["lab", "run", "mass", "memory", "--rows", rows].into_iter().chain(end).collect();
        case.run(&arguments)
    };
    let results: serde_json::Value = serde_json::from_str(&run("300,mass=200").text()).unwrap();
    let rows = |workload: usize| results["workloads"][workload]["rows"].clone();
    assert_eq!((rows(0), rows(1)), (200.into(), 300.into()));
    run("mas=200").failed(1, &["no workload named mas", "did you mean mass"]);
    run("mass=many").failed(1, &["many is not a number of rows"]);
    run("mass=0").failed(1, &["at least one row"]);
}

#[test]
fn advice_on_a_file_names_a_winner_for_each_measure() {
    let case = Case::new();
    let mut text = "time,sensor,value\n".to_owned();
    (0..2_000)
        .for_each(|row| text += &format!("{},s{},{}\n", 1_704_067_200 + row * 60, row % 7, f64::from(row % 50) / 4.0));
    case.write("air.csv", &text);
    let arguments =
        ["lab", "advise", "air.csv", "--contestants", "sqlite,atsdb", "--repeat", "1", "--durability", "off"];
    let run = case.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = run.text();
    assert!(shown.contains("to measure it again") && shown.contains("atsdb lab advise air.csv"), "{shown}");
    let json = case.run(&[&arguments[..], &["--format", "json"]].concat()).text();
    let advice: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(advice["winners"].as_array().map(Vec::len), Some(8), "{json}");
    case.run(&["lab", "advise", "none.csv"]).failed(2, &["none.csv"]);
}
