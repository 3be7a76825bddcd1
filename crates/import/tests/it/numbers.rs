//! Numbers that no type can hold as they are written.

use crate::support::{csv, run, text};
use atsdb_core::{ColumnType, TableDefinition};
use atsdb_import::{Format, Options};

#[test]
fn numbers_beyond_a_double_stay_text() {
    for number in ["1e400", "-1e400", "1e-400"] {
        let imported = csv(format!("a,b\n1.5,1\n{number},2\n"));
        assert_eq!(
            (imported.columns()[0].as_str(), imported.texts("a")),
            ("a text", vec!["1.5".into(), number.into()])
        );
        let noted = imported.report.notes.join("\n");
        assert!(noted.contains("column a is text: line 3 has") && noted.contains("infinite or zero"), "{noted}");
        let json = format!("{{\"a\":1.5}}\n{{\"a\":{number}}}\n");
        let options = Options { format: Some(Format::Json), ..Options::default() };
        let imported = run(vec![text("a.jsonl", json)], &options, None).unwrap();
        assert_eq!(imported.texts("a"), ["1.5", number]);
    }
    assert_eq!(csv("a,b\n1e308,1\n0e-400,2\ninf,3\n5e-324,4\n").columns()[0], "a float64");
}

#[test]
fn numbers_beyond_the_range_of_an_existing_column_are_refused() {
    for (column_type, number, name) in [
        (ColumnType::Float64, "1e400", "DOUBLE"),
        (ColumnType::Float64, "1e-400", "DOUBLE"),
        (ColumnType::Float32, "1e39", "FLOAT"),
        (ColumnType::Float32, "1e-60", "FLOAT"),
    ] {
        let table = TableDefinition::new("t").with_column("a", column_type, None);
        let error = run(vec![text("a.csv", format!("a\n{number}\n"))], &Options::default(), Some(&table))
            .map(|imported| imported.texts("a"))
            .unwrap_err();
        let wanted = format!("a.csv, line 2, column a: \"{number}\" is out of the range of {name}");
        assert!(error.to_string().contains(&wanted), "{error}");
    }
}

#[test]
fn a_telephone_number_keeps_its_plus() {
    let imported = csv("a,b\n+4915112345678,+1\n+4930123456,-2\n");
    assert_eq!(imported.columns(), ["a text", "b int64"]);
    assert_eq!(imported.texts("a"), ["+4915112345678", "+4930123456"]);
    assert_eq!(imported.texts("b"), ["1", "-2"]);
}

#[test]
fn digits_that_a_double_does_not_keep_are_reported() {
    let imported = csv("a,b\n0.1234567890123456789,0.1\n2.5,0.12345678901234567\n1.0000000000000000001,0.5\n");
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("column a: 2 values of more than 17 digits rounded to DOUBLE"), "{notes}");
    assert!(notes.contains("the first is \"0.1234567890123456789\"") && !notes.contains("column b"), "{notes}");
}
