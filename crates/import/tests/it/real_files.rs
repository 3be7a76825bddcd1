//! Real files, with the counts of rows and NULLs that an independent reader found.

use crate::support::{Imported, run, time};
use atsdb_import::{Input, Options};
use std::path::PathBuf;

/// Returns the files of a folder whose names contain a text, sorted; `None`, with a message, if the data is missing.
fn inputs(folder: &str, holds: &str) -> Option<Vec<Input>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(folder);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no folder {}", folder.display());
        return None;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(holds) && !path.to_string_lossy().contains("LICENSE"));
    paths.sort();
    assert!(!paths.is_empty());
    Some(paths.into_iter().map(Input::Path).collect())
}

fn import(folder: &str, holds: &str, options: &Options) -> Option<Imported> {
    Some(run(inputs(folder, holds)?, options, None).unwrap_or_else(|error| panic!("{folder}: {error}")))
}

fn named(mut options: Options) -> Options {
    options.file_column = Some("file".to_owned());
    options
}

#[test]
fn beijing() {
    let Some(imported) = import("beijing_multisite", "", &time("year,month,day,hour")) else { return };
    assert_eq!(imported.report.row_count, 420_768);
    for (column, count) in [("PM2.5", 8_739), ("CO", 20_701), ("O3", 13_277), ("wd", 1_822)] {
        assert_eq!(imported.null_count(column), count, "{column}");
    }
    let columns = imported.columns();
    assert_eq!(columns[..3], ["*time timestamp_us", "No int64", "PM2.5 float64"]);
    assert!(
        columns.contains(&"SO2 float64".to_owned()) && columns.contains(&"station text~u8".to_owned()),
        "{columns:?}"
    );
}

#[test]
fn ripe_atlas() {
    let Some(imported) = import("ripe_atlas_rtt", "", &named(Options::default())) else { return };
    assert_eq!(imported.report.row_count, 408_087);
    assert_eq!(imported.columns(), ["*epoch timestamp_us", "rtt float64", "cp int64", "file text~u16"]);
    let odd = imported
        .texts("rtt")
        .iter()
        .map(|rtt| rtt.parse::<f64>().unwrap())
        .filter(|rtt| *rtt < 0.0 || *rtt >= 1_000.0)
        .count();
    assert_eq!(odd, 693);
    let times = imported.texts("epoch");
    assert!(times.iter().all(|time| ("2016-09-30".."2017-01-01").contains(&time.as_str())));
}

#[test]
fn pjm_hourly() {
    let Some(imported) = import("pjm_hourly", "", &Options::default()) else { return };
    assert_eq!((imported.report.row_count, imported.columns().len()), (1_090_167, 13));
    assert_eq!(imported.columns()[0], "*Datetime timestamp_us");
}

#[test]
fn occupancy() {
    for (name, row_count) in [("datatraining", 8_143), ("datatest.", 2_665), ("datatest2", 9_752)] {
        let Some(imported) = import("occupancy", name, &Options::default()) else { return };
        assert_eq!(imported.report.row_count, row_count, "{name}");
        assert_eq!(imported.columns()[..2], ["row int64", "*date timestamp_us"]);
    }
}

#[test]
fn nab() {
    let Some(imported) = import("nab", "", &named(Options::default())) else { return };
    assert_eq!(imported.columns(), ["*timestamp timestamp_us", "value float64", "file text~u16"]);
    assert_eq!(imported.report.row_count, 321_206);
}

#[test]
fn server_metrics() {
    let Some(imported) = import("server_metrics", "", &Options::default()) else { return };
    assert_eq!((imported.report.row_count, imported.columns()[0].as_str()), (55_550, "*epoch_s timestamp_s"));
}

#[test]
fn seattle() {
    let Some(imported) = import("seattle", "", &Options::default()) else { return };
    assert_eq!((imported.report.row_count, imported.columns()[0].as_str()), (1_461, "*date date"));
}

#[test]
fn openaq() {
    let Some(imported) = import("openaq_toronto", "", &Options::default()) else { return };
    assert_eq!(imported.report.row_count, 53_413);
    let columns = imported.columns();
    assert!(columns.contains(&"*datetimeUtc timestamp_us".to_owned()), "{columns:?}");
    for empty in ["country_iso", "isMobile", "isMonitor"] {
        assert_eq!(imported.null_count(empty), 53_413);
    }
    assert!(imported.texts("unit").contains(&"µg/m³".to_owned()));
}

#[test]
fn nycflights() {
    let Some(weather) = import("nycflights13", "weather", &Options::default()) else { return };
    assert_eq!((weather.report.row_count, weather.null_count("wind_gust")), (26_115, 20_778));
    assert!(weather.columns().contains(&"*time_hour timestamp_us".to_owned()));
    for (name, row_count) in [("planes", 3_322), ("airports", 1_458)] {
        let Some(imported) = import("nycflights13", name, &Options::default()) else { return };
        assert_eq!((imported.report.row_count, imported.report.definition.time), (row_count, None), "{name}");
    }
    let Some(inputs) = inputs("nycflights13", "flights.csv.zip") else { return };
    let flights = run(inputs, &Options::default(), None).unwrap();
    assert_eq!((flights.report.row_count, flights.null_count("arr_delay")), (336_776, 9_430));
}
