//! Determines whether statements write.

use crate::args::sql_text::without_lead;
use atsdb::sql::{CHANGES_AFTER_WITH, Statements, VerbKind, is_select_into, verb_kind, verb_of};

/// Returns whether the statements of a text may write, so that a store may be created for them. Text that is not SQL
/// may not.
pub(crate) fn may_write(text: &str) -> bool {
    Statements::new(text).map_while(Result::ok).any(|statement| {
        let verb = verb_of(without_lead(statement.text()));
        match verb.as_str() {
            "SELECT" | "WITH" if is_select_into(without_lead(statement.text())) => true,
            // It contains a query, but the rows are stored in a table.
            "WITH" | "FROM" => CHANGES_AFTER_WITH.iter().any(|verb| has_word(statement.text(), verb)),
            "COPY" => !has_word(statement.text(), "TO"),
            verb => matches!(verb_kind(verb), Some(VerbKind::Change | VerbKind::Definition)),
        }
    })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_that_write_may_create_a_store() {
        for text in [
            "INSERT INTO t VALUES (1)",
            "SELECT 1 AS a INTO t",
            "select 1; create table t (a int)",
            "COPY t FROM 'x.csv'",
        ] {
            assert!(may_write(text), "{text}");
        }
        for text in
            ["SELECT 1", "-- create table\nselect 'insert'", "COPY t TO 'x.csv'", "EXPLAIN SELECT 1", "selec 1", ""]
        {
            assert!(!may_write(text), "{text}");
        }
    }
}
