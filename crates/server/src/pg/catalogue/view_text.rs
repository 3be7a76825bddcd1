//! The queries of views, as texts.

use super::names::{ident, schema_and_name};
use super::not_tables::NotTables;
use atsdb::PUBLIC_SCHEMA;
use atsdb::sql::tree_walk::{visit_mut, visit_relations};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Query, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use std::ops::ControlFlow;

/// The maximum nesting depth of a query that is parsed.
const DEPTH_MAX: usize = 60;

/// The tables that a view's query reads, as schema and name. There are none if it cannot be parsed.
pub(super) fn tables_of(query: &str) -> Vec<(String, String)> {
    let Some(query) = parsed(query) else { return Vec::new() };
    let (others, mut tables) = (NotTables::of(&query), Vec::new());
    let _: ControlFlow<()> = visit_relations(query.as_ref(), |name| {
        let (schema, table) = schema_and_name(name);
        if !others.has(schema.as_deref(), &table) {
            tables.push((schema.unwrap_or_else(|| PUBLIC_SCHEMA.to_owned()), table));
        }
        ControlFlow::Continue(())
    });
    tables.sort();
    tables.dedup();
    tables
}

/// A view's query with the schema before the name of every table, or `None` if it cannot be parsed. A stored query
/// leaves out `public`.
pub(super) fn with_schemas(query: &str) -> Option<String> {
    let mut query = parsed(query)?;
    let others = NotTables::of(&query);
    let _ = visit_mut(query.as_mut(), &mut WithSchemas(others));
    Some(query.to_string())
}

fn parsed(query: &str) -> Option<Box<Query>> {
    let parser = Parser::new(&PostgreSqlDialect {}).with_recursion_limit(DEPTH_MAX);
    let mut parser = parser.try_with_sql(query).ok()?;
    let query = parser.parse_query().ok()?;
    let _ = parser.consume_token(&Token::SemiColon);
    (parser.peek_token().token == Token::EOF).then_some(query)
}

struct WithSchemas(NotTables);

impl VisitorMut for WithSchemas {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        if let [ObjectNamePart::Identifier(table)] = name.0.as_slice()
            && !self.0.has(None, &ident(table))
        {
            name.0.insert(0, ObjectNamePart::Identifier(Ident::new(PUBLIC_SCHEMA)));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_get_the_schema_public_and_other_names_do_not() {
        let query = "WITH w AS (SELECT a FROM t) SELECT w.a, x FROM w, s.u, generate_series(1, 2) AS x \
                     WHERE EXISTS (SELECT 1 FROM \"T u\")";
        let expected = "WITH w AS (SELECT a FROM public.t) SELECT w.a, x FROM w, s.u, generate_series(1, 2) AS x \
                        WHERE EXISTS (SELECT 1 FROM public.\"T u\")";
        assert_eq!(with_schemas(query).as_deref(), Some(expected));
        let tables = [("public", "T u"), ("public", "t"), ("s", "u")];
        assert_eq!(tables_of(query), tables.map(|(schema, name)| (schema.to_owned(), name.to_owned())));
        assert_eq!(with_schemas("SELECT 1 FROM t this is no query"), None);
    }
}
