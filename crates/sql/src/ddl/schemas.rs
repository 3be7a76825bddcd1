//! `ALTER SCHEMA name RENAME TO name`, and `ALTER TABLE name SET SCHEMA name`, which the parser does not know.

use super::statement_parts::end;
use atsdb_core::Result;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_dialect::text::errors::from_parser;
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Tokenizer;

/// A change of a schema, or of the schema of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SchemaChange {
    Rename { from: String, to: String },
    Move(SchemaMove),
}

/// A table, a view or a rollup that gets another schema.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SchemaMove {
    /// The kind of relation that the statement requires; `None` for `ALTER TABLE`, which accepts every kind.
    pub(crate) kind: Option<RelationKind>,
    pub(crate) name: ObjectName,
    pub(crate) schema: String,
    pub(crate) if_exists: bool,
}

impl SchemaChange {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        let words = leading_words(text, 3);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (kind, skipped) = match words.as_slice() {
            ["ALTER", "SCHEMA" | "TABLE", ..] => (None, 2),
            ["ALTER", "VIEW", ..] => (Some(RelationKind::View), 2),
            ["ALTER", "MATERIALIZED", "VIEW"] => (Some(RelationKind::MaterializedView), 3),
            _ => return Ok(None),
        };
        let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().map_err(|error| {
            from_parser(ParserError::TokenizerError(format!("{}{}", error.message, error.location)), position)
        })?;
        let mut parser =
            Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).with_tokens_with_locations(tokens);
        (0..skipped).for_each(|_| drop(parser.next_token()));
        let parsed = if words[1] == "SCHEMA" { rename(&mut parser).map(Some) } else { moved(&mut parser, kind) };
        parsed.map_err(|error| from_parser(error, position))
    }
}

fn rename(parser: &mut Parser<'_>) -> Result<SchemaChange, ParserError> {
    let from = parser.parse_identifier()?.value;
    parser.expect_keywords(&[Keyword::RENAME, Keyword::TO])?;
    let to = parser.parse_identifier()?.value;
    end(parser).map(|()| SchemaChange::Rename { from, to })
}

/// `None` for a statement without `SET SCHEMA`.
fn moved(parser: &mut Parser<'_>, kind: Option<RelationKind>) -> Result<Option<SchemaChange>, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _only = parser.parse_keyword(Keyword::ONLY);
    let Ok(name) = parser.parse_object_name(false) else { return Ok(None) };
    if !parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        return Ok(None);
    }
    let schema = parser.parse_identifier()?.value;
    end(parser)?;
    Ok(Some(SchemaChange::Move(SchemaMove { kind, name, schema, if_exists })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<SchemaChange> {
        SchemaChange::of(text, SourcePosition::START).unwrap()
    }

    #[test]
    fn changes_of_schemas_are_told_from_others() {
        let rename = SchemaChange::Rename { from: "a".to_owned(), to: "B c".to_owned() };
        assert_eq!(parsed("alter schema a rename to \"B c\""), Some(rename));
        let Some(SchemaChange::Move(moved)) = parsed("ALTER TABLE IF EXISTS s.t SET SCHEMA r") else { panic!() };
        assert_eq!((moved.name.to_string().as_str(), moved.schema.as_str(), moved.if_exists), ("s.t", "r", true));
        assert!(parsed("ALTER VIEW v SET SCHEMA public").is_some());
        assert!(parsed("ALTER/* a */SCHEMA -- b\n a RENAME TO c").is_some());
        for other in ["ALTER TABLE t SET (slice = 'day')", "ALTER TABLE [t] ADD x INT", "SELECT 1"] {
            assert_eq!(parsed(other), None, "{other}");
        }
        assert!(SchemaChange::of("ALTER SCHEMA a OWNER TO b", SourcePosition::START).is_err());
        assert!(SchemaChange::of("ALTER TABLE t SET SCHEMA a b", SourcePosition::START).is_err());
    }
}
