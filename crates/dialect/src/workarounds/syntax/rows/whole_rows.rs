//! Whole rows of relations in functions of JSON, as in `SELECT row_to_json(t) FROM t`, in tests, as in `t IS NULL`, and
//! as texts, as in `SELECT t FROM t` and `t::text`, which DataFusion does not know: they are written with their
//! members. The row of a function with one column is its value: in `FROM json_array_elements(doc) AS e`, `e` is an
//! element.
//!
//! No upstream issue known.

use super::json_aggregates::ROW;
use super::json_rows::names_of_rows;
use super::row_tests::{optional_relations, present, tested_name, write_test};
use super::row_texts::{change_shown, text_of_row, text_operand};
use crate::text::errors::not_supported;
use crate::text::relations::{columns_of_values, merges_columns, relations_of};
use crate::text::result_names::{items_of, result_name};
use crate::text::tree_walk::{visit, visit_expressions_mut, visit_mut, visit_outer_expressions_mut};
use crate::workarounds::syntax::names::named_tables::{NamedTables, of_cte};
use crate::workarounds::syntax::names::shown_columns::shown_name;
use crate::workarounds::syntax::{expression, parsed_query, set_arguments};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, Table};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, Value, ValueWithSpan, Visitor, VisitorMut,
    WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Functions whose first argument may be a whole row.
const OF_ROWS: [&str; 5] = ["json_agg", "jsonb_agg", "row_to_json", "to_json", "to_jsonb"];

/// Functions any of whose arguments may be a whole row.
const WITH_ROWS: [&str; 6] = [
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
];

/// Writes whole rows with their members.
pub(crate) fn write_whole_rows(statement: &mut Statement, tables: &[Table]) -> Result<()> {
    let mut mentions = Mentions::default();
    if visit(&*statement, &mut mentions).is_continue() && !mentions.has_tested_relation() {
        return Ok(());
    }
    let known = Relations::of_statement(tables);
    let shows_rows = matches!(statement, Statement::Query(_));
    match visit_mut(statement, &mut WholeRows { known: vec![known], shows_rows }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Finds what whole rows may be mentioned by.
#[derive(Default)]
struct Mentions {
    /// The names of relations so far.
    relations: Vec<String>,
    /// The names so far of what is tested, counted or shown.
    tested: Vec<String>,
}

impl Mentions {
    fn has_tested_relation(&self) -> bool {
        self.tested.iter().any(|name| self.relations.iter().any(|relation| same_name(relation, name)))
    }
}

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.tested.extend(tested_name(expr).map(|tested| tested.name.value.clone()));
        if let Expr::Identifier(name) = expr {
            self.tested.push(name.value.clone());
        }
        match function_of_rows(expr) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.relations.extend(shown_name(factor).map(|name| name.value.clone()));
        match names_of_rows(factor) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// The name of a function that may have a whole row among its arguments.
fn function_of_rows(expr: &Expr) -> Option<&'static str> {
    let Expr::Function(call) = expr else { return None };
    let [part] = call.name.0.as_slice() else { return None };
    let name = &part.as_ident()?.value;
    OF_ROWS.into_iter().chain(WITH_ROWS).find(|known| name.eq_ignore_ascii_case(known))
}

struct WholeRows<'a> {
    /// The relations that are known in each query that the visitor is inside of.
    known: Vec<Relations<'a>>,
    /// Whether the statement shows the rows of its outermost query.
    shows_rows: bool,
}

impl VisitorMut for WholeRows<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let inner = self.known.last().map(|outer| outer.inside(query));
        self.known.extend(inner);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Some(known) = self.known.pop() else { return ControlFlow::Continue(()) };
        // The first one is the statement.
        if self.shows_rows
            && self.known.len() == 1
            && let Err(error) = show_rows(query, &known)
        {
            return ControlFlow::Break(error);
        }
        let Query { body, order_by: Some(order_by), .. } = query else { return ControlFlow::Continue(()) };
        let SetExpr::Select(select) = &**body else { return ControlFlow::Continue(()) };
        // A name of ORDER BY means a column of the answer first.
        let mut rows = known.rows_of(select);
        rows.retain(|row| !select.projection.iter().any(|item| is_named(item, &row.name)));
        if rows.is_empty() {
            return ControlFlow::Continue(());
        }
        visit_expressions_mut(order_by, |expr| match written(expr, &rows) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        })
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let Some(known) = self.known.last() else { return ControlFlow::Continue(()) };
        let rows = known.rows_of(select);
        if rows.is_empty() {
            return ControlFlow::Continue(());
        }
        let has_known_columns = relations_of(&select.from).all(|factor| known.of_relation(factor).is_some());
        let optional = optional_relations(select);
        // The first two are the statement and its query. What is computed there has other headings.
        let is_inner = self.known.len() > 2;
        let names: Vec<Option<Ident>> = select
            .projection
            .iter()
            .map(|item| match item {
                SelectItem::UnnamedExpr(expr) if is_inner || matches!(expr, Expr::Identifier(_)) => result_name(expr),
                _ => None,
            })
            .collect();
        let mut outcome = visit_expressions_mut(select, |expr| match written(expr, &rows) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        });
        // In a subquery the same name may be a column.
        if outcome.is_continue() {
            outcome =
                visit_outer_expressions_mut(select, |expr| match tested(expr, &rows, has_known_columns, &optional) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                });
        }
        if outcome.is_continue() && has_known_columns {
            outcome = visit_outer_expressions_mut(select, |expr| match text_operand(expr) {
                Some(operand) => match write_text(operand, &rows, &optional) {
                    Ok(_) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                },
                None => ControlFlow::Continue(()),
            });
        }
        for (item, name) in select.projection.iter_mut().zip(names) {
            keep_name(item, name);
        }
        outcome
    }
}

/// Returns whether a column of the answer was given this name.
fn is_named(item: &SelectItem, name: &Ident) -> bool {
    matches!(item, SelectItem::ExprWithAlias { alias, .. } if same_name(&alias.value, &name.value))
}

/// Gives a column the name that it had before it was written otherwise.
fn keep_name(item: &mut SelectItem, name: Option<Ident>) {
    let (SelectItem::UnnamedExpr(expr), Some(alias)) = (&mut *item, name) else { return };
    if result_name(expr).as_ref() == Some(&alias) {
        return;
    }
    let expr = std::mem::replace(expr, Expr::value(Value::Null));
    *item = SelectItem::ExprWithAlias { expr, alias };
}

/// A relation whose name may stand for its rows.
struct NamedRow {
    name: Ident,
    /// Its columns, if they are known.
    columns: Option<Vec<Ident>>,
    /// Whether it is a function with one column.
    is_value: bool,
}

fn written(expr: &mut Expr, rows: &[NamedRow]) -> Result<()> {
    let row_of = |expr: &Expr| match expr {
        Expr::Identifier(name) => rows.iter().find(|row| same_name(&row.name.value, &name.value)),
        _ => None,
    };
    if let Some(NamedRow { name, columns: Some(columns), is_value: true }) = row_of(&*expr)
        && let [column] = columns.as_slice()
    {
        *expr = Expr::CompoundIdentifier(vec![name.clone(), column.clone()]);
        return Ok(());
    }
    let Some(function) = function_of_rows(expr) else { return Ok(()) };
    let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut *expr else { return Ok(()) };
    let has_lines = matches!(
        list.args.get(1),
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(ValueWithSpan {
            value: Value::Boolean(true),
            ..
        }))))
    );
    let written_as = if function == "row_to_json" && has_lines { "json_row_lines" } else { ROW };
    let count = if WITH_ROWS.contains(&function) { list.args.len() } else { 1 };
    let mut whole = None;
    for argument in list.args.iter_mut().take(count) {
        let row = match &*argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => row_of(argument),
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => row_of_star(name, rows),
            _ => None,
        };
        let Some(row) = row else { continue };
        let row = members(function, row, written_as)?;
        *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(row.clone()));
        whole = Some(row);
    }
    if let Some(whole) = whole.filter(|_| function == "row_to_json") {
        *expr = whole;
    }
    Ok(())
}

/// Writes a test of whole rows.
fn tested(expr: &mut Expr, rows: &[NamedRow], has_known_columns: bool, optional: &[Ident]) -> Result<()> {
    let Some(tested) = tested_name(expr) else { return Ok(()) };
    let is_named = |other: &Ident| same_name(&other.value, &tested.name.value);
    let row = rows.iter().find(|row| !row.is_value && is_named(&row.name));
    // A relation whose columns are not known may have a column of this name.
    let Some(row) = row.filter(|_| tested.is_star || has_known_columns) else { return Ok(()) };
    let is_optional = optional.iter().any(is_named);
    write_test(expr, &row.name, row.columns.as_deref(), is_optional)
}

/// Writes the whole rows that a query shows as texts. It is the outermost one, or the subquery of a shown value.
fn show_rows(query: &mut Query, known: &Relations<'_>) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_ref() else { return Ok(()) };
    let (rows, optional) = (known.rows_of(select), optional_relations(select));
    if !relations_of(&select.from).all(|factor| known.of_relation(factor).is_some()) {
        return Ok(());
    }
    change_shown(query, |item| {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &mut *item else {
            return Ok(());
        };
        let name = result_name(expr);
        if show(expr, known, &rows, &optional)? {
            keep_name(item, name);
        }
        Ok(())
    })
}

/// Writes the whole rows that a value shows: a row, an array of rows, or those of a subquery. Returns whether it may
/// have changed.
fn show(expr: &mut Expr, known: &Relations<'_>, rows: &[NamedRow], optional: &[Ident]) -> Result<bool> {
    match expr {
        Expr::Nested(inner) => show(inner, known, rows, optional),
        Expr::Subquery(query)
        | Expr::Function(Function { args: FunctionArguments::Subquery(query), over: None, .. }) => {
            let known = known.inside(query);
            show_rows(query, &known).map(|()| true)
        }
        Expr::Function(call) => match collected(call) {
            Some(row) => write_text(row, rows, optional),
            None => Ok(false),
        },
        _ => write_text(expr, rows, optional),
    }
}

/// Returns the argument of a call of `array_agg`; `None` for other calls, and with `DISTINCT`: rows can be equal
/// although their texts differ.
fn collected(call: &mut Function) -> Option<&mut Expr> {
    let [part] = call.name.0.as_slice() else { return None };
    let is_collecting = part.as_ident()?.value.eq_ignore_ascii_case("array_agg") && call.over.is_none();
    let FunctionArguments::List(list) = &mut call.args else { return None };
    match list.args.as_mut_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))]
            if is_collecting && list.duplicate_treatment.is_none() =>
        {
            Some(argument)
        }
        _ => None,
    }
}

/// Writes a whole row as a text. Returns whether the expression is one.
fn write_text(expr: &mut Expr, rows: &[NamedRow], optional: &[Ident]) -> Result<bool> {
    if let Expr::Nested(inner) = expr {
        return write_text(inner, rows, optional);
    }
    let Expr::Identifier(name) = &*expr else { return Ok(false) };
    let is_named = |other: &Ident| same_name(&other.value, &name.value);
    let row = rows.iter().find(|row| !row.is_value && is_named(&row.name));
    let Some((row, columns)) = row.and_then(|row| Some((row, row.columns.as_ref()?))) else { return Ok(false) };
    let column = |column: &Ident| Expr::CompoundIdentifier(vec![row.name.clone(), column.clone()]);
    let text = text_of_row(columns.iter().map(column).collect())?;
    let is_optional = optional.iter().any(is_named);
    *expr = if is_optional { present(&row.name, columns, text)? } else { text };
    Ok(true)
}

/// The relation of `t.*`.
fn row_of_star<'a>(name: &ObjectName, rows: &'a [NamedRow]) -> Option<&'a NamedRow> {
    let [part] = name.0.as_slice() else { return None };
    let name = part.as_ident()?;
    rows.iter().find(|row| !row.is_value && same_name(&row.name.value, &name.value))
}

/// A row as a call of a function with its members.
fn members(function: &str, row: &NamedRow, written_as: &str) -> Result<Expr> {
    let Some(columns) = &row.columns else {
        let hint = format!("write json_build_object('name', {}.name)", row.name);
        return Err(not_supported(format_args!("{function} of a row of {}", row.name)).with_hint(hint));
    };
    let members = columns.iter().flat_map(|column| {
        let name = Expr::value(Value::SingleQuotedString(column.value.clone()));
        [name, Expr::CompoundIdentifier(vec![row.name.clone(), column.clone()])]
    });
    let mut whole = expression(&format!("{written_as}(NULL)"))?;
    set_arguments(&mut whole, members.collect());
    Ok(whole)
}

/// The tables, views and common table expressions of a statement.
#[derive(Clone)]
pub(super) struct Relations<'a> {
    tables: NamedTables<'a>,
    /// The common table expressions, and their columns if they are known.
    ctes: Vec<(String, Option<Vec<Ident>>)>,
    /// Whether they are those of a view's query. In it, columns of views are not known: views may read each other.
    is_of_view: bool,
}

impl<'a> Relations<'a> {
    pub(super) fn of_statement(tables: &'a [Table]) -> Self {
        Self { tables: NamedTables::new(tables), ctes: Vec::new(), is_of_view: false }
    }

    /// Returns the relations that names inside of a query may mean, with the common table expressions of its `WITH`.
    pub(super) fn inside(&self, query: &Query) -> Self {
        let mut inner = self.clone();
        inner.tables.hide(query);
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = match cte.alias.columns.as_slice() {
                [] => inner.of_query(&cte.query),
                columns => Some(columns.iter().map(|column| column.name.clone()).collect()),
            };
            inner.ctes.push((cte.alias.name.value.clone(), columns));
        }
        inner
    }

    /// The relations of a SELECT whose names are no names of columns.
    fn rows_of(&self, select: &Select) -> Vec<NamedRow> {
        let mut rows = Vec::new();
        for factor in relations_of(&select.from) {
            if let Some((name, columns)) = names_of_rows(factor) {
                rows.push(NamedRow { name, is_value: columns.len() == 1, columns: Some(columns) });
            } else if let Some(name) = shown_name(factor) {
                rows.push(NamedRow { name: name.clone(), columns: self.of_relation(factor), is_value: false });
            }
        }
        let columns: Vec<String> =
            rows.iter().flat_map(|row| row.columns.iter().flatten()).map(|column| column.value.clone()).collect();
        rows.retain(|row| !columns.iter().any(|column| same_name(column, &row.name.value)));
        rows
    }

    /// The columns of a query, if all are known.
    fn of_query(&self, query: &Query) -> Option<Vec<Ident>> {
        self.inside(query).of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Option<Vec<Ident>> {
        match body {
            SetExpr::Select(select) => {
                let mut columns = Vec::new();
                for item in &select.projection {
                    columns.extend(self.of_item(item, select)?);
                }
                Some(columns)
            }
            SetExpr::Query(query) => self.of_query(query),
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            SetExpr::Values(values) => Some(columns_of_values(values).into_iter().map(Ident::new).collect()),
            _ => None,
        }
    }

    fn of_item(&self, item: &SelectItem, select: &Select) -> Option<Vec<Ident>> {
        let is_plain = |options: &WildcardAdditionalOptions| *options == WildcardAdditionalOptions::default();
        match item {
            SelectItem::UnnamedExpr(expr) => result_name(expr).map(|name| vec![name]),
            SelectItem::ExprWithAlias { alias, .. } => Some(vec![alias.clone()]),
            SelectItem::Wildcard(options) if is_plain(options) && !merges_columns(&select.from) => {
                let mut columns = Vec::new();
                for factor in relations_of(&select.from) {
                    columns.extend(self.of_relation(factor)?);
                }
                Some(columns)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if is_plain(options) =>
            {
                let name = &name.0.last()?.as_ident()?.value;
                let is_named = |factor: &&TableFactor| shown_name(factor).is_some_and(|of| same_name(&of.value, name));
                self.of_relation(relations_of(&select.from).find(is_named)?)
            }
            _ => None,
        }
    }

    /// The columns of a relation, if all are known.
    pub(super) fn of_relation(&self, factor: &TableFactor) -> Option<Vec<Ident>> {
        if let Some((_, columns)) = names_of_rows(factor) {
            return Some(columns);
        }
        let (alias, columns) = match factor {
            TableFactor::Table { name, args: None, alias, .. } => (alias, self.of_name(name)),
            TableFactor::Derived { subquery, alias, .. } => (alias, self.of_query(subquery)),
            _ => return None,
        };
        let aliases = alias.iter().flat_map(|alias| &alias.columns).map(|column| column.name.clone());
        let aliases: Vec<Ident> = aliases.collect();
        match columns {
            Some(columns) => Some(aliases.iter().cloned().chain(columns.into_iter().skip(aliases.len())).collect()),
            // Aliases of columns name all of them where their number is not known otherwise.
            None if !aliases.is_empty() => Some(aliases),
            None => None,
        }
    }

    /// The columns of a view, if its query names them. Other expressions have their texts as names in a view.
    fn of_view(&self, query: &str) -> Option<Vec<Ident>> {
        if self.is_of_view {
            return None;
        }
        let query = parsed_query(query).ok()?;
        let is_named = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)),
            _ => true,
        };
        if !items_of(&query)?.iter().all(is_named) {
            return None;
        }
        Relations { tables: self.tables.of_views(), ctes: Vec::new(), is_of_view: true }.of_query(&query)
    }

    fn of_name(&self, name: &ObjectName) -> Option<Vec<Ident>> {
        if let Some(columns) = self.tables.columns_of(name) {
            return Some(columns.into_iter().map(Ident::new).collect());
        }
        if let Some(query) = self.tables.query_of_view(name) {
            return self.of_view(query);
        }
        of_cte(&self.ctes, name)?.clone()
    }
}
