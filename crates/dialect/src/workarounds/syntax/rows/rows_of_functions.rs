//! `SELECT generate_series(1, 3)` returns rows in PostgreSQL, and a list in DataFusion: `unnest` turns the list into
//! rows. Inside another function, such as `unnest` or `array_length`, it stays a list.
//!
//! A series of `INT`s is of type `INT` in PostgreSQL, also in FROM; in DataFusion it is always of type `BIGINT`.
//!
//! `WITH ORDINALITY` adds the number of each row, which DataFusion does not support. An array of columns is unnested
//! together with the numbers of its elements.
//!
//! With an alias, as in `FROM generate_series(1, 3) AS id`, the column has the name of the alias. Without one, it is
//! `value`, or in a query that mentions `generate_series` that, which is its name in PostgreSQL.
//!
//! A series in FROM whose bounds are columns, as in `FROM t, generate_series(1, t.n)`, becomes the elements of a list,
//! and so does a function after `LATERAL`. DataFusion only knows `unnest` there, and not as the first of a FROM, with
//! columns of an outer query, as in `EXISTS (SELECT 1 FROM unnest(t.a) AS x)`: there it becomes a subquery.
//!
//! Waits for [#13316](https://github.com/apache/datafusion/issues/13316) (rows) and
//! [#11773](https://github.com/apache/datafusion/issues/11773) (`EXISTS`); of the name and the type no upstream issue
//! is known.

use crate::text::errors::{not_supported, sql_error, too_many_names};
use crate::text::tree_walk::{visit_expressions, visit_expressions_mut, visit_mut};
use crate::workarounds::syntax::literals::instants::marked;
use crate::workarounds::syntax::literals::integers::{are_narrow, make_int, widen};
use crate::workarounds::syntax::literals::times::is_instant;
use crate::workarounds::syntax::{expression, is_null, set_first_argument};
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins, TimezoneInfo, Value, ValueWithSpan, Visit, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

const SERIES: &str = "generate_series";
const UNNEST: &str = "unnest";

/// The name of the rows that are numbered.
const UNNESTED: &str = "unnested";

/// Adds `unnest` to such functions in a SELECT list and in GROUP BY.
pub(crate) fn unnest_functions(select: &mut Select) -> Result<()> {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            unnest(expr)?;
        }
    }
    match &mut select.group_by {
        GroupByExpr::Expressions(groups, _) => groups.iter_mut().try_for_each(unnest),
        GroupByExpr::All(_) => Ok(()),
    }
}

/// Refuses an expression of ORDER BY over such a function. DataFusion would order by its list.
pub(crate) fn refuse_rows(expr: &Expr) -> Result<()> {
    if !returns_rows(expr) {
        return Ok(());
    }
    let error = not_supported("a function that returns rows in ORDER BY");
    Err(error.with_hint("write it in the SELECT list of a subquery, and use its name"))
}

/// Returns whether an expression is the call of a series or `unnest`, or computed from one.
pub(super) fn returns_rows(expr: &Expr) -> bool {
    match expr {
        Expr::Function(call) => call.over.is_none() && (is_series(&call.name) || is_unnest(&call.name)),
        Expr::BinaryOp { left, right, .. } => returns_rows(left) || returns_rows(right),
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => returns_rows(inner),
        _ => false,
    }
}

fn unnest(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Function(call) if call.over.is_none() && is_series(&call.name) => {
            if let FunctionArguments::List(list) = &mut call.args {
                type_bounds(&mut list.args)?;
            }
            let has_ints = matches!(&call.args, FunctionArguments::List(list) if are_narrow(&list.args));
            let mut rows = expression("unnest(NULL)")?;
            set_first_argument(&mut rows, expr.clone());
            *expr = rows;
            if has_ints {
                make_int(expr);
            }
            Ok(())
        }
        Expr::BinaryOp { left, right, .. } => {
            unnest(left)?;
            unnest(right)
        }
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => unnest(inner),
        _ => Ok(()),
    }
}

/// Gives a series in FROM the name of its function, for queries that name its column so.
pub(crate) fn name_series(statement: &mut Statement) {
    let _ = visit_mut(statement, &mut SeriesNames);
}

struct SeriesNames;

impl VisitorMut for SeriesNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if has_series(&query.body) && mentions(query, SERIES) && !mentions(query, "value") {
            name_in_body(&mut query.body);
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether an expression in the query names a column so.
fn mentions(query: &Query, column: &str) -> bool {
    let found = visit_expressions(query, |expr| {
        let name = match expr {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        match name.is_some_and(|name| name.value.eq_ignore_ascii_case(column)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    found.is_break()
}

/// Returns whether a series without an alias is in the FROM of this body.
fn has_series(mut body: &SetExpr) -> bool {
    let is_unnamed = |factor: &TableFactor| match factor {
        TableFactor::Table { name, args: Some(_), alias: None, with_ordinality: false, .. } => is_series(name),
        _ => false,
    };
    // A chain of set operations is as deep as it is long.
    while let SetExpr::SetOperation { left, right, .. } = body {
        if has_series(right) {
            return true;
        }
        body = left.as_ref();
    }
    let SetExpr::Select(select) = body else { return false };
    let joined = |table: &TableWithJoins| table.joins.iter().any(|join| is_unnamed(&join.relation));
    select.from.iter().any(|table| is_unnamed(&table.relation) || joined(table))
}

fn name_in_body(mut body: &mut SetExpr) {
    while let SetExpr::SetOperation { left, right, .. } = body {
        name_in_body(right);
        body = left.as_mut();
    }
    let SetExpr::Select(select) = body else { return };
    for table in &mut select.from {
        name_factor(&mut table.relation);
        table.joins.iter_mut().for_each(|join| name_factor(&mut join.relation));
    }
}

fn name_factor(factor: &mut TableFactor) {
    let TableFactor::Table { name, args: Some(_), alias, with_ordinality: false, .. } = factor else { return };
    if is_series(name) && alias.is_none() {
        *alias = Some(named(Ident::new(SERIES)));
    }
}

/// Makes `FROM generate_series(1, 3) AS id` a series of INTs if its bounds are INTs, and names its column `id`.
pub(crate) fn narrow_series(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Table { name, args: Some(args), alias, .. } = factor else { return Ok(()) };
    if let Some(alias) = alias.as_mut().filter(|_| has_one_column(name)) {
        match alias.columns.len() {
            0 => alias.columns.push(TableAliasColumnDef { name: alias.name.clone(), data_type: None }),
            1 => {}
            names => return Err(too_many_names(&alias.name.value, 1, names)),
        }
    }
    let is_of_ints = is_series(name) && are_narrow(&args.args);
    // Functions in FROM only accept integers of 64 bits.
    widen(args);
    if !is_of_ints {
        return Ok(());
    }
    let alias = alias.take();
    let text = format!("(SELECT CAST(value AS INT) AS value FROM {factor})");
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_table_factor());
    *factor = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let TableFactor::Derived { alias: named, .. } = factor {
        *named = alias;
    }
    Ok(())
}

/// Writes a series of columns in FROM, and a function after `LATERAL`, with `unnest`, and names the only column of an
/// `unnest` like the alias or the function.
pub(crate) fn unnest_lists(factor: &mut TableFactor) -> Result<()> {
    match factor {
        TableFactor::Table { name, args: Some(args), .. } if is_series(name) => type_bounds(&mut args.args)?,
        TableFactor::Function { name, args, .. } if is_series(name) => type_bounds(args)?,
        _ => {}
    }
    let (name, args, alias, with_ordinality) = match factor {
        TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. }
            if is_series(name) && args.args.iter().any(mentions_column) =>
        {
            (name, &mut args.args, alias, with_ordinality)
        }
        TableFactor::Function { lateral: true, name, args, alias, with_ordinality }
            if is_series(name) || is_unnest(name) =>
        {
            (name, args, alias, with_ordinality)
        }
        TableFactor::UNNEST { alias, array_exprs, with_ordinality: false, .. } => {
            if let Some(alias) = alias.as_ref().filter(|alias| alias.columns.len() > array_exprs.len()) {
                return Err(too_many_names(&alias.name.value, array_exprs.len(), alias.columns.len()));
            }
            if array_exprs.len() == 1 {
                name_column(alias, UNNEST);
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    let array_exprs = if is_unnest(name) {
        let array = |arg: &FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) => Ok(array.clone()),
            other => Err(sql_error(format!("unnest: {other} is not an array"))),
        };
        args.iter().map(array).collect::<Result<Vec<_>>>()?
    } else {
        let mut call = expression("generate_series(NULL)")?;
        if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut call {
            list.args = std::mem::take(args);
        }
        vec![call]
    };
    let (mut alias, function) = (alias.take(), if is_unnest(name) { UNNEST } else { SERIES });
    let with_ordinality = *with_ordinality;
    if array_exprs.len() == 1 && !with_ordinality {
        name_column(&mut alias, function);
    }
    *factor = TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_offset_alias: None, with_ordinality };
    Ok(())
}

/// Writes an `unnest` of columns, or a series of columns, that begins a FROM as a subquery with `unnest` in its SELECT
/// list. No table is before it, so that the columns are those of an outer query.
pub(crate) fn select_outer_elements(factor: &mut TableFactor) -> Result<()> {
    unnest_lists(factor)?;
    if let Some(mut numbered) = numbered_elements(factor)? {
        if let TableFactor::Derived { lateral, .. } = &mut numbered {
            *lateral = false;
        }
        *factor = numbered;
        return Ok(());
    }
    let TableFactor::UNNEST { alias: Some(alias), array_exprs, with_ordinality: false, with_offset: false, .. } =
        factor
    else {
        return Ok(());
    };
    let ([array], [column]) = (array_exprs.as_slice(), alias.columns.as_slice()) else { return Ok(()) };
    if !mentions_column(array) {
        return Ok(());
    }
    let mut elements = expression("unnest(NULL)")?;
    set_first_argument(&mut elements, array.clone());
    let item = SelectItem::ExprWithAlias { expr: elements, alias: column.name.clone() };
    let text = "(SELECT 1)";
    let parsed = Parser::new(&GenericDialect).try_with_sql(text).and_then(|mut parser| parser.parse_table_factor());
    let mut selected = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let TableFactor::Derived { subquery, alias: named, .. } = &mut selected
        && let SetExpr::Select(select) = subquery.body.as_mut()
    {
        select.projection = vec![item];
        *named = Some(alias.clone());
    }
    *factor = selected;
    Ok(())
}

/// Names the only column of a function's rows like the alias, or like the function if there is none.
fn name_column(alias: &mut Option<TableAlias>, function: &str) {
    let alias = alias.get_or_insert_with(|| named(Ident::new(function)));
    if alias.columns.is_empty() {
        alias.columns.push(TableAliasColumnDef { name: alias.name.clone(), data_type: None });
    }
}

/// Gives the texts, parameters and NULLs among the arguments of a series of times their types: that of the other bound,
/// and of a step. If a bound is an instant, or both are texts, both are instants, and so are the times of the series.
fn type_bounds(args: &mut [FunctionArg]) -> Result<()> {
    let mut args: Vec<&mut Expr> = args
        .iter_mut()
        .filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect();
    let [first, last, step] = args.as_mut_slice() else { return Ok(()) };
    let (of_first, of_last) = (type_of_time(first).cloned(), type_of_time(last).cloned());
    // Two texts are instants, as there is no type that they could have otherwise.
    let has_texts = is_text_of_time(first) && is_text_of_time(last);
    let has_instant = has_texts || is_instant(first) || is_instant(last);
    // A parameter or NULL may be the step of a series of numbers.
    if has_instant || of_first.is_some() || of_last.is_some() || !(is_parameter(step) || is_null(step)) {
        set_type(step, Some(&DataType::Interval { fields: None, precision: None }));
    }
    set_type(first, of_last.as_ref());
    set_type(last, of_first.as_ref());
    if has_instant {
        let instant = DataType::Timestamp(None, TimezoneInfo::Tz);
        for bound in [first, last] {
            set_type(bound, Some(&instant));
            **bound = marked(bound)?;
        }
    }
    Ok(())
}

/// The type of a time that an expression is cast to.
fn type_of_time(expr: &Expr) -> Option<&DataType> {
    let data_type = match expr {
        Expr::Nested(inner) => return type_of_time(inner),
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(literal) => &literal.data_type,
        _ => return None,
    };
    matches!(data_type, DataType::Timestamp(..) | DataType::Date).then_some(data_type)
}

/// Casts a text, a parameter or NULL to a type. A number in quotes stays.
fn set_type(expr: &mut Expr, data_type: Option<&DataType>) {
    if let Some(data_type) = data_type
        && (is_text_of_time(expr) || is_parameter(expr) || is_null(expr))
    {
        let value = Box::new(expr.clone());
        let data_type = data_type.clone();
        *expr = Expr::Cast { kind: CastKind::Cast, expr: value, data_type, array: false, format: None };
    }
}

fn is_text_of_time(expr: &Expr) -> bool {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => text.parse::<f64>().is_err(),
        _ => false,
    }
}

fn is_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }))
}

/// Returns whether an argument or an expression mentions a column.
pub(crate) fn mentions_column(node: &impl Visit) -> bool {
    let found = visit_expressions(node, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Replaces `function(...) WITH ORDINALITY` in FROM by a subquery that numbers the rows.
pub(crate) fn number_rows(factor: &mut TableFactor) -> Result<()> {
    if let Some(numbered) = numbered_elements(factor)? {
        *factor = numbered;
        return Ok(());
    }
    let (alias, columns) = match factor {
        TableFactor::Table { with_ordinality: with_ordinality @ true, alias, name, args: Some(_), .. } => {
            *with_ordinality = false;
            let default = name.0.last().and_then(|part| part.as_ident()).cloned();
            (alias.take().map_or_else(|| default.map(named), Some), "*".to_owned())
        }
        TableFactor::UNNEST { with_ordinality: with_ordinality @ true, alias, array_exprs, .. } => {
            *with_ordinality = false;
            let outer = alias.take().unwrap_or_else(|| named(Ident::new("unnest")));
            let names: Vec<String> = match array_exprs.len() {
                1 => vec!["unnest".to_owned()],
                count => (1..=count).map(|column| format!("unnest{column}")).collect(),
            };
            *alias = Some(named(Ident::new(UNNESTED)));
            if let Some(inner) = alias {
                inner.columns = names.iter().map(|name| TableAliasColumnDef::from_name(name.as_str())).collect();
            }
            (Some(outer), names.join(", "))
        }
        _ => return Ok(()),
    };
    let text = format!("(SELECT {columns}, CAST(row_number() OVER () AS BIGINT) AS ordinality FROM {factor})");
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_table_factor());
    *factor = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let TableFactor::Derived { alias: parsed_alias, .. } = factor {
        *parsed_alias = alias;
    }
    Ok(())
}

/// A subquery with the elements of an array of columns, and their numbers; `None` for other tables.
fn numbered_elements(factor: &TableFactor) -> Result<Option<TableFactor>> {
    let TableFactor::UNNEST { with_ordinality: true, with_offset: false, alias, array_exprs, .. } = factor else {
        return Ok(None);
    };
    let [array] = array_exprs.as_slice() else { return Ok(None) };
    if !mentions_column(array) {
        return Ok(None);
    }
    let mut alias = alias.clone().unwrap_or_else(|| named(Ident::new(UNNEST)));
    let mut names = std::mem::take(&mut alias.columns).into_iter().map(|column| column.name);
    let names =
        [names.next().unwrap_or_else(|| alias.name.clone()), names.next().unwrap_or_else(|| Ident::new("ordinality"))];
    let text = "LATERAL (SELECT unnest(NULL), generate_series(CAST(1 AS BIGINT), coalesce(cardinality(NULL), 0)))";
    let parsed = Parser::new(&GenericDialect).try_with_sql(text).and_then(|mut parser| parser.parse_table_factor());
    let mut selected = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let TableFactor::Derived { subquery, alias: outer, .. } = &mut selected
        && let SetExpr::Select(select) = subquery.body.as_mut()
    {
        for (item, alias) in select.projection.iter_mut().zip(names) {
            if let SelectItem::UnnamedExpr(expr) = item {
                let mut expr = expr.clone();
                let _ = visit_expressions_mut(&mut expr, |inner| {
                    if is_null(inner) {
                        *inner = array.clone();
                    }
                    ControlFlow::<()>::Continue(())
                });
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        *outer = Some(alias);
    }
    Ok(Some(selected))
}

/// An alias of a table.
pub(super) fn named(name: Ident) -> TableAlias {
    TableAlias { explicit: true, name, columns: Vec::new(), at: None }
}

/// Returns whether it is the name of a function whose tables have a single column.
fn has_one_column(name: &ObjectName) -> bool {
    is_series(name) || name.to_string().eq_ignore_ascii_case("range")
}

/// Returns whether it is the name of a function that only returns rows in FROM, or is planned there in its own way.
pub(crate) fn is_table_function(name: &ObjectName) -> bool {
    has_one_column(name) || is_unnest(name)
}

fn is_unnest(name: &ObjectName) -> bool {
    name.to_string().eq_ignore_ascii_case(UNNEST)
}

/// Returns whether it is the name of a function that returns rows.
fn is_series(name: &ObjectName) -> bool {
    name.to_string().eq_ignore_ascii_case(SERIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_parameters_beside_times_have_their_types() {
        for (series, expected) in [
            (
                "generate_series($1, now(), $2)",
                "as_instant(CAST($1 AS TIMESTAMPTZ)), as_instant(now()), CAST($2 AS INTERVAL)",
            ),
            (
                "generate_series(DATE '2024-01-01', $1, '1 day')",
                "DATE '2024-01-01', CAST($1 AS DATE), CAST('1 day' AS INTERVAL)",
            ),
            (
                "generate_series('2024-01-01', '2024-01-02', INTERVAL '1 hour')",
                "as_instant(CAST('2024-01-01' AS TIMESTAMPTZ)), as_instant(CAST('2024-01-02' AS TIMESTAMPTZ)), \
                 INTERVAL '1 hour'",
            ),
            (
                "generate_series(NULL, TIMESTAMP '2024-01-01', NULL)",
                "CAST(NULL AS TIMESTAMP), TIMESTAMP '2024-01-01', CAST(NULL AS INTERVAL)",
            ),
            ("generate_series($1, $2, $3)", "$1, $2, $3"),
            ("generate_series(1, $1, NULL)", "1, $1, NULL"),
        ] {
            let Expr::Function(Function { args: FunctionArguments::List(mut list), .. }) = expression(series).unwrap()
            else {
                panic!("{series}");
            };
            type_bounds(&mut list.args).unwrap();
            assert_eq!(list.to_string(), expected, "{series}");
        }
    }
}
