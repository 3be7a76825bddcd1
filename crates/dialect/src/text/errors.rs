//! Errors about SQL text: those of the parser, and refused statements.

use super::accepted_forms::accepted_form;
use super::quoted_names::always_quoted;
use super::source_position::SourcePosition;
use super::verbs::nearest_verb;
use atsdb_core::name::nearest_name;
use atsdb_core::{ColumnType, Error, ErrorKind};
use datafusion::sql::sqlparser::parser::ParserError;

/// [`ErrorKind::Sql`] with this message.
pub fn sql_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Sql, message)
}

/// The error for an unsupported statement or clause.
pub fn not_supported(what: impl std::fmt::Display) -> Error {
    sql_error(format!("{what} is not supported yet"))
}

/// The error for a value that a column of this type does not accept.
pub fn unfit(value: impl std::fmt::Display, column_type: ColumnType) -> Error {
    let type_name = column_type.sql_name();
    let error = Error::invalid(format!("{value} is not a valid {type_name}, or is out of its range"));
    match accepted_form(&type_name) {
        Some(form) => error.with_hint(form),
        None => error,
    }
}

/// The error for an invalid text at a position in the script.
pub fn syntax_error(message: impl std::fmt::Display, position: SourcePosition) -> Error {
    sql_error(format!("syntax error at line {}, column {}: {message}", position.line, position.column))
}

/// Turns an error about a wrong name into an error about the SQL text, wherever it was found.
pub fn as_sql_error(error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::Usage {
        return error;
    }
    let changed = sql_error(error.message());
    match error.hint() {
        Some(hint) => changed.with_hint(hint),
        None => changed,
    }
}

/// Adds what a statement shows about its error: a text in double quotes, or the mistyped word of a clause.
pub fn with_statement_hint(error: Error, statement: &str) -> Error {
    with_clause_hint(with_quotes_hint(error, statement), statement)
}

/// The words that begin a clause after what may have a name without `AS`.
const CLAUSES: [&str; 7] = ["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"];

/// Suggests the word of a clause, if the parser stopped after a word like it that was mistaken for the name of a column
/// or a table.
fn with_clause_hint(error: Error, statement: &str) -> Error {
    let Some((_, found)) = error.message().split_once("Expected: end of statement, found: ") else { return error };
    let words: Vec<&str> = statement.split_whitespace().collect();
    let meant = |word: &str| nearest_name(word, CLAUSES).filter(|clause| !word.eq_ignore_ascii_case(clause));
    // A table may have such a name: `FROM orders`.
    let is_of_table = |before: &str| ["FROM", "JOIN"].iter().any(|word| before.eq_ignore_ascii_case(word));
    let stopped = words.windows(3).filter(|near| near[2].starts_with(found) && !is_of_table(near[0]));
    let mut mistyped = stopped.map(|near| near[1]);
    // After an item that cannot have a name, such as `*`, the parser stopped at the word itself.
    let suggest = |word: &str| Some(format!("did you mean {} instead of {word}?", meant(word)?));
    let suggested = mistyped.find_map(suggest).or_else(|| suggest(found));
    match suggested {
        Some(hint) if error.hint().is_none() => error.with_hint(hint),
        _ => error,
    }
}

/// How a text is written that was taken for the name of a column.
pub(crate) fn in_single_quotes(name: &str) -> String {
    format!("a text is in single quotes: '{}'", name.replace('\'', "''"))
}

/// Adds how a text is written, if the name of an unknown column is in double quotes in the statement.
fn with_quotes_hint(error: Error, statement: &str) -> Error {
    let Some(name) = error.message().strip_prefix("no column named ") else { return error };
    let hint = in_single_quotes(name);
    let has_hint = error.hint().is_some_and(|known| known.starts_with("did you mean") || known.starts_with(&hint));
    if has_hint || !statement.contains(&always_quoted(name)) {
        return error;
    }
    let hint = match error.hint() {
        Some(columns) => format!("{hint}; {columns}"),
        None => hint,
    };
    error.with_hint(hint)
}

/// Converts an error of the parser; `position` is the start of the statement.
pub fn from_parser(error: ParserError, position: SourcePosition) -> Error {
    match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            let (message, inner) = split_position(&message);
            let unknown = unknown_operator(message).map(|word| format!("{word} is not an operator"));
            let message = unknown.as_deref().unwrap_or(message);
            match inner {
                Some(inner) => with_suggestion(message, syntax_error(message, position.of_inner(inner))),
                None => with_suggestion(message, syntax_error(message, position)),
            }
        }
        ParserError::RecursionLimitExceeded => too_deep(),
    }
}

/// The word of an operator that only other databases have: `No infix parser for token Word(Word { value: "DIV", ...`.
fn unknown_operator(message: &str) -> Option<&str> {
    let (_, word) = message.strip_prefix("No infix parser for token ")?.split_once("value: \"")?;
    word.split_once('"').map(|(word, _)| word)
}

/// The beginnings of commands that shells have.
const OF_SHELL: [&str; 6] = [".", "\\", "?", "help", "quit", "exit"];

/// The hint that lists the words that may follow `CREATE`.
const CREATED: &str = "CREATE may be followed by TABLE, TEMPORARY TABLE, VIEW, OR REPLACE VIEW, MATERIALIZED VIEW, \
                       INDEX, UNIQUE INDEX, ROLLUP, SCHEMA or SEQUENCE";

/// Suggests the word that a statement may have been meant to begin with, what may be created, or how an element of an
/// array is assigned.
fn with_suggestion(message: &str, error: Error) -> Error {
    if [" after CREATE, found: ", " after CREATE OR REPLACE, found: "].iter().any(|part| message.contains(part)) {
        return error.with_hint(CREATED);
    }
    if message.eq_ignore_ascii_case("DIV is not an operator") {
        return error.with_hint("write div(a, b)");
    }
    if message.starts_with("Expected: =, found: [") {
        return error.with_hint("assign the whole array: instead of x[2] = 7 write x = x[:1] || 7 || x[3:]");
    }
    // The word at which the parser stopped may be mistyped, no other: `INSERT INTO t value (1)`.
    let of_query = message.strip_prefix("Expected: SELECT, VALUES, or a subquery in the query body, found: ");
    if let Some(word) = of_query
        && let Some(near) = nearest_name(word, ["SELECT", "VALUES"])
    {
        return error.with_hint(format!("did you mean {near} instead of {word}?"));
    }
    let word = message.strip_prefix("Expected: an SQL statement, found: ");
    if word.is_some_and(|word| OF_SHELL.iter().any(|known| known.eq_ignore_ascii_case(word))) {
        return error.with_hint("SHOW TABLES lists the tables; .help and .quit are commands of the shell, atsdb STORE");
    }
    match word.and_then(nearest_verb) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    }
}

/// The hint of [`unknown_function`], unless there is a name like it.
pub const ALL_FUNCTIONS: &str = "SHOW FUNCTIONS lists all";

/// The error for a function that does not exist.
pub fn unknown_function(name: &str) -> Error {
    sql_error(format!("no function named {name}")).with_hint(ALL_FUNCTIONS)
}

/// The error for the sequence of an identity column that does not exist.
pub fn unknown_sequence(name: &str) -> Error {
    sql_error(format!("relation \"{}\" does not exist", name.trim_matches('"')))
        .with_hint("the sequence of an identity column is named TABLE_COLUMN_seq; CREATE SEQUENCE creates others")
}

/// The error for SQL text that is nested too deeply.
pub fn too_deep() -> Error {
    sql_error("the statement is nested too deeply")
        .with_hint(format!("the maximum is {} levels", atsdb_core::limits::SQL_DEPTH_MAX))
}

/// The error for an alias with names for more columns than its table has.
pub fn too_many_names(table: &str, columns: usize, names: usize) -> Error {
    sql_error(format!("table \"{table}\" has {columns} columns available but {names} columns specified"))
}

/// The error for a statement that would become too large while it is planned, because parts of it are repeated.
pub fn too_complex() -> Error {
    sql_error("the statement is too complex: planning would repeat its parts more than 200,000 times")
        .with_hint("compute an inner part first: CREATE TABLE ... AS SELECT")
}

/// Splits `message at Line: 1, Column: 8` into message and position.
fn split_position(message: &str) -> (&str, Option<SourcePosition>) {
    let parse = || {
        let (text, position) = message.rsplit_once(" at Line: ")?;
        let (line, column) = position.split_once(", Column: ")?;
        Some((text, SourcePosition { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? }))
    };
    match parse() {
        Some((text, position)) => (text, Some(position)),
        None => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_of_a_mistyped_word_gets_the_nearest_one() {
        let error = |word: &str| {
            let message = format!("Expected: an SQL statement, found: {word} at Line: 1, Column: 1");
            from_parser(ParserError::ParserError(message), SourcePosition { line: 1, column: 1 })
        };
        assert_eq!(error("selct").hint(), Some("did you mean SELECT?"));
        assert_eq!(error("xyzzy").hint(), None);
        assert!(["\\", ".", "Help"].into_iter().all(|word| error(word).hint().unwrap().contains("SHOW TABLES")));
    }

    #[test]
    fn the_word_at_which_a_query_stops_may_be_a_mistyped_one() {
        let hint = |word: &str| {
            let message = format!("Expected: SELECT, VALUES, or a subquery in the query body, found: {word}");
            let error = from_parser(ParserError::ParserError(message), SourcePosition { line: 1, column: 1 });
            error.hint().map(str::to_owned)
        };
        assert_eq!(hint("value").as_deref(), Some("did you mean VALUES instead of value?"));
        assert_eq!(hint("SELEC").as_deref(), Some("did you mean SELECT instead of SELEC?"));
        assert!(["WHERE", "FROM", "EOF", ";"].into_iter().all(|word| hint(word).is_none()));
    }

    #[test]
    fn a_create_of_nothing_gets_what_can_be_created() {
        for message in ["an object type after CREATE, found: OR", "VIEW after CREATE OR REPLACE, found: EOF"] {
            let error = ParserError::ParserError(format!("Expected: {message} at Line: 1, Column: 8"));
            let error = from_parser(error, SourcePosition { line: 1, column: 1 });
            assert!(error.hint().is_some_and(|hint| hint.contains("OR REPLACE VIEW")), "{error}");
        }
    }

    #[test]
    fn an_unknown_column_in_double_quotes_may_be_a_text() {
        let hint = |statement: &str| {
            let error = sql_error("no column named UA").with_hint("available: at, n");
            with_quotes_hint(error, statement).hint().map(str::to_owned)
        };
        assert_eq!(
            hint("SELECT * FROM t WHERE carrier = \"UA\"").as_deref(),
            Some("a text is in single quotes: 'UA'; available: at, n")
        );
        assert_eq!(hint("SELECT UA FROM t").as_deref(), Some("available: at, n"));
    }

    #[test]
    fn a_mistyped_word_of_a_clause_is_suggested() {
        let hint = |statement: &str, found: &str| {
            let error =
                sql_error(format!("syntax error at line 1, column 9: Expected: end of statement, found: {found}"));
            with_statement_hint(error, statement).hint().map(str::to_owned)
        };
        for (statement, found) in [("select cat fro cat", "cat"), ("select a,\n b form t where a = 1", "t")] {
            assert!(hint(statement, found).is_some_and(|hint| hint.starts_with("did you mean FROM")), "{statement}");
        }
        let clause = hint("SELECT value FROM t WHER x", "x");
        assert_eq!(clause.as_deref(), Some("did you mean WHERE instead of WHER?"));
        for (statement, found, word) in [
            ("SELECT * FROM t LIMT 3", "3", "LIMIT"),
            ("SELECT a FROM t GRUOP BY a", "BY", "GROUP"),
            ("SELECT a FROM t oder BY a", "BY", "ORDER"),
            ("SELECT a FROM t HAVIN 1 = 1", "1", "HAVING"),
        ] {
            let start = format!("did you mean {word} instead of ");
            assert!(hint(statement, found).is_some_and(|hint| hint.starts_with(&start)), "{statement}");
        }
        assert_eq!(hint("select * fro t", "fro").as_deref(), Some("did you mean FROM instead of fro?"));
        assert_eq!(hint("SELECT value FROM t WHERE x y", "y"), None);
        assert_eq!(hint("SELECT value FROM t; SELECT", "SELECT"), None);
        assert_eq!(hint("select a from t where x b", "b"), None);
        assert_eq!(hint("select a b cat", "cat"), None);
        assert_eq!(hint("select a from orders 5", "5"), None);
    }

    #[test]
    fn an_operator_of_another_database_is_named() {
        let message =
            "No infix parser for token Word(Word { value: \"DIV\", quote_style: None }) at Line: 1, Column: 10";
        let error = from_parser(ParserError::ParserError(message.into()), SourcePosition { line: 1, column: 1 });
        let wanted = "syntax error at line 1, column 10: DIV is not an operator (write div(a, b))";
        assert_eq!(error.to_string(), wanted);
    }

    #[test]
    fn an_assigned_element_gets_the_assignment_of_the_array() {
        let error = ParserError::ParserError("Expected: =, found: [ at Line: 1, Column: 15".into());
        let error = from_parser(error, SourcePosition { line: 1, column: 1 });
        assert!(error.hint().is_some_and(|hint| hint.contains("x = x[:1] || 7 || x[3:]")), "{error}");
    }

    #[test]
    fn a_parser_error_is_placed_in_the_script() {
        let error = ParserError::ParserError("Expected: x, found: y at Line: 2, Column: 5".into());
        let error = from_parser(error, SourcePosition { line: 10, column: 3 });
        assert_eq!(error.to_string(), "syntax error at line 11, column 5: Expected: x, found: y");
    }
}
