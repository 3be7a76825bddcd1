//! `atsdb demo`: loads files, compares the store with plain SQLite, queries it and draws a chart. Each step is an
//! ordinary command that the user could type, and is shown as such. Only the comparison and the chart are implemented
//! here.

mod chart;
mod plain_sqlite;

use super::report::write_text;
use super::{import, recompress, sql};
use crate::args::{Cli, Command, DemoArgs};
use crate::console::clock;
use crate::console::quantity::{show_count, show_rows};
use crate::output::grid::{Heading, render};
use arrow::record_batch::RecordBatch;
use atsdb::sql::SessionOptions;
use atsdb::{Database, Error, ErrorKind, OpenOptions, Result, ScanRequest, Table};
use clap::Parser;
use std::fs;
use std::path::Path;

/// The seed of the generated month.
const SEED: u64 = 1;

const QUESTIONS: [(&str, &str); 3] = [
    (
        "Which days had the strongest gusts?",
        "SELECT date_trunc('day', time_hour) AS date, origin, max(wind_gust) AS gust, min(pressure) AS pressure \
         FROM weather GROUP BY date, origin ORDER BY gust DESC NULLS LAST LIMIT 3",
    ),
    (
        "What was the fastest round trip to slac.stanford.edu, by source?",
        "SELECT m.ip_name_src, min(d.minRtt) AS fastest, count(*) AS pings FROM data_200112 d \
         JOIN metaData m ON m.metaID = d.metaID WHERE m.ip_name_dst LIKE '%slac.stanford.edu' \
         GROUP BY m.ip_name_src ORDER BY fastest LIMIT 5",
    ),
    (
        "How slow was hep.net in the week before Christmas, day by day?",
        "SELECT date_trunc('day', d.timestamp) AS day, min(d.minRtt) AS min, avg(d.meanRtt) AS mean, \
         max(d.maxRtt) AS max FROM data_200112 d JOIN metaData m ON m.metaID = d.metaID \
         WHERE m.ip_name_src LIKE '%hep.net' AND d.timestamp >= '2001-12-18' AND d.timestamp < '2001-12-25' \
         GROUP BY day ORDER BY day",
    ),
];

/// How the store and plain SQLite were measured.
const COMPARED: &str = "\
Both durable to a power cut (synchronous = FULL); rows ready in memory, one commit. SQLite: one plain table,
times as integers, one prepared INSERT for each row. atsdb: Arrow batches, and its size after recompress.
Reading: every row and column.
";

const CHART: &str = "SELECT date_trunc('month', time_hour) AS since, avg(temp) AS temp FROM weather \
                     WHERE origin = 'JFK' GROUP BY since ORDER BY since";

/// Runs the demo.
pub(super) fn run(args: &DemoArgs) -> Result<()> {
    if !args.weather.is_file() {
        return Err(Error::not_found(format!("there is no file {}", args.weather.display()))
            .with_hint("run the demo in a clone of the repository, or name its examples/weather.csv.gz"));
    }
    let folder = args.dir.as_path();
    let store = folder.join("demo.db").display().to_string();
    prepare(folder, &store)?;
    heading("1. Files into one store")?;
    write_text(&format!("A month of network round trips is generated into {}.\n", folder.display()))?;
    let (meta, data) = atsdb_lab::generator::pinger::write_pinger(folder, SEED)?;
    let files = [("weather", args.weather.as_path()), ("metaData", &meta), ("data_200112", &data)];
    for (table, file) in files {
        type_command(&["import", &store, table, &file.display().to_string()])?;
    }
    write_text("\n")?;
    type_command(&["recompress", &store])?;

    heading("2. Beside plain SQLite")?;
    let database = OpenOptions::new().maintenance(false).open(&store)?;
    for (table, file) in [files[0], files[2]] {
        compare(&database, table, file, folder)?;
    }
    write_text(COMPARED)?;

    heading("3. Questions")?;
    for (question, statement) in QUESTIONS {
        write_text(&format!("{question}\n"))?;
        type_command(&["sql", &store, statement, "--timing"])?;
        write_text("\n")?;
    }
    let session = database.session(SessionOptions::default())?;
    write_text(&format!("Mean temperature at JFK, °F, month by month\n{}", chart::draw(&session, CHART)?))?;

    heading("4. What next")?;
    write_text(&format!(
        "The store is one file, {store}: copy it, open it, query it. Beside it lie the generated files.\n"
    ))?;
    let next = [
        (format!("atsdb {store}"), "the SQL shell; .help lists its commands"),
        (format!("atsdb stats {store}"), "rows, bytes and encodings"),
        ("atsdb import mine.db readings FILE".to_owned(), "your own CSV, TSV, JSON lines or Parquet file"),
        ("atsdb lab run series".to_owned(), "speed and size beside plain SQLite, on your machine"),
    ];
    for (command, what) in next {
        write_text(&format!("  {command:<36} {what}\n"))?;
    }
    Ok(())
}

/// Prepares an empty folder: removes the files of an earlier demo, and nothing else.
fn prepare(folder: &Path, store: &str) -> Result<()> {
    let refuse = |error: std::io::Error| {
        let message = format!("cannot write to {}: {error}", folder.display());
        Error::new(ErrorKind::Unavailable, message).with_source(error)
    };
    fs::create_dir_all(folder).map_err(refuse)?;
    for ending in ["", "-wal", "-shm", "-reserve"] {
        match fs::remove_file(format!("{store}{ending}")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(refuse(error)),
            _ => {}
        }
    }
    Ok(())
}

fn heading(text: &str) -> Result<()> {
    write_text(&format!("\n{text}\n{}\n\n", "-".repeat(text.chars().count())))
}

/// Shows a command as a user would type it, and runs it.
fn type_command(words: &[&str]) -> Result<()> {
    let quoted = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    write_text(&format!("$ atsdb {}\n", words.iter().map(quoted).collect::<Vec<_>>().join(" ")))?;
    let cli = Cli::try_parse_from(["atsdb"].iter().chain(words))
        .map_err(|error| Error::internal(format!("the demo typed a wrong command: {error}")))?;
    match cli.command {
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Recompress(args)) => recompress::run(&args),
        Some(Command::Sql(args)) => sql::run(args),
        _ => Err(Error::internal("the demo typed a command it does not know")),
    }
}

fn compare(database: &Database, name: &str, file: &Path, folder: &Path) -> Result<()> {
    let engine = database.engine();
    let table = engine.table(name)?;
    let rows: Vec<RecordBatch> = read(database, &table)?;
    let row_count: u64 = rows.iter().map(|batch| batch.num_rows() as u64).sum();
    let load_seconds = load(&folder.join("loaded.db"), &table, &rows)?;
    let started = clock::now();
    let read_count: u64 = read(database, &table)?.iter().map(|batch| batch.num_rows() as u64).sum();
    let read_seconds = started.elapsed().as_secs_f64();
    let sqlite = plain_sqlite::measure(&folder.join("plain.db"), &rows)?;
    if (read_count, sqlite.row_count) != (row_count, row_count) {
        return Err(Error::internal(format!("{name}: {row_count} rows became {read_count} and {}", sqlite.row_count)));
    }
    let stats = engine.stats(Some(&table))?;
    let bytes_per_row = stats.first().map_or(0.0, |stats| stats.bytes_per_row);
    let per_row = |bytes: u64| bytes as f64 / row_count as f64;
    let rate = |seconds: f64| row_count as f64 / seconds.max(1e-9);
    let ratio = |better: f64| format!("{better:.1} x");
    let (loaded, plain_loaded) = (rate(load_seconds), rate(sqlite.load_seconds));
    let (done, plain_done) = (rate(read_seconds), rate(sqlite.read_seconds));
    let file_bytes = text_bytes(file)?;
    let headings = [
        Heading::left(&format!("{name}, {}", show_rows(row_count))),
        Heading::right("the CSV"),
        Heading::right("plain SQLite"),
        Heading::right("atsdb"),
        Heading::right("atsdb is"),
    ];
    let speed = |rows: f64| show_count(rows as u64);
    let lines = [
        vec![
            "bytes a row".to_owned(),
            format!("{:.2}", per_row(file_bytes)),
            format!("{:.2}", per_row(sqlite.byte_count)),
            format!("{bytes_per_row:.2}"),
            format!("{} smaller", ratio(per_row(sqlite.byte_count) / bytes_per_row)),
        ],
        vec!["load, rows/s".into(), String::new(), speed(plain_loaded), speed(loaded), ratio(loaded / plain_loaded)],
        vec!["read, rows/s".into(), String::new(), speed(plain_done), speed(done), ratio(done / plain_done)],
    ];
    write_text(&format!("{}\n", render(&headings, &lines)))
}

/// The seconds that it takes to load the rows into a separate store.
fn load(path: &Path, table: &Table, rows: &[RecordBatch]) -> Result<f64> {
    plain_sqlite::remove(path);
    let database = OpenOptions::new().maintenance(false).open(&path.display().to_string())?;
    let started = clock::now();
    let mut batch = database.batch(None);
    let table = batch.create_table(&table.definition)?;
    rows.iter().try_for_each(|rows| batch.append(&table, rows))?;
    batch.commit()?;
    let seconds = started.elapsed().as_secs_f64();
    drop(database);
    plain_sqlite::remove(path);
    Ok(seconds)
}

fn read(database: &Database, table: &Table) -> Result<Vec<RecordBatch>> {
    database.snapshot()?.scan(table, &ScanRequest::all(table))?.batches().collect()
}

/// The size of a file's text in bytes. A compressed file is decompressed.
fn text_bytes(file: &Path) -> Result<u64> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Unavailable, format!("{}: {error}", file.display()));
    let opened = fs::File::open(file).map_err(failed)?;
    match file.extension().is_some_and(|ending| ending == "gz") {
        true => std::io::copy(&mut flate2::read::MultiGzDecoder::new(opened), &mut std::io::sink()).map_err(failed),
        false => opened.metadata().map(|metadata| metadata.len()).map_err(failed),
    }
}
