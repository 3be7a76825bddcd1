//! Files as devices and services write them.

use crate::support::{Imported, csv, refused, refused_with, run, text, time, with};
use atsdb_import::Options;

fn notes(imported: &Imported) -> String {
    imported.report.notes.join("\n")
}

#[test]
fn lines_of_labels_below_the_names_are_left_out() {
    let rows = "2024/03/01 12:00:00,1.5,1000\n2024/03/01 12:05:00,2,1001\n";
    for (head, name) in [
        ("Label,CPU,In\nFull label,CPU i-0abc,In i-0abc\n", "Label"),
        ("Full label,CPU i-0abc,In i-0abc\nLabel,CPU,In\n", "Full label"),
    ] {
        let imported = csv(format!("{head}{rows}"));
        assert_eq!(imported.columns()[0], format!("*{name} timestamp_us"), "{head}");
        assert!(imported.columns()[1].ends_with(" float64") && imported.columns()[2].ends_with(" int64"), "{head}");
        assert_eq!(imported.texts(name), ["2024-03-01T12:00:00Z", "2024-03-01T12:05:00Z"], "{head}");
        assert!(notes(&imported).contains("units or labels and is left out: \""), "{}", notes(&imported));
    }
    // Another text above a time may be a row that lacks one.
    assert!(refused(format!("time,a,b\nunknown,CPU,In\n{rows}")).message().contains("\"unknown\" is not a time"));
}

#[test]
fn several_lines_of_units_below_the_names_are_left_out() {
    let title = "\"TOA5\",\"CR1000\",\"CR1000\",\"12345\",\"CR1000.Std.31\"\n";
    let narrow = "\"TIMESTAMP\",\"RECORD\",\"AirTC\"\n\"TS\",\"RN\",\"Deg C\"\n\"\",\"\",\"Avg\"\n\
                  \"2024-03-01 12:00:00\",0,20.5\n\"2024-03-01 12:05:00\",1,\"NAN\"\n";
    // The title may have as many fields as the records.
    let wide = "\"TIMESTAMP\",\"RECORD\",\"AirTC\",\"RH\",\"Rain\"\n\"TS\",\"RN\",\"Deg C\",\"%\",\"mm\"\n\
                \"\",\"\",\"Avg\",\"Smp\",\"Tot\"\n\
                \"2024-03-01 12:00:00\",0,20.5,50.5,0\n\"2024-03-01 12:05:00\",1,\"NAN\",51,0.5\n";
    for body in [narrow, wide] {
        let imported = csv(format!("{title}{body}"));
        assert_eq!(imported.columns()[..3], ["*TIMESTAMP timestamp_us", "RECORD int64", "AirTC float64"], "{body}");
        assert_eq!(imported.texts("AirTC"), ["20.5", "NaN"], "{body}");
        let notes = notes(&imported);
        assert!(notes.contains("left out 1 line before the header"), "{notes}");
        assert!(notes.contains("2 lines below the names have units or labels and are left out"), "{notes}");
    }
}

#[test]
fn lines_that_begin_as_the_header_does_are_left_out() {
    let aligned = csv("#YY  MM DD hh mm WDIR WSPD\n#yr  mo dy hr mn degT m/s\n\
                       2024 03 01 12 00 230  7.5\n2024 03 01 12 10 230  8.5\n");
    assert_eq!(aligned.columns()[0], "YY int64");
    assert_eq!(aligned.texts("WSPD"), ["7.5", "8.5"]);
    assert!(notes(&aligned).contains("units or labels and is left out: \"#yr  mo"), "{}", notes(&aligned));
    let named = csv("# STN,YYYYMMDD,T\n#\n 260,20240301,65\n 260,20240302,64\n");
    assert_eq!(named.columns(), ["STN int64", "YYYYMMDD int64", "T int64"]);
    assert_eq!(named.report.row_count, 2);
    assert!(notes(&named).contains("left out 1 comment line"), "{}", notes(&named));
}

#[test]
fn widths_and_types_below_the_names_are_left_out() {
    let imported = csv("# of the survey\nagency\tsite\tdatetime\tflow\n5s\t15s\t20d\t14n\n\
                        USGS\t01646500\t2024-03-01 00:00\t12300\nUSGS\t01646500\t2024-03-01 00:15\t12400\n");
    assert_eq!(imported.columns(), ["agency text", "site text", "*datetime timestamp_us", "flow int64"]);
    assert_eq!(imported.texts("flow"), ["12300", "12400"]);
    // Values may look like that, too.
    assert_eq!(csv("wait\tage\n5s\t10d\n6s\t11d\n").report.row_count, 2);
    assert_eq!(csv("wait\tage\n5s\t10d\n").report.row_count, 1);
}

#[test]
fn digits_with_zeros_in_front_are_values_and_name_no_column() {
    let imported = csv("01,5\n10,6\n");
    assert_eq!((imported.columns()[0].as_str(), imported.report.row_count), ("column1 text", 2));
    assert_eq!(csv("007\n012\n").report.row_count, 2);
    assert_eq!(csv("2024,03,01,00,1.5\n2024,03,01,10,2.5\n").report.row_count, 2);
    // Beside a name they are names, too.
    assert_eq!(csv("station,01,02,10\nBerlin,1.5,2.5,3.5\n").columns()[1], "01 float64");
}

#[test]
fn the_names_of_columns_may_continue_in_a_second_line() {
    let imported = csv("\t\tTemp\tHi\tLow\tOut\tWind\tWind\t\n Date\tTime\tOut\tTemp\tTemp\tHum\tSpeed\tDir\tBar\n\
                        13/03/24\t12:00\t10.5\t11.5\t9.5\t80\t1.5\tNNE\t1013.5\n\
                        13/03/24\t12:05\t10.6\t11.6\t9.6\t81\t2.5\tSW\t1013.6\n");
    assert_eq!(
        imported.columns(),
        [
            "*time timestamp_us",
            "Temp Out float64",
            "Hi Temp float64",
            "Low Temp float64",
            "Out Hum int64",
            "Wind Speed float64",
            "Wind Dir text",
            "Bar float64"
        ]
    );
    assert_eq!(imported.texts("time")[1], "2024-03-13T12:05:00Z");
    // Here the second line is a row, which has no values yet.
    let row = csv("from,to,to,v,w\nHAM,BER,MUC,none yet,none yet\nHAM,BER,CGN,1,2\n");
    assert_eq!((row.report.row_count, row.columns()[0].as_str()), (2, "from text"));
}

#[test]
fn titles_may_follow_the_line_that_names_the_separator() {
    let text = "sep=;\nVersion CSV1|Tool SunnyExplorer\n\n;SN: 2100123456;SN: 2100123456\n;2100123456;2100123456\n\
                ;Counter;Analog\ndd.MM.yyyy HH:mm:ss;kWh;kW\n\
                01.03.2024 12:00:00;12345,1;0,5\n01.03.2024 12:05:00;12345,2;0,75\n";
    for content in [text.to_owned(), text.replace('\n', "\r\n")] {
        let imported = csv(content);
        assert_eq!(imported.columns(), ["*dd.MM.yyyy HH:mm:ss timestamp_us", "kWh float64", "kW float64"]);
        assert_eq!(imported.texts("kW"), ["0.5", "0.75"]);
        assert!(notes(&imported).contains("lines before the header"), "{}", notes(&imported));
    }
    // The line with the separator counts among those that are skipped.
    let skipped = with("sep=;\na;b\n1,5;2\n", &Options { skip: Some(1), ..Options::default() });
    assert_eq!(skipped.columns(), ["a float64", "b int64"]);
}

#[test]
fn decimal_commas_between_semicolons_separate_nothing() {
    let bare = csv("2024-03-01 00:00:00;1,5;3,5\n2024-03-01 00:05:00;2,5;3,5\n");
    assert_eq!(bare.columns(), ["*column1 timestamp_us", "column2 float64", "column3 float64"]);
    assert_eq!(csv("1,5;2,5\n3,5;2,25\n").texts("column2"), ["2.5", "2.25"]);
    let quoted = csv("#Energy;House\n\"2024-03-01 00:00:00\";1,5\n");
    assert_eq!(quoted.columns(), ["*Energy timestamp_us", "House float64"]);
    let rows: String =
        (0..300).map(|row| format!("01.03.2024 {:02}:{:02};{row},5;{row},25;7,5\n", row / 60, row % 60)).collect();
    let titled = csv(format!("Plant 1, Hamburg\nZeit;a;b;c\n{rows}"));
    assert_eq!(titled.columns(), ["*Zeit timestamp_us", "a float64", "b float64", "c float64"]);
    assert_eq!(titled.report.row_count, 300);
    // Commas that separate have other signs beside them, or there are several of them between semicolons.
    assert_eq!(csv("k,v\na,1;2\nb,3;4\n").columns(), ["k text", "v text"]);
    assert_eq!(csv("1,2,3;4\n5,6,7;8\n").columns().len(), 3);
    assert_eq!(csv("v,list\n5,1;2;3\n6,4;5;6\n").columns(), ["v int64", "list text"]);
}

#[test]
fn months_and_hours_may_begin_with_zeros() {
    let imported = csv("year,month,day,hour,v\n2024,03,01,00,1.5\n2024,03,01,11,2.5\n");
    assert_eq!(imported.columns(), ["*time timestamp_us", "v float64"]);
    assert_eq!(imported.texts("time"), ["2024-03-01T00:00:00Z", "2024-03-01T11:00:00Z"]);
    assert_eq!(csv("year,month,day,v\n2024,03,1a,1\n2024,04,02,2\n").columns()[1], "month text");
    assert_eq!(csv("id,month,v\n1,03,2\n").columns(), ["id int64", "month text", "v int64"]);
}

#[test]
fn a_day_in_digits_and_a_time_of_day_are_the_time() {
    let bare = csv("20240301,12:00,3.4\n20240301,12:05,3.5\n");
    assert_eq!(bare.columns(), ["*time timestamp_us", "column3 float64"]);
    assert_eq!(bare.texts("time"), ["2024-03-01T12:00:00Z", "2024-03-01T12:05:00Z"]);
    assert!(notes(&bare).contains("the time is made of column1 and column2"), "{}", notes(&bare));
    // The file of the next day goes into the same table.
    let next = vec![text("b.csv", "20240302,12:00,4.5\n")];
    let next = run(next, &Options::default(), Some(&bare.report.definition)).unwrap();
    assert_eq!((next.texts("time"), next.texts("column3")), (vec!["2024-03-02T12:00:00Z".into()], vec!["4.5".into()]));
    let named = csv("Date;Time;v\n20240301;12:00;1\n20240301;12:05;2\n");
    assert_eq!(named.columns(), ["*time timestamp_us", "v int64"]);
    let asked = with("day,clock,v\n20240301,12:00,1\n", &time("day,clock"));
    assert_eq!(asked.texts("time"), ["2024-03-01T12:00:00Z"]);
    assert_eq!(with("20240301,12:00,3.4\n", &time("none")).columns()[0], "column1 int64");
    let error = refused("Date;Time;v\n20240201;12:00;1\n20240230;12:00;1\n20240301;12:05;2\n");
    assert!(error.message().contains("line 3"), "{error}");
}

#[test]
fn the_first_column_without_a_name_may_count_milliseconds() {
    let prices = csv("1709294400000,61000.10,5\n1709294460000,61001.5,6\n");
    assert_eq!(prices.columns(), ["*column1 timestamp_ms", "column2 float64", "column3 int64"]);
    assert!(notes(&prices).contains("the numbers of column1 are read as the time; --time none"), "{}", notes(&prices));
    // Without decimals these may be any numbers, and so may seconds.
    for text in ["1709294400000,5\n1709294460000,6\n", "1709294400,5.5\n1709294460,6.5\n"] {
        assert_eq!(csv(text).columns()[0], "column1 int64", "{text}");
    }
}

#[test]
fn numbers_are_the_time_if_the_name_of_one_column_has_such_a_word() {
    let hourly = csv("STATIONS_ID;MESS_DATUM;TT_TU;eor\n 44;2024030100; 5.5;eor\n 44;2024030101; 5.6;eor\n");
    assert_eq!(hourly.columns(), ["STATIONS_ID int64", "*MESS_DATUM timestamp_s", "TT_TU float64", "eor text"]);
    assert_eq!(hourly.texts("MESS_DATUM"), ["2024-03-01T00:00:00Z", "2024-03-01T01:00:00Z"]);
    let several = csv("start_date,end_date,v\n20240301,20240302,1\n");
    assert_eq!(several.columns(), ["start_date int64", "end_date int64", "v int64"]);
    assert_eq!(csv("elapsed_time,v\n1500,1\n").columns()[0], "elapsed_time int64");
}

#[test]
fn ranges_of_times_are_reported() {
    let text = "MTU (CET/CEST),Price\n01.03.2024 00:00 - 01.03.2024 01:00,50.5\n\
                01.03.2024 01:00 - 01.03.2024 02:00,51.5\n";
    let start = "to_timestamp(split_part(COLUMN, ' - ', 1), 'DD.MM.YYYY HH24:MI') is the start";
    assert!(notes(&csv(text)).contains(start), "{}", notes(&csv(text)));
    let error = refused_with(text, &time("MTU (CET/CEST)"));
    assert!(error.hint().is_some_and(|hint| hint.contains("--time none") && hint.contains(start)), "{error:?}");
}

#[test]
fn texts_for_null_that_occur_nowhere_are_reported() {
    let options = Options { null: vec!["-999".to_owned()], ..Options::default() };
    let imported = with("a,b\n-999.0,1\n5,2\n", &options);
    assert!(notes(&imported).contains("no field is \"-999\", as --null says"), "{}", notes(&imported));
    assert!(!notes(&with("a,b\n-999,1\n5,2\n", &options)).contains("as --null says"));
    let many = csv(format!("v,w\n{}1,1\n", "NA,1\n".repeat(1_200)));
    assert!(notes(&many).contains("taken as NULL: \"NA\" 1,200 times (v)"), "{}", notes(&many));
}

#[test]
fn a_sentence_as_the_name_of_the_only_column_is_reported() {
    let ping = csv("PING example.com (93.184.216.34) 56(84) bytes of data.\n\
                    64 bytes from 93.184.216.34: icmp_seq=1 ttl=56 time=11.1 ms\n\
                    64 bytes from 93.184.216.34: icmp_seq=2 ttl=56 time=11.2 ms\n");
    assert!(notes(&ping).contains("--no-header reads that line as a row"), "{}", notes(&ping));
    assert!(!notes(&csv("air temperature\n1.5\n2.5\n")).contains("--no-header"));
    let seconds = refused("time,v\n0.25,1\n0.5,2\n");
    assert!(seconds.message().contains("its numbers, 0 to 1, are not times"), "{seconds}");
}
