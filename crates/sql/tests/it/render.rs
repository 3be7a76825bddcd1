//! Answers as text: one line a row, values between bars, NULL as `NULL`, the empty text as `(empty)`.

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};

pub(crate) fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatters: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
    let cell = |column: usize, row: usize| {
        let text = formatters[column].value(row).to_string();
        let is_null = batch.column(column).is_null(row);
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
