//! INSERT statements of many rows as text, as a dump has them.

use crate::contestant::Dialect;
use crate::contestants::time_unit::units_per_second;
use crate::data::columns::RowSink;
use crate::data::rows::Binder;
use crate::failure::Failure;
use atsdb::{ColumnType, TableDefinition};
use std::fmt::Write;

/// A statement that is being written.
pub(super) struct InsertText {
    dialect: Dialect,
    begin: String,
    statement: String,
    /// The statement is sent when it has this many bytes.
    bytes_max: usize,
    /// The number of units of the table's time in a second.
    per_second: i64,
    /// For each column, whether it is a date.
    dates: Vec<bool>,
    /// The column whose value is next.
    position: usize,
    /// The reason why NULL is refused.
    no_null: Option<&'static str>,
}

impl InsertText {
    /// Creates statements for rows of `table`; `verb` is `INSERT INTO`, or its equivalent.
    pub(super) fn new(dialect: Dialect, verb: &str, table: &TableDefinition, bytes_max: usize) -> Self {
        let begin = format!("{verb} {} VALUES ", dialect.quote(&table.name));
        let statement = String::with_capacity(bytes_max + 4_096);
        let dates = table.columns.iter().map(|column| column.column_type == ColumnType::Date).collect();
        let per_second = units_per_second(table);
        Self { dialect, begin, statement, bytes_max, per_second, dates, position: 0, no_null: None }
    }

    /// Refuses NULL for this reason.
    pub(super) fn without_null(mut self, reason: Option<&'static str>) -> Self {
        self.no_null = reason;
        self
    }

    /// Adds rows, and passes each statement that is long enough to `send`.
    pub(super) fn sink<F: FnMut(&str) -> Result<(), Failure>>(&mut self, send: F) -> InsertSink<'_, F> {
        InsertSink { text: self, send }
    }

    /// Passes the rest to `send`.
    pub(super) fn finish(&mut self, mut send: impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
        if self.statement.pop().is_some() {
            send(&self.statement)?;
            self.statement.clear();
        }
        Ok(())
    }

    fn value(&mut self, value: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.statement.write_fmt(value);
        self.statement.push(',');
        self.position += 1;
    }
}

pub(super) struct InsertSink<'a, F> {
    text: &'a mut InsertText,
    send: F,
}

impl<F: FnMut(&str) -> Result<(), Failure>> RowSink for InsertSink<'_, F> {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.text.statement.is_empty() {
            self.text.statement.push_str(&self.text.begin);
        }
        self.text.statement.push('(');
        self.text.position = 0;
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        let per_second = self.text.per_second;
        let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
        let time = self.text.dialect.time(seconds);
        match (fraction, time.strip_suffix("Z'").or(time.strip_suffix('\''))) {
            (0, _) | (_, None) => self.text.value(format_args!("{time}")),
            (fraction, Some(start)) => {
                let zone = if time.ends_with("Z'") { "Z" } else { "" };
                let microseconds = fraction * 1_000_000 / per_second;
                self.text.value(format_args!("{start}.{microseconds:06}{zone}'"));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.text.statement.pop();
        self.text.statement.push_str("),");
        if self.text.statement.len() >= self.text.bytes_max { self.text.finish(&mut self.send) } else { Ok(()) }
    }
}

impl<F> Binder for InsertSink<'_, F> {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        match self.text.dates.get(self.text.position) {
            Some(true) => self.text.value(format_args!("{}", self.text.dialect.date(value))),
            _ => self.text.value(format_args!("{value}")),
        }
        Ok(())
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        let is_mysql = matches!(self.text.dialect, Dialect::Mysql | Dialect::MysqlEpoch);
        match value.contains(['\'', '\\']) {
            true if is_mysql => self.text.value(format_args!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))),
            true => self.text.value(format_args!("'{}'", value.replace('\'', "''"))),
            false => self.text.value(format_args!("'{value}'")),
        }
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        self.text.value(format_args!("{value:e}"));
        Ok(())
    }

    fn null(&mut self) -> Result<(), Failure> {
        if let Some(reason) = self.text.no_null {
            return Err(Failure::cannot(reason));
        }
        self.text.value(format_args!("NULL"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::TimeUnit;

    #[test]
    fn a_statement_is_sent_when_it_is_long_enough() {
        let table = TableDefinition::new("t")
            .with_column("time", ColumnType::Timestamp(TimeUnit::Millisecond), None)
            .with_column("name", ColumnType::Text, None)
            .with_column("day", ColumnType::Date, None)
            .with_time("time", TimeUnit::Millisecond)
            .expect("a table");
        let mut sent = Vec::new();
        let mut text = InsertText::new(Dialect::Mysql, "INSERT INTO", &table, 120);
        {
            let mut sink = text.sink(|statement| {
                sent.push(statement.to_owned());
                Ok(())
            });
            for name in ["it's", "a\\b", "c"] {
                sink.begin().expect("a row");
                sink.time(1_500).expect("a time");
                sink.text(name).expect("a text");
                sink.integer(15_901).expect("a date");
                sink.end().expect("its end");
            }
        }
        text.finish(|statement| {
            sent.push(statement.to_owned());
            Ok(())
        })
        .expect("the rest");
        let row = |text: &str| format!("('1970-01-01 00:00:01.500000','{text}','2013-07-15')");
        let [first, second, third] = [row("it''s"), row("a\\\\b"), row("c")];
        let expected = [format!("INSERT INTO `t` VALUES {first},{second}"), format!("INSERT INTO `t` VALUES {third}")];
        assert_eq!(sent, expected);
    }
}
