//! `SELECT ... INTO table FROM ...`, which creates a table from the rows of the query.

use super::after_with::word_after_with;
use super::words::{Word, Words};

/// Words that end the list of a `SELECT`.
const AFTER_LIST: [&str; 12] =
    ["from", "where", "group", "having", "window", "union", "intersect", "except", "order", "limit", "offset", "fetch"];

/// A query whose rows become a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectInto {
    /// The query without its `INTO`, which spaces replace: positions in the text stay the same.
    pub query: String,
    /// The beginning of the declaration, up to and with the table's name: `CREATE TEMPORARY TABLE t`.
    pub declaration: String,
}

/// Returns whether a statement is `SELECT ... INTO table`.
pub fn is_select_into(text: &str) -> bool {
    SelectInto::read(text).is_some()
}

impl SelectInto {
    /// Reads a statement; `None` if it is another one.
    pub fn read(text: &str) -> Option<Self> {
        let begins_query =
            matches!(Words::new(text).next()?, Word::Name(first) if first == "select" || first == "with");
        if !begins_query || !text.as_bytes().windows(4).any(|letters| letters.eq_ignore_ascii_case(b"into")) {
            return None;
        }
        let at = |words: &Words<'_>| text.len() - words.rest().len();
        let mut words = after_select(Words::new(text))?;
        let (mut depth, mut before) = (0_usize, None);
        let start = loop {
            let start = at(&words);
            let word = words.next()?;
            match &word {
                Word::Symbol('(') => depth += 1,
                Word::Symbol(')') => depth = depth.checked_sub(1)?,
                Word::Name(_) if depth > 0 || before == Some(Word::Symbol('.')) => {}
                Word::Name(name) if name == "into" => break start,
                // `a IS DISTINCT FROM b`
                Word::Name(name) if name == "from" && before == Some(Word::Name("distinct".to_owned())) => {}
                Word::Name(name) if AFTER_LIST.contains(&name.as_str()) => return None,
                _ => {}
            }
            before = Some(word);
        };
        let _ = words.accept("local") || words.accept("global");
        let modifier = if words.accept("temporary") || words.accept("temp") {
            "TEMPORARY "
        } else if words.accept("unlogged") {
            "UNLOGGED "
        } else {
            ""
        };
        words.accept("table");
        let name_start = at(&words);
        words.name().ok()?;
        let mut end = at(&words);
        while words.accept_symbol('.') {
            words.name().ok()?;
            end = at(&words);
        }
        let declaration = format!("CREATE {modifier}TABLE {}", text[name_start..end].trim_end());
        let clause = &text[start..end];
        let blank: String = clause.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
        Some(Self { query: format!("{}{blank}{}", &text[..start], &text[end..]), declaration })
    }
}

/// The words after the first `SELECT` of a statement, which may follow `WITH`.
fn after_select(mut words: Words<'_>) -> Option<Words<'_>> {
    if words.accept("select") {
        return Some(words);
    }
    let is_after_with = words.accept("with") && word_after_with(&mut words)? == "select";
    is_after_with.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_query_is_found_and_blanked() {
        for (text, query, declaration) in [
            ("SELECT a INTO t FROM u", "SELECT a        FROM u", "CREATE TABLE t"),
            ("select 1 into temp s.\"T 1\"", "select 1                  ", "CREATE TEMPORARY TABLE s.\"T 1\""),
            (
                "WITH x AS (SELECT 1 AS into_it) SELECT a IS DISTINCT FROM 2 INTO TABLE t\nFROM x",
                "WITH x AS (SELECT 1 AS into_it) SELECT a IS DISTINCT FROM 2             \nFROM x",
                "CREATE TABLE t",
            ),
            (
                "SELECT extract(day FROM d) INTO UNLOGGED t FROM u UNION SELECT 2",
                "SELECT extract(day FROM d)                 FROM u UNION SELECT 2",
                "CREATE UNLOGGED TABLE t",
            ),
        ] {
            let expected = SelectInto { query: query.to_owned(), declaration: declaration.to_owned() };
            assert_eq!(SelectInto::read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_statements_are_left_alone() {
        for text in [
            "INSERT INTO t SELECT 1",
            "SELECT 'into'",
            "SELECT x.into FROM x",
            "SELECT 1 FROM t INTO u",
            "SELECT 1 UNION SELECT 2 INTO u",
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
            "(SELECT 1 INTO t)",
            "SELECT 1 INTO 2",
        ] {
            assert!(!is_select_into(text), "{text}");
        }
    }
}
