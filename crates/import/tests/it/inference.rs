//! Types, NULLs, maps and slices are inferred from the data alone.

use crate::support::{csv, run, text, time, with};
use atsdb_core::{MapWidth, SliceWidth};
use atsdb_import::Options;
use std::fmt::Write;

#[test]
fn types_are_the_narrowest_that_hold_every_value() {
    let imported = csv("b,i,u,f,d,x\ntrue,1,18446744073709551615,1e3,2024-01-31,q\nFALSE,-2,0,NaN,2024-02-29,r\n");
    assert_eq!(imported.columns(), ["b bool", "i int64", "u uint64", "f float64", "*d date", "x text"]);
    assert_eq!(imported.texts("f"), ["1000.0", "NaN"]);
}

#[test]
fn leading_zeros_stay_text() {
    let imported = csv("id,v\n007,1\n012,2\n");
    assert_eq!(imported.texts("id"), ["007", "012"]);
    assert_eq!(imported.columns(), ["id text", "v int64"]);
}

#[test]
fn whole_numbers_that_a_double_would_change_stay_text() {
    let imported = csv("a,b,c\n9007199254740993,1,123456789012345678901\n0.5,2,1\n");
    assert_eq!(imported.columns(), ["a text", "b int64", "c text"]);
    assert_eq!(imported.report.notes.iter().filter(|note| note.contains("is text: it has whole numbers")).count(), 2);
}

#[test]
fn minus_zero_keeps_its_sign() {
    let imported = csv("a,b\n-0,1\n0.5,1\n");
    assert_eq!(imported.texts("a"), ["-0.0", "0.5"]);
}

#[test]
fn every_way_to_write_null_is_null() {
    let imported = csv("a,b\n1,x\nNA,NA\nnil,nil\n,\n\" \",NULL\n\"\",null\n  ,N/A\n2,y\n");
    assert_eq!(imported.columns(), ["a int64", "b text"]);
    assert_eq!((imported.null_count("a"), imported.null_count("b")), (6, 6));
}

#[test]
fn quoted_text_is_what_it_is() {
    let imported = csv("a,b\n\"NA\",1\n\" \",2\n\"\",3\nx,4\n");
    assert_eq!(imported.texts("a"), ["NA", " ", "", "x"]);
}

#[test]
fn a_column_of_nothing_but_null_is_text() {
    let imported = csv("a,b\n1,\n2,NA\n");
    assert_eq!((imported.columns()[1].as_str(), imported.null_count("b")), ("b text", 2));
}

/// Rows of `time,v,w`, with the value `late` in the last row.
fn long(row_count: usize, late: &str) -> String {
    let mut content = "time,v,w\n".to_owned();
    for row in 0..row_count {
        let _ = writeln!(content, "{},{row},some words that make the line longer", 1_700_000_000 + row);
    }
    let _ = writeln!(content, "{},{late},x", 1_700_000_000 + row_count);
    content
}

#[test]
fn integers_until_row_200000_are_floats_when_a_float_follows() {
    let imported = csv(long(200_000, "0.5"));
    assert_eq!(imported.columns(), ["*time timestamp_s", "v float64", "w text~u8"]);
    assert_eq!((imported.begins, imported.report.row_count), (2, 200_001));
    assert_eq!(imported.texts("v")[199_999..], ["199999.0", "0.5"]);
}

#[test]
fn integers_until_row_200000_are_text_when_a_word_follows() {
    let imported = csv(long(200_000, "007"));
    assert_eq!(imported.columns()[1], "v text");
    assert_eq!(imported.texts("v")[199_999..], ["199999", "007"]);
    assert!(
        imported.report.notes.iter().any(|note| note.contains("line 200002 has \"007\"")),
        "{:?}",
        imported.report.notes
    );
}

#[test]
fn a_column_that_is_null_until_row_200000_gets_the_type_of_its_first_value() {
    let content =
        long(200_000, "").replace(",some words that make the line longer", ",NA").replace(",x", ",2024-01-01");
    assert_eq!(csv(content).columns(), ["*time timestamp_s", "v int64", "w date"]);
}

#[test]
fn the_answer_does_not_depend_on_where_the_odd_value_is() {
    let rows: Vec<String> =
        (0..150_000).map(|row| format!("{},{row},w{},padding padding", 1_700_000_000 + row, row % 40_000)).collect();
    let odd = "1700000000,0.5,w,padding padding".to_owned();
    let of = |rows: Vec<String>| {
        let imported = csv(format!("time,v,w,p\n{}\n", rows.join("\n")));
        (imported.columns(), imported.report.definition.slice)
    };
    let mut first = rows.clone();
    first.insert(0, odd.clone());
    let mut last = rows;
    last.push(odd);
    assert_eq!(of(first), of(last));
}

#[test]
fn texts_that_come_again_and_again_are_mapped() {
    let mut content = "name,kind,unique\n".to_owned();
    (0..1_000).for_each(|row| _ = writeln!(content, "n{},{},u{row}", row % 100, ["ok", "bad"][row % 2]));
    assert_eq!(csv(content.clone()).columns(), ["name text~u16", "kind text~u8", "unique text"]);
    let options = Options {
        map: vec![("unique".to_owned(), None), ("KIND".to_owned(), Some(MapWidth::U32))],
        ..Options::default()
    };
    assert_eq!(with(content, &options).columns(), ["name text~u16", "kind text~u32", "unique text~u16"]);
}

#[test]
fn a_map_that_is_asked_for_is_as_wide_as_all_rows_need() {
    let options = Options { map: vec![("name".to_owned(), None)], ..Options::default() };
    let rows = (0..150_000).map(|row| format!("{row},sensor_{row},some words that make the line longer and longer\n"));
    let imported = with(format!("v,name,w\n{}", rows.collect::<String>()), &options);
    assert_eq!(imported.columns(), ["v int64", "name text~u32", "w text~u8"]);
}

#[test]
fn slices_are_as_wide_as_the_rows_are_thin() {
    let of = |step: i64, row_count: i64| {
        let rows = (0..row_count).map(|row| format!("{},1\n", 1_700_000_000 + row * step));
        csv(format!("time,v\n{}", rows.collect::<String>())).report.definition.slice
    };
    assert_eq!(of(3_600, 50_000), SliceWidth::Year);
    assert_eq!(of(1, 300_000), SliceWidth::Week);
    assert_eq!(
        with("time,v\n1700000000,1\n", &Options { slice: Some(SliceWidth::Hour), ..Options::default() })
            .report
            .definition
            .slice,
        SliceWidth::Hour
    );
}

#[test]
fn key_columns_are_found_without_case() {
    let options = Options { key: vec!["SENSOR".to_owned()], ..time("t") };
    let imported = with("t,sensor\n2024-01-01 00:00:00,a\n", &options);
    assert_eq!(imported.report.definition.key, [imported.report.definition.columns[1].id]);
}

#[test]
fn an_existing_table_decides_the_types() {
    let definition = csv("time,a,b,c\n2024-01-01 00:00:00,1.5,x,true\n").report.definition;
    let inputs = vec![text("b.csv", "B,time,a\n007,2024-01-02 00:00:00,3\n8,2024-01-03 00:00:00,NA\n")];
    let imported = run(inputs, &Options::default(), Some(&definition)).unwrap();
    assert_eq!(imported.report.definition, definition);
    assert_eq!(
        (imported.texts("b"), imported.texts("a")),
        (vec!["007".into(), "8".into()], vec!["3.0".into(), "∅".into()])
    );
    assert_eq!(imported.null_count("c"), 2);
}

#[test]
fn rows_come_in_the_order_of_the_file() {
    let imported = csv(long(300_000, "1"));
    let times = imported.texts("v");
    assert!((0..300_000).all(|row| times[row] == row.to_string()));
}

#[test]
fn a_file_sorted_by_sensor_gets_the_slices_of_all_its_rows() {
    let rows = (0..4).flat_map(|sensor| {
        (0..60_000).map(move |row| format!("{},sensor {sensor},filler filler filler\n", 1_700_000_000 + row * 10))
    });
    let sorted: Vec<String> = rows.collect();
    let mut mixed = sorted.clone();
    mixed.sort();
    let slice = |rows: &[String]| csv(format!("time,sensor,f\n{}", rows.concat())).report.definition;
    assert_eq!(slice(&sorted), slice(&mixed));
}
