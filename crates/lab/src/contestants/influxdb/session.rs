//! A session: a connection to the workspace's server.

use super::influxql::{answer, quoted, text};
use super::program::{DATA, DATABASE, InfluxdbProgram, LOG, SERVERS};
use crate::contestant::{Dialect, Loader, Session};
use crate::contestants::http::{Http, Reply};
use crate::contestants::json_scan::{Scalar, Scanner};
use crate::contestants::line_protocol::{LineDialect, Role, precision};
use crate::contestants::series::{Catalogue, PointLoader, PointServer, Question, SeriesTable};
use crate::data::answer::Answer;
use crate::data::digest::{RowDigest, fold, integer_cell, null_cell, text_cell};
use crate::failure::Failure;
use crate::measure::{Tier, clock};
use crate::server::WorkspaceServer;
use atsdb::{Column, ColumnType, TableDefinition};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The number of rows in each part of an answer.
const CHUNK_ROWS: u32 = 20_000;
/// Data is compacted once its files have not changed for this long. The server looks for work every second.
const REST: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(200);

pub(super) struct InfluxdbSession {
    program: InfluxdbProgram,
    /// `None` while the server is restarted.
    server: Option<Arc<WorkspaceServer>>,
    http: Http,
    catalogue: Catalogue,
}

impl InfluxdbSession {
    pub(super) fn open(program: InfluxdbProgram) -> Result<Self, Failure> {
        let server = SERVERS.of(&program.folder, &program)?;
        let (http, catalogue) = (Http::new(server.ports.http), Catalogue::open(&program.folder)?);
        Ok(Self { program, server: Some(server), http, catalogue })
    }

    /// Stops the server, and restarts it in this form.
    fn restart(&mut self, program: &InfluxdbProgram) -> Result<(), Failure> {
        self.server = None;
        SERVERS.stop();
        let server = SERVERS.of(&program.folder, program)?;
        self.http = Http::new(server.ports.http);
        self.server = Some(server);
        Ok(())
    }

    /// The failure of a request, with the reason if the server has died.
    fn explain(server: Option<&Arc<WorkspaceServer>>, failure: Failure) -> Failure {
        match server {
            Some(server) => server.explain(failure),
            None => failure,
        }
    }

    /// The bytes of points that are in memory and in the log alone.
    fn cached_bytes(&mut self) -> Result<u64, Failure> {
        let statistics = self.ask("SHOW STATS FOR 'tsm1_cache'", 1)?;
        Ok(sum_of(&statistics, &["memBytes", "diskBytes"]))
    }

    fn ask(&mut self, influxql: &str, per_second: i64) -> Result<Value, Failure> {
        let fields = [("db", DATABASE), ("epoch", precision(per_second)), ("q", influxql)];
        let reply = self.http.post_form("/query", &fields).and_then(Reply::bytes);
        let bytes = reply.map_err(|failure| Self::explain(self.server.as_ref(), failure))?;
        serde_json::from_slice(&bytes).map_err(Failure::broken)
    }
}

/// The sum of some columns over all series of an answer.
fn sum_of(answer: &Value, names: &[&str]) -> u64 {
    let mut sum = 0;
    for series in elements(&answer["results"][0]["series"]) {
        for row in elements(&series["values"]) {
            let cells = elements(&series["columns"]).iter().zip(elements(row));
            let wanted = cells.filter(|(name, _)| name.as_str().is_some_and(|name| names.contains(&name)));
            sum += wanted.filter_map(|(_, cell)| cell.as_u64()).sum::<u64>();
        }
    }
    sum
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The columns of a table as tags and fields. Tags are the mapped texts, if the table's key names a series, or else the
/// first of them.
fn series_table(table: &TableDefinition) -> Result<SeriesTable, Failure> {
    let is_tag = |column: &Column| column.map.is_some() && column.column_type == ColumnType::Text;
    let key_is_of_tags = table.key.iter().filter_map(|id| table.column_by_id(*id)).all(is_tag);
    if !key_is_of_tags {
        return Err(Failure::cannot("rows of one series and one time are one point, and this table may have several"));
    }
    let first = table.columns.iter().find(|column| is_tag(column)).map(|column| column.id);
    SeriesTable::of(table, |column| {
        Ok(match column.column_type {
            ColumnType::Text if is_tag(column) && (!table.key.is_empty() || first == Some(column.id)) => Role::Tag,
            ColumnType::Text => Role::Text,
            ColumnType::Float32 | ColumnType::Float64 => Role::Float,
            ColumnType::Timestamp(_) => Role::Moment,
            ColumnType::Date => Role::Date,
            ColumnType::Binary => return Err(Failure::cannot("has no type for bytes")),
            _ => Role::Integer,
        })
    })
}

impl Session for InfluxdbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Series
    }

    /// A request waits for the log at every tier.
    fn tier(&self) -> Tier {
        Tier::Full
    }

    fn settings(&self) -> Vec<String> {
        let own = self.program.settings.iter().map(|(name, value)| format!("{name} = {}", value.trim_matches('"')));
        own.chain([format!("lines a request = {}", Self::LINES)]).collect()
    }

    /// There is nothing to create. Loading reports whether it can hold the table.
    fn create_table(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Ok(())
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        let new = series_table(table)?;
        let known = self.catalogue.table(&table.name).ok().cloned();
        Ok(Box::new(PointLoader::new(self, known.unwrap_or(new))))
    }

    /// Files are compacted after hours without writes. So the server is restarted in a form that compacts after a
    /// second, until its files no longer change.
    fn seal(&mut self) -> Result<(), Failure> {
        let compacting = self.program.compacting();
        self.restart(&compacting)?;
        let data = self.program.folder.join(DATA);
        let (mut before, mut since) = (file_lengths(&data)?, clock::now());
        while since.elapsed() < REST || self.cached_bytes()? > 0 {
            clock::sleep(PAUSE);
            let now = file_lengths(&data)?;
            if now != before {
                (before, since) = (now, clock::now());
            }
        }
        self.server = None;
        SERVERS.stop();
        // A server keeps a log that it finds at its start until it has written to it, although all points of that log
        // are now in the data files.
        fs::remove_dir_all(self.program.folder.join(LOG)).map_err(Failure::broken)?;
        let usual = self.program.clone();
        self.restart(&usual)
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds points by their tags and times; there is no index to make"))
    }

    /// Series by series, in the server's order.
    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let table = self.catalogue.table(&table.name)?.clone();
        let fields: Vec<String> = table.fields().map(|field| quoted(&field.name)).collect();
        let influxql = format!("SELECT {} FROM {} GROUP BY *", fields.join(", "), quoted(&table.name));
        let (epoch, rows) = (precision(table.per_second), CHUNK_ROWS.to_string());
        let form = [("db", DATABASE), ("epoch", epoch), ("chunked", "true"), ("chunk_size", &rows), ("q", &influxql)];
        let server = self.server.as_ref();
        let reply = self.http.post_form("/query", &form).map_err(|failure| Self::explain(server, failure))?;
        let (mut reply, mut line, mut digest) = (BufReader::new(reply), String::new(), RowDigest::default());
        while reply.read_line(&mut line).map_err(|error| Self::explain(server, Failure::broken(error)))? > 0 {
            add_rows(&line, &table, &mut digest)?;
            line.clear();
        }
        match digest.rows < table.rows {
            true => Err(Failure::cannot(format!(
                "rows of one series and one time are one point: of {} rows {} are left",
                table.rows, digest.rows
            ))),
            false => Ok(digest),
        }
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let (question, table) = Question::read(sql, |name| self.catalogue.table(name))?;
        let table = table.clone();
        let said = self.ask(&text(&question, &table)?, table.per_second)?;
        answer(&question, &table, &said)
    }

    fn execute(&mut self, _statements: &[String]) -> Result<(), Failure> {
        Err(Failure::cannot("InfluxQL has no INSERT and no UPDATE"))
    }

    fn transaction(&mut self, _statements: &[String]) -> Result<(), Failure> {
        Err(Failure::cannot("InfluxQL has no INSERT, and there are no transactions"))
    }
}

impl PointServer for InfluxdbSession {
    const DIALECT: LineDialect = LineDialect::Influxdb;
    /// InfluxDB's documentation recommends this size of a request.
    const LINES: u64 = 10_000;

    fn write(&mut self, table: &SeriesTable, lines: &[u8]) -> Result<(), Failure> {
        let path = format!("/write?db={DATABASE}&precision={}", precision(table.per_second));
        let written = self.http.post(&path, lines).and_then(Reply::end);
        written.map_err(|failure| Self::explain(self.server.as_ref(), failure))
    }

    /// Rows can be read when a request is answered.
    fn finish(&mut self, table: SeriesTable) -> Result<(), Failure> {
        self.catalogue.keep(table)
    }
}

/// The files below a folder, with their lengths.
fn file_lengths(folder: &Path) -> Result<Vec<(String, u64)>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Failure::broken)? {
        let entry = entry.map_err(Failure::broken)?;
        // A compaction removes files meanwhile.
        let Ok(metadata) = entry.metadata() else { continue };
        match metadata.is_dir() {
            true => files.extend(file_lengths(&entry.path())?),
            false => files.push((entry.path().display().to_string(), metadata.len())),
        }
    }
    files.sort();
    Ok(files)
}

/// Adds the rows of one part of an answer: points of one series or of several.
fn add_rows(line: &str, table: &SeriesTable, digest: &mut RowDigest) -> Result<(), Failure> {
    let mut scanner = Scanner::new(line);
    if !scanner.comes_before("series", "error") && line.contains("\"error\":") {
        return Err(Failure::wrong(line.trim().to_owned()));
    }
    while scanner.comes_before("columns", "error") {
        let tags = match scanner.comes_before("tags", "columns") && scanner.find("tags") {
            true => scanner.object_of_texts()?,
            false => Vec::new(),
        };
        if !scanner.find("values") {
            return Err(Failure::wrong("an answer of InfluxDB has columns and no values"));
        }
        // An answer lists missing tags as empty.
        let tag_cell = |name: &str| match tags.iter().find(|(tag, _)| tag == name) {
            Some((_, value)) if !value.is_empty() => text_cell(value.as_bytes()),
            _ => null_cell(),
        };
        let tag_cells: Vec<u64> = table.columns.iter().map(|column| tag_cell(&column.name)).collect();
        let mut values = Vec::new();
        scanner.list(|scanner| {
            values.clear();
            scanner.list(|scanner| {
                values.push(scanner.scalar()?);
                Ok(())
            })?;
            digest.add_row(row_number(table, &tag_cells, &values)?);
            Ok(())
        })?;
    }
    Ok(())
}

/// A row's number: the values are the time, and then the fields in the order of the table.
fn row_number(table: &SeriesTable, tag_cells: &[u64], values: &[Scalar<'_>]) -> Result<u64, Failure> {
    let mut fields = values.iter().skip(1);
    let mut number = 0;
    for (column, tag) in table.columns.iter().zip(tag_cells) {
        let cell = match column.role {
            Role::Tag => *tag,
            Role::Time => values.first().map_or(Ok(null_cell()), |value| value_cell(value, column.role))?,
            role => fields.next().map_or(Ok(null_cell()), |value| value_cell(value, role))?,
        };
        number = fold(number, cell);
    }
    Ok(number)
}

fn value_cell(value: &Scalar<'_>, role: Role) -> Result<u64, Failure> {
    Ok(match value {
        Scalar::Null => null_cell(),
        Scalar::Bool(value) => integer_cell(i64::from(*value)),
        Scalar::Text(text) => text_cell(text.as_bytes()),
        Scalar::Number(number) if role == Role::Float => number.parse::<f64>().map_err(Failure::broken)?.to_bits(),
        Scalar::Number(number) => integer_cell(number.parse().map_err(Failure::broken)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_are_over_all_series() {
        let series = |row: [u64; 3]| json!({"columns": ["cachedBytes", "diskBytes", "memBytes"], "values": [row]});
        let answer = json!({"results": [{"statement_id": 0, "series": [series([9, 1, 2]), series([9, 0, 40])]}]});
        assert_eq!(sum_of(&answer, &["memBytes", "diskBytes"]), 43);
        assert_eq!(sum_of(&json!({"results": [{"statement_id": 0}]}), &["memBytes"]), 0);
    }
}
