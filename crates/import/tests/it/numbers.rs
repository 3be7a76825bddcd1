//! Numbers that no type can hold as they are written.

use crate::support::{csv, run, text, with};
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

#[test]
fn points_between_thousands_need_decimal_commas_beside_them() {
    let imported = csv("a;b\n1.234,5;1\n1.234;2\n12;3\n");
    assert_eq!(
        (imported.columns()[0].as_str(), imported.texts("a")),
        ("a float64", vec!["1234.5".into(), "1234.0".into(), "12.0".into()])
    );
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("column a: points in numbers such as 1.234 are read as between thousands"), "{notes}");
    // A point that cannot be one between thousands.
    for number in ["2.5", "0.125", "1234.567"] {
        let mixed = csv(format!("a;b\n1,5;1\n{number};2\n"));
        assert_eq!(mixed.columns()[0], "a text", "{number}");
        let notes = mixed.report.notes.join("\n");
        assert!(notes.contains("some of its numbers have commas, others decimal points"), "{notes}");
    }
}

#[test]
fn numbers_that_contradict_a_decimal_comma_are_never_read_as_others() {
    let body = "1,5;1000000000000000000\n".repeat(200_000);
    for late in ["2.5", "1,234.5", "1.23,4"] {
        let imported = csv(format!("a;b\n{body}{late};2\n"));
        assert!(imported.columns()[0].starts_with("a text"), "{late}: {:?}", imported.columns());
        assert_eq!(imported.texts("a").last().map(String::as_str), Some(late));
    }
    let late = csv(format!("a;b\n{body}1.234;2\n"));
    assert_eq!((late.columns()[0].as_str(), late.texts("a").last().unwrap().as_str()), ("a float64", "1234.0"));
    let decimal = ColumnType::decimal(10, 2).unwrap();
    for column_type in [ColumnType::Float32, ColumnType::Float64, decimal] {
        let table =
            TableDefinition::new("t").with_column("a", column_type, None).with_column("b", ColumnType::Int64, None);
        for late in ["2.5", "1,234.5"] {
            let content = format!("a;b\n{body}{late};2\n");
            let outcome = run(vec![text("a.csv", content)], &Options::default(), Some(&table));
            let error = outcome.map(|imported| imported.texts("a").pop()).unwrap_err();
            assert!(error.message().contains("a.csv, line "), "{column_type:?}: {error}");
        }
    }
}

#[test]
fn points_beside_other_columns_with_commas_are_reported() {
    let content = "a;b\n1,5;1.234\n2,5;2.345\n";
    let imported = csv(content);
    assert_eq!(
        (imported.columns()[1].as_str(), imported.texts("b")),
        ("b float64", vec!["1.234".into(), "2.345".into()])
    );
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("column b: the points in its numbers are read as decimal points"), "{notes}");
    let asked = with(content, &Options { decimal_comma: true, ..Options::default() });
    assert_eq!(asked.texts("b"), ["1234.0", "2345.0"]);
    let note = "column b: points in numbers such as 1.234 are read as between thousands: 1234";
    assert!(asked.report.notes.iter().any(|other| other == note), "{:?}", asked.report.notes);
    // Only whoever asks for decimal commas gets other numbers than those that are there.
    let places = "a;b\n52.517;13.389\n48.137;11.575\n";
    let plain = csv(places);
    assert_eq!((plain.texts("a"), plain.texts("b")[0].as_str()), (vec!["52.517".into(), "48.137".into()], "13.389"));
    assert!(!plain.report.notes.join("\n").contains("thousands"), "{:?}", plain.report.notes);
    let asked = with(places, &Options { decimal_comma: true, ..Options::default() });
    let notes = asked.report.notes.join("\n");
    for (name, first, whole) in [("a", "52.517", "52517"), ("b", "13.389", "13389")] {
        let note = format!("column {name}: points in numbers such as {first} are read as between thousands: {whole}");
        assert!(notes.contains(&note), "{notes}");
    }
    let sure = csv("a;b\n1,5;1.234\n2,5;2.3\n");
    assert!(!sure.report.notes.iter().any(|note| note.contains("points")), "{:?}", sure.report.notes);
    // In JSON a point is a decimal one.
    let options = Options { decimal_comma: true, ..Options::default() };
    let json = run(vec![text("a.jsonl", "{\"v\":1.234}\n")], &options, None).unwrap();
    assert_eq!(json.texts("v"), ["1.234"]);
}

#[test]
fn blanks_and_apostrophes_between_thousands_are_reported() {
    for (numbers, named) in [
        ("1 234,5\n12,5\n", "blanks between thousands: line 2 has \"1 234,5\"; in SQL, replace(COLUMN, ' ', '')"),
        ("1\u{a0}234\n12\n", "no-break spaces between thousands"),
        ("1'234.5\n12.5\n", "apostrophes between thousands"),
    ] {
        let lines: String = numbers.lines().map(|number| format!("{number};x\n")).collect();
        let imported = csv(format!("a;b\n{lines}"));
        let notes = imported.report.notes.join("\n");
        assert!(imported.columns()[0] == "a text" && notes.contains(named), "{numbers}: {notes}");
    }
}

#[test]
fn percent_signs_currencies_units_and_single_words_are_reported() {
    for (numbers, noted) in [
        ("12%\n7.5%\n", "its numbers have the sign %: line 2 has \"12%\"; in SQL, replace(COLUMN, '%', '')"),
        ("$1.50\n3\n", "its numbers have the sign $: line 2"),
        ("1.50 €\n-2 €\n", "its numbers have the sign €: line 2"),
        ("45.2 °F\n45 °F\n", "its numbers have the unit °F: line 2 has \"45.2 °F\"; in SQL, replace(COLUMN, '°F', '')"),
    ] {
        let lines: String = numbers.lines().map(|number| format!("{number};x\n")).collect();
        let imported = csv(format!("a;b\n{lines}"));
        let notes = imported.report.notes.join("\n");
        assert!(imported.columns()[0] == "a text" && notes.contains(noted), "{numbers}: {notes}");
    }
    let few = csv("a;b\n1;x\nunavailable;y\n2;z\n").report.notes.join("\n");
    assert!(few.contains("line 3 has \"unavailable\"; --null unavailable makes it NULL"), "{few}");
    let words = csv("a;b\n1;x\nno $value;y\n2;z\n").report.notes.join("\n");
    assert!(words.contains("--null 'no $value' makes it NULL"), "{words}");
    let words = csv("a;b\n12%;x\nsome;y\n");
    assert!(!words.report.notes.join("\n").contains("sign"), "{:?}", words.report.notes);
}

#[test]
fn commas_between_thousands_must_be_sure_in_the_whole_file() {
    let whole = csv("a;b\n1,234,567;x\n-12,345;y\n12;z\n");
    assert_eq!(
        (whole.columns()[0].as_str(), whole.texts("a")),
        ("a int64", vec!["1234567".into(), "-12345".into(), "12".into()])
    );
    // Far behind a sample in which a comma may be the decimal one, and before one that is none between thousands.
    let body = "1,234;1000000000000000000\n".repeat(200_000);
    let late = csv(format!("a;b\n{body}1,234.5;2\n"));
    assert_eq!((late.columns()[0].as_str(), late.texts("a").last().unwrap().as_str()), ("a float64", "1234.5"));
    for other in ["1,5", "1,23,456", "12,34"] {
        let mixed = csv(format!("a;b\n1,234.5;2\n{body}{other};2\n"));
        assert!(mixed.columns()[0].starts_with("a text"), "{other}: {:?}", mixed.columns());
        assert_eq!(mixed.texts("a").last().map(String::as_str), Some(other));
    }
    // Lists of items of three digits are as likely, unless another number is none.
    let listed = csv("a;b\n101,202;1\n101,202,303;2\n");
    assert_eq!(
        (listed.columns()[0].as_str(), listed.texts("a")),
        ("a text", vec!["101,202".into(), "101,202,303".into()])
    );
    let notes = listed.report.notes.join("\n");
    assert!(notes.contains("column a is text: the commas in its numbers may stand between thousands or"), "{notes}");
    assert_eq!(csv("a;b\n101,202,303;1\n1,234,567;2\n").texts("a"), ["101202303", "1234567"]);
    let late = csv(format!("a;b\n{}1,234,567;2\n", "101,202,303;1000000000000000000\n".repeat(200_000)));
    assert_eq!(late.texts("a").last().map(String::as_str), Some("1234567"));
    let open = csv("a;b\n1,234;1\n5,678;2\n");
    assert_eq!((open.columns()[0].as_str(), open.texts("a")), ("a text", vec!["1,234".into(), "5,678".into()]));
    let table = TableDefinition::new("t").with_column("a", ColumnType::Int32, None);
    let added = run(vec![text("a.csv", "a\n\"1,234,567\"\n\"1,234\"\n")], &Options::default(), Some(&table)).unwrap();
    assert_eq!(added.texts("a"), ["1234567", "1234"]);
}

#[test]
fn each_file_has_decimal_commas_or_points() {
    let files = |contents: &[&str]| {
        let names = ["a.csv", "b.csv", "c.csv"];
        let inputs = names.into_iter().zip(contents).map(|(name, content)| text(name, *content)).collect();
        run(inputs, &Options::default(), None).unwrap()
    };
    let both = files(&["v;w\n1,5;1\n1.234,5;1\n", "v,w\n2.5,1\n1.234,1\n"]);
    assert_eq!(both.columns()[0], "v float64");
    assert_eq!(both.texts("v"), ["1.5", "1234.5", "2.5", "1.234"]);
    let note = "column v: its numbers have decimal commas in a.csv, decimal points in b.csv";
    assert!(both.report.notes.iter().any(|other| other == note), "{:?}", both.report.notes);
    // A file that does not show it follows the others, and stays text if these differ.
    assert_eq!(files(&["v;w\n1,5;1\n", "v;w\n1,234;1\n1.234;1\n"]).texts("v"), ["1.5", "1.234", "1234.0"]);
    for unclear in ["v;w\n1,234;1\n", "v;w\n1.234;1\n"] {
        let mixed = files(&["v;w\n1,5;1\n", "v,w\n2.5,1\n", unclear]);
        assert!(mixed.columns()[0].starts_with("v text"), "{unclear}: {:?}", mixed.columns());
        assert!(mixed.report.notes.join("\n").contains("write them alike"), "{:?}", mixed.report.notes);
    }
    let third = files(&["v;w\n1,5;1\n", "v,w\n2.5,1\n", "v;w\n1,234.5;1\n7;1\n"]);
    assert_eq!(third.texts("v"), ["1.5", "2.5", "1234.5", "7.0"]);
}
