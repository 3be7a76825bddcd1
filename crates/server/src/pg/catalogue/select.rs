//! Queries: WITH, SELECT, UNION, VALUES, ORDER BY, LIMIT.

use super::aggregate::is_aggregate_query;
use super::context::{Context, Frame, Queries};
use super::evaluate::{evaluate, evaluate_int};
use super::from::from;
use super::names::{ident, name_of_expression, schema_and_name};
use super::relation::{ColumnName, Relation, Row, find};
use super::select_sort::sort;
use super::sets::{expand, window_values};
use super::typing::type_of;
use super::value::{Value, key_of};
use crate::pg::error::PgError;
use atsdb::sql::tree_walk::visit_relations;
use datafusion::sql::sqlparser::ast::{
    Cte, Distinct, Expr, GroupByExpr, LimitClause, OrderByExpr, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, Value as Literal,
};
use std::ops::ControlFlow;
use std::rc::Rc;

/// The maximum number of rows that a recursive query collects.
const RECURSIVE_ROWS_MAX: usize = 100_000;

/// Executes queries over the catalogue.
pub(super) struct Executor;

impl Queries for Executor {
    fn query(&self, context: &Context<'_>, query: &Query, frame: &Frame<'_>) -> Result<Relation, PgError> {
        let mut inner = frame.clone();
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let is_recursive = query.with.as_ref().is_some_and(|with| with.recursive);
            let relation = common_table(context, cte, is_recursive, &inner)?;
            Rc::make_mut(&mut inner.ctes).insert(ident(&cte.alias.name), relation);
        }
        let order: &[OrderByExpr] = match query.order_by.as_ref().map(|order| &order.kind) {
            None => &[],
            Some(OrderByKind::Expressions(order)) => order,
            Some(OrderByKind::All(_)) => return Err(PgError::not_supported("ORDER BY ALL")),
        };
        let mut relation = body(context, &query.body, order, &inner)?;
        let number = |expr: &Expr| evaluate_int(context, expr, &inner);
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                let limit = limit.as_ref().map(number).transpose()?;
                (limit.flatten(), offset.as_ref().map(|offset| number(&offset.value)).transpose()?.flatten())
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (number(limit)?, number(offset)?),
        };
        if limit.is_some() || offset.is_some() {
            let skipped = usize::try_from(offset.unwrap_or(0)).unwrap_or(0);
            let taken = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
            let rows = relation.rows.iter().skip(skipped).take(taken).cloned().collect();
            relation.rows = Rc::new(rows);
        }
        Ok(relation)
    }
}

fn common_table(context: &Context<'_>, cte: &Cte, is_recursive: bool, frame: &Frame<'_>) -> Result<Relation, PgError> {
    let name = ident(&cte.alias.name);
    let names: Vec<String> = cte.alias.columns.iter().map(|column| ident(&column.name)).collect();
    let is_union = matches!(cte.query.body.as_ref(), SetExpr::SetOperation { op: SetOperator::Union, .. });
    let (true, true, SetExpr::SetOperation { left, set_quantifier, right, .. }) =
        (is_recursive && refers_to(&cte.query, &name), is_union, cte.query.body.as_ref())
    else {
        return Ok(context.queries.query(context, &cte.query, frame)?.aliased(&name, &names));
    };
    let is_all = matches!(set_quantifier, SetQuantifier::All);
    let first = body(context, left, &[], frame)?.aliased(&name, &names);
    let (columns, mut all) = (first.columns.clone(), first.rows.as_ref().clone());
    let mut seen = std::collections::BTreeSet::new();
    if !is_all {
        all.retain(|row| seen.insert(key_of(row)));
    }
    let mut working = Relation::new(columns.clone(), all.clone());
    while !working.rows.is_empty() {
        let mut inner = frame.clone();
        Rc::make_mut(&mut inner.ctes).insert(name.clone(), working);
        let mut found = body(context, right, &[], &inner)?.rows.as_ref().clone();
        if !is_all {
            found.retain(|row| seen.insert(key_of(row)));
        }
        all.extend(found.iter().cloned());
        if all.len() > RECURSIVE_ROWS_MAX {
            return Err(PgError::error("54000", "a recursive query about the catalogue does not end"));
        }
        working = Relation::new(columns.clone(), found);
    }
    Ok(Relation::new(columns, all))
}

/// Returns whether a query refers to a table. Under WITH RECURSIVE, not every common table expression refers to itself.
fn refers_to(query: &Query, table: &str) -> bool {
    let outcome = visit_relations(query, |name| match schema_and_name(name) {
        (None, found) if found == table => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    outcome.is_break()
}

fn body(
    context: &Context<'_>,
    body_expr: &SetExpr,
    order: &[OrderByExpr],
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let relation = match body_expr {
        SetExpr::Select(select) => return select_rows(context, select, order, frame),
        SetExpr::Query(query) => context.queries.query(context, query, frame)?,
        SetExpr::Values(values) => {
            let rows: Vec<&Vec<Expr>> = values.rows.iter().map(|row| &row.content).collect();
            let types = rows.first().into_iter().flat_map(|row| row.iter());
            let columns = types.enumerate().map(|(position, expr)| {
                ColumnName::new(&format!("column{}", position + 1), type_of(context, expr, frame))
            });
            let columns = columns.collect();
            let evaluated = rows.iter().map(|row| row.iter().map(|expr| evaluate(context, expr, frame)).collect());
            Relation::new(columns, evaluated.collect::<Result<_, _>>()?)
        }
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            let (left, right) = (body(context, left, &[], frame)?, body(context, right, &[], frame)?);
            let is_all = matches!(set_quantifier, SetQuantifier::All);
            combine(left, &right, *op, is_all)
        }
        _ => return Err(PgError::not_supported("this kind of query in the catalogue")),
    };
    sorted(context, relation, order, frame)
}

fn combine(left: Relation, right: &Relation, op: SetOperator, is_all: bool) -> Relation {
    let mut rows = left.rows.as_ref().clone();
    match op {
        SetOperator::Union => rows.extend(right.rows.iter().cloned()),
        SetOperator::Except | SetOperator::Minus => rows.retain(|row| !right.rows.contains(row)),
        SetOperator::Intersect => rows.retain(|row| right.rows.contains(row)),
    }
    if !is_all {
        distinct(&mut rows, |row| row);
    }
    Relation::new(left.columns, rows)
}

/// Keeps only the first of rows with equal keys.
fn distinct<T>(rows: &mut Vec<T>, key: impl Fn(&T) -> &Row) {
    let mut keys = std::collections::BTreeSet::new();
    rows.retain(|row| keys.insert(key_of(key(row))));
}

/// Sorts a result that does not come from a SELECT (VALUES, UNION) by its output columns.
fn sorted(
    context: &Context<'_>,
    relation: Relation,
    order: &[OrderByExpr],
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    if order.is_empty() {
        return Ok(relation);
    }
    let mut keyed = Vec::with_capacity(relation.rows.len());
    for row in relation.rows.iter() {
        let inner = frame.with_row(&relation.columns, row);
        let mut keys = Vec::new();
        for by in order {
            keys.push(match ordinal(&by.expr) {
                Some(ordinal) => row.get(ordinal - 1).cloned().unwrap_or(Value::Null),
                None => evaluate(context, &by.expr, &inner)?,
            });
        }
        keyed.push((keys, row.clone()));
    }
    sort(&mut keyed, order);
    Ok(Relation::new(relation.columns, keyed.into_iter().map(|(_, row)| row).collect()))
}

/// The position in `ORDER BY 2`, from 1.
fn ordinal(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Literal::Number(digits, _) => digits.parse().ok().filter(|ordinal| *ordinal > 0),
            _ => None,
        },
        _ => None,
    }
}

/// An output column: its name and its expression.
struct OutputColumn<'a> {
    name: String,
    /// The error is the position of an input column that is copied.
    expr: Result<&'a Expr, usize>,
}

fn outputs<'a>(select: &'a Select, input: &[ColumnName]) -> Result<Vec<OutputColumn<'a>>, PgError> {
    let mut outputs = Vec::new();
    let copy = |position: usize| OutputColumn { name: input[position].name.clone(), expr: Err(position) };
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                outputs.push(OutputColumn { name: name_of_expression(expr), expr: Ok(expr) })
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                outputs.push(OutputColumn { name: ident(alias), expr: Ok(expr) })
            }
            SelectItem::Wildcard(_) => {
                outputs.extend((0..input.len()).filter(|position| !input[*position].is_hidden).map(copy));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let table = name.0.last().and_then(|part| part.as_ident()).map(ident);
                let is_of_it = |position: &usize| input[*position].table == table && !input[*position].is_system();
                outputs.extend((0..input.len()).filter(is_of_it).map(copy));
            }
            _ => return Err(PgError::not_supported("this kind of output column")),
        }
    }
    Ok(outputs)
}

fn select_rows(
    context: &Context<'_>,
    select: &Select,
    order: &[OrderByExpr],
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let input = from(context, &select.from, select.selection.as_ref(), frame)?;
    let outputs = outputs(select, &input.columns)?;
    let nulls = vec![Value::Null; input.columns.len()];
    let empty = frame.with_row(&input.columns, &nulls);
    let columns: Vec<ColumnName> = outputs
        .iter()
        .map(|output| {
            let type_id = match output.expr {
                Ok(expr) => type_of(context, expr, &empty),
                Err(position) => input.columns[position].type_id,
            };
            ColumnName::new(&output.name, type_id)
        })
        .collect();
    let groups = groups(context, select, &input, frame)?;
    let windows = window_values(context, select, &input, frame)?;
    let mut keyed: Vec<(Vec<Value>, Row)> = Vec::new();
    for group in &groups {
        let representative = group.first().map_or(nulls.as_slice(), Vec::as_slice);
        let mut inner = frame.with_row(&input.columns, representative);
        let is_grouped = groups.is_aggregated;
        inner.group = is_grouped.then_some(group);
        if let Some(having) = &select.having
            && !evaluate(context, having, &inner)?.is_true()
        {
            continue;
        }
        for (index, row) in group.iter().enumerate().take(if is_grouped { 1 } else { usize::MAX }) {
            inner.row = row;
            push_output(context, &outputs, order, &columns, &mut inner, windows.get(index), &mut keyed)?;
        }
        if is_grouped && group.is_empty() {
            push_output(context, &outputs, order, &columns, &mut inner, None, &mut keyed)?;
        }
    }
    sort(&mut keyed, order);
    match &select.distinct {
        Some(Distinct::Distinct) => distinct(&mut keyed, |(_, row)| row),
        Some(Distinct::On(_)) => distinct(&mut keyed, |(keys, _)| keys),
        _ => {}
    }
    Ok(Relation::new(columns, keyed.into_iter().map(|(_, row)| row).collect()))
}

type Computed = std::collections::BTreeMap<*const Expr, Value>;

/// Adds the output rows of one input row: several if it calls a set-returning function.
fn push_output(
    context: &Context<'_>,
    outputs: &[OutputColumn<'_>],
    order: &[OrderByExpr],
    columns: &[ColumnName],
    frame: &mut Frame<'_>,
    window: Option<&Computed>,
    keyed: &mut Vec<(Vec<Value>, Row)>,
) -> Result<(), PgError> {
    let expressions: Vec<&Expr> = outputs.iter().filter_map(|output| output.expr.ok()).collect();
    for mut computed in expand(context, &expressions, frame)? {
        computed.extend(window.into_iter().flatten().map(|(expr, value)| (*expr, value.clone())));
        let mut inner = frame.clone();
        inner.computed = Some(&computed);
        let mut row = Vec::with_capacity(outputs.len());
        for output in outputs {
            row.push(match output.expr {
                Ok(expr) => evaluate(context, expr, &inner)?,
                Err(position) => inner.row.get(position).cloned().unwrap_or(Value::Null),
            });
        }
        let mut keys = Vec::with_capacity(order.len());
        for by in order {
            keys.push(order_key(context, &by.expr, columns, &row, &inner)?);
        }
        keyed.push((keys, row));
    }
    Ok(())
}

/// The value by which a row is sorted: an output column by its position or name, or else an expression over the input.
fn order_key(
    context: &Context<'_>,
    by: &Expr,
    columns: &[ColumnName],
    row: &[Value],
    frame: &Frame<'_>,
) -> Result<Value, PgError> {
    if let Some(ordinal) = ordinal(by) {
        return row
            .get(ordinal - 1)
            .cloned()
            .ok_or_else(|| PgError::error("42P10", format!("ORDER BY position {ordinal} is not in select list")));
    }
    if let Expr::Identifier(name) = by
        && let Some(position) = find(columns, None, &ident(name))
    {
        return Ok(row[position].clone());
    }
    evaluate(context, by, frame)
}

/// The groups of the input's rows.
struct Groups {
    groups: Vec<Vec<Row>>,
    is_aggregated: bool,
}

impl<'a> IntoIterator for &'a Groups {
    type Item = &'a Vec<Row>;
    type IntoIter = std::slice::Iter<'a, Vec<Row>>;

    fn into_iter(self) -> Self::IntoIter {
        self.groups.iter()
    }
}

fn groups(context: &Context<'_>, select: &Select, input: &Relation, frame: &Frame<'_>) -> Result<Groups, PgError> {
    let GroupByExpr::Expressions(by, _) = &select.group_by else {
        return Err(PgError::not_supported("GROUP BY ALL"));
    };
    let rows = input.rows.as_ref().clone();
    if by.is_empty() {
        return Ok(Groups { groups: vec![rows], is_aggregated: is_aggregate_query(select) });
    }
    let mut keys: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for row in rows {
        let inner = frame.with_row(&input.columns, &row);
        let mut key = Vec::new();
        for expr in by {
            key.push(evaluate(context, group_expression(expr, select), &inner)?);
        }
        let count = groups.len();
        let at = *keys.entry(key_of(&key)).or_insert(count);
        if at == count {
            groups.push(Vec::new());
        }
        groups[at].push(row);
    }
    Ok(Groups { groups, is_aggregated: true })
}

/// The output expression that `GROUP BY 1` refers to; any other expression is returned unchanged.
fn group_expression<'a>(expr: &'a Expr, select: &'a Select) -> &'a Expr {
    let of_item = |item: &'a SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    };
    match ordinal(expr) {
        Some(ordinal) => select.projection.get(ordinal - 1).and_then(of_item).unwrap_or(expr),
        None => expr,
    }
}
