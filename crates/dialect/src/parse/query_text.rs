//! Finds the query in a declaration, and the tables that it names.

use super::text_locations::byte_of;
use crate::text::errors::sql_error;
use crate::text::source_position::SourcePosition;
use crate::text::table_names::{NamedSchema, TableName};
use crate::text::tree_walk::visit;
use crate::text::with_names::WithNames;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use std::ops::ControlFlow;

/// The query of `CREATE ... AS query`, as written, and its position.
pub fn query_of(text: &str, position: SourcePosition) -> Result<Option<(&str, SourcePosition)>> {
    let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| sql_error(error.to_string()))?;
    let mut depth = 0_usize;
    for token in &tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && word.keyword == Keyword::AS => {
                let start = byte_of(text, token.span.end);
                let start = start + (text[start..].len() - text[start..].trim_start().len());
                return Ok(Some((&text[start..], position.after(&text[..start]))));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The names of the tables that a query reads, without those that its `WITH` defines.
pub fn relations_of(query: &Query) -> Vec<TableName> {
    #[derive(Default)]
    struct Relations {
        read: Vec<TableName>,
        own: WithNames,
    }
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            self.own.enter(query);
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            self.own.leave(query);
            ControlFlow::Continue(())
        }

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            let name = TableName::of(name).ok();
            self.read.extend(name.filter(|name| name.schema != NamedSchema::Unsaid || !self.own.have(&name.name)));
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations::default();
    let _ = visit(query, &mut relations);
    relations.read
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::parser::Parser;

    #[test]
    fn names_of_with_are_none_of_tables_where_they_are_defined() {
        for (text, read) in [
            ("WITH t AS (SELECT a FROM t) SELECT * FROM t, s.t", vec!["t", "s.t"]),
            ("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 2 FROM t) SELECT * FROM t", vec![]),
            ("WITH t AS (SELECT 1), q AS (SELECT * FROM T) SELECT * FROM q", vec![]),
            ("SELECT (WITH t AS (SELECT 1) SELECT 2 FROM t) FROM t", vec!["t"]),
        ] {
            let Statement::Query(query) = Parser::parse_sql(&GenericDialect, text).unwrap().remove(0) else {
                panic!("{text}")
            };
            let names: Vec<String> = relations_of(&query).iter().map(ToString::to_string).collect();
            assert_eq!(names, read, "{text}");
        }
    }

    #[test]
    fn the_query_of_a_declaration_is_what_stands_behind_as() {
        let text = "CREATE VIEW é (a) -- as\n AS\n  SELECT 'as' AS x";
        let (query, position) = query_of(text, SourcePosition { line: 5, column: 3 }).unwrap().unwrap();
        assert_eq!((query, position), ("SELECT 'as' AS x", SourcePosition { line: 7, column: 3 }));
        assert!(query_of("CREATE TABLE t (a INT, CHECK (x AS y))", SourcePosition::START).unwrap().is_none());
    }
}
