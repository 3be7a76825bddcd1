//! The option `key` declares the table's key.

use crate::support::{refused_with, with};
use atsdb_import::Options;

fn key(names: &[&str]) -> Options {
    Options { key: names.iter().map(|name| (*name).to_owned()).collect(), ..Options::default() }
}

#[test]
fn a_key_with_the_time_or_of_a_plain_table_is_the_primary_key() {
    let text = "date,symbol,v\n2024-01-01,A,1\n2024-01-01,B,2\n";
    for (text, names) in
        [(text, ["symbol", "date"]), (text, ["date", "symbol"]), ("symbol,n,v\nA,1,1\n", ["symbol", "n"])]
    {
        let definition = with(text, &key(&names)).report.definition;
        assert_eq!(definition.unique.len(), 1, "{definition:?}");
        assert!(definition.unique[0].primary && definition.unique[0].columns.len() == 2);
        assert!(names.iter().all(|name| !definition.column(name).unwrap().nullable));
    }
    let series = with(text, &key(&["symbol"])).report.definition;
    assert_eq!((series.key.len(), series.unique.len()), (1, 0));
    let error = refused_with("date,symbol,v\n2024-01-01,,1\n", &key(&["symbol", "date"]));
    assert!(error.to_string().contains("line 2, column symbol"), "{error}");
    let error = refused_with("date,symbol,v\n2024-01-01,NA,1\n", &key(&["symbol", "date"]));
    assert!(error.to_string().contains("column symbol: \"NA\" means NULL, and the column is NOT NULL"), "{error}");
}

#[test]
fn a_part_of_the_time_in_a_key_is_named_as_such() {
    let text = "symbol,date,time,v\nA,2024-01-01,10:00,1\nB,2024-01-01,10:01,2\n";
    let error = refused_with(text, &key(&["symbol", "Date"]));
    assert_eq!(error.message(), "--key: Date is a part of the time, not a separate column");
    assert!(error.hint().is_some_and(|hint| hint.starts_with("name the time in its place: time;")), "{error:?}");
    assert_eq!(with(text, &key(&["symbol", "time"])).report.definition.unique.len(), 1);
    let apart = Options { time: vec!["date".to_owned()], ..key(&["symbol", "date"]) };
    assert_eq!(with(text, &apart).report.definition.unique.len(), 1);
}
