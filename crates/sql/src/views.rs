//! Views: where the query of a declaration begins, and a view's query in place of a table.

use crate::error::{from_datafusion, sql_error};
use crate::headings::Headings;
use crate::identifiers::SharedSpellings;
use crate::parse::{RELATIONS_MAX, parse_over};
use crate::script::Place;
use arrow::datatypes::SchemaRef;
use atsdb_core::name::name_key;
use atsdb_core::{Result, Table, View};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::Statement as Ast;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How deep views may be made of views.
const DEPTH_MAX: usize = 20;

/// The query of `CREATE ... AS query`, as written, and where it begins.
pub(crate) fn query_of(text: &str, place: Place) -> Result<Option<(&str, Place)>> {
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
                return Ok(Some((&text[start..], place.after(&text[..start]))));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Where a place that the tokenizer counted, in lines and characters, lies.
pub(crate) fn byte_of(text: &str, location: Location) -> usize {
    let lines_before = location.line.saturating_sub(1) as usize;
    let line_start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    let characters_before = location.column.saturating_sub(1) as usize;
    line_start + text[line_start..].chars().take(characters_before).map(char::len_utf8).sum::<usize>()
}

/// Names of columns must tell them apart.
pub(crate) fn check_names(what: &str, schema: &SchemaRef) -> Result<()> {
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(name_key(field.name()))) {
        Some(field) => Err(sql_error(format!("{what} would have two columns named {}", field.name()))
            .with_hint(format!("give one another name: ... AS {}_2", field.name()))),
        None => Ok(()),
    }
}

/// The views that are being expanded, one inside the other, and how many tables were found in them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Expansion {
    within: Vec<String>,
    relation_count: Arc<AtomicUsize>,
}

impl Expansion {
    /// A table is read. A statement's own were counted when it was parsed; those of views are as many as its own may be.
    pub(crate) fn count_one(&self) -> Result<()> {
        let Some(view) = self.within.last() else { return Ok(()) };
        match self.relation_count.fetch_add(1, Ordering::Relaxed) {
            0..RELATIONS_MAX => Ok(()),
            _ => Err(sql_error(format!("with view {view}, the statement reads more than {RELATIONS_MAX} tables"))
                .with_hint("make a table of a view: CREATE TABLE ... AS SELECT")),
        }
    }

    fn enter(&self, table: &Table) -> Result<Self> {
        let key = name_key(&table.definition.name);
        if self.within.contains(&key) {
            return Err(sql_error(format!("view {} is made of itself", table.definition.name))
                .with_hint("DROP VIEW one of them"));
        }
        if self.within.len() >= DEPTH_MAX {
            return Err(sql_error(format!("views are made of views deeper than {DEPTH_MAX} levels"))
                .with_hint("make a table of one: CREATE TABLE ... AS SELECT"));
        }
        let mut inner = self.clone();
        inner.within.push(key);
        Ok(inner)
    }
}

/// The plan of a view's query, its columns spelled as the statement spells them. `plan` plans a statement inside.
pub(crate) fn view_plan(
    table: &Table,
    view: &View,
    tables: &[Table],
    spellings: &SharedSpellings,
    expansion: &Expansion,
    plan: impl FnOnce(Ast, &SharedSpellings, Expansion) -> datafusion::common::Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let expansion = expansion.enter(table)?;
    let expand = || {
        let (mut statement, inner) = parse_over(&view.query, Place::START, &[], tables)?;
        let inner = SharedSpellings::new(inner);
        let headings = match &mut statement {
            Ast::Query(query) => Headings::take(query, &inner),
            _ => return Err(sql_error("it is no query")),
        };
        let plan = plan(statement, &inner, expansion).map_err(from_datafusion)?;
        let schema = headings.apply(&Arc::new(plan.schema().as_arrow().clone()));
        let columns = plan.schema().iter().map(Column::from).zip(schema.fields());
        let columns: Vec<Expr> =
            columns.map(|(column, field)| Expr::Column(column).alias(spellings.spell(field.name()))).collect();
        let renamed = LogicalPlanBuilder::from(plan).project(columns).and_then(LogicalPlanBuilder::build);
        renamed.map_err(from_datafusion)
    };
    expand().map_err(|error| error.context(format_args!("view {}", table.definition.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_declaration_is_what_stands_behind_as() {
        let text = "CREATE VIEW é (a) -- as\n AS\n  SELECT 'as' AS x";
        let (query, place) = query_of(text, Place { line: 5, column: 3 }).unwrap().unwrap();
        assert_eq!((query, place), ("SELECT 'as' AS x", Place { line: 7, column: 3 }));
        assert!(query_of("CREATE TABLE t (a INT, CHECK (x AS y))", Place::START).unwrap().is_none());
    }
}
