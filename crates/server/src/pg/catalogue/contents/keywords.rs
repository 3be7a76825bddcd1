//! The rows of `pg_get_keywords`. pgjdbc passes them to programs that quote names.

use super::super::key_words::key_words;
use super::super::relation::Row;
use super::super::value::Value;

pub(super) fn keywords() -> Vec<Row> {
    let mut rows: Vec<(&str, Row)> = Vec::new();
    for (word, (code, description), is_label) in key_words() {
        let label = if is_label { "can be bare label" } else { "requires AS" };
        let row = vec![
            Value::text(word),
            Value::text(code),
            Value::Bool(is_label),
            Value::text(description),
            Value::text(label),
        ];
        rows.push((word, row));
    }
    rows.sort_by_key(|(word, _)| *word);
    rows.into_iter().map(|(_, row)| row).collect()
}
