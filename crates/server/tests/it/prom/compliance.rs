//! Prometheus' own tests of receivers (prometheus/compliance, `remotewrite/receiver`), if their program is given.

#![allow(clippy::print_stdout, reason = "the counts are for the documentation")]

use super::client::Served;
use std::process::Command;

/// The variable with the path of the program that `go test -c` builds from them.
const PROGRAM: &str = "ATSDB_REMOTE_WRITE_TESTS";

#[test]
fn prometheus_own_tests_of_receivers_pass() {
    let Ok(program) = std::env::var(PROGRAM) else {
        eprintln!("skipped: {PROGRAM} does not name the program of prometheus/compliance, remotewrite/receiver");
        return;
    };
    let served = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.yml");
    let url = format!("http://{}/api/v1/write", served.0.address);
    std::fs::write(&config, format!("remote_write:\n  - name: atsdb\n    url: {url}\n")).unwrap();
    let mut command = Command::new(program);
    command.arg("-test.v").current_dir(folder.path()).env("PROMETHEUS_RW2_COMPLIANCE_CONFIG_FILE", &config);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // The name of a case ends with that of the receiver.
    let cases = |mark: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(mark));
        lines.filter_map(|line| line.split(' ').next()?.strip_suffix("/atsdb").map(str::to_owned)).collect()
    };
    let (passed, failed) = (cases("--- PASS: "), cases("--- FAIL: "));
    println!("{} passed, {} failed\n{}", passed.len(), failed.len(), failed.join("\n"));
    assert!(passed.len() > 100, "only {} passed: {text}", passed.len());
    assert!(failed.is_empty(), "{text}");
}
