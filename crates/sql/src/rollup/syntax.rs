//! Parses `CREATE ROLLUP`, `DROP ROLLUP` and `REFRESH ROLLUP`.

use atsdb_core::Result;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_dialect::parse::text_locations::byte_of;
use atsdb_dialect::text::errors::from_parser;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::{ObjectName, SqlOption};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// A statement about rollups.
#[derive(Debug)]
pub(crate) enum RollupStatement {
    Create(CreateRollup),
    Drop { names: Vec<ObjectName>, if_exists: bool },
    Refresh { names: Vec<ObjectName> },
}

/// `CREATE ROLLUP [IF NOT EXISTS] name ON table [EVERY 'width'] [WITH (...)] [AS] SELECT ...`.
#[derive(Debug)]
pub(crate) struct CreateRollup {
    pub(crate) name: ObjectName,
    pub(crate) if_not_exists: bool,
    pub(crate) table: ObjectName,
    /// The width after `EVERY`, as written; `None` without it.
    pub(crate) every: Option<String>,
    pub(crate) options: Vec<SqlOption>,
    /// The query, as written, and its position in the statement.
    pub(crate) query: String,
    pub(crate) position: SourcePosition,
}

impl RollupStatement {
    /// Parses a text; `None` if it is not a statement about rollups.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        let words = leading_words(text, 2);
        let [verb, what] = words.as_slice() else { return Ok(None) };
        if what != "ROLLUP" || !matches!(verb.as_str(), "CREATE" | "DROP" | "REFRESH") {
            return Ok(None);
        }
        let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().map_err(|error| {
            from_parser(ParserError::TokenizerError(format!("{}{}", error.message, error.location)), position)
        })?;
        let mut parser =
            Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).with_tokens_with_locations(tokens);
        parser.next_token();
        parser.next_token();
        let statement = match verb.as_str() {
            "CREATE" => create(&mut parser, text, position).map(Self::Create),
            "DROP" => drop_rollup(&mut parser),
            _ => names(&mut parser).map(|names| Self::Refresh { names }),
        };
        statement.map(Some).map_err(|error| {
            let hint = "CREATE ROLLUP name ON table EVERY '1 hour' AS SELECT ... FROM table GROUP BY ...";
            let error = from_parser(error, position);
            if verb == "CREATE" { error.with_hint(hint) } else { error }
        })
    }
}

fn create(parser: &mut Parser<'_>, text: &str, position: SourcePosition) -> Result<CreateRollup, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_keyword(Keyword::ON)?;
    let table = parser.parse_object_name(false)?;
    let every = match parser.parse_keyword(Keyword::EVERY) {
        true => Some(width(parser)?),
        false => None,
    };
    let options = parser.parse_options(Keyword::WITH)?;
    let _optional = parser.parse_keyword(Keyword::AS);
    let start = parser.peek_token();
    match &start.token {
        Token::Word(word) if matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM) => {}
        _ => return parser.expected("SELECT", start),
    }
    let start = byte_of(text, start.span.start);
    let query = text[start..].to_owned();
    Ok(CreateRollup { name, if_not_exists, table, every, options, query, position: position.after(&text[..start]) })
}

fn width(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let _optional = parser.parse_keyword(Keyword::INTERVAL);
    let token = parser.next_token();
    match token.token {
        Token::SingleQuotedString(width) | Token::Number(width, _) => Ok(width),
        _ => parser.expected("the width of a bucket, such as '1 hour'", token),
    }
}

fn drop_rollup(parser: &mut Parser<'_>) -> Result<RollupStatement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(RollupStatement::Drop { names: names(parser)?, if_exists })
}

fn names(parser: &mut Parser<'_>) -> Result<Vec<ObjectName>, ParserError> {
    let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
    let next = parser.next_token();
    match next.token {
        Token::EOF => Ok(names),
        _ => parser.expected("end of statement", next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_is_taken_apart() {
        let text = "create rollup IF NOT EXISTS é.h ON r EVERY '1 hour'\n WITH (slice = 'month') SELECT 1";
        let Some(RollupStatement::Create(create)) = RollupStatement::of(text, SourcePosition::START).unwrap() else {
            panic!()
        };
        assert!(create.if_not_exists && create.options.len() == 1 && create.table.to_string() == "r");
        assert_eq!((create.every.as_deref(), create.query.as_str()), (Some("1 hour"), "SELECT 1"));
        assert_eq!((create.position.line, create.position.column), (2, 25));
        assert!(RollupStatement::of("CREATE TABLE rollup (a INT)", SourcePosition::START).unwrap().is_none());
    }

    #[test]
    fn what_is_wrong_names_its_position() {
        for (text, position) in [
            ("CREATE ROLLUP h EVERY '1 hour' AS SELECT 1", "column 17"),
            ("CREATE ROLLUP h ON r EVERY 'a' AS 5", "column 35"),
            ("DROP ROLLUP a b", "column 15"),
        ] {
            let error = RollupStatement::of(text, SourcePosition::START).unwrap_err();
            assert!(error.to_string().contains(position), "{error}");
        }
    }
}
