//! Distinguishes SQL from names.

use std::path::Path;

/// The first words of statements. Those that only read come first.
pub(crate) const VERBS: [&str; 31] = [
    "SELECT",
    "WITH",
    "VALUES",
    "FROM",
    "TABLE",
    "SHOW",
    "DESCRIBE",
    "DESC",
    "EXPLAIN",
    "SUMMARIZE",
    "SET",
    "PRAGMA",
    "INSERT",
    "REPLACE",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "ALTER",
    "TRUNCATE",
    "COPY",
    "LOAD",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "CHECKPOINT",
    "REFRESH",
    "ANALYZE",
    "VACUUM",
    "MERGE",
];

/// The number of [`VERBS`] that only read.
pub(crate) const READING: usize = 12;

/// Whether an argument is SQL: it begins with a verb, has more words, and is not the name of a file.
pub(crate) fn is_sql(text: &str) -> bool {
    let word = first_word(text);
    let rest = text.trim_start().get(word.len()..).unwrap_or("");
    let has_more =
        !rest.trim_start().is_empty() && rest.starts_with(|next: char| !next.is_alphanumeric() && next != '.');
    has_more && VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word)) && !Path::new(text).exists()
}

/// The letters that a text begins with.
pub(crate) fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_told_from_names_by_its_verb() {
        for text in ["select 1", "SELECT * FROM 'x.csv'", "values(1)", " with a as (select 1) select 2", "show tables"]
        {
            assert!(is_sql(text), "{text}");
        }
        for text in ["air.db", "select", "select.db", "selection of air.db", "table", "copy.db", "postgresql://a@b/c"] {
            assert!(!is_sql(text), "{text}");
        }
    }
}
