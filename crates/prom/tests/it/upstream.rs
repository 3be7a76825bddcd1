//! Prometheus' own scripts, if a folder with them is given.

#![allow(
    clippy::print_stdout,
    reason = "a test that is skipped has to say so, and the counts are for the documentation"
)]

use super::run::run;
use std::fs;
use std::path::Path;

/// The variable with the folder `promql/promqltest/testdata` of Prometheus.
const FOLDER: &str = "ATSDB_PROMQL_TESTS";

#[test]
fn prometheus_own_scripts_pass() {
    let Ok(folder) = std::env::var(FOLDER) else {
        println!("skipped: {FOLDER} does not name a folder with Prometheus' promql/promqltest/testdata");
        return;
    };
    let mut names: Vec<_> = fs::read_dir(Path::new(&folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let (mut passed, mut failed, mut native, mut native_failed) = (0, 0, 0, 0);
    for path in names.iter().filter(|path| path.extension().is_some_and(|ending| ending == "test")) {
        let report = run(&fs::read_to_string(path).unwrap());
        let name = path.file_name().unwrap().to_string_lossy();
        println!("{name}: {} passed, {} failed", report.passed, report.failed.len());
        report.failed.iter().for_each(|reason| println!("    {reason}"));
        passed += report.passed;
        failed += report.failed.len();
        native += report.native;
        native_failed += report.native_failed;
    }
    println!("{passed} passed, {failed} failed; of {native} with native histograms, {native_failed} failed");
    assert!(passed > 2000 && native > 900, "only {passed} queries passed: is {folder} the right folder?");
    let share = failed as f64 / (passed + failed) as f64;
    assert!(share < 0.02, "{failed} of {} queries fail", passed + failed);
}
