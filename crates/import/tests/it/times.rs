//! Choosing the time column and reading its values.

use crate::support::{csv, refused, refused_with, run, text, time, with};
use atsdb_core::{ColumnType, TableDefinition, TimeUnit};
use atsdb_import::{DateOrder, Options, Zone};

fn order(order: DateOrder) -> Options {
    Options { date_order: Some(order), ..Options::default() }
}

#[test]
fn days_above_twelve_decide_the_order_for_the_whole_column() {
    assert_eq!(csv("t,v\n01/02/2024,1\n13/02/2024,2\n").texts("t"), ["2024-02-01", "2024-02-13"]);
    assert_eq!(csv("t,v\n01/02/2024,1\n02/13/2024,2\n").texts("t"), ["2024-01-02", "2024-02-13"]);
}

#[test]
fn an_order_that_nothing_decides_is_asked_for() {
    let error = refused("time,v\n01/02/2024 10:00,1\n03/04/2024 11:00,2\n");
    assert_eq!(error.message(), "a.csv, column time: no date shows which number is the day");
    assert_eq!(error.hint(), Some("pass --date-order dmy or --date-order mdy"));
    let content = "time,v\n01/02/2024 10:00,1\n";
    assert_eq!(with(content, &order(DateOrder::DayFirst)).texts("time"), ["2024-02-01T10:00:00Z"]);
    assert_eq!(with(content, &order(DateOrder::MonthFirst)).texts("time"), ["2024-01-02T10:00:00Z"]);
}

#[test]
fn both_orders_in_one_file_are_refused() {
    let error = refused("time,v\n13/02/2024 10:00,1\n02/13/2024 11:00,2\n");
    assert!(error.message().contains("some dates have the day first, others the month"), "{error}");
}

#[test]
fn an_order_decided_after_row_200000_counts_from_the_first() {
    let mut content = "time,v,text\n".to_owned();
    (0..200_000).for_each(|row| content.push_str(&format!("01/02/2024 10:00,{row},some words to fill the line\n")));
    content.push_str("02/13/2024 10:00,1,x\n");
    assert_eq!(csv(content).texts("time")[0], "2024-01-02T10:00:00Z");
}

#[test]
fn a_file_that_does_not_tell_follows_the_others_with_a_note() {
    let inputs = vec![text("a.csv", "time,v\n01/02/2024 10:00,1\n"), text("b.csv", "time,v\n02/13/2024 10:00,1\n")];
    let imported = run(inputs, &Options::default(), None).unwrap();
    assert_eq!(imported.texts("time")[0], "2024-01-02T10:00:00Z");
    assert!(
        imported.report.notes[0].starts_with("the dates of a.csv do not tell the order"),
        "{:?}",
        imported.report.notes
    );
}

#[test]
fn months_quarters_and_weeks_are_their_first_days() {
    for (first, second, days) in [
        ("2024-01", "2024-12", ["2024-01-01", "2024-12-01"]),
        ("2023Q4", "2024-Q2", ["2023-10-01", "2024-04-01"]),
        ("2024-W52", "2025-W01", ["2024-12-23", "2024-12-30"]),
    ] {
        let imported = csv(format!("period,v\n{first},1\n{second},2\n"));
        assert_eq!(
            (imported.columns()[0].as_str(), imported.texts("period")),
            ("*period date", days.map(str::to_owned).to_vec())
        );
        let notes = imported.report.notes.join("\n");
        assert!(notes.contains("column period: months, quarters and weeks"), "{notes}");
    }
    // Numbers of things, and months that name columns.
    assert_eq!(csv("part,v\n2024-01,1\n2024-13,2\n").columns(), ["part text", "v int64"]);
    assert_eq!(csv("part,v\n1024-01,1\n5551-02,2\n").columns(), ["part text", "v int64"]);
    assert_eq!(csv("part,v\n2024Q1,1\nA-17,2\n").columns(), ["part text", "v int64"]);
    // Fiscal years and seasons, unless a value is none.
    let seasons = csv("season,v\n2009-10,1\n2010-11,2\n");
    assert_eq!(
        (seasons.columns(), seasons.texts("season")[1].as_str()),
        (vec!["season text".into(), "v int64".into()], "2010-11")
    );
    assert!(seasons.report.notes.join("\n").contains("may be months, or two years each"), "{:?}", seasons.report.notes);
    assert_eq!(csv("season,v\n2009-10,1\n2009-11,2\n").columns()[0], "*season date");
    let hours = csv("month,clock,v\n2024-01,10:00,1\n2024-02,11:00,2\n");
    assert_eq!(hours.columns(), ["*month date", "clock text", "v int64"]);
    // The month of a date does not compete with it.
    let both = csv("traded,month,v\n2024-01-05,2024-01,1\n2024-02-06,2024-02,2\n");
    assert_eq!(both.columns(), ["*traded date", "month date", "v int64"]);
    assert_eq!(csv("city,2024-01\nBerlin,5\nParis,7\n").columns(), ["city text", "2024-01 int64"]);
    assert_eq!(csv("city,2024-01,2024-02\nBerlin,5%,1\nParis,7%,2\n").columns()[1], "2024-01 text");
    // A first record whose period stands above other values.
    for text in ["Berlin,2024-01\nParis,2024-02\n", "Berlin,2024Q1\nParis,spring\n"] {
        assert_eq!(csv(text).report.row_count, 2, "{text}");
    }
}

#[test]
fn digits_in_strings_of_json_are_times_if_the_caller_says_so() {
    let lines = "{\"at\":\"1700000000\",\"id\":\"17\"}\n{\"at\":\"1700000060\",\"id\":\"18\"}\n";
    let of = |options: &Options| run(vec![text("a.jsonl", lines)], options, None).unwrap();
    assert_eq!(of(&Options::default()).columns(), ["at text", "id text"]);
    let asked = of(&time("at"));
    assert_eq!(asked.columns(), ["*at timestamp_s", "id text"]);
    assert_eq!(asked.texts("at"), ["2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z"]);
}

#[test]
fn times_of_day_and_likely_times_that_are_not_used_are_noted() {
    let usage = csv("date,start,end,v\n2024-03-01,00:00,00:59,0.5\n2024-03-01,01:00,01:59,0.25\n");
    assert_eq!(usage.columns()[..3], ["*date date", "start text", "end text"]);
    let notes = usage.report.notes.join("\n");
    assert!(notes.contains("times of day are text: start, end; --time 'date,start' makes"), "{notes}");
    let chosen = with("date,start,v\n2024-03-01,00:00,0.5\n", &time("date"));
    assert!(!chosen.report.notes.join("\n").contains("times of day"), "{:?}", chosen.report.notes);
    let counted = csv("1,1709251200000\n2,1709251260000\n").report.notes.join("\n");
    assert!(counted.contains("name it: --time column2"), "{counted}");
    let plain = csv("id,measured_datetime\n7,x1\n8,x2\n");
    assert!(plain.report.notes.join("\n").contains("name it: --time measured_datetime"), "{:?}", plain.report.notes);
    // Words in which others end are other words.
    let plain = csv("candidate,update,eventTime\nx1,y1,z1\nx2,y2,z2\n");
    assert!(plain.report.notes.join("\n").contains("name it: --time eventTime"), "{:?}", plain.report.notes);
}

#[test]
fn a_time_in_brackets_is_one_field_between_blanks() {
    let line =
        |second: &str, end: &str| format!("127.0.0.1 - - [01/Mar/2024:12:30:{second} +0100] \"GET /a b\" 200 [x]{end}");
    let options = Options { delimiter: Some(b' '), ..Options::default() };
    for end in ["\n", "\r\n"] {
        let log = with(format!("{}{}", line("05", end), line("06", end)), &options);
        assert_eq!((log.columns().len(), log.columns()[3].as_str()), (7, "*column4 timestamp_us"));
        assert_eq!(log.texts("column4"), ["2024-03-01T11:30:05Z", "2024-03-01T11:30:06Z"]);
        assert_eq!((log.texts("column5")[0].as_str(), log.texts("column7")[1].as_str()), ("GET /a b", "[x]"));
    }
    let long = with(format!("a [{}] b\n", "x ".repeat(300)), &Options { header: Some(false), ..options.clone() });
    assert_eq!(long.columns().len(), 303, "the search for the end of a bracket is bounded");
    // A bracket that nothing closes in its line, or that ends within a word.
    let open = with("a [b c\nd [e f]g\nh i j\n", &Options { header: Some(false), ..options });
    assert_eq!(
        (open.texts("column2"), open.texts("column3")[1].as_str()),
        (vec!["[b".into(), "[e".into(), "i".into()], "f]g")
    );
}

#[test]
fn formats_may_differ_in_one_column() {
    let imported =
        csv("time,v\n2024-01-01 00:00:00,1\n2024/01/02 05:00,2\n2024-01-03T00:00:00.5+01:00,3\n31/01/2024 07:00,4\n");
    assert_eq!(
        imported.texts("time"),
        ["2024-01-01T00:00:00Z", "2024-01-02T05:00:00Z", "2024-01-02T23:00:00.500Z", "2024-01-31T07:00:00Z"]
    );
}

#[test]
fn seven_digits_of_a_second_make_nanoseconds() {
    let imported = csv("time,v\n2024-01-01T00:00:00.1234567Z,1\n");
    assert_eq!(imported.columns()[0], "*time timestamp_ns");
    assert_eq!(imported.texts("time"), ["2024-01-01T00:00:00.123456700Z"]);
    assert_eq!(csv("time,v\n2024-01-01T00:00:00.1234560Z,1\n").columns()[0], "*time timestamp_us");
}

#[test]
fn epochs_tell_their_unit_by_their_size() {
    for (value, unit) in [
        ("1700000000", "timestamp_s"),
        ("1700000000000", "timestamp_ms"),
        ("1700000000000000", "timestamp_us"),
        ("1700000000000000000", "timestamp_ns"),
        ("1700000000.25", "timestamp_ms"),
        ("1700000000.1234567", "timestamp_ns"),
        ("1700000000000.5", "timestamp_us"),
    ] {
        assert_eq!(csv(format!("epoch_s,v\n{value},1\n")).columns()[0], format!("*epoch_s {unit}"), "{value}");
    }
}

#[test]
fn numbers_may_be_dates_and_times_in_digits() {
    for (first, second, wanted) in [
        ("20240101", "20240331", "2024-03-31T00:00:00Z"),
        ("2024010100", "2024033102", "2024-03-31T02:00:00Z"),
        ("202401010000", "202403310230", "2024-03-31T02:30:00Z"),
        ("20240101000000", "20240331023059", "2024-03-31T02:30:59Z"),
    ] {
        let content = format!("station,date,v\n1,{first},1\n1,{second},2\n");
        let imported = csv(content.clone());
        assert_eq!((imported.columns()[1].as_str(), imported.texts("date")[1].as_str()), ("*date timestamp_s", wanted));
        assert!(imported.report.notes.join("\n").contains("its numbers are read as yyyymmdd"), "{first}");
        let east = with(content, &Options { zone: Some(Zone::parse("+01:00").unwrap()), ..Options::default() });
        assert_eq!(east.texts("date")[0], "2023-12-31T23:00:00Z");
    }
    // A day that is none among them, and numbers that no date shows.
    let error = refused("time,v\n20240101,1\n20240230,2\n20240301,3\n");
    assert!(error.message().contains("line 3, column time: \"20240230\" is not a time"), "{error}");
    assert_eq!(csv("date,v\n20240001,1\n20240101,2\n").columns(), ["date int64", "v int64"]);
    let definition = TableDefinition::new("t")
        .with_column("at", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("d", ColumnType::Date, None)
        .with_time("at", TimeUnit::Second)
        .unwrap();
    let into = |content: &str| run(vec![text("a.csv", content)], &Options::default(), Some(&definition));
    let imported = into("at,d\n2024013118,20240131\n2024013119,20240201\n").unwrap();
    assert_eq!(
        (imported.texts("at")[1].as_str(), imported.texts("d")[1].as_str()),
        ("2024-01-31T19:00:00Z", "2024-02-01")
    );
    let error = into("at,d\n2024013118,2024013118\n").map(|imported| imported.columns()).unwrap_err();
    assert!(error.message().contains("has a time of day; the column holds dates"), "{error}");
    let seconds = Options { time_unit: Some(TimeUnit::Second), ..Options::default() };
    assert_eq!(with("time,v\n2024010100,1\n", &seconds).texts("time"), ["2034-02-20T01:01:40Z"]);
}

#[test]
fn numbers_that_are_no_times_need_a_unit() {
    let error = refused("time,v\n0,1\n60,2\n");
    assert!(
        error.message().contains("column time: its numbers, 0 to 60, are not times between 1980 and 2100"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("--time-unit"));
    let days = refused("time,v\n45352.5,1\n45353,2\n");
    assert!(days.hint().unwrap().contains("TIMESTAMP '1899-12-30' + x * INTERVAL '1 day'"), "{days:?}");
    let options = Options { time_unit: Some(TimeUnit::Millisecond), ..Options::default() };
    assert_eq!(
        with("time,v\n0,1\n60,2\n", &options).texts("time"),
        ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.060Z"]
    );
}

#[test]
fn year_month_day_and_hour_become_one_time() {
    let content = "No,year,month,day,hour,v\n1,2013,3,1,0,NA\n2,2013,03,01,23,4\n";
    let imported = with(content, &time("year,month,day,hour"));
    assert_eq!(imported.columns(), ["*time timestamp_us", "No int64", "v int64"]);
    assert_eq!(imported.texts("time"), ["2013-03-01T00:00:00Z", "2013-03-01T23:00:00Z"]);
    let by_itself = csv(content.replace("03,01", "3,1"));
    assert_eq!(by_itself.texts("time"), imported.texts("time"));
    assert!(by_itself.report.notes[0].contains("year,month,day,hour"));
}

#[test]
fn the_next_file_with_the_parts_of_the_time_needs_no_flag_either() {
    let definition = csv("year,month,day,v\n2024,1,1,5\n").report.definition;
    let next = vec![text("b.csv", "year,month,day,v\n2024,3,1,7\n")];
    let imported = run(next, &Options::default(), Some(&definition)).unwrap();
    assert_eq!(
        (imported.texts("time"), imported.texts("v")),
        (vec!["2024-03-01T00:00:00Z".to_owned()], vec!["7".to_owned()])
    );
}

#[test]
fn months_and_years_become_the_time_if_they_are_named() {
    let months = with("year,month,v\n2024,1,5\n2024,12,6\n", &time("year,month"));
    assert_eq!(months.columns(), ["*time timestamp_us", "v int64"]);
    assert_eq!(months.texts("time"), ["2024-01-01T00:00:00Z", "2024-12-01T00:00:00Z"]);
    let years = with("Year,v\n1959,5\n2024,6\n", &time("Year"));
    assert_eq!(years.texts("time"), ["1959-01-01T00:00:00Z", "2024-01-01T00:00:00Z"]);
    let next = run(vec![text("b.csv", "year,v\n2025,7\n")], &time("year"), Some(&years.report.definition)).unwrap();
    assert_eq!(next.texts("time"), ["2025-01-01T00:00:00Z"]);
    assert_eq!(csv("year,v\n1959,5\n").columns(), ["year int64", "v int64"], "without a flag");
    let error = refused_with("year,quarter,v\n2024,1,5\n2024,2,6\n", &time("year,quarter"));
    assert!(error.message().contains("--time year,quarter names no time"), "{error}");
    let error = refused_with("year,month,v\n2024,13,5\n", &time("year,month"));
    assert!(error.message().contains("there is no time of year,month 2024,13"), "{error}");
}

#[test]
fn a_date_and_a_time_of_day_become_one_time() {
    let imported = with("date,time,v\n2024-01-31,14:19:00,1\n", &time("date,time"));
    assert_eq!(imported.columns(), ["*time timestamp_us", "v int64"]);
    assert_eq!(imported.texts("time"), ["2024-01-31T14:19:00Z"]);
}

#[test]
fn the_time_is_the_column_whose_name_says_so_else_the_only_one() {
    assert_eq!(csv("other,ts\n2024-01-01 00:00:00,2024-01-01 00:00:00\n").columns()[1], "*ts timestamp_us");
    assert_eq!(csv("a,when\n1,2024-01-01 00:00:00\n").columns()[1], "*when timestamp_us");
    let local = "datetimeUtc,datetimeLocal\n2024-01-01T00:00:00Z,2023-12-31T20:00:00-04:00\n";
    assert_eq!(csv(local).columns(), ["*datetimeUtc timestamp_us", "datetimeLocal timestamp_us"]);
    let error = refused("from,to\n2024-01-01 00:00:00,2024-01-01 00:00:00\n");
    assert_eq!(error.message(), "several columns may be the time: from, to");
    assert_eq!(error.hint(), Some("choose one: --time from; or --time none"));
    let spaced = refused("Start date,End date\n2024-01-01,2024-01-02\n");
    assert_eq!(spaced.hint(), Some("choose one: --time 'Start date'; or --time none"));
}

#[test]
fn without_a_time_the_table_is_plain() {
    let imported = csv("a,b\n1,x\n");
    assert_eq!(imported.report.definition.time, None);
    assert!(imported.report.notes[0].starts_with("a plain table"));
    assert_eq!(with("time,b\n2024-01-01 00:00:00,x\n", &time("none")).report.definition.time, None);
}

#[test]
fn units_below_the_header_are_left_out() {
    let rows = "2024-01-01 00:00:00,1.5,2\n2024-01-01 00:00:01,2.5,3\n";
    for units in [",C,%", "UTC,C,%", "(UTC),(C),(%)", "utc,,m"] {
        let imported = csv(format!("time,t,h\n{units}\n{rows}"));
        assert_eq!(imported.columns(), ["*time timestamp_us", "t float64", "h int64"], "{units}");
        assert_eq!(imported.texts("h"), ["2", "3"], "{units}");
        let note = format!("the line below the names has units or labels and is left out: {units:?}");
        assert!(imported.report.notes.iter().any(|other| other.ends_with(&note)), "{:?}", imported.report.notes);
    }
    // What may be a row is none, and the error says how a line of units is left out.
    for content in [
        "time,name,t\nUTC,text,C\n2024-01-01 00:00:00,a,1.5\n2024-01-01 00:00:01,b,2.5\n",
        "time,t,h\nunknown,C,%\n2024-01-01 00:00:00,1.5,2\n2024-01-01 00:00:01,2.5,3\n",
    ] {
        let hint = refused(content).hint().unwrap_or_default().to_owned();
        assert!(hint.contains("--skip 2 --columns 'time,"), "{content}: {hint}");
    }
    for content in ["time,t,h\n,1,2\n2024-01-01 00:00:00,1.5,2\n", "time,t\n2024-01-01 00:00:00,1.5\n,C\n"] {
        assert!(!refused(content).hint().unwrap().contains("--columns"), "{content}");
    }
    for content in
        ["name,seen,n\na,,many\nb,2024-01-01 00:00:00,5\nc,2024-01-02 00:00:00,6\n", "x,t,h\nm,C,%\n1,1.5,2\n2,2.5,3\n"]
    {
        assert_eq!(csv(content).report.row_count, 3, "{content}");
    }
}

#[test]
fn a_null_time_is_an_error_or_is_skipped() {
    let content = "time,v\n2024-01-01 00:00:00,1\nNA,2\n2024-01-01 00:00:02,3\n";
    let error = refused(content);
    assert_eq!(error.message(), "a.csv, line 3, column time: \"NA\" means NULL, and a time cannot be NULL");
    let imported = with(content, &Options { skip_bad: true, ..Options::default() });
    assert_eq!((imported.report.row_count, imported.report.skipped_count), (2, 1));
    assert_eq!(imported.report.skipped[0].line, 3);
    assert_eq!(imported.texts("v"), ["1", "3"]);
}

#[test]
fn an_invalid_time_names_its_place() {
    let content = "time,v\n2024-01-01 00:00:00,1\n2024-01-01 00:00:01,\"a\nb\"\nnoon,3\n";
    assert_eq!(refused(content).message(), "a.csv, line 5, column time: \"noon\" is not a time");
    let error = refused_with("when,v\nx,1\n", &time("wen"));
    assert_eq!((error.message(), error.hint()), ("--time: no column named wen", Some("did you mean when?")));
    let error = refused_with("when,v\nx,1\n", &time("when"));
    assert!(error.message().starts_with("column when contains no times, as \"x\" in line 2"), "{error}");
}

#[test]
fn a_part_of_a_time_that_is_wrong_names_its_place() {
    let error = refused_with("year,month,day\n2024,2,29\n2023,2,29\n", &time("year,month,day"));
    assert!(
        error.message().contains("a.csv, line 3, column time: \"2023\" there is no time of year,month,day 2023,2,29"),
        "{error}"
    );
}

#[test]
fn a_file_without_the_time_of_the_others_is_an_error_or_is_skipped() {
    let inputs = || vec![text("a.csv", "time,v\n2024-01-01 00:00:00,1\n"), text("b.csv", "v,w\n2,3\n4,5\n")];
    let error = run(inputs(), &Options::default(), None).map(|imported| imported.columns()).unwrap_err();
    assert_eq!(error.message(), "b.csv, line 2, column time: is missing");
    let imported = run(inputs(), &Options { skip_bad: true, ..Options::default() }, None).unwrap();
    assert_eq!((imported.report.row_count, imported.report.skipped_count), (1, 2));
}

#[test]
fn one_bad_time_among_two_is_a_bad_record_and_no_plain_table() {
    let error = refused("time,v\n2024-01-01 00:00:00,1\n2024-13-01 00:00:00,2\n");
    assert!(error.message().contains("line 3, column time"), "{error}");
}

#[test]
fn a_time_may_name_its_zone() {
    let content = "ts,v\n2024-07-01 12:00:00 Europe/Berlin,1\n2024-10-27 02:30:00 Europe/Berlin,2\n";
    let tokyo = Options { zone: Some(Zone::parse("Asia/Tokyo").unwrap()), ..Options::default() };
    for options in [Options::default(), tokyo] {
        let imported = with(content, &options);
        assert_eq!(imported.columns()[0], "*ts timestamp_us");
        assert_eq!(imported.texts("ts"), ["2024-07-01T10:00:00Z", "2024-10-27T00:30:00Z"]);
        let notes = imported.report.notes.join("\n");
        assert!(notes.contains("1 value that clocks showed twice"), "{notes}");
    }
    let error = refused("ts,v\n2024-07-01 12:00:00 Europe/Berlin,1\n2024-03-31 02:30:00 Europe/Berlin,2\n");
    assert!(error.message().contains("line 3, column ts") && error.message().contains("clocks were set forward"));
    let definition = TableDefinition::new("t").with_column("d", ColumnType::Date, None);
    let definition = definition.with_column("v", ColumnType::Int64, None);
    let inputs = vec![text("a.csv", "d,v\n2024-07-01 00:00 Europe/Berlin,1\n")];
    let error = run(inputs, &Options::default(), Some(&definition)).map(|imported| imported.columns()).unwrap_err();
    assert!(error.message().contains("has a time of day; the column holds dates"), "{error}");
}

#[test]
fn names_of_zones_are_reported_and_not_guessed() {
    for zone in ["CET", "EST", "GMT+1"] {
        let content = format!("ts,v\n2024-01-01 12:00:00 {zone},1\n2024-01-01 13:00:00 {zone},2\n");
        let imported = csv(content.clone());
        assert_eq!(imported.columns()[0].split('~').next(), Some("ts text"), "{zone}");
        let notes = imported.report.notes.join("\n");
        assert!(notes.contains(&format!("its times name the zone {zone}, which is not read: line 2")), "{notes}");
        let error = refused_with(content, &time("ts"));
        assert!(error.hint().is_some_and(|hint| hint.contains("an offset such as +01:00")), "{zone}: {error:?}");
    }
    let mixed = refused("time,v\n2024-01-01 12:00:00,1\n2024-01-01 13:00:00,2\n2024-01-01 14:00:00 CET,3\n");
    assert!(mixed.message().starts_with("a.csv, line 4, column time"), "{mixed}");
}
