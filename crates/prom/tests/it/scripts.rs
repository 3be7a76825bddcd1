//! The project's own scripts, made from Prometheus' documentation.

use super::run::run;
use std::fs;
use std::path::Path;

#[test]
fn every_query_of_our_scripts_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promql");
    let mut passed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let report = run(&fs::read_to_string(&path).unwrap());
        assert!(report.failed.is_empty(), "{}: {:#?}", path.display(), report.failed);
        passed += report.passed;
    }
    assert!(passed > 100, "only {passed} queries");
}

#[test]
fn a_wrong_expectation_is_found() {
    let script = "load 1m\n    m{a=\"b\"} 0+60x10\n\neval instant at 10m ";
    for (rest, reason) in [
        ("m\n    m{a=\"b\"} 601", "expected"),
        ("m\n    m{a=\"c\"} 600", "unexpected"),
        ("m{a=\"c\"}\n    m{a=\"b\"} 600", "missing"),
        ("m\n    expect fail\n", "did not fail"),
        ("m + on() group_left() (m or vector(1))\n", "failed: found duplicate series"),
        ("rate(m[5m])\n    expect no_info\n    {a=\"b\"} 1", "unexpected info"),
    ] {
        let report = run(&format!("{script}{rest}"));
        assert_eq!((report.passed, report.failed.len()), (0, 1), "{rest}");
        assert!(report.failed[0].contains(reason), "{rest}: {}", report.failed[0]);
    }
}
