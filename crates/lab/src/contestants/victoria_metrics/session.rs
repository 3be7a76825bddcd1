//! A session: a connection to the workspace's server.

use super::answers::{AnswerRows, Sample, last_rows};
use super::export::ExportedRows;
use super::metricsql::{Windows, aggregates, all, check_names, last, seconds, windows};
use super::program::{SERVERS, VictoriaMetricsProgram};
use crate::contestant::{Dialect, Loader, Session};
use crate::contestants::http::{Http, Reply, encoded};
use crate::contestants::line_protocol::{LineDialect, Role, precision};
use crate::contestants::series::{Catalogue, PointLoader, PointServer, Question, SeriesTable};
use crate::data::answer::Answer;
use crate::data::digest::RowDigest;
use crate::failure::Failure;
use crate::measure::{Tier, clock};
use crate::server::WorkspaceServer;
use atsdb::{ColumnType, TableDefinition};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::Duration;

/// The approximate number of rows of an export, which are in memory together.
const EXPORT_ROWS: u64 = 1_000_000;
const PAUSE: Duration = Duration::from_millis(200);
/// A question for the latest rows looks back this many times as far if it has found too few.
const WIDER: i64 = 8;

pub(super) struct VictoriaMetricsSession {
    server: Arc<WorkspaceServer>,
    http: Http,
    catalogue: Catalogue,
    settings: Vec<String>,
}

impl VictoriaMetricsSession {
    pub(super) fn open(program: VictoriaMetricsProgram) -> Result<Self, Failure> {
        let server = SERVERS.of(&program.folder, &program)?;
        let (http, catalogue) = (Http::new(server.ports.http), Catalogue::open(&program.folder)?);
        let mut settings: Vec<String> =
            program.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        settings.push(format!("lines a request = {}", Self::LINES));
        settings.push("written to disk = within seconds, synced".to_owned());
        Ok(Self { server, http, catalogue, settings })
    }

    /// Queries the values at the ends of windows.
    fn samples(&mut self, text: &str, windows: Windows) -> Result<Vec<Sample>, Failure> {
        let (first, end) = windows.ends();
        let times = [seconds(first), seconds(end), seconds(windows.length)];
        let [begin, end, step] = times.each_ref().map(String::as_str);
        let form = match windows.count {
            1 => [("query", text), ("time", begin), ("nocache", "1")].to_vec(),
            // Without this, times are moved to multiples of the step.
            _ => vec![("query", text), ("start", begin), ("end", end), ("step", step), ("nocache", "1")],
        };
        let path = if windows.count == 1 { "/api/v1/query" } else { "/api/v1/query_range" };
        let said = self.http.post_form(path, &form).and_then(Reply::bytes);
        let said: Value =
            serde_json::from_slice(&said.map_err(|failure| self.server.explain(failure))?).map_err(Failure::broken)?;
        Sample::all(&said)
    }

    fn aggregate(&mut self, question: &Question, table: &SeriesTable, times: (i64, i64)) -> Result<Answer, Failure> {
        let bucket = question.bucket_seconds().map(|seconds| seconds * 1_000);
        let mut rows = AnswerRows::new(question, table);
        for windows in windows(times.0, times.1, bucket) {
            for asked in aggregates(question, table, windows.length)? {
                let samples = self.samples(&asked.text, windows)?;
                rows.add(&asked.columns, windows, samples)?;
            }
        }
        Ok(rows.finish())
    }

    /// Finds the latest groups, from the end on.
    fn latest(&mut self, question: &Question, table: &SeriesTable, times: (i64, i64)) -> Result<Answer, Failure> {
        let (Some(limit), Some(bucket)) = (question.limit.filter(|limit| limit.latest), question.bucket_seconds())
        else {
            return Err(Failure::cannot("has values at times, and no rows of which some are the first"));
        };
        let (wanted, bucket) = (usize::try_from(limit.rows).unwrap_or(usize::MAX), bucket * 1_000);
        let mut buckets = i64::try_from(limit.rows).unwrap_or(i64::MAX / WIDER);
        loop {
            let from = (times.1 - 1).div_euclid(bucket).saturating_sub(buckets - 1).saturating_mul(bucket).max(times.0);
            let mut answer = self.aggregate(question, table, (from, times.1))?;
            if answer.rows.len() >= wanted || from == times.0 {
                // They are in the order of time.
                let surplus = answer.rows.len().saturating_sub(wanted);
                answer.rows.drain(..surplus);
                return Ok(answer);
            }
            buckets = buckets.saturating_mul(WIDER);
        }
    }
}

/// The columns of a table as labels and fields.
fn series_table(table: &TableDefinition) -> Result<SeriesTable, Failure> {
    let series = SeriesTable::of(table, |column| {
        Ok(match column.column_type {
            ColumnType::Text if column.map.is_some() => Role::Tag,
            ColumnType::Text | ColumnType::Binary => {
                return Err(Failure::cannot(format!("keeps numbers, and {} is a text of each row", column.name)));
            }
            ColumnType::Float32 | ColumnType::Float64 => Role::Float,
            ColumnType::Timestamp(_) => Role::Moment,
            ColumnType::Date => Role::Date,
            _ => Role::Integer,
        })
    })?;
    if series.per_second > 1_000 {
        return Err(Failure::cannot("keeps times of a millisecond"));
    }
    if series.fields().next().is_none() {
        return Err(Failure::cannot("keeps numbers, and this table has none"));
    }
    check_names(&series)?;
    Ok(series)
}

/// The times of a question in milliseconds: its own, or else those of the table's rows.
fn times(question: &Question, table: &SeriesTable) -> Option<(i64, i64)> {
    let (first, last) = table.times?;
    let (from, before) = question.times;
    let milliseconds = |time: i64| time * (1_000 / table.per_second);
    let times = (milliseconds(from.unwrap_or(first)), milliseconds(before.unwrap_or(last + 1)));
    (times.0 < times.1).then_some(times)
}

impl Session for VictoriaMetricsSession {
    fn dialect(&self) -> Dialect {
        Dialect::Series
    }

    /// Files are synced within seconds of a write, at every tier.
    fn tier(&self) -> Tier {
        Tier::Normal
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
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

    /// Merges the parts of each month.
    fn seal(&mut self) -> Result<(), Failure> {
        self.http.get("/internal/force_merge").and_then(Reply::end)?;
        loop {
            clock::sleep(PAUSE);
            let metrics = self.http.get("/metrics").and_then(Reply::bytes);
            let metrics = metrics.map_err(|failure| self.server.explain(failure))?;
            if String::from_utf8_lossy(&metrics).lines().any(|line| line == "vm_active_force_merges 0") {
                return Ok(());
            }
        }
    }

    fn prepare_lookups(&mut self, _table: &TableDefinition) -> Result<(), Failure> {
        Err(Failure::cannot("finds series by their labels; there is no index to make"))
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let table = self.catalogue.table(&table.name)?.clone();
        let (mut digest, selector) = (RowDigest::default(), encoded(&all(&table)));
        let Some((first, last)) = table.times else { return Ok(digest) };
        let scale = 1_000 / table.per_second;
        let (mut begin, end) = (first * scale, (last + 1) * scale);
        let parts = i64::try_from(table.rows.div_ceil(EXPORT_ROWS)).unwrap_or(i64::MAX).max(1);
        let length = ((end - begin) / parts).max(1);
        while begin < end {
            let (from, until) = (seconds(begin), seconds((begin + length).min(end) - 1));
            let path = format!("/api/v1/export?match[]={selector}&start={from}&end={until}");
            let reply = self.http.get(&path).map_err(|failure| self.server.explain(failure))?;
            let (mut reply, mut line, mut rows) = (BufReader::new(reply), String::new(), ExportedRows::new(&table));
            while reply.read_line(&mut line).map_err(|error| self.server.explain(Failure::broken(error)))? > 0 {
                rows.add(&line)?;
                line.clear();
            }
            rows.add_to(&mut digest)?;
            begin += length;
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let (question, table) = Question::read(sql, |name| self.catalogue.table(name))?;
        let table = table.clone();
        let Some(times) = times(&question, &table) else {
            return Ok(AnswerRows::new(&question, &table).finish());
        };
        if question.limit.is_some() {
            return self.latest(&question, &table, times);
        }
        if let Some(tag) = &question.last_of {
            let window = Windows { begin: times.0, length: times.1 - times.0, count: 1, bucket: times.0 };
            let [values, moments] = last(&question, &table, window.length);
            let (values, moments) = (self.samples(&values, window)?, self.samples(&moments, window)?);
            return last_rows(&question, &table, tag, values, moments);
        }
        if !question.is_aggregate() {
            return Err(Failure::cannot("has values at times, and no rows with all values of a moment"));
        }
        self.aggregate(&question, &table, times)
    }

    fn execute(&mut self, _statements: &[String]) -> Result<(), Failure> {
        Err(Failure::cannot("MetricsQL has no INSERT and no UPDATE"))
    }

    fn transaction(&mut self, _statements: &[String]) -> Result<(), Failure> {
        Err(Failure::cannot("MetricsQL has no INSERT, and there are no transactions"))
    }
}

impl PointServer for VictoriaMetricsSession {
    const DIALECT: LineDialect = LineDialect::VictoriaMetrics;
    /// Large requests are what its documentation recommends.
    const LINES: u64 = 10_000;

    fn write(&mut self, table: &SeriesTable, lines: &[u8]) -> Result<(), Failure> {
        let path = format!("/write?precision={}", precision(table.per_second));
        self.http.post(&path, lines).and_then(Reply::end).map_err(|failure| self.server.explain(failure))
    }

    /// Written rows can be found after a flush, or else after a second.
    fn finish(&mut self, table: SeriesTable) -> Result<(), Failure> {
        self.http.get("/internal/force_flush").and_then(Reply::end).map_err(|failure| self.server.explain(failure))?;
        self.catalogue.keep(table)
    }
}
