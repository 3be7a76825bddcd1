//! Files in other formats are refused with a hint, and lines that are not data are skipped.

use crate::support::{csv, run, text};
use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use atsdb_core::{ErrorKind, Result};
use atsdb_import::{Format, Options};
use std::sync::Arc;

fn imported(name: &str, content: &str) -> Result<Vec<String>> {
    run(vec![text(name, content)], &Options::default(), None).map(|imported| imported.columns())
}

#[test]
fn unreadable_formats_are_refused_with_what_to_do() {
    let error = imported("a.json", "[1,2,3]").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("a.json") && error.to_string().contains("a list of values"), "{error}");
    assert!(error.hint().is_some_and(|shown| shown.contains("as an object")), "{error:?}");
    let asked = Options { format: Some(Format::Csv), ..Options::default() };
    let columns = run(vec![text("w.csv", "a b=c\nd e=f\n")], &asked, None).unwrap().columns();
    assert_eq!(columns, ["a b=c text"], "whoever names the format knows better");
}

#[test]
fn settings_are_no_separated_values() {
    for (content, message) in [
        ("---\ntime: 2024-01-01\nv: 1\n", "a.csv is YAML"),
        ("[station]\nname = Berlin\n", "a.csv is a configuration file"),
        ("<html><body>404</body></html>", "a.csv is an HTML page"),
        ("%PDF-1.7\n", "a.csv is a PDF document"),
    ] {
        let error = imported("a.csv", content).unwrap_err();
        assert_eq!(error.message(), message);
        assert!(error.hint().is_some(), "{message}");
    }
    let asked = Options { format: Some(Format::Csv), ..Options::default() };
    assert!(run(vec![text("a.csv", "---\na: 1\nb: 2\n")], &asked, None).is_ok());
}

#[test]
fn comments_before_the_header_are_no_records() {
    let imported = csv("# measured in Berlin, by hand, 2024\n#\n\ntime,v\n2024-01-01,1\n2024-01-02,2\n");
    assert_eq!((imported.columns(), imported.report.row_count), (vec!["*time date".into(), "v int64".into()], 2));
    let bare = csv("# a note\n2024-01-01,1.5\n2024-01-02,2.5\n");
    assert_eq!(bare.report.row_count, 2);
    let header = csv("#time,v\n2024-01-01,1\n");
    assert_eq!(header.columns()[1], "v int64");
    let colours = csv("#ff0000\n#00ff00\n");
    assert_eq!(colours.report.row_count, 1, "the first is the header: nothing is a comment");
    let error = crate::support::refused("# a note\ntime,v\n2024-01-01,1\n2024-01-02,2,3\n");
    assert!(error.to_string().contains("line 4"), "{error}");
}

#[test]
fn titles_above_a_table_are_no_settings_however_long() {
    let table: String = (0..100).map(|row| format!("{}-01-01,{row}\n", 2000 + row)).collect();
    let lines = |sign: &str| (0..40).map(|line| format!("Key{line}{sign}{}\n", "x".repeat(200))).collect::<String>();
    for titles in [lines(": "), format!("[Header]\n{}[Data]\n", lines("="))] {
        let file = format!("{titles}time,v\n{table}");
        assert_eq!(imported("a.csv", &file).unwrap(), ["*time date", "v int64"], "{}", &titles[..20]);
        assert!(imported("a.csv", &titles).is_err(), "{}", &titles[..20]);
    }
}

/// A damaged file gives a table, or an error that names the file.
#[test]
fn a_damaged_parquet_file_is_an_error_and_no_panic() {
    let columns: [(&str, ArrayRef); 2] = [
        ("n", Arc::new(Int64Array::from_iter_values(0..50))),
        ("s", Arc::new(StringArray::from_iter_values((0..50).map(|row| format!("s{}", row % 7))))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut refused = 0;
    for position in 4..bytes.len() - 4 {
        for change in [0x01, 0x08, 0x40, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= change;
            if let Err(error) = run(vec![text("hostile.parquet", damaged)], &Options::default(), None) {
                assert!(error.to_string().contains("hostile.parquet"), "byte {position} ^ {change}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
