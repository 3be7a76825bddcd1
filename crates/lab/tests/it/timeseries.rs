//! QuestDB, InfluxDB and VictoriaMetrics: their answers, what they keep, what they refuse, and their servers.

use crate::run::options;
use crate::{folder, is_tested};
use arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray};
use atsdb::{ColumnType, Durability, MapWidth, TableDefinition, TimeUnit};
use atsdb_lab::contestant::{Contestant, Session, Workspace};
use atsdb_lab::server::ServerUrls;
use atsdb_lab::{Cell, Failure, RowDigest, Tier, Tuning, contestants, run};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const NAMES: [&str; 3] = ["questdb", "influxdb", "victoriametrics"];

/// The contestant, if it is installed.
fn contestant(name: &str) -> Option<&'static dyn Contestant> {
    if !is_tested(name) {
        return None;
    }
    let found = contestants::all().iter().find(|contestant| contestant.name() == name).expect("a contestant");
    match found.version(&ServerUrls::default()) {
        Ok(_) => Some(*found),
        Err(reason) => {
            let reason = reason.to_string();
            assert!(
                reason.contains("apt-get install") || reason.contains("mvn"),
                "{name} says how to have it: {reason}"
            );
            eprintln!("{name} is not tested here: {reason}");
            None
        }
    }
}

fn workspace(folder: &Path, name: &str, durability: Durability) -> Workspace {
    let directory = folder.join(format!("{name}-{}", durability.name()));
    std::fs::create_dir(&directory).expect("a folder");
    Workspace { directory, durability, tuning: Tuning::Tuned, database: String::new(), server: None }
}

/// The measures of `series` that a contestant has no figure for.
fn skipped(name: &str) -> &'static [&'static str] {
    match name {
        // It keeps rows as they came, and is a server that runs already.
        "questdb" => &["seal", "start"],
        // It has no indexes to make, no statements that insert or change, and is a server.
        "influxdb" => &["index", "insert_values", "insert_alone", "insert_many", "update", "start"],
        // The narrow table has no number; the last rows are rows. Opening is measured with the narrow table.
        _ => &[
            "append_rows",
            "bytes_narrow_fresh",
            "bytes_narrow",
            "read_narrow",
            "index",
            "last_rows",
            "insert_values",
            "insert_alone",
            "insert_many",
            "update",
            "minute_insert_narrow",
            "minute_read_narrow",
            "minute_bytes_narrow",
            "open",
            "start",
        ],
    }
}

#[test]
fn series_is_answered_as_by_the_others() {
    let present: Vec<&str> = NAMES.into_iter().filter(|name| contestant(name).is_some()).collect();
    let folder = folder();
    let mut options = options(folder.path());
    options.contestants = ["sqlite"].iter().chain(&present).map(|name| (*name).to_owned()).collect();
    options.workloads = vec!["series".to_owned()];
    (options.rows, options.repeat) = (Some(12_000), 1);
    let report = run(&options, &mut |_| ()).expect("a report");
    let series = &report.workloads[0];
    assert!(series.broken.is_empty(), "{:?}", series.broken);
    for name in present {
        let tier = if name == "victoriametrics" { Tier::Normal } else { Tier::Full };
        let found = report.contestants.iter().find(|found| found.name == name).expect("the contestant");
        assert_eq!(found.tier, Some(tier), "{name}");
        let result = |measure: &'static str| {
            let measure = series.measures.iter().find(|found| found.name == measure).expect(measure);
            measure.results.iter().find(|result| result.contestant == name).expect("a result")
        };
        for measure in &series.measures {
            let result = measure.results.iter().find(|result| result.contestant == name).expect("a result");
            assert_eq!(result.failed, None, "{} of {name}", measure.name);
            let lacks = skipped(name).contains(&measure.name.as_str());
            assert_eq!(result.spread.is_none(), lacks, "{} of {name}: {:?}", measure.name, result.skipped);
            assert_eq!(result.skipped.is_some(), lacks, "{} of {name}", measure.name);
        }
        for (measure, rows) in [("count", 1), ("mean", 1), ("by_sensor", 5_000), ("two_hours", 1)] {
            let answer = result(measure).runs[0].answer.as_ref().expect("an answer");
            assert_eq!(answer.rows, rows, "{measure} of {name}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left behind");
}

const HOLD: &str = "ATSDB_LAB_TEST_HOLD_WORKSPACE";

/// In a separate process, this test holds a session until it is killed. As an ordinary test it does nothing.
#[test]
fn hold() {
    let Some(text) = std::env::var_os(HOLD).map(|text| text.to_string_lossy().into_owned()) else { return };
    let (name, folder) = text.split_once('=').expect("NAME=FOLDER");
    let workspace = workspace(Path::new(folder), name, Durability::Off);
    let _session = contestant(name).expect("a contestant").open(&workspace).expect("a session");
    println!("\nopen");
    std::thread::sleep(Duration::from_secs(600));
}

/// Returns whether a process runs that was started with this folder.
fn runs_on(folder: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let command = |process: std::fs::DirEntry| std::fs::read(process.path().join("cmdline")).unwrap_or_default();
    let folder = folder.to_string_lossy().into_owned();
    processes.map(command).any(|command| String::from_utf8_lossy(&command).contains(&folder))
}

#[test]
fn a_killed_lab_leaves_no_server() {
    for contestant in NAMES.into_iter().filter_map(contestant) {
        let (folder, name) = (folder(), contestant.name());
        let mut lab = Command::new(std::env::current_exe().expect("this program"))
            .args(["timeseries::hold", "--exact", "--nocapture"])
            .env(HOLD, format!("{name}={}", folder.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a lab");
        let mut lines = BufReader::new(lab.stdout.take().expect("its output")).lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "open") && runs_on(folder.path()), "{name} runs");
        lab.kill().expect("SIGKILL");
        lab.wait().expect("its end");
        let begin = Instant::now();
        while runs_on(folder.path()) {
            assert!(begin.elapsed() < Duration::from_secs(300), "{name} ended");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A table of two series with every kind of value that all three keep.
fn table() -> TableDefinition {
    let mut table = TableDefinition::new("readings")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Millisecond), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("value", ColumnType::Float64, None)
        .with_column("count", ColumnType::Int32, None)
        .with_time("time", TimeUnit::Millisecond)
        .expect("a table");
    table.columns.iter_mut().for_each(|column| column.nullable = column.name == "value");
    table
}

fn batch(times: [i64; 3], sensors: [&str; 3]) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("time", Arc::new(TimestampMillisecondArray::from(times.to_vec()).with_timezone("UTC"))),
        ("sensor", Arc::new(StringArray::from(sensors.to_vec()))),
        ("value", Arc::new(Float64Array::from(vec![Some(0.1), None, Some(-1e-3)]))),
        ("count", Arc::new(Int32Array::from(vec![1, 2, -3]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("rows")
}

fn load(session: &mut dyn Session, table: &TableDefinition, batch: &RecordBatch) -> Result<(), Failure> {
    let mut loader = session.loader(table)?;
    loader.batch(batch)?;
    loader.finish()
}

#[test]
fn rows_outlive_their_server_and_sessions_share_one() {
    for contestant in NAMES.into_iter().filter_map(contestant) {
        let (folder, name) = (folder(), contestant.name());
        let workspace = workspace(folder.path(), name, Durability::Full);
        let (table, batch) =
            (table(), batch([1_700_000_000_001, 1_700_000_000_002, 1_700_000_060_000], ["a, =b", "c", "c"]));
        let mut expected = RowDigest::default();
        expected.add_batch(&batch).expect("a digest");
        let mut session = contestant.open(&workspace).expect("a session");
        session.create_table(&table).expect("the table");
        load(session.as_mut(), &table, &batch).expect("a load");
        let mut other = contestant.open(&workspace).expect("another session");
        assert_eq!(other.read_all(&table).expect("rows"), expected, "{name}");
        drop((session, other));

        assert!(contestant.bytes(&workspace).expect("its size") > 0, "{name}");
        assert!(!workspace.directory.join("server").exists(), "{name} has stopped, so that its files are complete");
        let mut session = contestant.open(&workspace).expect("a session");
        assert_eq!(session.read_all(&table).expect("rows"), expected, "{name}");
        let counted = session.query("SELECT sensor, count(*), max(count) FROM readings GROUP BY sensor").expect("rows");
        let row = |sensor: &str, rows, max| [Cell::Text(sensor.to_owned()), Cell::Integer(rows), Cell::Integer(max)];
        let mut rows = counted.rows;
        rows.sort_by_key(|row| format!("{row:?}"));
        assert_eq!(rows, [row("a, =b", 1, 1), row("c", 2, 2)], "{name}");
        let later = session.dialect().time(1_700_000_060);
        let counted = session.query(&format!("SELECT count(*) FROM readings WHERE time < {later}")).expect("rows");
        assert_eq!(counted.rows, [[Cell::Integer(2)]], "{name}");
        drop(session);
        contestant.close();
        assert!(!workspace.directory.join("server").exists(), "{name} has ended");
    }
}

#[test]
fn rows_that_would_be_lost_are_refused() {
    let twice = batch([1_700_000_000_001; 3], ["a", "b", "b"]);
    for contestant in NAMES.into_iter().filter_map(contestant) {
        let (folder, name) = (folder(), contestant.name());
        let workspace = workspace(folder.path(), name, Durability::Off);
        let mut session = contestant.open(&workspace).expect("a session");
        session.create_table(&table()).expect("the table");
        load(session.as_mut(), &table(), &twice).expect("a load");
        match (name, session.read_all(&table())) {
            // Equal rows stay.
            ("questdb", Ok(digest)) => assert_eq!(digest.rows, 3),
            ("influxdb" | "victoriametrics", Err(Failure::Cannot(_))) => {}
            (_, other) => panic!("{name}: {other:?}"),
        }
        if name != "questdb" {
            let timeless = TableDefinition::new("timeless").with_column("i", ColumnType::Int32, None);
            assert!(matches!(session.loader(&timeless).map(drop), Err(Failure::Cannot(_))), "{name}");
            for sql in
                ["SELECT median(value) FROM readings", "SELECT count(*) FROM readings a JOIN readings b ON a.x = b.x"]
            {
                assert!(matches!(session.query(sql), Err(Failure::Cannot(_))), "{name}: {sql}");
            }
            let insert = ["INSERT INTO readings VALUES (1)".to_owned()];
            assert!(matches!(session.execute(&insert), Err(Failure::Cannot(_))), "{name}");
        }
        drop(session);
        contestant.close();
    }
}

#[test]
fn questdbs_durability_is_that_of_its_settings() {
    let Some(questdb) = contestant("questdb") else { return };
    let folder = folder();
    for (durability, tier, mode) in [(Durability::Full, Tier::Full, "sync"), (Durability::Normal, Tier::Off, "nosync")]
    {
        let workspace = workspace(folder.path(), "questdb", durability);
        let mut session = questdb.open(&workspace).expect("a session");
        assert_eq!(session.tier(), tier);
        assert!(session.settings().contains(&format!("cairo.commit.mode = {mode}")), "{:?}", session.settings());
        let shown = "SELECT value FROM (SHOW PARAMETERS) WHERE property_path IN ('cairo.commit.mode', 'telemetry.enabled') \
                     ORDER BY property_path";
        let expected = [mode, "false"].map(|value| [Cell::Text(value.to_owned())]);
        assert_eq!(session.query(shown).expect("parameters").rows, expected);
        // A transaction of several statements is all or nothing.
        session.create_table(&table()).expect("the table");
        let insert = |time: &str| format!("INSERT INTO readings VALUES ({time}, 'a', 1.5, 2)");
        session.transaction(&[insert("1"), insert("2")]).expect("two rows");
        session.transaction(&[insert("3"), insert("'no time'")]).expect_err("no time");
        assert_eq!(session.query("SELECT count(*) FROM readings").expect("rows").rows, [[Cell::Integer(2)]]);
        drop(session);
    }
    questdb.close();
}
