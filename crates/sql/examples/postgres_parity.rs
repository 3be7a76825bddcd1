//! Runs every sqllogictest file of a folder on atsdb and on a PostgreSQL that it starts, and lists the differences by
//! their cause: `make postgres-parity FOLDER=tests/slt`. What a file expects is not looked at: PostgreSQL's answer is
//! the right one, and what PostgreSQL refuses is not compared.

#![allow(clippy::print_stdout)] // The list is what it is for.

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_engine::{Engine, EngineOptions};
use atsdb_memory::MemoryStore;
use atsdb_sql::{Answer, Session, SessionOptions};
use atsdb_testkit::server::{self, ServerKind};
use postgres::{Client, NoTls, SimpleQueryMessage};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SHOWN: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder of sqllogictest files")?;
    let server = server::shared(ServerKind::Postgres).ok_or("PostgreSQL is not installed")?;
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files)?;
    files.sort();
    let mut report = Report::default();
    for file in &files {
        let mut postgres = Client::connect(&server.database(), NoTls)?;
        postgres.batch_execute(
            "SET client_min_messages = error; SET timezone = 'UTC'; SET jit = off; SET statement_timeout = '20s'",
        )?;
        let options = SessionOptions { time_limit: Some(Duration::from_secs(20)), ..SessionOptions::default() };
        let engine = EngineOptions { maintenance: false, ..EngineOptions::default() };
        let atsdb = Session::new(Engine::new(Arc::new(MemoryStore::new([1; 16])), engine)?, options)?;
        for record in records(&std::fs::read_to_string(file)?) {
            report.add(file, &record, &on_postgres(&mut postgres, &record), &on_atsdb(&atsdb, &record));
        }
    }
    report.print(files.len());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_script =
            path.extension().and_then(|end| end.to_str()).is_some_and(|end| ["slt", "test", "sql"].contains(&end));
        if path.is_dir() {
            collect(&path, files)?;
        } else if is_script {
            files.push(path);
        }
    }
    Ok(())
}

struct Record {
    sql: String,
    is_query: bool,
    is_sorted: bool,
}

/// The statements of a file, but for those that another database alone is to run.
fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for block in text.replace("\r\n", "\n").split("\n\n") {
        let mut lines = block.lines().filter(|line| !line.starts_with('#')).skip_while(|line| line.trim().is_empty());
        let mut directive = lines.next().unwrap_or_default();
        let mut is_ours = true;
        while let Some((word, rest)) = directive.split_once(' ').filter(|(word, _)| ["onlyif", "skipif"].contains(word))
        {
            let names_postgres = rest.trim().starts_with("postgres");
            is_ours &= (word == "onlyif") == names_postgres;
            directive = lines.next().unwrap_or_default();
        }
        let mut words = directive.split_whitespace();
        let kind = words.next();
        let sql: Vec<&str> = lines.take_while(|line| !line.starts_with("----")).collect();
        let sql = sql.join("\n").trim().trim_end_matches(';').to_owned();
        if kind == Some("halt") && is_ours {
            break;
        }
        if is_ours && !sql.is_empty() && matches!(kind, Some("query" | "statement")) {
            let is_sorted = !words.any(|word| word.ends_with("sort") && word != "nosort")
                && sql.to_ascii_lowercase().contains("order by");
            records.push(Record { sql, is_query: kind == Some("query"), is_sorted });
        }
    }
    records
}

type Rows = Result<Vec<Vec<String>>, String>;

fn on_postgres(client: &mut Client, record: &Record) -> Rows {
    let messages = client.simple_query(&record.sql).map_err(|error| match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    })?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).map_or("NULL".to_owned(), plain)).collect())
        }
        _ => None,
    });
    Ok(rows.collect())
}

fn on_atsdb(session: &Session, record: &Record) -> Rows {
    let mut found = Vec::new();
    for statement in session.statements(&record.sql) {
        let answer = statement.and_then(|statement| session.execute(&statement, &[]));
        if let Answer::Rows(rows) = answer.map_err(|error| error.to_string())? {
            for batch in rows {
                found.extend(cells(&batch.map_err(|error| error.to_string())?)?);
            }
        }
    }
    Ok(found)
}

fn cells(batch: &RecordBatch) -> Result<Vec<Vec<String>>, String> {
    let options = FormatOptions::default();
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let cell = |column: usize, row: usize| match batch.column(column).is_null(row) {
        true => "NULL".to_owned(),
        false => plain(&columns[column].value(row).to_string()),
    };
    Ok((0..batch.num_rows()).map(|row| (0..columns.len()).map(|column| cell(column, row)).collect()).collect())
}

/// A value as both sides write it: numbers with 12 digits, times without `T`, zone and zeros.
fn plain(text: &str) -> String {
    match text {
        "t" => return "true".to_owned(),
        "f" => return "false".to_owned(),
        _ => {}
    }
    if let Ok(number) = text.parse::<f64>() {
        return format!("{:.11e}", number + 0.0);
    }
    let is_time = text.len() >= 19 && text.as_bytes().get(4) == Some(&b'-') && text.as_bytes().get(7) == Some(&b'-');
    match is_time {
        true => text.replacen('T', " ", 1).trim_end_matches('Z').trim_end_matches("+00").to_owned(),
        false => text.to_owned(),
    }
}

#[derive(Default)]
struct Report {
    compared: usize,
    equal: usize,
    refused_by_postgres: usize,
    causes: BTreeMap<String, Vec<String>>,
}

impl Report {
    fn add(&mut self, file: &Path, record: &Record, wanted: &Rows, found: &Rows) {
        let Ok(wanted) = wanted else {
            self.refused_by_postgres += 1;
            return;
        };
        self.compared += 1;
        let cause = match found {
            Err(error) => format!("refused: {}", cause(error)),
            Ok(found) if !record.is_query || same(wanted, found, record.is_sorted) => {
                self.equal += 1;
                return;
            }
            Ok(found) => format!("another answer: {}", if wanted.len() == found.len() { "values" } else { "rows" }),
        };
        let shown = record.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        self.causes.entry(cause).or_default().push(format!("{}: {shown}", file.display()));
    }

    fn print(&self, files: usize) {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, records)| std::cmp::Reverse(records.len()));
        for (cause, records) in causes {
            println!("{} {cause}", records.len());
            records.iter().take(SHOWN).for_each(|record| println!("    {record:.300}"));
        }
        println!(
            "{files} files: {} records compared, {} alike, {} that PostgreSQL refuses",
            self.compared, self.equal, self.refused_by_postgres
        );
    }
}

fn same(wanted: &[Vec<String>], found: &[Vec<String>], is_sorted: bool) -> bool {
    if is_sorted || wanted.len() != found.len() {
        return wanted == found;
    }
    let (mut wanted, mut found) = (wanted.to_vec(), found.to_vec());
    wanted.sort();
    found.sort();
    wanted == found
}

/// An error's first words, without what belongs to one statement.
fn cause(error: &str) -> String {
    let mut text = String::new();
    let mut quote = None;
    for character in error.chars().take(160) {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(character);
                text.push('_');
            }
            (None, digit) if digit.is_ascii_digit() => {
                if !text.ends_with('#') {
                    text.push('#');
                }
            }
            (None, character) => text.push(character),
        }
    }
    text.chars().take(100).collect()
}
