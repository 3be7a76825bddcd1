//! An example of each function and its answer. Every example runs as a test, the reference shows all of them, and
//! errors of wrong calls some.
//!
//! Owned here: the examples as text, by subject, and how the text is read. A line is `name: example → answer`. Lines
//! that are indented continue the example; each one that begins with the arrow is a row of the answer. Aliases have no
//! examples, except for those that are called in another way.

use super::function_kind::FunctionKind;
use std::collections::BTreeMap;

/// The examples by the kind of their functions.
const TEXTS: [(FunctionKind, &str); 14] = [
    (FunctionKind::Scalar, include_str!("addresses.txt")),
    (FunctionKind::Scalar, include_str!("arrays.txt")),
    (FunctionKind::Scalar, include_str!("json.txt")),
    (FunctionKind::Scalar, include_str!("math.txt")),
    (FunctionKind::Scalar, include_str!("ranges.txt")),
    (FunctionKind::Scalar, include_str!("series.txt")),
    (FunctionKind::Scalar, include_str!("session.txt")),
    (FunctionKind::Scalar, include_str!("text.txt")),
    (FunctionKind::Scalar, include_str!("text_search.txt")),
    (FunctionKind::Scalar, include_str!("time.txt")),
    (FunctionKind::Scalar, include_str!("values.txt")),
    (FunctionKind::Aggregate, include_str!("aggregates.txt")),
    (FunctionKind::Window, include_str!("windows.txt")),
    (FunctionKind::Table, include_str!("tables.txt")),
];

/// The sign between an example and its answer.
const ARROW: &str = "→";

/// An example of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionExample {
    /// An expression, or statements separated by semicolons.
    pub sql: String,
    /// The rows of its answer as text: values separated by bars, `NULL` for NULL, `(empty)` for the empty text.
    pub rows: Vec<String>,
}

impl FunctionExample {
    /// Returns whether it is an expression, and not a statement.
    pub fn is_expression(&self) -> bool {
        !["SELECT ", "CREATE "].iter().any(|verb| self.sql.starts_with(verb))
    }

    /// The example as statements.
    pub fn statements(&self) -> String {
        if self.is_expression() { format!("SELECT {}", self.sql) } else { self.sql.clone() }
    }
}

/// All examples, by name and kind of their functions.
pub(super) fn function_examples() -> BTreeMap<(&'static str, FunctionKind), FunctionExample> {
    let mut examples = BTreeMap::new();
    for (kind, text) in TEXTS {
        examples.extend(parse(text).into_iter().map(|(name, example)| ((name, kind), example)));
    }
    examples
}

fn parse(text: &'static str) -> Vec<(&'static str, FunctionExample)> {
    let mut examples: Vec<(&str, FunctionExample)> = Vec::new();
    for line in text.lines() {
        let Some(more) = line.strip_prefix("  ") else {
            let (name, example) = line.split_once(": ").unwrap_or((line, ""));
            let (sql, row) = match example.split_once(ARROW) {
                Some((sql, row)) => (sql, Some(row.trim().to_owned())),
                None => (example, None),
            };
            examples.push((name, FunctionExample { sql: sql.trim().to_owned(), rows: row.into_iter().collect() }));
            continue;
        };
        let Some((_, example)) = examples.last_mut() else { continue };
        match more.strip_prefix(ARROW) {
            Some(row) => example.rows.push(row.trim().to_owned()),
            None => example.sql.push_str(&format!("\n{more}")),
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_read_with_their_answers() {
        let text = "abs: abs(-2) → 2\nlag: SELECT lag(v) OVER (ORDER BY v)\n  FROM t\n  → NULL\n  → 1 | {\"a\": 1}";
        let examples = parse(text);
        let [(abs, one), (lag, two)] = &examples[..] else { panic!("{examples:?}") };
        assert_eq!((*abs, one.statements().as_str(), &one.rows[..]), ("abs", "SELECT abs(-2)", &["2".to_owned()][..]));
        assert_eq!((*lag, two.statements().as_str()), ("lag", "SELECT lag(v) OVER (ORDER BY v)\nFROM t"));
        assert_eq!(two.rows, ["NULL", "1 | {\"a\": 1}"]);
        assert!(one.is_expression() && !two.is_expression());
    }

    #[test]
    fn every_example_has_an_answer_and_a_name_of_its_own() {
        let examples = function_examples();
        let lines = TEXTS.iter().map(|(_, text)| parse(text).len()).sum::<usize>();
        assert_eq!(examples.len(), lines);
        for ((name, _), example) in &examples {
            assert!(!example.sql.is_empty() && !example.rows.is_empty(), "{name}");
        }
    }
}
