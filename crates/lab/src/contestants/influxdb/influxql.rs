//! Questions and answers in InfluxQL.

use crate::contestants::line_protocol::{Role, precision};
use crate::contestants::series::{Aggregate, GroupKey, Item, Question, SeriesTable};
use crate::data::answer::{Answer, Cell};
use crate::failure::Failure;
use atsdb::{Error, ErrorKind};
use serde_json::Value;

/// A name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A question as text. The columns of its answer are named `c` and their position in the question.
pub(super) fn text(question: &Question, table: &SeriesTable) -> Result<String, Failure> {
    let mut columns = Vec::new();
    let mut has_field = false;
    for (position, item) in question.items.iter().enumerate() {
        let column = match item {
            Item::Bucket => continue,
            Item::Column(name) if is_of_the_group(question, name) => continue,
            Item::Column(name) => match table.column(name)?.role {
                Role::Time => continue,
                Role::Tag => format!("{}::tag", quoted(name)),
                _ => {
                    has_field = true;
                    format!("{}::field", quoted(name))
                }
            },
            Item::Aggregate(aggregate, field) => {
                has_field = true;
                let function = match aggregate {
                    Aggregate::Count => "count",
                    Aggregate::Sum => "sum",
                    Aggregate::Min => "min",
                    Aggregate::Max => "max",
                    Aggregate::Mean => "mean",
                };
                let field = field.as_ref().map_or_else(|| table.counted().map(|field| &field.name), Ok)?;
                format!("{function}({})", quoted(field))
            }
        };
        columns.push(format!("{column} AS c{position}"));
    }
    if !has_field {
        columns.push(quoted(&table.counted()?.name));
    }
    let groups = question.groups.iter().map(|key| match key {
        GroupKey::Tag(name) => quoted(name),
        GroupKey::Seconds(seconds) => format!("time({seconds}s)"),
    });
    let groups: Vec<String> = groups.chain(question.last_of.as_deref().map(quoted)).collect();
    let mut text = format!("SELECT {} FROM {}", columns.join(", "), quoted(&table.name));
    let conditions = conditions(question, table);
    if !conditions.is_empty() {
        text += &format!(" WHERE {}", conditions.join(" AND "));
    }
    if !groups.is_empty() {
        text += &format!(" GROUP BY {}", groups.join(", "));
    }
    // Times without points have no row.
    if question.bucket_seconds().is_some() {
        text += " fill(none)";
    }
    if question.last_of.is_some() {
        text += " ORDER BY time DESC LIMIT 1";
    }
    if let Some(limit) = question.limit {
        let order = if limit.latest { "DESC" } else { "ASC" };
        text += &format!(" ORDER BY time {order} LIMIT {}", limit.rows);
    }
    Ok(text)
}

/// Returns whether this is a tag that all rows of a group share.
fn is_of_the_group(question: &Question, name: &str) -> bool {
    question.last_of.as_deref() == Some(name) || question.group_tags().any(|tag| tag == name)
}

fn conditions(question: &Question, table: &SeriesTable) -> Vec<String> {
    let tag = |(name, values): &(String, Vec<String>)| {
        let values: Vec<String> = values.iter().map(|value| format!("{} = {}", quoted(name), literal(value))).collect();
        format!("({})", values.join(" OR "))
    };
    let unit = precision(table.per_second).replace('n', "ns");
    let (from, before) = question.times;
    let times = [(from, ">="), (before, "<")].into_iter();
    let times = times.filter_map(|(time, sign)| Some(format!("time {sign} {}{unit}", time?)));
    let above = question.above.iter().map(|bound| format!("{} > {}", quoted(&bound.field), bound.number));
    question.tags.iter().map(tag).chain(times).chain(above).collect()
}

/// Returns the result of one statement from a reply. A refusal is in the body, and its status is that of success.
pub(super) fn result(response: &Value) -> Result<&Value, Failure> {
    let result = &response["results"][0];
    match result["error"].as_str() {
        Some(message) => Err(Failure::Failed(Error::new(ErrorKind::Unavailable, message))),
        None => Ok(result),
    }
}

/// Returns the answer from a reply.
pub(super) fn answer(question: &Question, table: &SeriesTable, response: &Value) -> Result<Answer, Failure> {
    let result = result(response)?;
    let mut answer = Answer::default();
    for series in result["series"].as_array().into_iter().flatten() {
        let columns: Vec<&str> = series["columns"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for row in series["values"].as_array().into_iter().flatten() {
            let value =
                |name: &str| columns.iter().position(|column| *column == name).map_or(&Value::Null, |at| &row[at]);
            let value_of = |(position, item): (usize, &Item)| match item {
                Item::Bucket => time(value("time"), table),
                Item::Column(name) if is_of_the_group(question, name) => cell(&series["tags"][name], Role::Tag),
                Item::Column(name) => match table.column(name)?.role {
                    Role::Time => time(value("time"), table),
                    role => cell(value(&format!("c{position}")), role),
                },
                Item::Aggregate(aggregate, field) => {
                    let role = match (aggregate, field) {
                        (Aggregate::Count, _) | (_, None) => Role::Integer,
                        (Aggregate::Mean, _) => Role::Float,
                        (_, Some(field)) => table.column(field)?.role,
                    };
                    cell(value(&format!("c{position}")), role)
                }
            };
            answer.rows.push(question.items.iter().enumerate().map(value_of).collect::<Result<_, Failure>>()?);
        }
    }
    // InfluxDB returns no row without points, where SQL has one.
    if answer.rows.is_empty() && question.groups.is_empty() && question.is_aggregate() {
        let of_nothing = |item: &Item| match item {
            Item::Aggregate(Aggregate::Count, _) => Cell::Integer(0),
            _ => Cell::Null,
        };
        answer.rows.push(question.items.iter().map(of_nothing).collect());
    }
    Ok(answer)
}

/// A time in units of the table, in seconds.
fn time(value: &Value, table: &SeriesTable) -> Result<Cell, Failure> {
    let units = value.as_i64().ok_or_else(|| unexpected(value))?;
    Ok(match units % table.per_second {
        0 => Cell::Integer(units / table.per_second),
        _ => Cell::Float(units as f64 / table.per_second as f64),
    })
}

fn cell(value: &Value, role: Role) -> Result<Cell, Failure> {
    Ok(match (value, role) {
        (Value::Null, _) => Cell::Null,
        (Value::String(text), Role::Tag | Role::Text) => Cell::Text(text.clone()),
        (_, Role::Float) => Cell::Float(value.as_f64().ok_or_else(|| unexpected(value))?),
        // A number that JSON has as a fraction is one that lost its decimals.
        _ => Cell::Integer(value.as_i64().ok_or_else(|| unexpected(value))?),
    })
}

fn unexpected(value: &Value) -> Failure {
    Failure::wrong(format!("an answer of InfluxDB has an unexpected value: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::series::catalogue::SeriesColumn;

    fn cpu() -> SeriesTable {
        let column = |(name, role): (&str, Role)| SeriesColumn { name: name.to_owned(), role, nullable: false };
        let columns = [("time", Role::Time), ("host", Role::Tag), ("os", Role::Tag), ("load", Role::Float)];
        let (key, per_second) = (vec!["host".to_owned()], 1_000);
        SeriesTable {
            name: "cpu".to_owned(),
            columns: columns.map(column).to_vec(),
            per_second,
            key,
            rows: 0,
            times: None,
        }
    }

    fn question(sql: &str) -> Question {
        let cpu = cpu();
        Question::read(sql, |_| Ok(&cpu)).expect("a question").0
    }

    #[test]
    fn groups_of_time_have_no_empty_ones_and_rows_have_their_limit() {
        let text = |sql: &str| text(&question(sql), &cpu()).expect("a text");
        let groups = "SELECT date_trunc('hour', time) AS hour, host, avg(load), count(*) FROM cpu \
                      WHERE host IN ('a', 'b') AND time >= 1.5 AND load > 90 GROUP BY date_trunc('hour', time), host";
        let expected = "SELECT mean(\"load\") AS c2, count(\"load\") AS c3 FROM \"cpu\" WHERE (\"host\" = 'a' OR \"host\" = 'b') \
                        AND time >= 1500ms AND \"load\" > 90 GROUP BY time(3600s), \"host\" fill(none)";
        assert_eq!(text(groups), expected);
        let last = "SELECT DISTINCT ON (host) * FROM cpu ORDER BY host, time DESC";
        let expected =
            "SELECT \"os\"::tag AS c2, \"load\"::field AS c3 FROM \"cpu\" GROUP BY \"host\" ORDER BY time DESC LIMIT 1";
        assert_eq!(text(last), expected);
        let latest = "SELECT time, host FROM cpu WHERE os = 'it''s' ORDER BY time DESC LIMIT 10";
        let expected =
            "SELECT \"host\"::tag AS c1, \"load\" FROM \"cpu\" WHERE (\"os\" = 'it\\'s') ORDER BY time DESC LIMIT 10";
        assert_eq!(text(latest), expected);
    }

    #[test]
    fn values_have_the_types_of_their_columns() {
        let response = serde_json::json!({ "results": [{ "series": [
            { "tags": { "host": "a" }, "columns": ["time", "c2", "c3"], "values": [[3_600_000, 5, 2]] },
        ] }] });
        let sql = "SELECT date_trunc('hour', time), host, avg(load), count(*) FROM cpu GROUP BY date_trunc('hour', time), host";
        let expected = [Cell::Integer(3_600), Cell::Text("a".to_owned()), Cell::Float(5.0), Cell::Integer(2)];
        assert_eq!(answer(&question(sql), &cpu(), &response).expect("an answer").rows, [expected]);
        let nothing = serde_json::json!({ "results": [{ "statement_id": 0 }] });
        let counted = question("SELECT count(*), max(load) FROM cpu WHERE host = 'z'");
        let expected = [[Cell::Integer(0), Cell::Null]];
        assert_eq!(answer(&counted, &cpu(), &nothing).expect("an answer").rows, expected);
        assert!(answer(&question(sql), &cpu(), &nothing).expect("an answer").rows.is_empty());
        let refused = serde_json::json!({ "results": [{ "error": "timeout" }] });
        assert!(answer(&counted, &cpu(), &refused).expect_err("an error").to_string().contains("timeout"));
    }
}
