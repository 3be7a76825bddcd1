//! InfluxDB line protocol.

use crate::support::{csv, refused, refused_with, run, text, with};
use atsdb_core::{ColumnType, TableDefinition, TimeUnit};
use atsdb_import::Options;

#[test]
fn lines_become_rows_of_their_tags_and_fields() {
    let imported = csv("# of today\n\
        cpu,host=a\\ b,region=eu usage=1,load=2i,up=t,text=\"x=1,\\\"y\\\"\nz\" 1700000000000000000\n\
        cpu,host=c usage=2.5 1700000001000000000\n\
        cpu,host=c free=7u 1700000002000000000\n");
    let columns = imported.columns();
    assert_eq!(columns[0], "*time timestamp_s");
    assert!(columns[1].starts_with("host text") && columns[2].starts_with("region text"), "{columns:?}");
    assert_eq!(columns[3..], ["usage float64", "load int64", "up bool", "text text", "free uint64"]);
    assert_eq!(imported.texts("host"), ["a b", "c", "c"]);
    assert_eq!(imported.texts("region"), ["eu", "∅", "∅"]);
    assert_eq!(imported.texts("usage"), ["1.0", "2.5", "∅"]);
    assert_eq!(imported.texts("text"), ["x=1,\"y\"\nz", "∅", "∅"]);
    assert_eq!(imported.texts("free"), ["∅", "∅", "7"]);
    assert_eq!(imported.texts("time")[0], "2023-11-14T22:13:20Z");
}

#[test]
fn measurements_are_a_column_or_one_is_chosen() {
    let content = "cpu,host=a usage=1 1700000000000\nmem free=2 1700000000001\ncpu,host=b usage=3 1700000000002\n";
    let imported = csv(content);
    assert_eq!(imported.columns()[0], "*time timestamp_ms");
    let mut rows: Vec<_> = imported.texts("measurement").into_iter().zip(imported.texts("usage")).collect();
    rows.sort();
    let row = |measurement: &str, usage: &str| (measurement.to_owned(), usage.to_owned());
    assert_eq!(rows, [row("cpu", "1.0"), row("cpu", "3.0"), row("mem", "∅")]);
    let path = |name: &str| Options { path: Some(name.to_owned()), ..Options::default() };
    let chosen = with(content, &path("CPU"));
    assert_eq!((chosen.columns().len(), chosen.report.row_count), (3, 2));
    let error = refused_with(content, &path("cpuu"));
    assert!(error.message().contains("no measurement named cpuu") && error.hint() == Some("did you mean cpu?"));
    // The same field with other values in another measurement does not fit one table.
    let mixed = "a v=1 1700000000\nb v=\"x\" 1700000001\n";
    let error = refused(mixed);
    assert!(error.message().contains("v has other values in measurement b"), "{error}");
    assert_eq!(with(mixed, &path("b")).texts("v"), ["x"]);
}

#[test]
fn bad_lines_are_named_or_skipped() {
    let good =
        |from: u64, to: u64| -> String { (from..to).map(|n| format!("m,t=a v={n} {}\n", 1_700_000_000 + n)).collect() };
    let content = format!("{}m,t=a v=1 x\n{}m v=\"text\" 1700000000\n", good(0, 400_000), good(400_000, 500_000));
    let error = refused(content.clone());
    assert!(error.message().starts_with("a.csv, line 400001: invalid timestamp"), "{error}");
    let skipped = with(content, &Options { skip_bad: true, ..Options::default() });
    assert_eq!((skipped.report.row_count, skipped.report.skipped_count), (500_000, 2));
    let lines: Vec<u64> = skipped.report.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(lines, [400_001, 500_002]);
    assert!(skipped.report.skipped[1].reason.contains("field type conflict"));
    // A mistake among the first lines does not make them a table with commas.
    let error = refused("cpu,host=a usage=0.5 1700000000\ncpu,host=a usage= 1700000001\n");
    assert!(error.message().starts_with("a.csv, line 2: "), "{error}");
}

#[test]
fn comments_are_counted() {
    let one = csv("# of today\nm v=1 1700000000\n");
    assert_eq!(one.report.notes, ["left out 1 comment line, which begins with #"]);
    let several = csv("# of today\nm v=\"a\" 1700000000\n  # once more\n\
        m v=\"b\n# no comment\" 1700000001\n#m v=\"c\" 1700000002\n");
    assert_eq!(several.report.notes, ["left out 3 comment lines, which begin with #"]);
    assert_eq!(several.report.row_count, 2);
}

#[test]
fn lines_go_into_a_table() {
    let definition = TableDefinition::new("t")
        .with_column("at", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("host", ColumnType::Text, None)
        .with_column("v", ColumnType::Float32, None)
        .with_column("other", ColumnType::Int64, None)
        .with_time("at", TimeUnit::Second)
        .unwrap();
    let options = Options { time: vec!["time".to_owned()], time_unit: Some(TimeUnit::Second), ..Options::default() };
    let imported = run(vec![text("a.lp", "m,host=a v=0.5 7\nm,host=b v=1 8\n")], &options, Some(&definition)).unwrap();
    assert_eq!(imported.texts("at"), ["1970-01-01T00:00:07Z", "1970-01-01T00:00:08Z"]);
    assert_eq!((imported.texts("v"), imported.null_count("other")), (vec!["0.5".to_owned(), "1.0".to_owned()], 2));
}
