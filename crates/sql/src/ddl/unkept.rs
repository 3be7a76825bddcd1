//! Changes that PostgreSQL's dumps contain and that nothing here keeps: the owner of an object, and the statistics, the
//! storage and the replication of a table. They are accepted for objects that exist.

use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// A change that is not kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnkeptChange {
    pub(crate) verb: &'static str,
    pub(crate) object: ChangedObject,
    pub(crate) name: ObjectName,
    pub(crate) if_exists: bool,
    /// The text of the notice, which says what is not kept.
    pub(crate) what: &'static str,
}

/// The kind of object that a change names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangedObject {
    Schema,
    Type,
    /// A table, a view or a sequence.
    Relation,
}

impl UnkeptChange {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let words = leading_words(text, 3);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (verb, object, skipped) = match words.as_slice() {
            ["ALTER", "SCHEMA", ..] => ("ALTER SCHEMA", ChangedObject::Schema, 2),
            ["ALTER", "TYPE", ..] => ("ALTER TYPE", ChangedObject::Type, 2),
            ["ALTER", "TABLE", ..] => ("ALTER TABLE", ChangedObject::Relation, 2),
            ["ALTER", "VIEW", ..] => ("ALTER VIEW", ChangedObject::Relation, 2),
            ["ALTER", "SEQUENCE", ..] => ("ALTER SEQUENCE", ChangedObject::Relation, 2),
            ["ALTER", "MATERIALIZED", "VIEW"] => ("ALTER MATERIALIZED VIEW", ChangedObject::Relation, 3),
            _ => return None,
        };
        let mut parser = Parser::new(&GenericDialect).try_with_sql(text).ok()?;
        (0..skipped).for_each(|_| drop(parser.next_token()));
        let is_relation = object == ChangedObject::Relation;
        let if_exists = is_relation && parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let _ = is_relation && parser.parse_keyword(Keyword::ONLY);
        let name = parser.parse_object_name(false).ok()?;
        let what = match verb {
            "ALTER TABLE" => owner(&mut parser).or_else(|| property_of_table(&mut parser)),
            _ => owner(&mut parser),
        };
        let is_whole = matches!(parser.next_token().token, Token::EOF | Token::SemiColon);
        what.filter(|_| is_whole).map(|what| Self { verb, object, name, if_exists, what })
    }
}

/// Reads `OWNER TO role`.
fn owner(parser: &mut Parser<'_>) -> Option<&'static str> {
    if !accept(parser, &["OWNER", "TO"]) {
        return None;
    }
    parser.parse_identifier().ok().map(|_| "the owner is not kept: rights are the roles of users")
}

/// Reads the other properties that a table has in PostgreSQL.
fn property_of_table(parser: &mut Parser<'_>) -> Option<&'static str> {
    if accept(parser, &["REPLICA", "IDENTITY"]) {
        if accept(parser, &["USING", "INDEX"]) {
            parser.parse_identifier().ok()?;
        } else if !["FULL", "NOTHING", "DEFAULT"].iter().any(|word| accept(parser, &[word])) {
            return None;
        }
        return Some("the replica identity is not kept: there is no logical replication");
    }
    if accept(parser, &["SET", "WITHOUT", "CLUSTER"]) {
        return Some(CLUSTER);
    }
    if accept(parser, &["CLUSTER", "ON"]) {
        return parser.parse_identifier().ok().map(|_| CLUSTER);
    }
    property_of_column(parser).ok()?
}

const CLUSTER: &str = "the order of rows by an index is not kept: the store orders rows by their time";

/// Reads `ALTER COLUMN column SET STATISTICS number` and `SET STORAGE name`.
fn property_of_column(parser: &mut Parser<'_>) -> Result<Option<&'static str>, ParserError> {
    if !accept(parser, &["ALTER"]) {
        return Ok(None);
    }
    accept(parser, &["COLUMN"]);
    parser.parse_identifier()?;
    if accept(parser, &["SET", "STATISTICS"]) {
        let _ = parser.consume_token(&Token::Minus);
        parser.parse_literal_uint()?;
        return Ok(Some("the statistics target is not kept: statistics are always complete"));
    }
    if accept(parser, &["SET", "STORAGE"]) {
        parser.parse_identifier()?;
        return Ok(Some("the storage is not kept: the store chooses how values are stored"));
    }
    Ok(None)
}

/// Reads these words, if all of them come next.
fn accept(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let is_word = |(at, wanted): (usize, &&str)| {
        matches!(&parser.peek_nth_token(at).token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    };
    let are_next = words.iter().enumerate().all(is_word);
    if are_next {
        words.iter().for_each(|_| drop(parser.next_token()));
    }
    are_next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_changes_are_read_and_others_left_to_the_parser() {
        for (text, verb, name) in [
            ("ALTER TABLE s.t OWNER TO me;", "ALTER TABLE", "s.t"),
            ("alter table only t alter column c set statistics 500", "ALTER TABLE", "t"),
            ("ALTER TABLE ONLY t REPLICA IDENTITY FULL", "ALTER TABLE", "t"),
            ("ALTER TABLE t CLUSTER ON i", "ALTER TABLE", "t"),
            ("ALTER MATERIALIZED VIEW IF EXISTS m OWNER TO CURRENT_USER", "ALTER MATERIALIZED VIEW", "m"),
            ("ALTER SCHEMA a OWNER TO \"B\"", "ALTER SCHEMA", "a"),
        ] {
            let change = UnkeptChange::of(text).unwrap();
            assert_eq!((change.verb, change.name.to_string().as_str()), (verb, name), "{text}");
        }
        for other in [
            "ALTER TABLE t OWNER TO me, ADD COLUMN c INT",
            "ALTER TABLE t ALTER COLUMN c SET NOT NULL",
            "ALTER VIEW v SET SCHEMA s",
            "ALTER TABLE t OWNER me",
        ] {
            assert_eq!(UnkeptChange::of(other), None, "{other}");
        }
    }
}
