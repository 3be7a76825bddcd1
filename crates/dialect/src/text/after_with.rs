//! The statement that a `WITH` belongs to, such as the `UPDATE` in `WITH a AS (SELECT ...) UPDATE ...`.

use super::words::{Word, Words};

/// Words that begin such a statement.
const STATEMENTS: [&str; 7] = ["select", "values", "table", "insert", "update", "delete", "merge"];

/// Moves past the first word of the statement, and returns it; `None` if it is a query in parentheses. The words begin
/// after `WITH`.
pub fn word_after_with(words: &mut Words<'_>) -> Option<String> {
    let (mut depth, mut is_behind_item) = (0_usize, false);
    for word in words {
        match &word {
            Word::Symbol('(') => depth += 1,
            Word::Symbol(')') => depth = depth.saturating_sub(1),
            Word::Name(name) if is_behind_item && STATEMENTS.contains(&name.as_str()) => return Some(name.clone()),
            _ => {}
        }
        // An item ends with a parenthesis. Its name may be one of the words, but follows a comma or `WITH`.
        is_behind_item = depth == 0 && word == Word::Symbol(')');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_follows_the_items_of_with() {
        for (text, word) in [
            ("a AS (SELECT ')') UPDATE t SET x = 1", Some("update")),
            (
                "RECURSIVE a (x, y) AS NOT MATERIALIZED (SELECT (1), 2), b AS (SELECT 3) INSERT INTO t TABLE a",
                Some("insert"),
            ),
            ("update AS (UPDATE t SET x = (1) RETURNING x) SELECT * FROM update", Some("select")),
            ("a AS (SELECT 1) /* UPDATE */ DELETE FROM t", Some("delete")),
            ("a AS (SELECT 1) (SELECT 2)", None),
        ] {
            assert_eq!(word_after_with(&mut Words::new(text)).as_deref(), word, "{text}");
        }
    }
}
