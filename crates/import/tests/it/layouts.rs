//! Layouts of separated files: lines before the header, quotes and escapes, chosen columns, local times, decimal
//! commas.

use crate::support::{csv, refused, refused_with, run, text, time, with};
use atsdb_core::{ColumnType, TableDefinition, TimeUnit};
use atsdb_import::{ColumnChoice, DateOrder, Format, Options, Zone};

fn notes(imported: &crate::support::Imported) -> String {
    imported.report.notes.join("\n")
}

#[test]
fn titles_before_the_header_are_left_out_with_a_note() {
    let body = "time,station,v\n2024-01-01 00:00:00,a,1.5\n2024-01-01 01:00:00,b,2.5\n2024-01-01 02:00:00,c,2.5\n";
    for (title, lines) in [
        ("Report of the station\n", 1),
        ("Station: Berlin, Germany\nHeight: 34 m\n\nCreated 2024-01-02\n", 4),
        ("Report,,\nof 2024,,\n,,\n", 3),
        ("\"Title, quoted\"\n# and a comment\n", 2),
    ] {
        let imported = csv(format!("{title}{body}"));
        assert_eq!(imported.columns()[0], "*time timestamp_us", "{title}");
        assert_eq!(imported.report.row_count, 3, "{title}");
        let wanted =
            if lines == 1 { "left out 1 line before the header".to_owned() } else { format!("left out {lines} lines") };
        assert!(notes(&imported).contains(&wanted), "{title}: {}", notes(&imported));
    }
    let error = refused("Title\ntime,v\n2024-01-01,1\n2024-01-02,x,y\n2024-01-03,2\n2024-01-04,2\n");
    assert!(error.message().starts_with("a.csv, line 4: has 3 fields, the file has 2 columns"), "{error}");
    // Titles may have as many fields as the records.
    let table = "time,v\n2024-01-01,1.5\n2024-01-02,2\n";
    for title in ["Report\nCreated,2024-01-02\n\n", "Created,2024-01-02\nHeight,34\n"] {
        let imported = csv(format!("{title}{table}"));
        assert_eq!(imported.columns(), ["*time date", "v float64"], "{title}");
        assert!(notes(&imported).contains("left out"), "{title}: {}", notes(&imported));
    }
    // A text among numbers is no header, and a line of units is neither.
    assert_eq!(csv("2024-01-01,1\nlost,error\n2024-01-03,3\n").report.row_count, 3);
    assert_eq!(csv("x,v\n(UTC),(m)\n2024-01-01,1\n2024-01-02,2\n").columns(), ["*x date", "v int64"]);
    for units in ["(id),(mm),(mm)", "id,mm,mm"] {
        let imported = csv(format!("station,2020,2021\n{units}\n1,2.5,3.5\n2,1.5,0.5\n"));
        assert_eq!(imported.columns()[0], "station text", "{units}");
    }
    // Lines that are not titles stay: a column has no name, or the first record is wrong.
    assert_eq!(csv("date,v\n1,2024-01-01,2.5\n2,2024-01-02,3\n").columns()[0], "row int64");
    assert!(refused("a,b\n1,2,3,4\n5,6,7,8\n").message().contains("has 4 fields, the file has 2 columns"));
}

#[test]
fn an_empty_line_of_a_file_of_one_column_is_null() {
    for text in ["v\n1\n\n3\n", "v\r\n1\r\n\r\n3\r\n"] {
        assert_eq!(csv(text).texts("v"), ["1", "∅", "3"], "{text:?}");
    }
    assert_eq!(csv("\n\ns\na b\n\n\"\"\n").texts("s"), ["a b", "∅", ""]);
    assert_eq!(csv("v,w\n1,2\n\n3,4\n\n").report.row_count, 2);
    // Lines without a header are those of a log.
    let options = Options { header: Some(false), ..Options::default() };
    assert_eq!(with("one\n\ntwo\n", &options).report.row_count, 2);
}

/// Thirty lines, of their numbers.
fn lines(line: impl Fn(usize) -> String) -> String {
    (0..30).map(line).collect()
}

#[test]
fn commas_in_the_lines_of_a_log_separate_nothing() {
    let agent = "\"Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko)\"";
    for log in [
        lines(|n| format!("2024-03-01 12:30:{n:02},{:03} INFO worker {n} done\n", n * 7)),
        lines(|n| format!("2024-03-01 12:30:{n:02},007 - root - got{}\n", ", again".repeat(n % 3))),
        lines(|n| format!("2024-03-01 12:30:{n:02}.123 [main] INFO got{}\n", ", again".repeat(n % 3))),
        lines(|n| format!("Mar  1 12:30:{n:02} host sshd[{n}]: accepted{}\n", ", again".repeat(n % 2))),
        lines(|n| format!("127.0.0.1 - - [01/Mar/2024:12:30:{n:02} +0100] \"GET / HTTP/1.1\" 200 5 \"-\" {agent}\n")),
        lines(|n| format!("ts=2024-03-01T12:30:{n:02}Z level=info msg=\"a, b\"{}\n", ", c".repeat(n % 2))),
    ] {
        let imported = csv(log.as_str());
        assert_eq!((imported.columns(), imported.report.row_count), (vec!["column1 text".into()], 30), "{log}");
        assert_eq!(imported.texts("column1")[3], log.lines().nth(3).unwrap());
        assert!(notes(&imported).contains("read whole, as those of a log"), "{}", notes(&imported));
    }
    let named = Options { delimiter: Some(b','), ..Options::default() };
    assert_eq!(with(lines(|n| format!("2024-03-01 12:30:{n:02},{n:03} x\n")), &named).columns().len(), 2);
    // These are no logs.
    for values in [
        lines(|n| format!("2024-03-01 12:30:{n:02},{n:03}\n")),
        lines(|n| format!("2024-03-01 12:30:{n:02},{n} kg\n")),
        lines(|n| format!("2024-03-01 12:30:{n:02},a text, {n}\n")),
        lines(|n| format!("\"start at 12:30:{n:02}\",{n}\n")),
    ] {
        assert!(csv(values.as_str()).columns().len() > 1, "{values}");
    }
    assert!(refused("2024-03-01 12:30:05,1\n2024-03-01 12:30:06,2,3\n").message().contains("has 3 fields"));
}

#[test]
fn so_many_lines_are_skipped_as_are_named() {
    let skip = |count| Options { skip: Some(count), ..Options::default() };
    let imported = with("a,b\nx,y\n\ntime,v\n2024-01-01,1\n2024-01-02,2\n", &skip(3));
    assert_eq!((imported.columns(), imported.report.row_count), (vec!["*time date".into(), "v int64".into()], 2));
    assert_eq!(with("# a,b\n1,2\n", &skip(0)).columns(), ["a int64", "b int64"]);
    let error = refused_with("x\ntime,v\n2024-01-01,1\n2024-01-02\n", &skip(1));
    assert!(error.message().contains("line 4"), "{error}");
    assert!(refused_with("a,b\n", &skip(9)).message().contains("nothing in it"));
}

#[test]
fn comments_between_records_are_left_out_where_the_file_begins_with_one() {
    let imported = csv("# by hand\ntime,v\n2024-01-01,1\n# the sensor was changed\n2024-01-02,2\n");
    assert_eq!(imported.texts("v"), ["1", "2"]);
    assert_eq!(imported.report.notes, ["left out 2 comment lines, which begin with #; --skip 0 reads them as records"]);
    assert!(refused("time,v\n2024-01-01,1\n# no comment\n2024-01-02,2\n").message().contains("line 3"));
    let named = csv("#time,v\n2024-01-01,1\n");
    assert_eq!((named.columns()[0].as_str(), named.report.notes.len()), ("*time date", 0));
}

#[test]
fn the_types_of_clickhouse_below_the_names_are_no_record() {
    let text = "ts\tv\tcode\tn\n\
                DateTime64(3, \\'UTC\\')\tFloat64\tLowCardinality(String)\tNullable(UInt8)\n\
                2024-01-01 00:00:00.000\t1.5\t12\t\\N\n2024-01-01 00:00:01.000\t2\t\"3\t4\n";
    let imported = csv(text);
    assert_eq!(imported.columns(), ["*ts timestamp_us", "v float64", "code text", "n int64"]);
    assert_eq!((imported.texts("code"), imported.null_count("n")), (vec!["12".into(), "\"3".into()], 1));
    assert!(imported.report.notes.join("\n").contains("types of ClickHouse"), "{:?}", imported.report.notes);
    let commas = csv("\"a\",\"1\"\n\"String\",\"Decimal(9, 2)\"\n\"07\",1.5\n\"8\",2\n");
    assert_eq!(commas.columns(), ["a text", "1 float64"]);
    assert_eq!(csv("n\nUInt8\n1\n2\n").columns(), ["n int64"]);
    // Names of types are values, too.
    assert_eq!(csv("a,b\nDate,String\nString,Date\n").report.row_count, 2);
    assert_eq!(csv("word\nTime\nand tide\n").report.row_count, 2);
}

#[test]
fn a_quote_in_a_comment_hides_no_rows() {
    let imported = csv("# by hand\ntime,v,w\n2024-01-01,1,x\n# was,\"5\n2024-01-02,2,\"y\"\n2024-01-03,3,z\n");
    assert_eq!(imported.texts("w"), ["x", "y", "z"]);
}

#[test]
fn text_of_postgresql_and_clickhouse_has_escapes_and_no_quotes() {
    let content = "1\t\"quoted\" start\t\\N\n2\ta\\tb\\\\c\t2.5\n3\t\"\t3\n4\t\t4\n";
    let imported = csv(content);
    assert_eq!(imported.columns(), ["column1 int64", "column2 text", "column3 float64"]);
    assert_eq!(imported.texts("column2"), ["\"quoted\" start", "a\tb\\c", "\"", ""]);
    assert_eq!(imported.texts("column3"), ["∅", "2.5", "3.0", "4.0"]);
    assert!(notes(&imported).contains("PostgreSQL and ClickHouse"), "{}", notes(&imported));
    let text_format = Options { format: Some(Format::Text), ..Options::default() };
    let asked = with("name\tn\nNA\t1\nline\\nend\t2\n", &text_format);
    assert_eq!(asked.texts("name"), ["NA", "line\nend"]);
    // Quotes around a field still quote, and a Windows path contains no escapes.
    assert_eq!(csv("a\tb\n\"x\ty\"\t1\nz\t2\n").texts("a"), ["x\ty", "z"]);
    assert_eq!(csv("a\tb\nC:\\temp\t1\nD:\\x\t2\n").texts("a"), ["C:\\temp", "D:\\x"]);
    assert_eq!(csv("a\tb\n\"Hello\" said x\t1\n5\" pipe\t2\n").texts("a"), ["\"Hello\" said x", "5\" pipe"]);
    let unquoted = Options { no_quotes: true, ..Options::default() };
    assert_eq!(with("a,b\n\"x,1\ny\",2\n", &unquoted).texts("a"), ["\"x", "y\""]);
}

fn table() -> TableDefinition {
    TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, None)
        .with_column("v", ColumnType::Int64, None)
        .with_time("time", TimeUnit::Second)
        .unwrap()
}

#[test]
fn a_file_without_a_header_goes_into_a_table_by_position_or_by_names() {
    let plain = Options::default();
    let into = |content: &str, options: &Options| run(vec![text("a.csv", content)], options, Some(&table()));
    let imported = into("2024-01-01 00:00:00,a,1\n2024-01-01 00:00:01,b,2\n", &plain).unwrap();
    assert_eq!(imported.texts("sensor"), ["a", "b"]);
    assert!(notes(&imported).contains("taken as the columns of t"), "{}", notes(&imported));
    let error = into("2024-01-01 00:00:00,1\n", &plain).map(|i| i.columns()).unwrap_err();
    assert!(error.message().contains("2 fields; table t has 3 columns"), "{error}");
    assert!(error.hint().unwrap().contains("--columns"));
    let choose = |names: &[&str]| Options {
        columns: names.iter().map(|n| ColumnChoice { name: (*n).into(), source: (*n).into() }).collect(),
        ..Options::default()
    };
    let imported = into("1,2024-01-01 00:00:00\n", &choose(&["v", "time"])).unwrap();
    assert_eq!((imported.texts("v"), imported.texts("sensor")), (vec!["1".into()], vec!["∅".into()]));
    assert!(into("1,2024-01-01 00:00:00\n", &choose(&["v"])).is_err());
}

#[test]
fn a_position_in_place_of_a_name_is_refused_with_the_name() {
    let first = ColumnChoice { name: "t".into(), source: "1".into() };
    let options = Options { columns: vec![first], ..Options::default() };
    let error = refused_with("time,v\n2024-01-01,1\n", &options);
    assert_eq!(error.hint(), Some("write the column's name: column 1 is time"));
    let error = refused_with("2024-01-01,1\n2024-01-02,2\n", &options);
    assert_eq!(error.hint(), Some("its columns are column1 to column2: t=column1"));
}

#[test]
fn columns_are_chosen_renamed_and_left_out() {
    let content = "time,a,b,c\n2024-01-01,1,x,2.5\n2024-01-02,2,y,3.5\n";
    let choice = |name: &str, source: &str| ColumnChoice { name: name.into(), source: source.into() };
    let options = Options { columns: vec![choice("time", "time"), choice("bee", "B")], ..Options::default() };
    let imported = with(content, &options);
    assert_eq!(imported.columns(), ["*time date", "bee text"]);
    assert_eq!(imported.texts("bee"), ["x", "y"]);
    let omit = Options { omit: vec!["a".into(), "c".into()], ..Options::default() };
    assert_eq!(with(content, &omit).columns(), ["*time date", "b text"]);
    let wrong = Options { omit: vec!["d".into()], ..Options::default() };
    assert_eq!(refused_with(content, &wrong).message(), "--omit: no column named d");
    let json = "{\"a\":1,\"b\":{\"c\":2}}\n{\"a\":2,\"d\":5}\n";
    let options = Options { columns: vec![choice("x", "b.c"), choice("d", "d")], ..Options::default() };
    let imported = run(vec![text("a.jsonl", json)], &options, None).unwrap();
    assert_eq!(imported.columns(), ["x int64", "d int64"]);
}

#[test]
fn decimal_commas_are_numbers_unless_they_may_stand_between_thousands() {
    let imported = csv("a;b;c;d\n1,5;1,234;1.234,5;x\n-2;5,678;7,25;y\n");
    assert_eq!(imported.columns(), ["a float64", "b text", "c float64", "d text"]);
    assert_eq!(
        (imported.texts("a"), imported.texts("c")),
        (vec!["1.5".into(), "-2.0".into()], vec!["1234.5".into(), "7.25".into()])
    );
    assert!(notes(&imported).contains("column b is text: the comma"), "{}", notes(&imported));
    let asked = Options { decimal_comma: true, ..Options::default() };
    assert_eq!(with("a;b\n1,234;2\n", &asked).texts("a"), ["1.234"]);
    assert_eq!(csv("a;b\n1,5;1\n2.5;2\n").columns()[0], "a text", "both at once are no numbers");
    let existing = TableDefinition::new("t").with_column("a", ColumnType::Float64, None).with_column(
        "b",
        ColumnType::Float32,
        None,
    );
    let added = run(vec![text("a.csv", "a;b\n1,5;2,5\n2;3\n")], &Options::default(), Some(&existing)).unwrap();
    assert_eq!(
        (added.texts("a"), added.texts("b")),
        (vec!["1.5".into(), "2.0".into()], vec!["2.5".into(), "3.0".into()])
    );
}

#[test]
fn commas_between_thousands_are_left_out_if_they_can_be_nothing_else() {
    let imported = csv("n,price,ids\n1,\"1,234\",\"101,202\"\n2,\"12,345,678\",\"101,20\"\n3,\"1,234.5\",\"a,b\"\n");
    assert_eq!(imported.columns(), ["n int64", "price float64", "ids text"]);
    assert_eq!(imported.texts("price"), ["1234.0", "12345678.0", "1234.5"]);
    let noted = "column price: commas in numbers such as 12,345,678 are read as between thousands: 12345678";
    let notes = notes(&imported);
    assert!(notes.contains(noted), "{notes}");
    assert!(!notes.contains("column ids"), "{notes}");
}

#[test]
fn a_date_and_a_time_of_day_become_the_time() {
    let imported = csv("date,time,v\n2024-01-01,10:00,1\n2024-01-01,11:30:15,2\n");
    assert_eq!(imported.columns(), ["*time timestamp_us", "v int64"]);
    assert_eq!(imported.texts("time"), ["2024-01-01T10:00:00Z", "2024-01-01T11:30:15Z"]);
    assert!(notes(&imported).contains("made of date and time"), "{}", notes(&imported));
    let apart = with("date,time,v\n2024-01-01,10:00,1\n2024-01-01,11:30:15,2\n", &time("date"));
    assert_eq!(apart.columns(), ["*date date", "time text", "v int64"]);
    let added =
        run(vec![text("a.csv", "day;clock;sensor;v\n1.2.2024;10:00;a;1\n")], &Options::default(), Some(&table()));
    assert_eq!(added.unwrap().texts("time"), ["2024-02-01T10:00:00Z"]);
    let two = csv("date,opens,closes\n2024-01-01,10:00,18:00\n2024-01-02,10:00,18:00\n");
    assert_eq!(two.columns()[0], "*date date", "neither of two is the time of day");
}

#[test]
fn years_of_two_digits_are_read_with_a_note() {
    let imported = csv("time,v\n13/02/24 10:00,1\n14/02/99 10:00,2\n");
    assert_eq!(imported.texts("time"), ["2024-02-13T10:00:00Z", "1999-02-14T10:00:00Z"]);
    assert!(notes(&imported).contains("two-digit years"), "{}", notes(&imported));
    for content in ["id,score\n1,3/4/05\n2,1/2/03\n", "id,score\n1,31.12.23\n2,01.01.24\n"] {
        let unsure = csv(content);
        assert_eq!(unsure.columns()[1], "score text");
        assert!(notes(&unsure).contains("--date-order"), "{}", notes(&unsure));
    }
    let day_first = Options { date_order: Some(DateOrder::DayFirst), ..Options::default() };
    let read = run(vec![text("a.csv", "time,v\n31.12.23,1\n01.01.24,2\n")], &day_first, None).unwrap();
    assert_eq!((read.columns()[0].as_str(), read.report.row_count), ("*time date", 2));
    let version = csv("id,version\n1,1.4.23\n2,1.4.24\n");
    assert!(!notes(&version).contains("--date-order"), "{}", notes(&version));
}

#[test]
fn times_without_a_zone_are_of_the_zone_that_is_named() {
    let berlin = Options { zone: Some(Zone::parse("Europe/Berlin").unwrap()), ..Options::default() };
    let imported = with("time,v\n2024-07-01 12:00:00,1\n2024-01-01T12:00:00Z,2\n2024-10-27 02:30:00,3\n", &berlin);
    assert_eq!(imported.texts("time"), ["2024-07-01T10:00:00Z", "2024-01-01T12:00:00Z", "2024-10-27T00:30:00Z"]);
    assert!(notes(&imported).contains("1 value that clocks showed twice"), "{}", notes(&imported));
    let error = refused_with("time,v\n2024-03-31 02:30:00,1\n", &berlin);
    assert!(
        error.message().contains("line 2, column time") && error.message().contains("does not exist in the time zone"),
        "{error}"
    );
    let parts = with("year,month,day,hour,v\n2024,7,1,12,1\n", &berlin);
    assert_eq!(parts.texts("time"), ["2024-07-01T10:00:00Z"]);
}

#[test]
fn single_quotes_enclose_fields_where_no_others_do() {
    let imported = csv("time,v\n'2024-01-01','a, b'\n'2024-01-02','it''s'\n");
    assert_eq!((imported.report.row_count, imported.texts("v")), (2, vec!["a, b".to_owned(), "it's".to_owned()]));
    assert!(imported.report.notes.iter().any(|note| note.contains("single quotes")), "{:?}", imported.report.notes);
    // An apostrophe encloses nothing.
    let plain = csv("n,v\n1,'tis\n2,'twas\n3,rock 'n' roll\n");
    assert_eq!(plain.texts("v"), ["'tis", "'twas", "rock 'n' roll"]);
    let both = csv("n,v,w\n1,'a',\"b, c\"\n2,'d',e\n");
    assert_eq!(both.texts("v"), ["'a'", "'d'"]);
}

#[test]
fn the_first_line_may_name_the_separator() {
    for text in ["sep=;\na;b\n1,5;2\n", "\u{feff}SEP=;\r\na;b\r\n1,5;2\r\n"] {
        let imported = csv(text);
        assert_eq!((imported.columns(), imported.report.row_count), (vec!["a float64".into(), "b int64".into()], 1));
    }
}

#[test]
fn a_header_may_count_years_or_dates() {
    let years = csv("country,2020,2021\nDE,1,2\nFR,3,4\n");
    assert_eq!(years.columns()[1..], ["2020 int64", "2021 int64"]);
    let days = csv("id,2024-01-01,2024-02-01,2024-03-01\na,1,2.5,3\n");
    assert_eq!((days.columns()[1].as_str(), days.report.row_count), ("2024-01-01 int64", 1));
    // These are data: the values below are years and dates, too, or the steps differ.
    for text in ["DE,2020,2021\nFR,2019,2022\n", "a,1,2\nb,3,4\n", "a,2020,1990,2021\nb,3,4,5\n"] {
        let imported = csv(text);
        assert_eq!(imported.report.row_count, 2, "{text}");
        let note = imported.report.notes.iter().find(|note| note.contains("the first record is read as data"));
        assert!(note.is_some_and(|note| note.contains("--header")), "{text}: {:?}", imported.report.notes);
    }
    let asked = Options { header: Some(false), ..Options::default() };
    assert!(with("country,2020,2021\nDE,1,2\n", &asked).report.notes.iter().all(|note| !note.contains("first record")));
}

#[test]
fn the_first_record_of_a_log_is_no_header() {
    let log = "2024-01-01 00:00:00,123 INFO  main - started\n2024-01-01 00:00:01,456 WARN  main - x, y\n";
    assert_eq!(csv(log).report.row_count, 2);
    // With commas as separators its lines have different numbers of fields.
    let commas = Options { delimiter: Some(b','), ..Options::default() };
    assert!(refused_with(log, &commas).message().contains("line 2: has 3 fields, the file has 2 columns"));
}

#[test]
fn times_of_logs_are_times() {
    for stamps in [
        ["[10/Oct/2000:13:55:36 -0700]", "[10/Oct/2000:13:55:37 -0700]"],
        ["Mon Nov 23 04:10:50 UTC 2026", "Mon Nov 23 04:10:51 UTC 2026"],
        ["20240101T000000Z", "20240101T000100Z"],
        ["\"Mon, 23 Nov 2026 04:10:50 GMT\"", "\"Mon, 23 Nov 2026 04:10:51 GMT\""],
    ] {
        let imported = csv(format!("ts,host\n{},a\n{},b\n", stamps[0], stamps[1]));
        assert!(imported.columns()[0].starts_with("*ts timestamp"), "{stamps:?}: {:?}", imported.columns());
    }
    let syslog = "ts,host\nNov 23 04:10:50,a\nNov 25 04:10:51,b\n";
    let until = Options { times_until: Some(1_795_410_000), ..Options::default() };
    assert_eq!(with(syslog, &until).texts("ts"), ["2026-11-23T04:10:50Z", "2025-11-25T04:10:51Z"]);
    assert!(csv(syslog).columns()[0].starts_with("ts text"));
}

#[test]
fn a_comment_with_as_many_fields_as_the_header_behind_it_is_one() {
    let imported = csv("# a remark, and another\n#1,2\ntime,v\n2024-01-01,1\n2024-01-02,2\n");
    assert_eq!(imported.columns(), ["*time date", "v int64"]);
    // The sign before names, above data.
    assert_eq!(csv("#time,v\n2024-01-01,1\n").columns(), ["*time date", "v int64"]);
}

#[test]
fn a_value_behind_the_last_column_is_never_lost() {
    for (header, record, wanted) in
        [("a,b", "1,2,", 2), ("a,b,", "1,2,", 2), ("a,b,,", "1,2,,", 2), ("a,,b,", "1,x,2,", 3)]
    {
        let many = format!("{header}\n{}", format!("{record}\n").repeat(100_000));
        assert_eq!(csv(many.clone()).columns().len(), wanted, "{header}");
        let late = format!("{many}{}lost\n1,2{}\n", &record, &record[3..]);
        let error = refused(late.clone());
        assert!(error.message().contains("line 100002") && error.message().contains("\"lost\""), "{header}: {error}");
        let skipped = with(late, &Options { skip_bad: true, ..Options::default() });
        assert_eq!((skipped.report.skipped_count, skipped.report.row_count), (1, 100_001), "{header}");
    }
    // A header without rows, and a column whose values begin early.
    assert_eq!(csv("a,b,\n").columns().len(), 3);
    assert_eq!(csv("a,b,\n1,2,\n1,2,x\n").columns(), ["a int64", "b int64", "column3 text"]);
}

#[test]
fn one_column_of_several_words_is_noted() {
    let noted = |text: &str| csv(text).report.notes.join("\n").contains("--delimiter space");
    assert!(noted("time sensor v\n2024-01-01 a 1\n2024-01-02 b 2\n"));
    assert!(!noted("message\nit began\nit ended at last\n") && !noted("a,b\n1 2,3\n"));
    let log = csv("Jan 1 began\nJan 2 ended\n").report.notes.join("\n");
    assert!(log.contains("the first line is its name (--no-header"), "{log}");
}

#[test]
fn columns_aligned_with_blanks_are_read() {
    let table =
        "  time                 temp  hum\n  2024-03-01T12:00:00  21.5   40\n  2024-03-01T12:01:00   9.5   41\n";
    let groups = "procs -----memory----- --io--\n r  b   free   bi\n 1  0 812344   12\n 0  0 812100    0\n";
    for end in ["\n", "\r\n"] {
        let imported = csv(table.replace('\n', end));
        assert_eq!(imported.columns(), ["*time timestamp_us", "temp float64", "hum int64"]);
        assert_eq!(imported.texts("temp"), ["21.5", "9.5"]);
        assert!(imported.report.notes.join("\n").contains("any number of blanks"), "{:?}", imported.report.notes);
        let titled = csv(groups.replace('\n', end));
        assert_eq!(titled.columns(), ["r int64", "b int64", "free int64", "bi int64"]);
        assert_eq!(titled.texts("free"), ["812344", "812100"]);
    }
    // Without a header, and with the separator named.
    assert_eq!(csv(" 1.0e+00   2.5\n-1.5e+01  13.5\n").columns(), ["column1 float64", "column2 float64"]);
    let blanks = Options { delimiter: Some(b' '), ..Options::default() };
    assert_eq!(with("a b\n1  2\n3    4 \n", &blanks).texts("b"), ["2", "4"]);
    let exact = Options { format: Some(Format::Csv), ..blanks };
    assert_eq!(with("a b c\n1  2\n3 4 5\n", &exact).texts("b"), ["∅", "4"]);
}

#[test]
fn aligned_lines_that_are_not_one_table_are_refused() {
    let disk = "Linux 6.1.0 (host)\n\navg-cpu:  %user   %nice %system   %idle\n           1.20    0.00    0.41   98.37\n\n\
                Device      tps   kB_read/s    kB_wrtn/s\nnvme0n1    5.21       40.12       101.33\n";
    let error = refused(disk);
    assert!(error.message().contains("blanks align its columns"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--skip N")), "{error:?}");
    let one = Options { delimiter: Some(b' '), skip: Some(5), ..Options::default() };
    assert_eq!(with(disk, &one).columns()[1], "tps float64");
    let whole = Options { format: Some(Format::Csv), ..Options::default() };
    assert_eq!(with(disk, &whole).columns().len(), 1);
    // The lines of a log are rows, however they are aligned, and so are texts with gaps below the name of a column.
    let log = "2024-03-01 12:30:05  INFO   main   began\n2024-03-01 12:30:06  ERROR  main   it ended\n";
    assert_eq!(csv(log).report.row_count, 2);
    assert_eq!(csv("log message\nERROR   main  a\nINFO    pool  b\n").texts("log message")[1], "INFO    pool  b");
}

#[test]
fn lines_of_a_log_are_rows_and_none_is_a_name() {
    for line in [
        "2024-01-01 00:00:00 INFO the server began",
        "[2024-01-01T00:00:00Z] began",
        "127.0.0.1 - - [10/Oct/2023:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326",
        "Mar  1 12:30:05 host cron: began",
    ] {
        let imported = csv(format!("{line}\nanother line\n"));
        assert_eq!((imported.columns()[0].as_str(), imported.report.row_count), ("column1 text", 2), "{line}");
        assert_eq!(imported.texts("column1")[0], line);
    }
    // A time in the name of a column of numbers, and one without seconds.
    assert_eq!(csv("since 2024-01-01 00:00:00\n1.5\n2.5\n").columns()[0], "since 2024-01-01 00:00:00 float64");
    assert_eq!(csv("names at 12:30\nx\ny\n").columns()[0], "names at 12:30 text");
}

#[test]
fn clickhouse_escapes_single_quotes_and_does_not_enclose_fields() {
    let imported = csv("time\tv\ts\n2024-01-01 00:00:00\t1\tit\\'s\n2024-01-01 01:00:00\t2\t\"q\n");
    assert_eq!(imported.texts("s"), ["it's", "\"q"]);
    let error = refused("v\ts\n1\ta\n2\t\"q\n");
    assert!(error.hint().unwrap().contains("--no-quotes"), "{error}");
}

#[test]
fn the_names_of_groups_above_a_header_become_part_of_its_names() {
    let names = ["*Date date", "North temp float64", "North hum int64", "South temp float64", "South hum int64"];
    for head in [
        ",North,,South,\nDate,temp,hum,temp,hum\n",
        ",North,North,South,South\nDate,temp,hum,temp,hum\n",
        "Date,North,,South,\nDate,temp,hum,temp,hum\n",
        "Date,North,,South,\n,temp,hum,temp,hum\n",
        "Report of 2024,,,,\n,,,,\nDate,North,,South,\n,temp,hum,temp,hum\n",
    ] {
        let imported = csv(format!("{head}2024-01-01,1.5,2,3.5,4\n2024-01-02,1.5,2,3.5,4\n"));
        assert_eq!(imported.columns(), names, "{head}");
        assert_eq!(imported.report.row_count, 2, "{head}");
        let notes = notes(&imported);
        assert!(notes.contains("the header has two lines"), "{head}: {notes}");
    }
}

#[test]
fn titles_of_several_texts_are_no_groups() {
    for title in ["Station,Berlin,,,", "Station,Berlin,,Country,Germany", "Station Berlin,,Report of 2024,,"] {
        let imported = csv(format!("{title}\nDate,temp,hum,wind,rain\n2024-01-01,1.5,2,3.5,4\n"));
        assert!(!notes(&imported).contains("two lines"), "{title}: {}", notes(&imported));
    }
    let imported = csv("Date,Wind,,Rain,\n,speed,gusts,sum,hours\n2024-01-01,1,2,3,4\n");
    let names = ["*Date date", "Wind speed int64", "Wind gusts int64", "Rain sum int64", "Rain hours int64"];
    assert_eq!(imported.columns(), names);
}

#[test]
fn records_of_texts_below_a_header_are_no_names() {
    for content in [
        ",city,temp\nr1,Berlin,?\nr2,Paris,5\n",
        "time,v,v\n2024-01-01,?,?\n2024-01-02,1,2\n",
        "a,b,,c\nx,y,z,u\nx,y,z,u\n",
        "id,v,,w\nx,err,err,err\n1,2,3,4\n",
        "x,,y,\nx,,y,\n1,2,3,4\n",
    ] {
        let notes = notes(&csv(content));
        assert!(!notes.contains("two lines"), "{content}: {notes}");
    }
}
