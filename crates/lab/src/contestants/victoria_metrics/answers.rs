//! Answers from samples: the values of series at the ends of windows.

use super::metricsql::{Windows, metric};
use crate::contestants::line_protocol::Role;
use crate::contestants::series::{Aggregate, Item, Question, SeriesTable};
use crate::data::answer::{Answer, Cell};
use crate::failure::Failure;
use serde_json::Value;
use std::collections::BTreeMap;

/// A value of a series.
pub(super) struct Sample {
    labels: BTreeMap<String, String>,
    /// The time in milliseconds.
    time: i64,
    value: f64,
}

impl Sample {
    /// The samples of an answer of the server.
    pub(super) fn all(said: &Value) -> Result<Vec<Self>, Failure> {
        let unexpected = || Failure::wrong(format!("an answer of VictoriaMetrics has an unexpected form: {said}"));
        let mut samples = Vec::new();
        for series in said["data"]["result"].as_array().ok_or_else(unexpected)? {
            let labels = series["metric"].as_object().into_iter().flatten();
            let labels: BTreeMap<String, String> =
                labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
            let one = std::slice::from_ref(&series["value"]);
            for pair in series["values"].as_array().map_or(one, Vec::as_slice) {
                let time = pair[0].as_f64().ok_or_else(unexpected)?;
                let value = pair[1].as_str().and_then(|value| value.parse().ok()).ok_or_else(unexpected)?;
                samples.push(Self { labels: labels.clone(), time: (time * 1e3).round() as i64, value });
            }
        }
        Ok(samples)
    }
}

/// The rows of an answer, by the beginning of their bucket and the values of their tags.
pub(super) struct AnswerRows<'a> {
    question: &'a Question,
    table: &'a SeriesTable,
    rows: BTreeMap<(i64, Vec<Option<String>>), Vec<Cell>>,
}

impl<'a> AnswerRows<'a> {
    /// No rows yet.
    pub(super) fn new(question: &'a Question, table: &'a SeriesTable) -> Self {
        Self { question, table, rows: BTreeMap::new() }
    }

    /// Adds the values of some columns, each with the metric that has them, if there are several.
    pub(super) fn add(
        &mut self,
        columns: &[(usize, Option<String>)],
        windows: Windows,
        samples: Vec<Sample>,
    ) -> Result<(), Failure> {
        let (first, _) = windows.ends();
        for mut sample in samples {
            let bucket = windows.bucket + (sample.time - first) / windows.length * windows.length;
            let name = sample.labels.remove("__name__");
            let position = columns.iter().find(|(_, metric)| metric.is_none() || *metric == name);
            let Some((position, _)) = position else {
                return Err(Failure::wrong(format!("an answer has a metric that was not queried: {name:?}")));
            };
            let tags: Vec<Option<String>> = self.question.group_tags().map(|tag| sample.labels.remove(tag)).collect();
            let cell = self.cell(*position, sample.value)?;
            let row = self
                .rows
                .entry((bucket, tags))
                .or_insert_with_key(|(bucket, tags)| empty_row(self.question, *bucket, tags));
            row[*position] = cell;
        }
        Ok(())
    }

    fn cell(&self, position: usize, value: f64) -> Result<Cell, Failure> {
        Ok(match &self.question.items[position] {
            Item::Aggregate(Aggregate::Count, _) => number(value, Role::Integer),
            Item::Aggregate(Aggregate::Mean, _) | Item::Aggregate(_, None) => number(value, Role::Float),
            Item::Aggregate(_, Some(field)) => number(value, self.table.column(field)?.role),
            Item::Bucket | Item::Column(_) => return Err(Failure::wrong("a value of a column that has none")),
        })
    }

    /// The answer, in the order of time.
    pub(super) fn finish(mut self) -> Answer {
        // Without samples there is no row, where SQL has one.
        if self.question.groups.is_empty() && self.question.is_aggregate() && self.rows.is_empty() {
            self.rows.insert((0, Vec::new()), empty_row(self.question, 0, &[]));
        }
        Answer { rows: self.rows.into_values().collect() }
    }
}

/// The row of a group without values.
fn empty_row(question: &Question, bucket: i64, tags: &[Option<String>]) -> Vec<Cell> {
    let tag = |name: &str| {
        let place = question.group_tags().position(|tag| tag == name);
        place.and_then(|place| tags.get(place).cloned().flatten()).map_or(Cell::Null, Cell::Text)
    };
    let cell = |item: &Item| match item {
        Item::Bucket => Cell::Integer(bucket / 1_000),
        Item::Column(name) => tag(name),
        Item::Aggregate(Aggregate::Count, _) => Cell::Integer(0),
        Item::Aggregate(..) => Cell::Null,
    };
    question.items.iter().map(cell).collect()
}

/// A value as the column that it is of.
fn number(value: f64, role: Role) -> Cell {
    match role {
        _ if value.is_nan() => Cell::Null,
        Role::Float => Cell::Float(value),
        _ => Cell::Integer(value as i64),
    }
}

/// The last values and their times of one series.
#[derive(Default)]
struct LastValues {
    values: BTreeMap<String, f64>,
    times: BTreeMap<String, f64>,
}

/// The last row of each value of a tag, from the last values of all series and from their times in seconds.
pub(super) fn last_rows(
    question: &Question,
    table: &SeriesTable,
    tag: &str,
    values: Vec<Sample>,
    times: Vec<Sample>,
) -> Result<Answer, Failure> {
    let mut series: BTreeMap<BTreeMap<String, String>, LastValues> = BTreeMap::new();
    for (samples, is_time) in [(values, false), (times, true)] {
        for mut sample in samples {
            let name = sample.labels.remove("__name__").unwrap_or_default();
            let last = series.entry(sample.labels).or_default();
            let of = if is_time { &mut last.times } else { &mut last.values };
            of.insert(name, sample.value);
        }
    }
    // The time and the row, by the tag's value.
    let mut latest: BTreeMap<Option<String>, (f64, Vec<Cell>)> = BTreeMap::new();
    for (labels, last) in series {
        let time = last.times.values().copied().fold(f64::MIN, f64::max);
        if last.times.values().any(|other| *other != time) {
            return Err(Failure::cannot("has the last value of each field, and here they are of different times"));
        }
        let key = labels.get(tag).cloned();
        if latest.get(&key).is_some_and(|(known, _)| *known >= time) {
            continue;
        }
        let cell = |item: &Item| match item {
            Item::Column(name) => Ok(match table.column(name)?.role {
                Role::Time if time.fract() == 0.0 => Cell::Integer(time as i64),
                Role::Time => Cell::Float(time),
                Role::Tag => labels.get(name).cloned().map_or(Cell::Null, Cell::Text),
                role => last.values.get(&metric(table, name)).map_or(Cell::Null, |value| number(*value, role)),
            }),
            _ => Err(Failure::wrong("a group in a question about rows")),
        };
        let row = question.items.iter().map(cell).collect::<Result<_, Failure>>()?;
        latest.insert(key, (time, row));
    }
    Ok(Answer { rows: latest.into_values().map(|(_, row)| row).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::series::catalogue::SeriesColumn;

    fn cpu() -> SeriesTable {
        let column = |(name, role): (&str, Role)| SeriesColumn { name: name.to_owned(), role, nullable: false };
        let columns = [("time", Role::Time), ("host", Role::Tag), ("os", Role::Tag), ("load", Role::Integer)];
        let (columns, key) = (columns.map(column).to_vec(), vec!["host".to_owned()]);
        SeriesTable { name: "cpu".to_owned(), columns, per_second: 1, key, rows: 0, times: None }
    }

    fn samples(result: Value) -> Vec<Sample> {
        Sample::all(&serde_json::json!({ "data": { "result": result } })).expect("samples")
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    #[test]
    fn values_go_to_the_bucket_that_they_end() {
        let cpu = cpu();
        let sql = "SELECT date_trunc('minute', time), host, max(load), count(*) FROM cpu GROUP BY date_trunc('minute', time), host";
        let (question, _) = Question::read(sql, |_| Ok(&cpu)).expect("a question");
        let windows = Windows { begin: 60_000, length: 60_000, count: 2, bucket: 60_000 };
        let mut rows = AnswerRows::new(&question, &cpu);
        let max = samples(serde_json::json!([
            { "metric": { "__name__": "cpu_load", "host": "a" }, "values": [[119.999, "7"], [179.999, "8"]] },
        ]));
        rows.add(&[(2, Some("cpu_load".to_owned()))], windows, max).expect("values");
        let count = samples(serde_json::json!([{ "metric": { "host": "a" }, "values": [[179.999, "2"]] }]));
        rows.add(&[(3, None)], windows, count).expect("values");
        let expected = [
            [Cell::Integer(60), text("a"), Cell::Integer(7), Cell::Integer(0)],
            [Cell::Integer(120), text("a"), Cell::Integer(8), Cell::Integer(2)],
        ];
        assert_eq!(rows.finish().rows, expected);
        let other = samples(serde_json::json!([{ "metric": { "__name__": "mem" }, "value": [119.999, "7"] }]));
        let mut rows = AnswerRows::new(&question, &cpu);
        assert!(rows.add(&[(2, Some("cpu_load".to_owned()))], windows, other).is_err());
        assert!(rows.finish().rows.is_empty());
    }

    #[test]
    fn the_last_row_of_a_tag_is_that_of_its_latest_series() {
        let cpu = cpu();
        let sql = "SELECT DISTINCT ON (host) * FROM cpu ORDER BY host, time DESC";
        let (question, _) = Question::read(sql, |_| Ok(&cpu)).expect("a question");
        let of = |values: [&str; 2]| {
            let series = |os: &str, value: &str| serde_json::json!({ "metric": { "__name__": "cpu_load", "host": "a", "os": os }, "value": [99, value] });
            samples(serde_json::json!([series("x", values[0]), series("y", values[1])]))
        };
        let answer = last_rows(&question, &cpu, "host", of(["1", "2"]), of(["60", "50"])).expect("an answer");
        assert_eq!(answer.rows, [[Cell::Integer(60), text("a"), text("x"), Cell::Integer(1)]]);
    }
}
