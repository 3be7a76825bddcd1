//! The questions that a file's columns suggest. Each has one right answer: nothing depends on the order of rows, and no
//! time is in an answer but as whole hours.

use super::input::AdviseInput;
use crate::contestant::Dialect;

/// A question's text, or why the file has none.
pub(crate) type Question = Result<String, String>;

/// The questions by measure, in a dialect.
pub(crate) fn all(input: &AdviseInput, dialect: Dialect) -> Vec<(&'static str, Question)> {
    vec![
        ("count", Ok(format!("SELECT count(*) FROM {}", dialect.quote(&input.table.name)))),
        ("range", range(input, dialect)),
        ("series", series(input, dialect)),
        ("hourly", hourly(input, dialect)),
        ("last", last(input, dialect)),
    ]
}

impl AdviseInput {
    /// A description of the choice, for people.
    pub fn notes(&self) -> Vec<String> {
        let mut notes =
            vec![format!("{}: {} rows, {} columns", self.file.display(), self.rows, self.table.columns.len())];
        let time = self.table.time_column().map_or("none", |column| column.name.as_str());
        let series = self.series.as_ref().map_or("none".to_owned(), |(column, value)| {
            format!("{column}, {} values, asked for '{value}'", self.series_count)
        });
        let value = self.value.as_deref().unwrap_or("none");
        notes.push(format!("time: {time}; series: {series}; value: {value}"));
        for (measure, text) in all(self, Dialect::Sqlite) {
            if let Ok(text) = text {
                notes.push(format!("{measure}: {text}"));
            }
        }
        notes
    }
}

struct QuotedNames {
    table: String,
    time: String,
    value: String,
}

fn names(input: &AdviseInput, dialect: Dialect) -> Result<QuotedNames, String> {
    let time = input.table.time_column().ok_or("the file has no time column")?;
    let value = input.value.as_ref().ok_or("the file has no column of numbers")?;
    Ok(QuotedNames {
        table: dialect.quote(&input.table.name),
        time: dialect.quote(&time.name),
        value: dialect.quote(value),
    })
}

/// The middle hundredth of the time.
fn range(input: &AdviseInput, dialect: Dialect) -> Question {
    let QuotedNames { table, time, value } = names(input, dialect)?;
    let (first, last) = input.times.ok_or("the file has no times")?;
    let span = (last - first).max(1);
    let (begin, end) = (first + span / 200 * 99, first + span / 200 * 101 + 1);
    let literal = |at: i64| dialect.time_in(&input.table, at);
    Ok(format!(
        "SELECT count(*), min({value}), max({value}), avg({value}) FROM {table} WHERE {time} >= {} AND {time} < {}",
        literal(begin),
        literal(end)
    ))
}

/// One series, from its first row to its last.
fn series(input: &AdviseInput, dialect: Dialect) -> Question {
    let (column, wanted) = input.series.as_ref().ok_or("the file has no column that tells series apart")?;
    let value = input.value.as_ref().ok_or("the file has no column of numbers")?;
    let (table, column, value) = (dialect.quote(&input.table.name), dialect.quote(column), dialect.quote(value));
    Ok(format!(
        "SELECT count(*), min({value}), max({value}), avg({value}) FROM {table} WHERE {column} = '{}'",
        wanted.replace('\'', "''")
    ))
}

fn hourly(input: &AdviseInput, dialect: Dialect) -> Question {
    let QuotedNames { table, value, .. } = names(input, dialect)?;
    let hour = dialect.hour_in(&input.table);
    Ok(format!("SELECT {hour} AS hour, count(*), avg({value}) FROM {table} GROUP BY {hour}"))
}

/// The value at the latest time, for each series if there are several.
fn last(input: &AdviseInput, dialect: Dialect) -> Question {
    let QuotedNames { table, time, value } = names(input, dialect)?;
    Ok(match &input.series {
        None => format!("SELECT max({value}) FROM {table} WHERE {time} = (SELECT max({time}) FROM {table})"),
        Some((column, _)) => {
            let column = dialect.quote(column);
            format!(
                "SELECT a.{column}, max(a.{value}) FROM {table} a \
                 JOIN (SELECT {column} AS name, max({time}) AS latest FROM {table} GROUP BY {column}) b \
                 ON a.{column} = b.name AND a.{time} = b.latest GROUP BY a.{column}"
            )
        }
    })
}
