//! Converts the errors that DataFusion and Arrow report while planning and executing to those of this project.

use super::errors::{from_parser, in_single_quotes, not_supported, sql_error, unknown_function};
use super::library_messages::{PATTERN_FAILED, in_words_of_sql};
use super::quoted_names::quoted;
use super::source_position::SourcePosition;
use super::wrong_calls::wrong_call;
use atsdb_core::name::nearest_name;
use atsdb_core::{Error, ErrorKind};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use std::io;

/// The message of DataFusion about a function that waits, outside of the expressions that may wait.
const MISPLACED_WAIT: &str = "async functions should not be called directly";

/// The error of the library of regular expressions about a back-reference such as `\1`.
const NO_REFERENCES: &str = "error: backreferences are not supported";

/// Wraps an error of this project to pass it through DataFusion.
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// An error of planning or execution.
pub fn from_datafusion(error: DataFusionError) -> Error {
    let error = converted(error);
    match error.message().contains(NO_REFERENCES) {
        true => not_supported("a reference to an earlier group in a regular expression")
            .with_hint("write the alternatives out, or compare the groups: regexp_match(text, pattern)[1]"),
        false => in_words_of_sql(error),
    }
}

fn converted(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(error) => match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => match error.downcast::<DataFusionError>() {
                Ok(error) => from_datafusion(*error),
                Err(error) => of_library(error.to_string()),
            },
        },
        DataFusionError::ArrowError(error, _) => from_arrow(*error),
        DataFusionError::Context(_, error) | DataFusionError::Diagnostic(_, error) => from_datafusion(*error),
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(error) => from_datafusion(error),
            None => Error::internal("an empty collection of errors"),
        },
        DataFusionError::Shared(error) => from_shared(&error),
        DataFusionError::SchemaError(error, _) => from_schema(&error),
        DataFusionError::SQL(error, _) => from_parser(*error, SourcePosition::START),
        DataFusionError::Plan(message) | DataFusionError::Configuration(message) => from_plan(&message),
        DataFusionError::NotImplemented(message) => not_implemented(&message),
        DataFusionError::Execution(message) => wrong_call(&message).unwrap_or_else(|| Error::invalid(message)),
        DataFusionError::ResourcesExhausted(message) => out_of_memory(&message),
        DataFusionError::IoError(error) => from_io(error),
        DataFusionError::ExecutionJoin(error) => Error::internal(format!("the query's task failed: {error}")),
        DataFusionError::Internal(message) if message.starts_with(MISPLACED_WAIT) => {
            not_supported("a function that waits, such as pg_sleep or pg_advisory_lock, in this position")
                .with_hint("call it in the SELECT list of a separate statement")
        }
        DataFusionError::Internal(message) if message.contains(PATTERN_FAILED) => sql_error(message),
        DataFusionError::Internal(message) => {
            wrong_call(&message).unwrap_or_else(|| Error::internal(format!("DataFusion: {message}")))
        }
        other => sql_error(other.strip_backtrace()),
    }
}

/// An error in an `Arc` cannot be moved out, so its text is kept, and its kind if it is known.
fn from_shared(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(error) => error.duplicate(),
            None => Error::internal(inner.to_string()),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => from_shared(inner),
        DataFusionError::Shared(inner) => from_shared(inner),
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::ExternalError(inner) => match inner.downcast_ref::<Error>() {
                Some(error) => error.duplicate(),
                None => Error::internal(inner.to_string()),
            },
            ArrowError::IoError(_, inner) => from_shared_io(inner),
            inner => of_values(inner),
        },
        DataFusionError::IoError(error) => from_shared_io(error),
        DataFusionError::ResourcesExhausted(message) => out_of_memory(message),
        DataFusionError::Execution(message) => Error::invalid(message.clone()),
        other => Error::internal(other.strip_backtrace()),
    }
}

fn from_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(error) => match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => match error.downcast::<DataFusionError>() {
                Ok(error) => from_datafusion(*error),
                Err(error) => of_library(error.to_string()),
            },
        },
        ArrowError::IoError(_, error) => from_io(error),
        other => of_values(&other),
    }
}

/// An error of a file, which may have one of this project in it.
fn from_io(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::new(ErrorKind::Unavailable, format!("temporary file: {error}")).with_source(error),
    }
}

fn from_shared_io(error: &io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => error.duplicate(),
        None => Error::new(ErrorKind::Unavailable, format!("temporary file: {error}")),
    }
}

/// An error that a library beneath DataFusion reports in a type of its own.
fn of_library(message: String) -> Error {
    match message.starts_with("regex parse error") || message.starts_with("Compiled regex exceeds size limit") {
        true => sql_error(message),
        false => Error::internal(message),
    }
}

/// An error about the values in a computation.
fn of_values(error: &ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::invalid("division by zero").with_hint("guard it: x / nullif(y, 0)"),
        ArrowError::ArithmeticOverflow(message) => overflow(message.trim_start_matches("Overflow happened on: ")),
        ArrowError::ComputeError(message) => match message.split_once("Array overflow on ") {
            Some((_, what)) => overflow(what),
            None => Error::invalid(message.clone()),
        },
        ArrowError::CastError(message) | ArrowError::ParseError(message) => Error::invalid(message.clone()),
        ArrowError::InvalidArgumentError(message) => Error::invalid(message.clone()),
        ArrowError::MemoryError(message) => out_of_memory(message),
        other => Error::internal(other.to_string()),
    }
}

fn overflow(what: &str) -> Error {
    Error::invalid(format!("overflow: {what}")).with_hint("cast to a wider type first: CAST(x AS DOUBLE)")
}

fn from_schema(error: &SchemaError) -> Error {
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return sql_error(error.to_string());
    };
    let shown = valid_fields.iter().map(|column| column.name.as_str());
    // The columns for row locations are not shown to users, nor is the mark behind a name that makes it unique.
    let shown = shown.filter(|name| !name.starts_with(char::is_control));
    let names: Vec<&str> = shown.filter_map(|name| name.split('\u{1}').next()).collect();
    let error = match &field.relation {
        Some(relation) => sql_error(format!("no column named {} in {relation}", field.name)),
        None => sql_error(format!("no column named {}", field.name)),
    };
    match nearest_name(&field.name, names.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean {}?", quoted(near))),
        None if names.is_empty() => {
            error.with_hint(format!("{}; a column needs a table in FROM", in_single_quotes(&field.name)))
        }
        None => {
            let more = if names.len() > 12 { ", ..." } else { "" };
            let shown: Vec<String> = names.iter().take(12).map(|name| quoted(name)).collect();
            error.with_hint(format!("available: {}{more}", shown.join(", ")))
        }
    }
}

fn from_plan(message: &str) -> Error {
    if let Some(error) = wrong_call(message) {
        return error;
    }
    if let Some((_, rest)) = message.split_once("While expanding wildcard, column \"")
        && let Some((column, _)) = rest.split_once("\" must appear in the GROUP BY")
    {
        return sql_error(format!("{column} is neither in GROUP BY nor in an aggregate function")).with_hint(
            "add it to GROUP BY, or use an aggregate of it; in GROUP BY a name means the table's column, not an alias: \
             GROUP BY 1 groups by the first item of SELECT",
        );
    }
    if let Some(table) = message.strip_prefix("Invalid qualifier ") {
        return sql_error(format!("missing FROM-clause entry for table \"{table}\""));
    }
    if message.starts_with("Substring without for/from") {
        return sql_error("substr takes 2 or 3 arguments, not 1").with_hint("substr(text, start [, length])");
    }
    let message = without_tree(message);
    let is_time_by_integer = message.starts_with("Cannot infer common argument type for comparison operation")
        && message.contains("Timestamp(")
        && message.contains("Int");
    match is_time_by_integer {
        true => with_split_hint(message).with_hint("convert the integer to a time first: to_timestamp_seconds(n)"),
        false => with_split_hint(message),
    }
}

/// Returns the error for a form that DataFusion cannot plan, and that it shows as the parser's tree.
fn not_implemented(message: &str) -> Error {
    if message.contains("Pivot {") {
        return not_supported("PIVOT").with_hint("write an aggregate for each value: sum(x) FILTER (WHERE name = 'a')");
    }
    if message.starts_with("Physical plan does not support logical expression OuterReferenceColumn") {
        return sql_error("FROM has a function or a subquery that uses a column of another table in it, in a way that is not supported")
            .with_hint("to turn the elements of arrays into rows, write it in the SELECT list: SELECT id, unnest(tags) FROM t");
    }
    if let Some(expression) = message.strip_prefix("Physical plan does not support logical expression ")
        && ["ScalarSubquery(", "Exists(", "InSubquery(", "SetComparison("].iter().any(|of| expression.starts_with(of))
    {
        return sql_error("a subquery with columns of the query around it is not supported yet in this place")
            .with_hint("write a join with the subquery instead");
    }
    if let Some(name) = message.strip_prefix("Unsupported SQL type ").filter(|name| !name.starts_with('(')) {
        return sql_error(format!("the type {name} is not supported"));
    }
    let message = without_tree(message);
    let error = sql_error(format!("not supported: {message}"));
    if message == "TOP" { error.with_hint("write LIMIT n at the end of the query") } else { error }
}

/// A message up to the parser's tree in it.
fn without_tree(message: &str) -> &str {
    match message.split_once(" {") {
        Some((start, tree)) if tree.contains("Span(") => start.trim_end(),
        _ => message,
    }
}

/// DataFusion appends its suggestion as a second sentence.
fn with_split_hint(message: &str) -> Error {
    if let Some(rest) = message.strip_prefix("Invalid function '") {
        return unknown_function(rest.split('\'').next().unwrap_or_default());
    }
    match message.split_once("\nDid you mean ").or_else(|| message.split_once(" Did you mean ")) {
        Some((message, near)) => {
            let near = near.trim_end_matches(['?', '.']).trim_matches('\'');
            let error = sql_error(message.trim_end_matches('.'));
            // DataFusion suggests the nearest name, however far it is.
            let wrong = message.split('\'').nth(1).unwrap_or("");
            match nearest_name(wrong, [near]) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            }
        }
        None => sql_error(message.trim_end_matches('.')),
    }
}

/// The hint for a query that needs too much memory.
pub const MORE_MEMORY: &str =
    "narrow the time range, select fewer columns, or allow more memory: --memory (memory_bytes in the library)";

fn out_of_memory(message: &str) -> Error {
    let first = message.lines().next().unwrap_or_default();
    Error::new(ErrorKind::Resources, "the query needs more memory than its limit")
        .with_hint(MORE_MEMORY)
        .with_source(first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_engine_comes_out_as_it_went_in() {
        let inner = Error::corrupt("chunk 7").with_hint("restore it");
        let error = from_datafusion(DataFusionError::External(Box::new(inner)).context("scan"));
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Corrupt, "chunk 7 (restore it)"));
    }

    #[test]
    fn no_message_shows_a_tree() {
        let tree = "Pivot { table: Table { span: Span(Location(1,8)..Location(1,11)) } }";
        let message =
            from_datafusion(DataFusionError::NotImplemented(format!("Unsupported ast node in sqltorel: {tree}")));
        assert!(message.message().starts_with("PIVOT is not supported") && message.hint().is_some(), "{message}");
        let other = format!("Unsupported expression: Other {{ a: {tree} }}");
        assert_eq!(from_datafusion(DataFusionError::Plan(other)).message(), "Unsupported expression: Other");
    }

    #[test]
    fn an_error_of_a_temporary_file_comes_out_as_it_went_in() {
        let full = || io::Error::other(Error::new(ErrorKind::Resources, "no space").with_hint("make some"));
        let in_arrow = || DataFusionError::from(ArrowError::from(full()));
        for error in [DataFusionError::from(full()), in_arrow(), DataFusionError::Shared(in_arrow().into())] {
            let error = from_datafusion(error);
            assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Resources, "no space (make some)"));
        }
    }

    #[test]
    fn a_text_that_is_no_time_gets_the_form_of_one() {
        let error = ArrowError::ParseError("Error parsing timestamp from 'noon': error parsing date".into());
        let error = from_datafusion(error.into());
        assert!(error.hint().is_some_and(|hint| hint.contains("'2024-03-01 12:00:00'")), "{error}");
    }

    #[test]
    fn out_of_memory_says_what_to_do() {
        let error = from_datafusion(DataFusionError::ResourcesExhausted("Failed to allocate".into()));
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.hint().unwrap().contains("allow more memory"));
    }
}
