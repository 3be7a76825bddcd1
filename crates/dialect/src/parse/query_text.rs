//! Finds the query in a declaration, and the tables that it names.

use crate::text::errors::sql_error;
use crate::text::source_position::SourcePosition;
use crate::text::table_names::{NamedSchema, TableName};
use crate::text::tree_walk::visit;
use crate::text::with_names::WithNames;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};
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

/// The byte position of a location that the tokenizer gives in lines and characters.
pub fn byte_of(text: &str, location: Location) -> usize {
    let lines_before = location.line.saturating_sub(1) as usize;
    let line_start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    let characters_before = location.column.saturating_sub(1) as usize;
    line_start + text[line_start..].chars().take(characters_before).map(char::len_utf8).sum::<usize>()
}

/// The byte positions of locations that are asked for in ascending order. The text is read once for all of them.
pub fn bytes_in_order(text: &str) -> impl FnMut(Location) -> usize {
    let (mut letters, mut here) = (text.char_indices(), Location { line: 1, column: 1 });
    move |location| {
        while here < location
            && let Some((_, letter)) = letters.next()
        {
            here = match letter {
                '\n' => Location { line: here.line + 1, column: 1 },
                _ => Location { line: here.line, column: here.column + 1 },
            };
        }
        letters.offset()
    }
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
    fn positions_in_order_are_those_of_each_location() {
        let text = "é a\n\n  'ü\n' b";
        let mut in_order = bytes_in_order(text);
        for token in Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap() {
            for location in [token.span.start, token.span.end] {
                assert_eq!(in_order(location), byte_of(text, location), "{location}");
            }
        }
        assert_eq!(in_order(Location { line: 9, column: 1 }), text.len());
    }

    #[test]
    fn the_query_of_a_declaration_is_what_stands_behind_as() {
        let text = "CREATE VIEW é (a) -- as\n AS\n  SELECT 'as' AS x";
        let (query, position) = query_of(text, SourcePosition { line: 5, column: 3 }).unwrap().unwrap();
        assert_eq!((query, position), ("SELECT 'as' AS x", SourcePosition { line: 7, column: 3 }));
        assert!(query_of("CREATE TABLE t (a INT, CHECK (x AS y))", SourcePosition::START).unwrap().is_none());
    }
}
