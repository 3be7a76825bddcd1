//! How fast the same rows are read from an SQLite file, from servers, and from servers through this machine's page
//! cache; also with a network between that takes its time. And the
//! last hours: from the file, preloaded, and from a plain SQLite table with an index on the time.
//!
//! `cargo run --release -p atsdb --example cached_reads [ROWS [DELAY_MS]]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use atsdb::sql::Answer;
use atsdb::{Database, OpenOptions, PageCacheFolder, arrow};
use atsdb_testkit::server::{self, ServerKind};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const QUESTIONS: [(&str, &str); 3] = [
    (
        "every column of all rows",
        "SELECT count(sensor), count(status), sum(value), sum(counter), max(time) FROM readings",
    ),
    ("one column of all rows", "SELECT sum(value) FROM readings"),
    (
        "the last two hours",
        "SELECT sensor, max(value) FROM readings WHERE time >= now() - INTERVAL '2 hours' GROUP BY sensor",
    ),
];
/// Two days.
const SPAN_US: i64 = 172_800_000_000;
const ROUNDS: usize = 7;

fn main() -> atsdb::Result<()> {
    let argument = |position: usize| std::env::args().nth(position).and_then(|text| text.parse::<u64>().ok());
    let (rows, delay) = (argument(1).unwrap_or(4_000_000), Duration::from_millis(argument(2).unwrap_or(2)));
    let folder = tempfile::tempdir().map_err(internal)?;
    let file = folder.path().join("local.db");
    let local = file.to_str().unwrap_or_default();
    fill(&OpenOptions::new().maintenance(false).open(local)?, rows)?;
    measure("SQLite", || OpenOptions::new().maintenance(false).open(local))?;
    plain_table(&folder.path().join("plain.db"), rows).map_err(internal)?;
    let db = OpenOptions::new().maintenance(false).preload_bytes(0).open(local)?;
    db.sql("ALTER TABLE readings SET (preload = '8 hours')")?;
    measure("SQLite, preloaded", || {
        let db = OpenOptions::new().maintenance(false).open(local)?;
        db.preload()?;
        Ok(db)
    })?;
    for kind in [ServerKind::Postgres, ServerKind::Mariadb] {
        let Some(server) = server::shared(kind) else { continue };
        let url = server.database();
        let through =
            |folder: PageCacheFolder, url: &str| OpenOptions::new().maintenance(false).page_cache(folder).open(url);
        fill(&through(PageCacheFolder::Off, &url)?, rows)?;
        let kept = || PageCacheFolder::At(folder.path().join("cache"));
        measure(&format!("{kind:?}, no page cache"), || through(PageCacheFolder::Off, &url))?;
        drop(ask(&through(kept(), &url)?, QUESTIONS[0].1)?);
        measure(&format!("{kind:?}, page cache warm"), || through(kept(), &url))?;
        let far = slow(&url, delay);
        let name = format!("{kind:?}, {} ms away each way", delay.as_millis());
        measure(&format!("{name}, no page cache"), || through(PageCacheFolder::Off, &far))?;
        drop(ask(&through(kept(), &far)?, QUESTIONS[0].1)?);
        measure(&format!("{name}, page cache warm"), || through(kept(), &far))?;
    }
    Ok(())
}

/// The same rows, as a plain table, and the question for the last two hours.
fn plain_table(path: &std::path::Path, rows: u64) -> rusqlite::Result<()> {
    let mut db = rusqlite::Connection::open(path)?;
    db.execute_batch(
        "CREATE TABLE readings (time INTEGER, sensor TEXT, status TEXT, value REAL, counter INTEGER);
         CREATE INDEX by_time ON readings (time)",
    )?;
    let start = now_us() - SPAN_US;
    let transaction = db.transaction()?;
    let mut insert = transaction.prepare("INSERT INTO readings VALUES (?1, ?2, 'ok', ?3, ?4)")?;
    for row in 0..rows {
        let time = start + (u128::from(row) * SPAN_US as u128 / u128::from(rows)) as i64;
        let value = (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as f64 / 10.0;
        insert.execute((time, format!("sensor {}", row % 1_000), value, row / 7))?;
    }
    drop(insert);
    transaction.commit()?;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut ask = db.prepare("SELECT sensor, max(value) FROM readings WHERE time >= ?1 GROUP BY sensor")?;
        let mut found = ask.query([now_us() - 7_200_000_000])?;
        while found.next()?.is_some() {}
        best = best.min(begun.elapsed());
    }
    say(&format!("| plain SQLite table, index on time | the last two hours | {:.1} ms |", best.as_secs_f64() * 1e3));
    Ok(())
}

fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as i64
}

/// Rows of two days and 1,000 sensors, sealed.
fn fill(db: &Database, rows: u64) -> atsdb::Result<()> {
    db.sql(
        "CREATE TABLE readings (time TIMESTAMP, sensor TEXT, status TEXT, value DOUBLE, counter INT)
         WITH (map = 'sensor:u16, status:u8', slice = 'day')",
    )?;
    let table = db.engine().table("readings")?;
    let sensors: Vec<String> = (0..1_000).map(|sensor| format!("sensor {sensor}")).collect();
    let (start, span) = (now_us() - SPAN_US, SPAN_US);
    let mut batch = db.batch(None);
    let mut state = 1_u64;
    for first in (0..rows).step_by(100_000) {
        let numbers = first..rows.min(first + 100_000);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        let times = numbers.clone().map(|row| start + (u128::from(row) * span as u128 / u128::from(rows)) as i64);
        let columns: [(&str, ArrayRef); 5] = [
            ("time", Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC"))),
            (
                "sensor",
                Arc::new(StringArray::from_iter_values(numbers.clone().map(|row| &sensors[row as usize % 1_000]))),
            ),
            (
                "status",
                Arc::new(StringArray::from_iter_values(
                    numbers.clone().map(|_| if random() % 50 == 0 { "late" } else { "ok" }),
                )),
            ),
            (
                "value",
                Arc::new(Float64Array::from_iter_values(numbers.clone().map(|_| (random() % 1_000) as f64 / 10.0))),
            ),
            ("counter", Arc::new(Int32Array::from_iter_values(numbers.map(|row| (row / 7) as i32)))),
        ];
        batch.append(&table, &RecordBatch::try_from_iter(columns).map_err(internal)?)?;
    }
    batch.commit()?;
    db.engine().recompress(None).map(drop)
}

/// The best of some rounds, each by a process's first question: nothing is in its memory yet.
fn measure(name: &str, open: impl Fn() -> atsdb::Result<Database>) -> atsdb::Result<()> {
    for (what, question) in QUESTIONS {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let db = open()?;
            drop(ask(&db, "SELECT 1")?);
            let start = Instant::now();
            ask(&db, question)?;
            best = best.min(start.elapsed());
        }
        say(&format!("| {name} | {what} | {:.1} ms |", best.as_secs_f64() * 1e3));
    }
    Ok(())
}

fn ask(db: &Database, question: &str) -> atsdb::Result<Vec<RecordBatch>> {
    match db.sql(question)? {
        Answer::Rows(rows) => rows.collect(),
        _ => Ok(Vec::new()),
    }
}

/// The URL of a server that is so far away, each way.
fn slow(url: &str, delay: Duration) -> String {
    let (login, rest) = url.rsplit_once('@').unwrap_or_default();
    let (address, database) = rest.split_once('/').unwrap_or_default();
    let (address, login, database) = (address.to_owned(), login.to_owned(), database.to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().map(|address| address.port()).unwrap_or_default();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&address) else { continue };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            if let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) {
                relay(client, server, delay);
                relay(server_again, client_again, delay);
            }
        }
    });
    format!("{login}@127.0.0.1:{port}/{database}")
}

/// Forwards each message after the delay; more messages may be under way meanwhile.
fn relay(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if sender.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

fn internal(error: impl std::fmt::Display) -> atsdb::Error {
    atsdb::Error::internal(error.to_string())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
