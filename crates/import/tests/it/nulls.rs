//! Texts that mean NULL, except in a column of repeated words, where they may be words.

use crate::support::{csv, run, text, with};
use atsdb_import::{DateOrder, Options};
use std::fmt::Write as _;

fn nulls(texts: &[&str]) -> Options {
    Options { null: texts.iter().map(|text| (*text).to_owned()).collect(), ..Options::default() }
}

/// Rows of a row number, a category and a number. The texts may mean NULL.
fn rows(count: usize, category: impl Fn(usize) -> &'static str, number: impl Fn(usize) -> &'static str) -> String {
    let mut text = "row,category,n\n".to_owned();
    (0..count).for_each(|row| writeln!(text, "{row},{},{}", category(row), number(row)).unwrap());
    text
}

fn country(row: usize) -> &'static str {
    ["DE", "NA", "ZA", "None"][row % 4]
}

#[test]
fn a_word_among_repeated_words_stays_and_a_note_says_so() {
    let imported = csv(rows(400, country, |_| "1"));
    assert_eq!(imported.texts("category")[..4], ["DE", "NA", "ZA", "None"]);
    assert_eq!(imported.null_count("category"), 0);
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("column category keeps \"NA\" as a word among others, 100 times"), "{notes}");
    assert!(notes.contains("pass --null None"), "{notes}");
    let mostly = csv(rows(10_000, |row| if row % 10 == 0 { "lane" } else { "None" }, |_| "1"));
    assert_eq!(mostly.null_count("category"), 0);
}

#[test]
fn a_word_that_stands_for_a_number_is_null_in_all_columns() {
    let imported = csv(rows(400, country, |row| if row == 7 { "NA" } else { "1.5" }));
    assert_eq!(imported.texts("category")[..4], ["DE", "∅", "ZA", "None"]);
    assert_eq!((imported.null_count("category"), imported.null_count("n")), (100, 1));
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("taken as NULL: \"NA\" 101 times (category, n)"), "{notes}");
}

#[test]
fn a_word_among_texts_that_seldom_repeat_is_null() {
    let text: String = (0..60).map(|row| format!("{row},{}\n", if row % 2 == 0 { "NA" } else { "" })).collect();
    assert_eq!(csv(format!("row,note\n{text}100,a note\n101,another\n")).null_count("note"), 60);
}

#[test]
fn types_inferred_from_the_first_rows_are_revised_by_later_ones() {
    // The number that is NA comes long after the rows that are sampled first.
    let text = rows(700_000, country, |row| if row == 699_999 { "NA" } else { "1" });
    assert!(text.len() > 6 << 20);
    let imported = csv(text);
    assert_eq!((imported.null_count("category"), imported.null_count("n")), (175_000, 1));
    // The words come long after the sampled rows.
    let late = csv(rows(700_000, |row| if row < 600_000 { "DE" } else { country(row) }, |_| "1"));
    assert_eq!(late.null_count("category"), 0);
}

#[test]
fn texts_that_are_given_replace_the_usual_ones() {
    let imported = with("a,b\n-999,1\n5,NA\n6,missing\n", &nulls(&["-999", "missing"]));
    assert_eq!(
        (imported.texts("a"), imported.texts("b")),
        (vec!["∅".into(), "5".into(), "6".into()], vec!["1".into(), "NA".into(), "∅".into()])
    );
    let none = with("a,b\n1,NA\n2,\n3,NULL\n", &nulls(&[""]));
    assert_eq!(none.texts("b"), ["NA", "∅", "NULL"]);
    assert!(none.report.notes.iter().all(|note| !note.contains("taken as NULL")), "{:?}", none.report.notes);
}

#[test]
fn a_table_that_is_there_keeps_the_same_words() {
    let created = csv(rows(400, country, |_| "1"));
    let again = rows(400, country, |_| "1");
    let added = run(vec![text("a.csv", again)], &Options::default(), Some(&created.report.definition)).unwrap();
    assert_eq!(added.null_count("category"), 0);
    let options = Options { date_order: Some(DateOrder::DayFirst), ..nulls(&["NA"]) };
    let asked = run(vec![text("a.csv", rows(400, country, |_| "1"))], &options, Some(&created.report.definition));
    assert_eq!(asked.unwrap().null_count("category"), 100);
}
