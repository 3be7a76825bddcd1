//! Runs every sqllogictest file of a folder on atsdb's server and on a PostgreSQL that it starts, and lists the
//! differences by their cause: `make postgres-parity FOLDER=tests/slt`. What a file expects is ignored: PostgreSQL's
//! answer is the right one, and a statement that PostgreSQL refuses is not compared. Both are asked by the same client
//! for values as text.

#![allow(clippy::print_stdout)] // The list is the purpose.

use atsdb_server::{Listening, Server, ServerOptions};
use atsdb_testkit::server::{self, ServerKind};
use postgres::{Client, NoTls, SimpleQueryMessage};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of records that are shown for each cause of a refusal. Other answers are all shown.
const SHOWN: usize = 3;

/// How the causes of different answers begin.
const ANOTHER_ANSWER: &str = "another answer: ";

/// Options of both sessions.
const SETTINGS: &str = "SET timezone = 'UTC'; SET statement_timeout = '20s'";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder of sqllogictest files")?;
    let server = server::shared(ServerKind::Postgres).ok_or("PostgreSQL is not installed")?;
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files)?;
    files.sort();
    let mut report = Report::default();
    for file in &files {
        let mut postgres = Client::connect(&server.database(), NoTls)?;
        postgres.batch_execute("SET client_min_messages = error; SET jit = off")?;
        postgres.batch_execute(SETTINGS)?;
        let options = ServerOptions { pg: Some("127.0.0.1:0".to_owned()), http: None, ..ServerOptions::default() };
        let serving = Server::start(atsdb::open("memory:")?, Listening::open(options)?)?;
        let address = serving.pg_address().ok_or("the server has no address")?;
        let url = format!("postgres://atsdb@{}:{}/atsdb", address.ip(), address.port());
        let mut atsdb = Client::connect(&url, NoTls)?;
        atsdb.batch_execute(SETTINGS)?;
        report.file(file, &records(&std::fs::read_to_string(file)?), &mut postgres, &mut atsdb);
        drop(atsdb);
        serving.shutdown(Duration::ZERO)?;
    }
    report.print(files.len());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let end = path.extension().and_then(|end| end.to_str());
        let is_script = end.is_some_and(|end| ["slt", "test", "sql", "part"].contains(&end));
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

/// The statements of a file, except plans and those that only another database runs.
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
        // Plans are not alike.
        let explains = sql.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("explain"));
        if is_ours && !explains && !sql.is_empty() && matches!(kind, Some("query" | "statement")) {
            let is_sorted = !words.any(|word| word.ends_with("sort") && word != "nosort")
                && sql.to_ascii_lowercase().contains("order by");
            records.push(Record { sql, is_query: kind == Some("query"), is_sorted });
        }
    }
    records
}

type Rows = Result<Vec<Vec<String>>, String>;

/// The rows of a record as text, or the error's message.
fn answer(client: &mut Client, record: &Record) -> Rows {
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

/// A value whose numbers are compared with 12 digits.
fn plain(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) => format!("{:.11e}", number + 0.0),
        Err(_) => text.to_owned(),
    }
}

#[derive(Default)]
struct Report {
    compared: usize,
    equal: usize,
    refused_by_postgres: usize,
    /// Records that differ after a statement that they may depend on was refused by one of both only.
    after_refusals: usize,
    causes: BTreeMap<String, Vec<String>>,
}

impl Report {
    fn file(&mut self, file: &Path, records: &[Record], postgres: &mut Client, atsdb: &mut Client) {
        // Whether a change was refused by one of both only.
        let mut has_diverged = false;
        for record in records {
            let (wanted, found) = (answer(postgres, record), answer(atsdb, record));
            let mut differs = String::new();
            let Ok(wanted) = wanted else {
                self.refused_by_postgres += 1;
                has_diverged |= !record.is_query && found.is_ok();
                continue;
            };
            let cause = match found {
                Ok(found) if !record.is_query || same(&wanted, &found, record.is_sorted) => {
                    self.compared += 1;
                    self.equal += 1;
                    continue;
                }
                _ if has_diverged => {
                    self.after_refusals += 1;
                    continue;
                }
                Err(error) => {
                    has_diverged = !record.is_query;
                    format!("refused: {}", cause(&error))
                }
                Ok(found) => {
                    differs = first_difference(&wanted, &found);
                    let what = if wanted.len() == found.len() { "values" } else { "number of rows" };
                    format!("{ANOTHER_ANSWER}{what}")
                }
            };
            self.compared += 1;
            let shown = record.sql.split_whitespace().collect::<Vec<_>>().join(" ") + &differs;
            self.causes.entry(cause).or_default().push(format!("{}: {shown}", file.display()));
        }
    }

    fn print(&self, files: usize) {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, records)| std::cmp::Reverse(records.len()));
        for (cause, records) in causes {
            println!("{} {cause}", records.len());
            let shown = if cause.starts_with(ANOTHER_ANSWER) { records.len() } else { SHOWN };
            records.iter().take(shown).for_each(|record| println!("    {record:.400}"));
        }
        println!(
            "{files} files: {} records compared, {} alike ({:.2} %); not compared: {} that PostgreSQL refuses, {} that \
             follow a statement that one of both refused",
            self.compared,
            self.equal,
            100.0 * self.equal as f64 / self.compared.max(1) as f64,
            self.refused_by_postgres,
            self.after_refusals
        );
    }
}

/// The first row that differs in two answers of the same order.
fn first_difference(wanted: &[Vec<String>], found: &[Vec<String>]) -> String {
    let row = (0..wanted.len().max(found.len())).find(|row| wanted.get(*row) != found.get(*row));
    row.map_or(String::new(), |row| format!(" -- {:?}, not {:?}", wanted.get(row), found.get(row)))
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
