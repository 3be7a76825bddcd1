//! Parts that several statements have in common which are parsed here.

use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// `[IF EXISTS] name, ... [CASCADE | RESTRICT]` at the end of a `DROP`.
pub(super) struct DroppedNames {
    pub(super) names: Vec<ObjectName>,
    pub(super) if_exists: bool,
    pub(super) cascade: bool,
}

impl DroppedNames {
    /// Parses the rest of a `DROP` after the kind of what is dropped.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
        let cascade = parser.parse_keyword(Keyword::CASCADE);
        if !cascade {
            let _ = parser.parse_keyword(Keyword::RESTRICT);
        }
        end(parser).map(|()| Self { names, if_exists, cascade })
    }
}

/// Refuses anything after a statement.
pub(super) fn end(parser: &mut Parser<'_>) -> Result<(), ParserError> {
    let next = parser.next_token();
    match next.token {
        Token::EOF | Token::SemiColon => Ok(()),
        found => {
            Err(ParserError::ParserError(format!("Expected: end of statement, found: {found}{}", next.span.start)))
        }
    }
}
