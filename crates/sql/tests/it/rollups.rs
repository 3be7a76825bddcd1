//! At every moment a rollup gives the same answer as its query over the rows, whatever changed them.

use crate::scripts::answer;
use crate::stores::STORES;
use atsdb_core::{Durability, Error, Result, Store};
use atsdb_engine::{Engine, EngineOptions, Environment, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Session, SessionOptions};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

/// A clock that shows the time that was set.
struct Clock(AtomicI64);

impl Environment for Clock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn random(&self) -> Result<[u8; 16], Error> {
        SystemEnvironment.random()
    }
}

/// Two sessions with separate engines on one store, like two processes.
struct TwoSessions {
    sessions: [Session; 2],
    clock: Arc<Clock>,
    _directory: TempDir,
}

fn two(kind: &str, maintenance: bool) -> TwoSessions {
    let directory = tempfile::tempdir().unwrap();
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let clock = Arc::new(Clock(AtomicI64::new(1_000 * DAY * 1_000)));
    let open = || {
        let store = if kind == "memory" { Arc::clone(&memory) } else { sqlite(directory.path()) };
        let environment: Arc<dyn Environment> = Arc::clone(&clock) as Arc<dyn Environment>;
        let engine = Engine::new(store, EngineOptions { maintenance, environment, ..Default::default() }).unwrap();
        let options = SessionOptions { threads: 1, memory_bytes: 64 << 20, ..SessionOptions::default() };
        Session::new(engine, options).unwrap()
    };
    let sessions = [open(), open()];
    TwoSessions { sessions, clock, _directory: directory }
}

fn sqlite(directory: &Path) -> Arc<dyn Store> {
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    Arc::new(SqliteStore::open(&directory.join("test.db"), &options).unwrap())
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const TABLE: &str = "CREATE TABLE readings (time TIMESTAMP(0), sensor TEXT, x BIGINT) \
                     WITH (map = 'sensor:u16', slice = 'day')";
const ROLLUP: &str = "CREATE ROLLUP hourly ON readings EVERY '1 hour' AS \
                      SELECT sensor, count(*) AS n, sum(x) AS total, max(x) AS top FROM readings GROUP BY sensor";
const KEPT: &str = "SELECT * FROM hourly ORDER BY time, sensor";
const ASKED: &str = "SELECT time_bucket('1 hour', time) AS time, sensor, count(*) AS n, sum(x) AS total, max(x) AS top \
                     FROM readings GROUP BY 1, 2 ORDER BY 1, 2";

fn rows(session: &Session, sql: &str) -> Vec<String> {
    answer(session, sql).unwrap_or_else(|error| panic!("{error}: {sql}"))
}

fn insert(dice: &mut Dice, row_count: u64, from: i64, seconds: u64) -> String {
    let row = |_| {
        let time = from + dice.below(seconds) as i64;
        format!("({time}, 's{}', {})", dice.below(3), dice.below(100))
    };
    let rows: Vec<String> = (0..row_count).map(row).collect();
    format!(
        "INSERT INTO readings SELECT to_timestamp_seconds(column1), column2, column3 FROM (VALUES {})",
        rows.join(", ")
    )
}

#[test]
fn a_rollup_is_its_query_at_every_moment() {
    for (seed, store) in (1..=2).flat_map(|seed| STORES.map(|store| (seed, store))) {
        let two = two(store, false);
        let mut dice = Dice(seed * 7_919);
        let start = 990 * DAY;
        rows(&two.sessions[0], TABLE);
        rows(&two.sessions[0], &insert(&mut dice, 200, start, 2 * DAY as u64));
        rows(&two.sessions[1], ROLLUP);
        let mut newest = start + 2 * DAY;
        let mut done = Vec::new();
        for _ in 0..70 {
            let session = &two.sessions[dice.below(2) as usize];
            let time = start + dice.below((newest - start) as u64) as i64;
            let between = format!(
                "time BETWEEN to_timestamp_seconds({time}) AND to_timestamp_seconds({})",
                time + dice.below(3 * HOUR as u64) as i64
            );
            let step = match dice.below(14) {
                0..=2 => {
                    newest += HOUR;
                    insert(&mut dice, 20, newest - HOUR, HOUR as u64)
                }
                3 => insert(&mut dice, 3, time, 600),
                4 => insert(&mut dice, 1, start - 400 * DAY, 300 * DAY as u64),
                5 => format!("UPDATE readings SET x = x + 1000 WHERE {between}"),
                6 => format!("DELETE FROM readings WHERE {between}"),
                7 => format!("UPDATE readings SET time = time + INTERVAL '2 hours' WHERE {between} AND x % 3 = 0"),
                8 => {
                    format!("BEGIN; DELETE FROM readings WHERE {between}; {}; COMMIT", insert(&mut dice, 2, time, 100))
                }
                9 if dice.below(5) == 0 => "TRUNCATE readings".to_owned(),
                9 => format!("DELETE FROM readings WHERE time < to_timestamp_seconds({})", start - 200 * DAY),
                10 => {
                    session.engine().recompress(None).unwrap();
                    "SELECT 'recompress'".to_owned()
                }
                11 => {
                    let slice = ["hour", "day", "month"][dice.below(3) as usize];
                    format!("ALTER TABLE readings SET (slice = '{slice}')")
                }
                _ => "REFRESH ROLLUP hourly".to_owned(),
            };
            rows(session, &step);
            done.push(step);
            let asked = rows(&two.sessions[0], ASKED);
            for session in &two.sessions {
                let kept = rows(session, KEPT);
                assert!(kept == asked, "{store}, seed {seed}: {}\n{kept:#?}\n{asked:#?}", done.join("\n"));
            }
        }
        rows(&two.sessions[0], "REFRESH ROLLUP hourly");
        assert_eq!(rows(&two.sessions[0], "SELECT stale FROM atsdb.rollups")[1], "false");
        assert_eq!(rows(&two.sessions[0], KEPT), rows(&two.sessions[1], ASKED));
        assert_eq!(two.sessions[0].engine().verify(None).unwrap().findings, []);
    }
}

#[test]
fn raw_rows_go_and_the_summary_stays() {
    for store in STORES {
        let two = two(store, false);
        let [session, other] = &two.sessions;
        let mut dice = Dice(3);
        rows(session, TABLE);
        rows(session, &insert(&mut dice, 300, 980 * DAY, 20 * DAY as u64));
        session.engine().recompress(None).unwrap();
        rows(session, ROLLUP);
        let before = rows(session, KEPT);
        // Rows that have not been rolled up yet are not expired.
        rows(other, &insert(&mut dice, 1, 985 * DAY, HOUR as u64));
        let asked = rows(session, ASKED);
        assert_ne!(before, asked);
        rows(session, "ALTER TABLE readings SET (retention = '7 days')");
        assert_eq!(other.engine().retain(None).unwrap().rows, 0);
        assert_eq!(rows(session, KEPT), asked);
        rows(other, "REFRESH ROLLUP hourly");
        let dropped = other.engine().retain(None).unwrap();
        assert!(dropped.rows > 100, "{dropped:?}");
        assert_eq!(rows(session, KEPT), asked);
        assert_ne!(rows(session, ASKED), asked);
        // Rows that arrive late for closed buckets are not in the rollup. Other buckets are right.
        rows(other, &insert(&mut dice, 5, 985 * DAY, HOUR as u64));
        rows(other, "DELETE FROM readings WHERE time < to_timestamp_seconds(85708800)");
        assert_eq!(rows(session, KEPT), asked);
        rows(other, &insert(&mut dice, 5, 999 * DAY, HOUR as u64));
        let since = |sql: &str| {
            format!("SELECT * FROM ({}) WHERE time >= '1972-09-24' ORDER BY 1, 2", sql.split(" ORDER").next().unwrap())
        };
        assert_eq!(rows(session, &since(KEPT)), rows(session, &since(ASKED)));
        assert!(rows(session, KEPT).len() >= asked.len());
        // A retention for the rollup itself.
        rows(session, "ALTER TABLE hourly SET (retention = '1 year', slice = 'month')");
        two.clock.0.fetch_add(500 * DAY * 1_000, Ordering::Relaxed);
        rows(session, "REFRESH ROLLUP hourly");
        session.engine().recompress(None).unwrap();
        session.engine().retain(None).unwrap();
        assert_eq!(rows(session, KEPT).len(), 1);
        assert_eq!(rows(session, ASKED).len(), 1);
    }
}

#[test]
fn two_that_write_and_two_that_refresh_do_no_harm() {
    for store in STORES {
        let two = two(store, false);
        rows(&two.sessions[0], TABLE);
        rows(&two.sessions[0], ROLLUP);
        std::thread::scope(|scope| {
            for (number, session) in two.sessions.iter().enumerate() {
                scope.spawn(move || {
                    let mut dice = Dice(number as u64 + 1);
                    for round in 0..15 {
                        rows(session, &insert(&mut dice, 5, 900 * DAY + round * HOUR, HOUR as u64));
                        rows(session, "UPDATE readings SET x = x + 1 WHERE x % 7 = 0");
                        rows(session, "DELETE FROM readings WHERE x % 11 = 0");
                        rows(session, "REFRESH ROLLUP hourly");
                        session.engine().recompress(None).unwrap();
                    }
                });
            }
        });
        assert_eq!(rows(&two.sessions[0], KEPT), rows(&two.sessions[1], ASKED));
        rows(&two.sessions[0], "REFRESH ROLLUP hourly");
        assert_eq!(rows(&two.sessions[1], KEPT), rows(&two.sessions[0], ASKED));
    }
}

#[test]
fn the_background_computes_what_has_ended() {
    let two = two("sqlite", true);
    let [session, other] = &two.sessions;
    rows(session, TABLE);
    rows(session, ROLLUP);
    rows(other, &insert(&mut Dice(5), 50, 990 * DAY, DAY as u64));
    let started = std::time::Instant::now();
    while rows(session, "SELECT stale FROM atsdb.rollups")[1] != "false" {
        assert!(started.elapsed().as_secs() < 300, "nobody computed it");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(rows(session, KEPT), rows(other, ASKED));
}

#[test]
fn a_bucket_that_has_not_ended_stays_stale_when_its_rows_go_and_another_is_computed() {
    let two = two("memory", false);
    let [session, _] = &two.sessions;
    rows(session, "CREATE TABLE readings (time TIMESTAMP, value INT)");
    rows(session, "CREATE ROLLUP daily ON readings EVERY '1 day' AS SELECT count(*) AS n FROM readings");
    rows(session, "INSERT INTO readings VALUES ('1972-09-27 06:30:00', 1)");
    rows(session, "REFRESH ROLLUP daily");
    rows(session, "INSERT INTO readings VALUES ('1972-09-26 09:00:00', 1)");
    two.clock.0.store((1_000 * DAY + 12 * HOUR) * 1_000, Ordering::Relaxed);
    rows(session, "TRUNCATE TABLE readings");
    // The previous day has ended, so it is computed.
    session.engine().maintenance().run_once().unwrap();
    assert_eq!(rows(session, "SELECT n FROM daily"), ["n"]);
}

/// A refresh ends a step, which is one commit, after eight million rows. The buckets that are left must stay open,
/// although their rows have expired too.
#[test]
fn a_step_of_a_refresh_closes_no_bucket_that_is_still_stale() {
    let two = two("memory", false);
    let [session, _] = &two.sessions;
    rows(session, "CREATE TABLE readings (time TIMESTAMP(0), x BIGINT) WITH (slice = 'day')");
    rows(session, "CREATE ROLLUP hourly ON readings EVERY '1 hour' AS SELECT count(*) AS n FROM readings");
    for (day, row_count) in [(980, 8_000_000), (981, 48), (999, 24)] {
        let time = format!("to_timestamp_seconds({} + value % 24 * {HOUR})", day * DAY);
        rows(session, &format!("INSERT INTO readings SELECT {time}, value FROM generate_series(1, {row_count})"));
    }
    let asked =
        rows(session, "SELECT time_bucket('1 hour', time) AS time, count(*) AS n FROM readings GROUP BY 1 ORDER BY 1");
    assert_eq!(asked.len(), 1 + 3 * 24);
    rows(session, "ALTER TABLE readings SET (retention = '7 days')");
    rows(session, "REFRESH ROLLUP hourly");
    let kept = "SELECT time, n FROM hourly ORDER BY time";
    assert_eq!(rows(session, kept), asked);
    assert_eq!(session.engine().retain(None).unwrap().rows, 8_000_048);
    assert_eq!(rows(session, kept), asked);
}

#[test]
fn only_stale_rows_of_the_table_are_read() {
    let two = two("memory", false);
    let session = &two.sessions[0];
    rows(session, TABLE);
    for day in 900..920 {
        rows(session, &insert(&mut Dice(day as u64), 10, day * DAY, DAY as u64));
    }
    rows(session, ROLLUP);
    let explained = || rows(session, "EXPLAIN SELECT max(top) FROM hourly").join("\n");
    assert!(!explained().contains("table=readings"), "{}", explained());
    rows(session, &insert(&mut Dice(1), 1, 905 * DAY, HOUR as u64));
    // The chunk of that day, and the new one.
    assert!(explained().contains("chunks=2 of 21") || explained().contains("chunks=1 of 21"), "{}", explained());
}
