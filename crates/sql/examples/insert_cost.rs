//! Measures the time of a one-row `INSERT`, part by part and beside plain SQLite: `cargo run --release -p atsdb-sql
//! --example insert_cost`. Both stores are in a temporary folder, and both commit each row by itself without waiting
//! for the disk.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout)] // Figures are what it is for.

use atsdb_core::{Durability, Store};
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Session, SessionOptions};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: u32 = 5_000;
const CREATE: &str = "CREATE TABLE t (time TIMESTAMP, sensor TEXT, v INT)";

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new([1; 16]));
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    let sqlite: Arc<dyn Store> = Arc::new(SqliteStore::open(&directory.path().join("atsdb.db"), &options)?);

    let in_memory = session(memory)?;
    let split = each(200_000, |row| {
        in_memory.statements(&insert(row)).next().ok_or("no statement")??;
        Ok(())
    })?;
    let written = each(200_000, |row| {
        std::hint::black_box(insert(row));
        Ok(())
    })?;
    // A row that is refused for its time goes through everything but the store.
    let refused = "INSERT INTO t VALUES ('2024-01-01 00:00:00', 'sensor 1', 'x')";
    let statement = in_memory.statements(refused).next().ok_or("no statement")??;
    let read = each(50_000, |_| in_memory.execute(&statement, &[]).map_or(Ok(()), |_| Err("accepted".into())))?;
    let memory = each(ROWS, |row| run(&in_memory, &insert(row)))?;
    let in_file = session(sqlite)?;
    let file = each(ROWS, |row| run(&in_file, &insert(row)))?;

    let plain = rusqlite::Connection::open(directory.path().join("plain.db"))?;
    plain.pragma_update(None, "journal_mode", "WAL")?;
    plain.pragma_update(None, "synchronous", "OFF")?;
    plain.execute_batch(CREATE)?;
    let plain = each(ROWS, |row| Ok(plain.execute_batch(&insert(row))?))?;

    println!("one-row INSERT, each its own commit, {ROWS} of each");
    println!("  split the script            {:>9.2} us", micros(split.saturating_sub(written)));
    println!("  find the table, read a row  {:>9.2} us", micros(read));
    println!("  append and commit, memory   {:>9.2} us", micros(memory.saturating_sub(read + split)));
    println!("  all, memory store           {:>9.2} us", micros(memory));
    println!("  all, SQLite store           {:>9.2} us", micros(file));
    println!("  plain SQLite, autocommit    {:>9.2} us", micros(plain));
    println!("  SQLite store / plain SQLite {:>9.2}", file.as_secs_f64() / plain.as_secs_f64());
    Ok(())
}

fn session(store: Arc<dyn Store>) -> Result<Session, Box<dyn Error>> {
    let session = Session::new(
        Engine::new(store, EngineOptions { maintenance: false, ..EngineOptions::default() })?,
        SessionOptions::default(),
    )?;
    run(&session, &format!("{CREATE} WITH (map = 'sensor:u32')"))?;
    Ok(session)
}

fn insert(row: u32) -> String {
    format!(
        "INSERT INTO t VALUES ('2024-01-01 {:02}:{:02}:00', 'sensor {}', {row})",
        row / 60 % 24,
        row % 60,
        row % 100
    )
}

fn run(session: &Session, sql: &str) -> Result<(), Box<dyn Error>> {
    for statement in session.statements(sql) {
        session.execute(&statement?, &[])?;
    }
    Ok(())
}

fn each(count: u32, mut action: impl FnMut(u32) -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    for row in 0..count {
        action(row)?;
    }
    Ok(start.elapsed() / count)
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
