//! `JOIN ... USING (a, b) AS x`: in the query that has the join, `x.a` is the merged column `a`, and `x.*` are all
//! merged columns. The parser does not read the alias. So it becomes a further name between the parentheses, with a
//! mark, until the names with the alias are those of the columns. In a subquery they are not replaced, because a column
//! of the subquery may have the name.
//!
//! No upstream issue known.

use super::words::{TokenReplacement, after, is_word, replace};
use crate::text::relations::constraint_mut;
use crate::text::tree_walk::{SelectVisitor, visit_outer_expressions_mut, visit_selects_mut};
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, ObjectName, OrderBy, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement,
    TableFactor, TableWithJoins,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::ControlFlow;

/// Begins the name that an alias becomes.
const MARK: &str = "\u{1}using ";

/// Writes `USING (a) AS x` as `USING (a, "mark x")`.
pub(crate) fn keep_using_aliases(tokens: &mut Vec<TokenWithSpan>) {
    let mut written: Vec<TokenReplacement> = Vec::new();
    for at in 0..tokens.len() {
        if is_word(&tokens[at], "USING")
            && let Some(close) = end_of_names(tokens, at)
            && let Some(word) = after(tokens, close).filter(|word| is_word(&tokens[*word], "AS"))
            && let Some(alias) = after(tokens, word)
            && let Token::Word(name) = &tokens[alias].token
        {
            let marked = Token::make_word(&format!("{MARK}{}", name.value), Some('"'));
            let span = tokens[alias].span;
            let others = [Token::Comma, marked, Token::RParen];
            let others = others.into_iter().map(|token| TokenWithSpan::new(token, span)).collect();
            written.push((close..alias + 1, others));
        }
    }
    replace(tokens, written);
}

/// The end of the names in parentheses behind a word; `None` if there is something else.
fn end_of_names(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let mut position = after(tokens, at).filter(|open| tokens[*open].token == Token::LParen)?;
    loop {
        let name = after(tokens, position).filter(|name| matches!(tokens[*name].token, Token::Word(_)))?;
        position = after(tokens, name)?;
        match tokens[position].token {
            Token::Comma => {}
            Token::RParen => return Some(position),
            _ => return None,
        }
    }
}

/// Names the merged columns without the aliases that [`keep_using_aliases`] has kept.
pub fn name_merged_columns(statement: &mut Statement) {
    let _ = visit_selects_mut(statement, &mut AliasedJoins);
}

struct AliasedJoins;

impl SelectVisitor for AliasedJoins {
    type Break = ();

    /// The ORDER BY of a set operation does not come here: it names columns of the answer.
    fn visit_select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>, _: usize) -> ControlFlow<()> {
        in_select(select, order_by);
        ControlFlow::Continue(())
    }
}

/// The merged columns of a join, under its alias.
struct MergedRow {
    alias: String,
    columns: Vec<Ident>,
}

impl MergedRow {
    fn is_called(&self, name: &Ident) -> bool {
        same_name(&self.alias, &name.value)
    }

    fn column(&self, name: &Ident) -> Option<&Ident> {
        self.columns.iter().find(|column| same_name(&column.value, &name.value))
    }
}

fn in_select(select: &mut Select, order: Option<&mut OrderBy>) {
    let mut rows = Vec::new();
    select.from.iter_mut().for_each(|from| take_rows(from, &mut rows));
    if rows.is_empty() {
        return;
    }
    let mut items = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        match row_of_star(&item, &rows) {
            Some(row) => {
                items.extend(row.columns.iter().map(|name| SelectItem::UnnamedExpr(Expr::Identifier(name.clone()))));
            }
            None => items.push(item),
        }
    }
    select.projection = items;
    let _ = visit_outer_expressions_mut(select, |expr| name_column(expr, &rows));
    if let Some(order) = order {
        // A name in ORDER BY is that of a column of the answer first.
        let is_alias = |name: &Ident| {
            select.projection.iter().any(|item| match item {
                SelectItem::ExprWithAlias { alias, .. } => same_name(&alias.value, &name.value),
                _ => false,
            })
        };
        rows.iter_mut().for_each(|row| row.columns.retain(|column| !is_alias(column)));
        let _ = visit_outer_expressions_mut(order, |expr| name_column(expr, &rows));
    }
}

/// Takes the aliases out of the joins.
fn take_rows(from: &mut TableWithJoins, rows: &mut Vec<MergedRow>) {
    take_inner_rows(&mut from.relation, rows);
    for join in &mut from.joins {
        take_inner_rows(&mut join.relation, rows);
        if let Some(JoinConstraint::Using(names)) = constraint_mut(&mut join.join_operator)
            && let Some(alias) = names.last().and_then(alias_in)
        {
            names.pop();
            let columns = names.iter().filter_map(|name| name.0.last()?.as_ident()).cloned().collect();
            rows.push(MergedRow { alias, columns });
        }
    }
}

fn take_inner_rows(factor: &mut TableFactor, rows: &mut Vec<MergedRow>) {
    if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
        take_rows(table_with_joins, rows);
    }
}

/// The alias that a name with the mark stands for.
fn alias_in(name: &ObjectName) -> Option<String> {
    name.0.last()?.as_ident()?.value.strip_prefix(MARK).map(str::to_owned)
}

/// The row of which an item shows all columns.
fn row_of_star<'a>(item: &SelectItem, rows: &'a [MergedRow]) -> Option<&'a MergedRow> {
    let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item else { return None };
    let [name] = name.0.as_slice() else { return None };
    let name = name.as_ident()?;
    rows.iter().find(|row| row.is_called(name))
}

/// Names a merged column without the alias.
fn name_column(expr: &mut Expr, rows: &[MergedRow]) -> ControlFlow<()> {
    if let Expr::CompoundIdentifier(parts) = expr
        && let [row, name] = parts.as_slice()
        && let Some(column) = rows.iter().find(|known| known.is_called(row)).and_then(|row| row.column(name))
    {
        *expr = Expr::Identifier(column.clone());
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    #[test]
    fn aliases_of_merged_columns_are_read() {
        for (text, expected) in [
            ("SELECT x.a, t.b FROM t JOIN u USING (a) AS x", "SELECT a, t.b FROM t JOIN u USING(a)"),
            (
                "SELECT X.* FROM t LEFT JOIN u USING (a, b) AS x ORDER BY x.b",
                "SELECT a, b FROM t LEFT JOIN u USING(a, b) ORDER BY b",
            ),
            (
                "SELECT 1 AS a FROM t JOIN u USING (a) AS x ORDER BY x.a",
                "SELECT 1 AS a FROM t JOIN u USING(a) ORDER BY x.a",
            ),
            ("SELECT a FROM t JOIN u USING (a)", "SELECT a FROM t JOIN u USING(a)"),
        ] {
            let mut tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap();
            keep_using_aliases(&mut tokens);
            let mut parser = Parser::new(&GenericDialect).with_tokens_with_locations(tokens);
            let mut statement = parser.parse_statement().unwrap();
            name_merged_columns(&mut statement);
            assert_eq!(statement.to_string(), expected, "{text}");
        }
    }
}
