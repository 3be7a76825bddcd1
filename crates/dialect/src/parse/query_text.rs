//! Finds the query in a declaration, and the tables that it names.

use crate::text::errors::sql_error;
use crate::text::source_position::SourcePosition;
use crate::text::table_names::{NamedSchema, TableName};
use crate::text::tree_walk::visit;
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

/// The names of the tables that a query reads, without those of its own `WITH`.
pub fn relations_of(query: &Query) -> Vec<TableName> {
    #[derive(Default)]
    struct Relations {
        read: Vec<TableName>,
        own: Vec<String>,
    }
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let items = query.with.iter().flat_map(|with| &with.cte_tables);
            self.own.extend(items.map(|item| item.alias.name.value.to_lowercase()));
            ControlFlow::Continue(())
        }

        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            self.read.extend(TableName::of(name).ok());
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations::default();
    let _ = visit(query, &mut relations);
    let Relations { mut read, own } = relations;
    read.retain(|name| name.schema != NamedSchema::Unsaid || !own.contains(&name.name.to_lowercase()));
    read
}

/// The byte position of a location that the tokenizer gives in lines and characters.
pub fn byte_of(text: &str, location: Location) -> usize {
    let lines_before = location.line.saturating_sub(1) as usize;
    let line_start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    let characters_before = location.column.saturating_sub(1) as usize;
    line_start + text[line_start..].chars().take(characters_before).map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_declaration_is_what_stands_behind_as() {
        let text = "CREATE VIEW é (a) -- as\n AS\n  SELECT 'as' AS x";
        let (query, position) = query_of(text, SourcePosition { line: 5, column: 3 }).unwrap().unwrap();
        assert_eq!((query, position), ("SELECT 'as' AS x", SourcePosition { line: 7, column: 3 }));
        assert!(query_of("CREATE TABLE t (a INT, CHECK (x AS y))", SourcePosition::START).unwrap().is_none());
    }
}
