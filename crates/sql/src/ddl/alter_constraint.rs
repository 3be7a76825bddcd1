//! `ALTER TABLE ... ALTER CONSTRAINT`, which the parser does not know: whether a transaction can have a foreign key
//! checked at its end, and whether it is, unless the transaction says something else.

use super::references::deferrable;
use super::statement_parts::end;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_core::{Initially, Result, TableDefinition};
use atsdb_dialect::text::errors::{from_parser, not_supported, sql_error};
use atsdb_dialect::text::skipped::folded;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::words::leading_words;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

/// An `ALTER TABLE` that changes when foreign keys are checked.
#[derive(Debug, PartialEq)]
pub(crate) struct AlterConstraints {
    pub(crate) table: ObjectName,
    pub(crate) if_exists: bool,
    /// The foreign keys, each with when it is checked if it can be deferred.
    changes: Vec<(Ident, Option<Initially>)>,
}

impl AlterConstraints {
    /// Parses a text; `None` if it is another statement.
    pub(crate) fn of(text: &str, position: SourcePosition) -> Result<Option<Self>> {
        if leading_words(text, 2) != ["ALTER", "TABLE"] {
            return Ok(None);
        }
        let parser = Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).try_with_sql(text);
        let Ok(mut parser) = parser else { return Ok(None) };
        (0..2).for_each(|_| drop(parser.next_token()));
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let _ = parser.parse_keyword(Keyword::ONLY);
        let Ok(table) = parser.parse_object_name(false) else { return Ok(None) };
        if !parser.parse_keywords(&[Keyword::ALTER, Keyword::CONSTRAINT]) {
            return Ok(None);
        }
        let at_position = |error| from_parser(error, position);
        let mut changes = Vec::new();
        loop {
            let name = parser.parse_identifier().map_err(at_position)?;
            let clauses = parser.parse_constraint_characteristics().map_err(at_position)?;
            changes.push((name, deferrable(clauses.as_ref())?));
            if !parser.consume_token(&Token::Comma) {
                end(&mut parser).map_err(at_position)?;
                return Ok(Some(Self { table, if_exists, changes }));
            }
            if !parser.parse_keywords(&[Keyword::ALTER, Keyword::CONSTRAINT]) {
                return Err(not_supported("ALTER CONSTRAINT beside another change")
                    .with_hint("write a statement for each of them"));
            }
        }
    }

    /// The definition of the table after the change.
    pub(crate) fn apply(&self, from: &TableDefinition) -> Result<TableDefinition> {
        let mut definition = from.clone();
        for (name, deferrable) in &self.changes {
            let constraint = || format!("constraint \"{}\" of relation \"{}\"", folded(name), from.local_name());
            let key = definition.key_position(&name.value).filter(|position| !from.unique[*position].index);
            match definition.foreign_key_position(&name.value) {
                Some(position) => definition.foreign_keys[position].deferrable = *deferrable,
                None if key.is_some() || definition.check_position(&name.value).is_some() => {
                    return Err(sql_error(format!("{} is not a foreign key constraint", constraint()))
                        .with_hint("CHECK constraints and keys cannot be deferred"));
                }
                None => return Err(sql_error(format!("{} does not exist", constraint()))),
            }
        }
        Ok(definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Vec<(String, Option<Initially>)>> {
        let alter = AlterConstraints::of(text, SourcePosition::START).unwrap()?;
        Some(alter.changes.into_iter().map(|(name, deferrable)| (name.value, deferrable)).collect())
    }

    #[test]
    fn the_clauses_mean_what_they_mean_in_a_declaration() {
        for (clauses, deferrable) in [
            ("", None),
            ("NOT DEFERRABLE INITIALLY IMMEDIATE", None),
            ("INITIALLY IMMEDIATE", None),
            ("DEFERRABLE", Some(Initially::Immediate)),
            ("INITIALLY DEFERRED;", Some(Initially::Deferred)),
            ("DEFERRABLE INITIALLY DEFERRED", Some(Initially::Deferred)),
        ] {
            let text = format!("alter table if exists only s.t alter constraint c {clauses}");
            assert_eq!(parsed(&text), Some(vec![("c".to_owned(), deferrable)]), "{clauses}");
        }
        let two = parsed("ALTER TABLE t ALTER CONSTRAINT a DEFERRABLE, ALTER CONSTRAINT b").unwrap();
        assert_eq!(two, [("a".to_owned(), Some(Initially::Immediate)), ("b".to_owned(), None)]);
    }

    #[test]
    fn other_statements_are_left_alone_and_wrong_ones_refused() {
        assert_eq!(parsed("ALTER TABLE t ALTER COLUMN a DROP NOT NULL"), None);
        assert_eq!(parsed("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)"), None);
        for wrong in [
            "ALTER TABLE t ALTER CONSTRAINT c NOT DEFERRABLE INITIALLY DEFERRED",
            "ALTER TABLE t ALTER CONSTRAINT c NOT VALID",
            "ALTER TABLE t ALTER CONSTRAINT c DEFERRABLE, DROP COLUMN a",
        ] {
            assert!(AlterConstraints::of(wrong, SourcePosition::START).is_err(), "{wrong}");
        }
    }
}
