//! ClickHouse in the form of chdb: its answers, its durability, and its single session.

use crate::run::options;
use crate::{folder, is_tested};
use atsdb::Durability;
use atsdb_lab::contestant::{Contestant, Dialect, Workspace};
use atsdb_lab::server::ServerUrls;
use atsdb_lab::{Cell, Failure, Tier, Tuning, contestants, run};
use std::path::Path;

/// The contestant, if chdb is installed.
fn clickhouse() -> Option<&'static dyn Contestant> {
    if !is_tested("clickhouse") {
        return None;
    }
    let found = contestants::all().iter().find(|contestant| contestant.name() == "clickhouse").expect("a contestant");
    match found.version(&ServerUrls::default()) {
        Ok(version) => {
            assert!(version.starts_with("ClickHouse 2"), "{version}");
            Some(*found)
        }
        Err(reason) => {
            eprintln!("clickhouse is not tested here: {reason}");
            None
        }
    }
}

fn workspace(folder: &Path, durability: Durability) -> Workspace {
    let directory = folder.join(durability.name());
    std::fs::create_dir(&directory).expect("a folder");
    Workspace { directory, durability, tuning: Tuning::Tuned, database: String::new(), server: None }
}

#[test]
fn series_is_answered_as_by_the_others() {
    if clickhouse().is_none() {
        return;
    }
    let folder = folder();
    let mut options = options(folder.path());
    options.contestants = ["sqlite", "clickhouse"].map(str::to_owned).to_vec();
    options.workloads = vec!["series".to_owned()];
    (options.rows, options.repeat) = (Some(5_000), 1);
    let report = run(&options, &mut |_| ()).expect("a report");
    let series = &report.workloads[0];
    assert!(series.broken.is_empty(), "{:?}", series.broken);
    // It has no transactions, creates no index, and is a library.
    let cannot = ["insert_values", "index", "bytes_wide_indexed", "start"];
    for measure in &series.measures {
        let result = measure.results.iter().find(|result| result.contestant == "clickhouse").expect("a result");
        assert_eq!(result.failed, None, "{}", measure.name);
        let has_figure = result.spread.is_some();
        let may_lack = cannot.contains(&measure.name.as_str());
        assert!(has_figure || may_lack, "{}: {:?}", measure.name, result.skipped);
    }
    let count = series.measures.iter().find(|measure| measure.name == "by_hour_and_sensor").expect("a measure");
    let answers: Vec<_> = count.results.iter().map(|result| result.runs[0].answer.clone()).collect();
    assert!(answers[0].is_some() && answers[0] == answers[1], "{answers:?}");
}

#[test]
fn durability_is_that_of_the_tables_settings() {
    let Some(clickhouse) = clickhouse() else { return };
    let folder = folder();
    for (durability, tier, fsync) in [(Durability::Full, Tier::Full, 1), (Durability::Normal, Tier::Off, 0)] {
        let workspace = workspace(folder.path(), durability);
        let mut session = clickhouse.open(&workspace).expect("a session");
        assert_eq!(session.tier(), tier);
        let table = atsdb::TableDefinition::new("a").with_column("i", atsdb::ColumnType::Int32, None);
        session.create_table(&table).expect("a");
        session.execute(&["CREATE TABLE b (i INT)".to_owned(), "INSERT INTO b VALUES (7)".to_owned()]).expect("b");
        session.execute(&Dialect::Clickhouse.hash_table("c", "i", "INT")).expect("c");
        let synced = "SELECT countIf(create_table_query LIKE '%fsync_after_insert = 1%fsync_part_directory = 1%'), count() \
                      FROM system.tables WHERE database = currentDatabase() AND engine = 'MergeTree'";
        let expected = vec![vec![Cell::Integer(3 * fsync), Cell::Integer(3)]];
        assert_eq!(session.query(synced).expect("tables").rows, expected, "{durability:?}");
        // Only one process at a time can open a database. The next one sees its contents.
        let refused = clickhouse.open(&workspace).map(drop).expect_err("it is open");
        assert!(matches!(refused, Failure::Cannot(_)), "{refused}");
        drop(session);
        let mut session = clickhouse.open(&workspace).expect("a session");
        assert_eq!(session.query("SELECT i FROM b").expect("rows").rows, [[Cell::Integer(7)]]);
        let refused = session.transaction(&["INSERT INTO b VALUES (8)".to_owned()]).expect_err("no transactions");
        assert!(matches!(refused, Failure::Cannot(_)), "{refused}");
    }
}
