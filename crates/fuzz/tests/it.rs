//! Every target reads or refuses a number of inputs, which depend on a seed.

use atsdb_fuzz::{Limit, fuzz, targets};
use std::path::Path;

fn check(names: &[&str]) {
    let (seed, all) = (atsdb_testkit::seed(), targets());
    for name in names {
        let target = all.iter().find(|target| target.name == *name).expect("a target");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        let count = fuzz(target, seed, Limit::Count(target.test_count), &folder)
            .unwrap_or_else(|failure| panic!("{failure:?}"));
        assert!(count >= target.test_count);
    }
}

#[test]
fn pages_descriptors_and_definitions_are_read_or_refused() {
    check(&["page", "membership", "descriptor", "definition"]);
}

#[test]
fn files_of_stores_and_archives_are_read_or_refused() {
    check(&["page-file", "cache-file", "manifest", "object"]);
}

#[test]
fn imported_files_are_read_or_refused() {
    check(&["csv", "json", "parquet", "workbook", "lines"]);
}

#[test]
fn sql_paths_and_urls_are_read_or_refused() {
    check(&["sql", "jsonpath", "url"]);
}

#[test]
fn line_protocol_is_read_or_refused() {
    check(&["line-protocol"]);
}

#[test]
fn prometheus_requests_are_read_or_refused() {
    check(&["remote-write", "otlp", "snappy", "remote-read", "promql", "series-text"]);
}

#[test]
fn what_clients_of_postgresql_send_is_read_or_refused() {
    check(&["pg-startup", "pg-frames", "pg-parameters", "scram", "copy"]);
}

#[test]
fn arrow_uploads_are_read_or_refused() {
    check(&["arrow-upload"]);
}

#[test]
fn every_target_is_tested() {
    let text = include_str!("it.rs");
    for target in targets() {
        assert!(text.contains(&format!("\"{}\"", target.name)), "{} is in no test", target.name);
    }
}
