//! Processes that change a table and compute its rollup are killed while they work. Afterwards the rollup is right and
//! refreshing continues.

use crate::support::{Acknowledged, as_other_process, assert_no_complaints, open, other_process};
use atsdb::Database;
use atsdb::sql::Answer;
use atsdb_testkit::clock::wait_until;
use atsdb_testkit::sample::Random;
use std::time::Duration;

const KEPT: &str = "SELECT * FROM hourly ORDER BY time, tag";
const ASKED: &str = "SELECT time_bucket('1 hour', time) AS time, tag, count(*) AS n, sum(x) AS total \
                     FROM raw GROUP BY 1, 2 ORDER BY 1, 2";

fn rows(db: &Database, sql: &str) -> Vec<String> {
    let Answer::Rows(rows) = db.sql(sql).unwrap() else { panic!("{sql}") };
    let mut lines = Vec::new();
    for batch in rows {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let cell =
                |column: &arrow::array::ArrayRef| arrow::util::display::array_value_to_string(column, row).unwrap();
            lines.push(batch.columns().iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
    }
    lines
}

#[test]
fn rollups_of_processes_killed_30_times_are_their_queries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let db = open(&path);
    db.sql("CREATE TABLE raw (time TIMESTAMP(0), tag TEXT, x BIGINT) WITH (map = 'tag:u8', slice = 'day')").unwrap();
    db.sql(
        "CREATE ROLLUP hourly ON raw EVERY '1 hour' SELECT tag, count(*) AS n, sum(x) AS total FROM raw GROUP BY tag",
    )
    .unwrap();
    let mut random = Random::new(11);
    for kill in 0..30 {
        let before = Acknowledged::read(&path).len();
        let mut changer = other_process("rollups::a_changer_until_killed", &path, "").spawn().unwrap();
        wait_until("a change is acknowledged", || {
            assert!(changer.try_wait().unwrap().is_none(), "it ended by itself");
            kill % 2 == 0 || Acknowledged::read(&path).len() > before
        });
        std::thread::sleep(Duration::from_millis(5 + random.below(120)));
        changer.kill().unwrap();
        changer.wait().unwrap();
        assert_no_complaints(&path);
        assert_eq!(rows(&db, KEPT), rows(&db, ASKED), "after kill {kill}");
    }
    assert!(rows(&db, KEPT).len() > 3);
    db.sql("REFRESH ROLLUP hourly").unwrap();
    assert_eq!(rows(&db, KEPT), rows(&db, ASKED));
    assert!(db.engine().verify(None).unwrap().findings.is_empty());
}

#[test]
fn a_changer_until_killed() {
    let Some((path, _)) = as_other_process() else { return };
    let db = open(&path);
    let mut acknowledged = Acknowledged::open(&path);
    for number in Acknowledged::read(&path).len() as u64.. {
        let hour = 400_000 + number % 50;
        let sql = format!(
            "INSERT INTO raw SELECT to_timestamp_seconds({hour} * 3600 + value), 't' || CAST(value % 2 AS TEXT), value \
             FROM generate_series(1, 40); \
             UPDATE raw SET x = x + 1 WHERE time > to_timestamp_seconds({hour} * 3600 - 600) AND x % 5 = 0; \
             DELETE FROM raw WHERE x = {} AND time < to_timestamp_seconds({hour} * 3600); REFRESH ROLLUP hourly",
            number % 40
        );
        db.sql(&sql).unwrap();
        if number % 3 == 0 {
            db.engine().recompress(None).unwrap();
        }
        acknowledged.note(number);
    }
}
