//! `CREATE RECURSIVE VIEW v (a) AS query`, which is
//! `CREATE VIEW v (a) AS WITH RECURSIVE v (a) AS (query) SELECT a FROM v`.

use super::script::Statement;
use super::source_position::SourcePosition;
use super::words::Words;

/// Returns the declaration without `RECURSIVE`, whose query keeps its place in the script; `None` for any other
/// statement.
pub fn plain_view(statement: &Statement) -> Option<Statement> {
    let text = statement.text();
    let mut words = Words::new(text);
    if !words.accept("create") {
        return None;
    }
    let or_replace = if words.accept("or") && words.accept("replace") { "OR REPLACE " } else { "" };
    let temporary = if words.accept("temporary") || words.accept("temp") { "TEMPORARY " } else { "" };
    if !words.accept("recursive") || !words.accept("view") {
        return None;
    }
    let mut name = vec![written_name(&mut words)?];
    while words.accept_symbol('.') {
        name.push(written_name(&mut words)?);
    }
    let (own_name, name) = (*name.last()?, name.join("."));
    if !words.accept_symbol('(') {
        return None;
    }
    let mut columns = vec![written_name(&mut words)?];
    while words.accept_symbol(',') {
        columns.push(written_name(&mut words)?);
    }
    let columns = columns.join(", ");
    if !words.accept_symbol(')') || !words.accept("as") {
        return None;
    }
    let query = words.rest();
    // The query is in the second line of the new text.
    let start = statement.position().after(&text[..text.len() - query.len()]);
    let blanks = " ".repeat(start.column.saturating_sub(1));
    let position = SourcePosition { line: start.line.saturating_sub(1), ..statement.position() };
    let plain = format!(
        "CREATE {or_replace}{temporary}VIEW {name} ({columns}) AS WITH RECURSIVE {own_name} ({columns}) AS (\n\
         {blanks}{query}\n) SELECT {columns} FROM {own_name}"
    );
    Some(Statement::new(plain, position))
}

/// The next word, without the comments around it, if it is a name.
fn written_name<'a>(words: &mut Words<'a>) -> Option<&'a str> {
    words.name().ok()?;
    Some(words.written())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::script::Statements;

    fn plain(script: &str) -> Option<Statement> {
        plain_view(&Statements::new(script).next().unwrap().unwrap())
    }

    #[test]
    fn a_recursive_view_is_a_view_of_a_recursive_query() {
        let view =
            plain("\nCREATE OR REPLACE recursive VIEW s.\"V\" (a,\nb) AS\n  VALUES (1, 2) UNION ALL SELECT 3, 4")
                .unwrap();
        let expected = "CREATE OR REPLACE VIEW s.\"V\" (a, b) AS WITH RECURSIVE \"V\" (a, b) AS (\n  \
                        VALUES (1, 2) UNION ALL SELECT 3, 4\n) SELECT a, b FROM \"V\"";
        assert_eq!(view.text(), expected);
        let query = view.text().find("VALUES").unwrap();
        assert_eq!(view.position().after(&view.text()[..query]), SourcePosition { line: 4, column: 3 });
        let view = plain("CREATE TEMP RECURSIVE VIEW v (a) AS SELECT 1").unwrap();
        let query = view.text().find("SELECT 1").unwrap();
        assert_eq!(view.position().after(&view.text()[..query]), SourcePosition { line: 1, column: 37 });
        assert!(view.text().starts_with("CREATE TEMPORARY VIEW v (a) AS WITH RECURSIVE v (a) AS (\n"));
        let view = plain("CREATE RECURSIVE VIEW v -- name\n (a -- first\n, b /* last */) AS SELECT 1, 2").unwrap();
        assert!(view.text().starts_with("CREATE VIEW v (a, b) AS WITH RECURSIVE v (a, b) AS (\n"));
    }

    #[test]
    fn other_statements_are_left_alone() {
        for text in
            ["CREATE VIEW v (a) AS SELECT 1", "CREATE RECURSIVE VIEW v AS SELECT 1", "SELECT recursive FROM view"]
        {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
