//! Answers as text: one line per row, values separated by bars, `NULL` for NULL, `(empty)` for the empty text.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::IntervalMonthDayNanoType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::array_text;
use atsdb_core::interval_text::interval_text;
use atsdb_sql::{Answer, Session};

/// Returns the lines of a statement's answer. The statement must not fail.
pub(crate) fn ask(session: &Session, sql: &str) -> Vec<String> {
    let statement = session.statements(sql).next().unwrap().unwrap();
    let answer = session.execute(&statement, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Answer::Rows(rows) = answer else { return Vec::new() };
    rows.flat_map(|batch| lines(&batch.unwrap_or_else(|error| panic!("{sql}: {error}")))).collect()
}

/// Returns the same lines, sorted.
pub(crate) fn sorted(session: &Session, sql: &str) -> Vec<String> {
    let mut lines = ask(session, sql);
    lines.sort();
    lines
}

/// Returns the rows of a batch.
pub(crate) fn lines(batch: &RecordBatch) -> Vec<String> {
    rows(batch, false)
}

/// Returns the rows of a batch with arrays as the program prints them: `{1,NULL}`.
pub(crate) fn printed_lines(batch: &RecordBatch) -> Vec<String> {
    rows(batch, true)
}

fn rows(batch: &RecordBatch, has_braces: bool) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatters: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
    let cell = |column: usize, row: usize| {
        let array = batch.column(column);
        let is_null = array.is_null(row);
        let text = match array.as_primitive_opt::<IntervalMonthDayNanoType>().filter(|_| !is_null) {
            Some(intervals) => {
                let value = intervals.value(row);
                interval_text(value.months, value.days, value.nanoseconds)
            }
            None => match array.as_list_opt::<i32>().filter(|_| has_braces && !is_null) {
                Some(arrays) => {
                    let elements = arrays.value(row);
                    let formatter = ArrayFormatter::try_new(elements.as_ref(), &options).unwrap();
                    let text = |at: usize| elements.is_valid(at).then(|| formatter.value(at).to_string());
                    array_text::format((0..elements.len()).map(text))
                }
                None => formatters[column].value(row).to_string(),
            },
        };
        match text.as_str() {
            "" if !is_null => "(empty)".to_owned(),
            _ => text.replace('\\', "\\\\").replace('\n', "\\n").replace('\0', "\\0"),
        }
    };
    (0..batch.num_rows())
        .map(|row| (0..batch.num_columns()).map(|column| cell(column, row)).collect::<Vec<_>>().join(" | "))
        .map(|line| line.trim_end().to_owned())
        .collect()
}
