//! Advice on the user's own files, of each format.

use crate::folder;
use crate::run::options;
use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use atsdb_lab::{AdviseInput, run};
use parquet::arrow::ArrowWriter;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

#[test]
fn advice_says_who_wins_on_a_file() {
    let folder = folder();
    let mut text = "time,station,temperature,humidity\n".to_owned();
    for minute in 0..3_000 {
        let station = ["north", "east", "south's"][minute % 3];
        let (hour, minute_of_hour) = (minute / 60 % 24, minute % 60);
        let day = minute / 1_440 + 1;
        let temperature = (minute * 7 % 300) as f64 / 10.0;
        let humidity = minute % 90;
        writeln!(text, "2024-05-0{day}T{hour:02}:{minute_of_hour:02}:00Z,{station},{temperature},{humidity}")
            .expect("a line");
    }
    let file = folder.path().join("weather.csv");
    std::fs::write(&file, text).expect("a file");
    let input = AdviseInput::look(&file, &atsdb_import::Options::default()).expect("a look");
    assert_eq!((input.rows, input.series_count), (3_000, 3));
    assert_eq!(
        (input.value.as_deref(), input.series.as_ref().map(|found| found.0.as_str())),
        (Some("temperature"), Some("station"))
    );

    let mut options = options(folder.path());
    options.contestants = ["sqlite", "atsdb"].map(str::to_owned).to_vec();
    options.input = Some(input.clone());
    let report = run(&options, &mut |_| ()).expect("a report");
    for result in report.workloads[0].measures.iter().flat_map(|measure| &measure.results) {
        assert_eq!((result.failed.as_ref(), result.skipped.as_ref()), (None, None), "{}", result.contestant);
    }
    let advice = report.advice(vec!["atsdb lab advise weather.csv".to_owned()]);
    let measures: Vec<&str> = advice.winners.iter().map(|winner| winner.measure.as_str()).collect();
    assert_eq!(measures, ["load", "bytes", "read", "count", "range", "series", "hourly", "last"]);
    assert!(advice.winners.iter().all(|winner| winner.next.as_ref().is_some_and(|(_, by)| *by >= 1.0)));
    let text = advice.to_text(&input);
    assert!(text.contains("to measure it again") && text.contains("what would change it"), "{text}");
}

/// Hourly rows of several years, enough to decide the width of a slice.
fn write_parquet(path: &Path) {
    let hours = 0..30_000_i64;
    let times =
        TimestampMillisecondArray::from_iter_values(hours.clone().map(|hour| 1_400_000_000_000 + hour * 3_600_000));
    let stations = StringArray::from_iter_values(hours.clone().map(|hour| ["north", "east"][hour as usize % 2]));
    // Fractions that only an exact reader reads back.
    let values =
        Float64Array::from_iter(hours.map(|hour| (hour % 7 != 0).then_some((hour % 800) as f64 * 0.055_6 - 17.3)));
    let columns: [(&str, ArrayRef); 3] =
        [("time", Arc::new(times)), ("station", Arc::new(stations)), ("temperature", Arc::new(values))];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).expect("rows");
    let mut writer = ArrowWriter::try_new(File::create(path).expect("a file"), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("an end");
}

fn write_json_lines(path: &Path) {
    let mut text = String::new();
    for hour in 0..30_000_i64 {
        let (time, station) = (1_400_000_000 + hour * 3_600, ["north", "east"][hour as usize % 2]);
        let value =
            if hour % 7 == 0 { "null".to_owned() } else { format!("{:?}", (hour % 800) as f64 * 0.055_6 - 17.3) };
        writeln!(text, "{{\"time\":{time},\"station\":\"{station}\",\"temperature\":{value}}}").expect("a line");
    }
    std::fs::write(path, text).expect("a file");
}

#[test]
fn a_file_of_any_kind_is_loaded_once_and_to_the_last_bit() {
    let folder = folder();
    for (name, write) in [("hours.parquet", write_parquet as fn(&Path)), ("hours.jsonl", write_json_lines)] {
        let file = folder.path().join(name);
        write(&file);
        let input = AdviseInput::look(&file, &atsdb_import::Options::default()).expect("a look");
        assert_eq!(
            (input.rows, input.series_count, input.value.as_deref()),
            (30_000, 2, Some("temperature")),
            "{name}"
        );
        let mut options = options(folder.path());
        options.contestants = ["sqlite", "duckdb", "csv", "json", "atsdb"].map(str::to_owned).to_vec();
        options.input = Some(input);
        options.repeat = 1;
        let report = run(&options, &mut |_| ()).expect("a report");
        let measures = &report.workloads[0].measures;
        for result in measures.iter().flat_map(|measure| &measure.results) {
            assert_eq!(result.failed, None, "{name}, {}", result.contestant);
        }
        // Loading fails if it gives more rows than the file has.
        let load = measures.iter().find(|measure| measure.name == "load").expect("a measure");
        assert!(load.results.iter().all(|result| result.spread.is_some()), "{name}: {:?}", load.results);
    }
}
