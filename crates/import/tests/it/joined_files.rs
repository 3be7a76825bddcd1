//! Files that are made of several: headers in the middle, and several tables one below the other.

use crate::support::{csv, refused, refused_with, run, text, with};
use atsdb_import::Options;

#[test]
fn a_header_that_is_repeated_is_no_row() {
    for again in ["time,v\n", "\u{feff}time,v\n", "time,v\r\n", "\"time\",v\n"] {
        let imported = csv(format!("time,v\n2024-01-01,1\n{again}2024-01-02,2\n{again}2024-01-03,3\n"));
        assert_eq!(imported.columns(), ["*time date", "v int64"], "{again:?}");
        assert_eq!(imported.texts("v"), ["1", "2", "3"], "{again:?}");
        assert_eq!(imported.report.notes, ["left out 2 lines that repeat the header"], "{again:?}");
    }
    let padded = csv(" a , b \n 1 , 2 \n a , b \n 3 , 4 \n");
    assert_eq!((padded.columns(), padded.report.row_count), (vec!["a int64".into(), "b int64".into()], 2));
    assert!(padded.report.notes.contains(&"left out 1 line that repeats the header".to_owned()));
    // Behind the sample, too.
    let body = "1,2.5\n".repeat(800_000);
    let late = csv(format!("a,b\n{body}a,b\n1,2.5\n"));
    assert_eq!((late.columns(), late.report.row_count), (vec!["a int64".into(), "b float64".into()], 800_001));
    // A header with a field less than the records.
    let shorter = csv("a,b\n1,2.5,3\n2,2.5,4\na,b\n3,3.5,5\n");
    assert_eq!(shorter.columns(), ["row int64", "a float64", "b int64"]);
    assert_eq!((shorter.report.row_count, shorter.texts("row")), (3, vec!["1".into(), "2".into(), "3".into()]));
    assert!(shorter.report.notes.contains(&"left out 1 line that repeats the header".to_owned()));
    // Fields that are the header's only in part are values, and so is the only field of a record.
    assert_eq!(csv("a,b\na,c\na,d\n").report.row_count, 2);
    assert_eq!(csv("word\nword\nother\n").report.row_count, 2);
    let numbered = Options { header: Some(true), ..Options::default() };
    assert_eq!(with("1,2\n1,2\n3,4\n", &numbered).report.row_count, 2, "numbers may be values");
    let named = Options { header: Some(false), skip: Some(1), ..Options::default() };
    assert_eq!(with("a,b\na,b\nc,d\n", &named).report.row_count, 2, "the caller says that there is no header");
}

#[test]
fn a_second_table_below_an_empty_line_is_refused_with_its_line() {
    let first = "time,temp\n2024-01-01,1.5\n2024-01-02,2.5\n";
    for second in ["time,hum\n2024-01-01,50\n", "a,b,c\n1,2,3\n", "Results\nx,y\n1,2\n"] {
        for between in ["\n", "\r\n", "\n\n"] {
            let line = 4 + between.matches('\n').count();
            let error = refused(format!("{first}{between}{second}"));
            assert!(error.message().starts_with(&format!("a.csv, line {line}: ")), "{second}: {error}");
            let (skip, head) = (format!("--skip {} reads it alone", line - 1), format!("head -n {} FILE", line - 1));
            assert!(error.hint().is_some_and(|hint| hint.contains(&skip) && hint.contains(&head)), "{error:?}");
        }
    }
    // As many fields as above: no record is bad, so that --skip-bad would mix the tables.
    let skipping = Options { skip_bad: true, ..Options::default() };
    let same = format!("{first}\ntime,hum\n2024-01-01,50\n");
    assert!(refused_with(same.clone(), &skipping).message().contains("line 5: another table begins"));
    let below = Options { skip: Some(4), ..Options::default() };
    assert_eq!(with(same, &below).columns(), ["*time date", "hum int64"]);
    // Values behind an empty line are no header.
    let error = refused(format!("{first}\n1,2,3\n"));
    assert_eq!(error.hint(), Some("correct the line, or pass --skip-bad to leave such lines out"));
    // Empty lines between records are none, also above texts.
    assert_eq!(csv("a,b\n1,x\n\n2,y\n\nz,w\n").report.row_count, 3);
    assert_eq!(csv("a,b\nx,y\n\nz,w\n\nu,v\n").report.row_count, 3);
    // In a file with an empty line between all records, a record of texts is no header.
    assert_eq!(csv("name,v\n\na,1\n\nb,missing\n\nc,3\n").report.row_count, 3);
}

#[test]
fn names_that_are_numbered_are_reported() {
    let note = "a.csv: columns with a name that came before are numbered: v_2, V_3";
    assert_eq!(csv("time,v,v,V\n2024-01-01,1,2,3\n").report.notes, [note]);
    assert_eq!(csv("time,v, w\n2024-01-01,1,2\n").report.notes, [""; 0]);
}

#[test]
fn a_line_of_units_is_reported() {
    let imported = csv("x;t;h\nm;°C;%\n1,5;20,5;60\n2,5;21,5;61\n");
    assert_eq!(imported.columns(), ["x text", "t text", "h text"]);
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("column t is text: not all of its values are numbers: line 2 has \"°C\""), "{notes}");
}

#[test]
fn the_content_decides_the_format_and_a_note_says_so() {
    let imported = |name: &str, content: &str| run(vec![text(name, content)], &Options::default(), None).unwrap();
    let lines = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n";
    for (name, noted) in
        [("a.txt", false), ("a.log", false), ("a.jsonl.txt", false), ("a", false), ("a.csv", true), ("a.tsv", true)]
    {
        let found = imported(name, lines);
        assert_eq!(found.columns(), ["a int64", "b text"], "{name}");
        let has_note = found.report.notes.iter().any(|note| note.contains("read as JSON, because that is its content"));
        assert_eq!(has_note, noted, "{name}: {:?}", found.report.notes);
    }
    let long = format!("{{\"a\":1,\"b\":\"{}\"}}\n{{\"a\":2,\"b\":\"y\"}}\n", "x".repeat(100_000));
    assert_eq!(imported("a.csv", &long).columns(), ["a int64", "b text"]);
    let table = imported("a.json", "time,v\n2024-01-01,1\n");
    assert_eq!(table.columns(), ["*time date", "v int64"]);
    assert!(table.report.notes.iter().any(|note| note.contains("its content is not JSON")), "{:?}", table.report.notes);
}
