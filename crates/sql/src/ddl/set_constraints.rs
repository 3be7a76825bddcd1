//! `SET CONSTRAINTS`: when deferrable foreign keys are checked in the open transaction.

use super::statement_parts::end;
use atsdb_core::Result;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_dialect::text::errors::from_parser;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// A `SET CONSTRAINTS` statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SetConstraints {
    /// The constraints; `None` means all.
    pub(crate) names: Option<Vec<ObjectName>>,
    /// Whether they are checked at the end of the transaction, rather than of each statement.
    pub(crate) is_deferred: bool,
}

impl SetConstraints {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        if leading_words(text, 2) != ["SET", "CONSTRAINTS"] {
            return Ok(None);
        }
        let at_position = |error| from_parser(error, position);
        let parser = Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).try_with_sql(text);
        let mut parser = parser.map_err(at_position)?;
        (0..2).for_each(|_| drop(parser.next_token()));
        read(&mut parser).map(Some).map_err(at_position)
    }
}

fn read(parser: &mut Parser<'_>) -> Result<SetConstraints, ParserError> {
    let names = match parser.parse_keyword(Keyword::ALL) {
        true => None,
        false => Some(parser.parse_comma_separated(|parser| parser.parse_object_name(false))?),
    };
    let when = parser.expect_one_of_keywords(&[Keyword::DEFERRED, Keyword::IMMEDIATE])?;
    end(parser)?;
    Ok(SetConstraints { names, is_deferred: when == Keyword::DEFERRED })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(Option<Vec<String>>, bool)> {
        let set = SetConstraints::of(text, SourcePosition::START).unwrap()?;
        let names = set.names.map(|names| names.iter().map(ToString::to_string).collect());
        Some((names, set.is_deferred))
    }

    #[test]
    fn all_or_some_constraints_are_named() {
        assert_eq!(parsed("set constraints all deferred;"), Some((None, true)));
        let two = vec!["s.one".to_owned(), "\"Two\"".to_owned()];
        assert_eq!(parsed("SET CONSTRAINTS s.one, \"Two\" IMMEDIATE"), Some((Some(two), false)));
        assert_eq!(parsed("SET search_path = constraints"), None);
        for wrong in ["SET CONSTRAINTS", "SET CONSTRAINTS ALL", "SET CONSTRAINTS a DEFERRED b"] {
            assert!(SetConstraints::of(wrong, SourcePosition::START).is_err(), "{wrong}");
        }
    }
}
