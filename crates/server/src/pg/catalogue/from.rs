//! FROM: tables, subqueries, functions, and joins.

use super::conditions::{conjuncts, equality, is_about};
use super::context::{Context, Frame};
use super::evaluate::evaluate;
use super::functions::call;
use super::names::{ident, schema_and_name};
use super::relation::{ColumnName, Relation, Row, find};
use super::search_path::searched;
use super::sets::{elements, is_set_function, set_of, subscripts};
use super::typing::{result_type, type_of};
use super::value::Value;
use crate::pg::error::PgError;
use crate::pg::types::known;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor,
    TableWithJoins,
};
use std::collections::{BTreeMap, BTreeSet};

/// Computes the rows of FROM that satisfy WHERE.
pub(super) fn from(
    context: &Context<'_>,
    tables: &[TableWithJoins],
    condition: Option<&Expr>,
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let mut parts = Vec::new();
    if let Some(condition) = condition {
        conjuncts(condition, &mut parts);
    }
    let mut pending: Vec<&Expr> = parts;
    if tables.len() > 1 && tables.iter().all(|table| table.joins.is_empty() && !is_lateral(&table.relation)) {
        return listed(context, tables, pending, frame);
    }
    let may_filter_early = !tables.iter().flat_map(|table| &table.joins).any(|join| {
        matches!(join.join_operator, JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_))
    });
    let mut joined = Relation::new(Vec::new(), vec![Vec::new()]);
    for table in tables {
        joined = join(context, &joined, &table.relation, &JoinKind::INNER, &pending, frame)?;
        if may_filter_early {
            filter_early(context, &mut joined, &mut pending, frame)?;
        }
        for next in &table.joins {
            let kind = JoinKind::of(&next.join_operator)?;
            let conditions: &[&Expr] = if kind.keeps_left || kind.keeps_right { &[] } else { &pending };
            joined = join(context, &joined, &next.relation, &kind, conditions, frame)?;
            if may_filter_early {
                filter_early(context, &mut joined, &mut pending, frame)?;
            }
        }
    }
    for condition in pending {
        filter(context, &mut joined, condition, frame)?;
    }
    Ok(joined)
}

/// Joins tables that are listed with commas. The next one is the first that a condition connects with those before it,
/// so that unrelated rows are not combined because of the order in the text. The columns keep that order.
fn listed(
    context: &Context<'_>,
    tables: &[TableWithJoins],
    mut pending: Vec<&Expr>,
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let mut waiting = Vec::with_capacity(tables.len());
    for (place, table) in tables.iter().enumerate() {
        waiting.push((place, relation(context, &table.relation, frame)?));
    }
    let mut joined = Relation::new(Vec::new(), vec![Vec::new()]);
    // For each column of `joined`, the place of its table in the text.
    let mut places = Vec::new();
    while !waiting.is_empty() {
        let is_connected = |(_, next): &(usize, Relation)| {
            pending.iter().any(|part| equality(part, &joined.columns, &next.columns).is_some())
        };
        let next = waiting.iter().position(is_connected).unwrap_or(0);
        let (place, table) = waiting.remove(next);
        places.extend(table.columns.iter().map(|_| place));
        joined = join_relations(context, &joined, &table, &JoinKind::INNER, &pending, frame)?;
        filter_early(context, &mut joined, &mut pending, frame)?;
    }
    for condition in pending {
        filter(context, &mut joined, condition, frame)?;
    }
    if places.is_sorted() {
        return Ok(joined);
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|column| places[*column]);
    let columns = order.iter().map(|column| joined.columns[*column].clone()).collect();
    let rows = joined.rows.iter().map(|row| order.iter().map(|column| row[*column].clone()).collect()).collect();
    Ok(Relation::new(columns, rows))
}

/// Applies the conditions whose columns are already present, so that fewer rows are joined.
fn filter_early(
    context: &Context<'_>,
    relation: &mut Relation,
    pending: &mut Vec<&Expr>,
    frame: &Frame<'_>,
) -> Result<(), PgError> {
    let (ready, rest): (Vec<&Expr>, Vec<&Expr>) =
        pending.iter().copied().partition(|condition| is_about(condition, &relation.columns));
    *pending = rest;
    ready.into_iter().try_for_each(|condition| filter(context, relation, condition, frame))
}

fn filter(context: &Context<'_>, relation: &mut Relation, condition: &Expr, frame: &Frame<'_>) -> Result<(), PgError> {
    let mut rows = Vec::new();
    for row in relation.rows.iter() {
        context.limits.count_row(0)?;
        if evaluate(context, condition, &frame.with_row(&relation.columns, row))?.is_true() {
            rows.push(row.clone());
        }
    }
    *relation = Relation::new(std::mem::take(&mut relation.columns), rows);
    Ok(())
}

/// The kind of a join, and its condition.
struct JoinKind<'a> {
    keeps_left: bool,
    keeps_right: bool,
    on: Option<&'a Expr>,
    using: Vec<String>,
    is_natural: bool,
}

impl<'a> JoinKind<'a> {
    const INNER: Self =
        JoinKind { keeps_left: false, keeps_right: false, on: None, using: Vec::new(), is_natural: false };

    fn of(operator: &'a JoinOperator) -> Result<Self, PgError> {
        let (constraint, keeps_left, keeps_right) = match operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) | JoinOperator::CrossJoin(constraint) => {
                (constraint, false, false)
            }
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (constraint, true, false),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, false, true),
            JoinOperator::FullOuter(constraint) => (constraint, true, true),
            _ => return Err(PgError::not_supported("this kind of join in a catalogue query")),
        };
        let mut kind = JoinKind { keeps_left, keeps_right, ..Self::INNER };
        match constraint {
            JoinConstraint::On(on) => kind.on = Some(on),
            JoinConstraint::Using(names) => kind.using = names.iter().map(|name| schema_and_name(name).1).collect(),
            JoinConstraint::Natural => kind.is_natural = true,
            JoinConstraint::None => {}
        }
        Ok(kind)
    }
}

fn join(
    context: &Context<'_>,
    left: &Relation,
    factor: &TableFactor,
    kind: &JoinKind<'_>,
    conditions: &[&Expr],
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    if is_lateral(factor) && !left.columns.is_empty() {
        return join_lateral(context, left, factor, kind, frame);
    }
    join_relations(context, left, &relation(context, factor, frame)?, kind, conditions, frame)
}

/// Joins by a table of keys for conditions of equality.
fn join_relations(
    context: &Context<'_>,
    left: &Relation,
    right: &Relation,
    kind: &JoinKind<'_>,
    conditions: &[&Expr],
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let mut parts = Vec::new();
    if let Some(on) = kind.on {
        conjuncts(on, &mut parts);
    }
    let mut equal: Vec<(usize, usize)> = Vec::new();
    let shared = |name: &String| Some((find(&left.columns, None, name)?, find(&right.columns, None, name)?));
    let names: Vec<String> = match kind.is_natural {
        true => left.columns.iter().filter(|column| !column.is_hidden).map(|column| column.name.clone()).collect(),
        false => kind.using.clone(),
    };
    let merged: Vec<(usize, usize)> = names.iter().filter_map(shared).collect();
    equal.extend(&merged);
    parts.retain(|part| match equality(part, &left.columns, &right.columns) {
        Some(pair) => {
            equal.push(pair);
            false
        }
        None => true,
    });
    equal.extend(conditions.iter().filter_map(|part| equality(part, &left.columns, &right.columns)));
    let mut by_key: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (position, row) in right.rows.iter().enumerate() {
        if let Some(key) = key(row, equal.iter().map(|(_, right)| *right)) {
            by_key.entry(key).or_default().push(position);
        }
    }
    let mut columns = left.columns.clone();
    columns.extend(right.columns.iter().cloned());
    for (_, position) in &merged {
        columns[left.columns.len() + position].is_hidden = true;
    }
    let (mut rows, mut matched) = (Vec::new(), BTreeSet::new());
    for left_row in left.rows.iter() {
        let found = key(left_row, equal.iter().map(|(left, _)| *left)).and_then(|key| by_key.get(&key));
        let mut is_matched = false;
        for position in found.into_iter().flatten() {
            let mut row = left_row.clone();
            row.extend(right.rows[*position].iter().cloned());
            context.limits.count_row(row.len())?;
            if holds(context, &parts, &columns, &row, frame)? {
                (is_matched, _) = (true, matched.insert(*position));
                rows.push(row);
            }
        }
        if !is_matched && kind.keeps_left {
            let mut row = left_row.clone();
            row.resize(columns.len(), Value::Null);
            rows.push(row);
        }
    }
    if kind.keeps_right {
        for (position, right_row) in right.rows.iter().enumerate() {
            if !matched.contains(&position) {
                let mut row = vec![Value::Null; left.columns.len()];
                for (left, right) in &merged {
                    row[*left] = right_row[*right].clone();
                }
                row.extend(right_row.iter().cloned());
                rows.push(row);
            }
        }
    }
    Ok(Relation::new(columns, rows))
}

/// Joins with a relation that is computed for each row.
fn join_lateral(
    context: &Context<'_>,
    left: &Relation,
    factor: &TableFactor,
    kind: &JoinKind<'_>,
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let nulls = vec![Value::Null; left.columns.len()];
    // Determines the columns, which must be known even if there is no row.
    let shape = relation(context, factor, &frame.with_row(&left.columns, &nulls))?.columns;
    let mut columns = left.columns.clone();
    columns.extend(shape);
    let mut parts = Vec::new();
    if let Some(on) = kind.on {
        conjuncts(on, &mut parts);
    }
    let mut rows = Vec::new();
    for left_row in left.rows.iter() {
        let right = relation(context, factor, &frame.with_row(&left.columns, left_row))?;
        let mut is_matched = false;
        for right_row in right.rows.iter() {
            let row: Row = left_row.iter().chain(right_row).cloned().collect();
            context.limits.count_row(row.len())?;
            if holds(context, &parts, &columns, &row, frame)? {
                is_matched = true;
                rows.push(row);
            }
        }
        if !is_matched && kind.keeps_left {
            let mut row = left_row.clone();
            row.resize(columns.len(), Value::Null);
            rows.push(row);
        }
    }
    Ok(Relation::new(columns, rows))
}

fn holds(
    context: &Context<'_>,
    parts: &[&Expr],
    columns: &[ColumnName],
    row: &Row,
    frame: &Frame<'_>,
) -> Result<bool, PgError> {
    for part in parts {
        if !evaluate(context, part, &frame.with_row(columns, row))?.is_true() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The key by which equal values are joined; `None` if one of them is NULL.
fn key(row: &Row, positions: impl Iterator<Item = usize>) -> Option<Vec<String>> {
    let part = |value: &Value| match value {
        Value::Null => None,
        Value::Int(number) | Value::Named(number, _) => Some(number.to_string()),
        Value::Bool(value) => Some(if *value { "t" } else { "f" }.to_owned()),
        other => other.shown(),
    };
    positions.map(|position| part(&row[position])).collect()
}

fn is_lateral(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::Function { .. } | TableFactor::TableFunction { .. } | TableFactor::UNNEST { .. } => true,
        TableFactor::Table { args, .. } => args.is_some(),
        _ => false,
    }
}

fn aliased(relation: Relation, alias: Option<&TableAlias>, otherwise: &str) -> Relation {
    match alias {
        Some(alias) => {
            let names: Vec<String> = alias.columns.iter().map(|column| ident(&column.name)).collect();
            relation.aliased(&ident(&alias.name), &names)
        }
        None if otherwise.is_empty() => relation,
        None => relation.aliased(otherwise, &[]),
    }
}

fn relation(context: &Context<'_>, factor: &TableFactor, frame: &Frame<'_>) -> Result<Relation, PgError> {
    match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            let (schema, table) = schema_and_name(name);
            let cte = frame.ctes.get(&table).filter(|_| schema.is_none());
            let found = match cte {
                Some(relation) => Some(relation.clone()),
                None => named(context, schema.as_deref(), &table)?,
            };
            let found = found.ok_or_else(|| PgError::error("42P01", format!("relation \"{name}\" does not exist")))?;
            Ok(aliased(found, alias.as_ref(), &table))
        }
        TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
            function(context, name, &args.args, alias.as_ref(), *with_ordinality, frame)
        }
        TableFactor::Function { name, args, alias, with_ordinality, .. } => {
            function(context, name, args, alias.as_ref(), *with_ordinality, frame)
        }
        TableFactor::UNNEST { array_exprs, alias, with_ordinality, .. } => {
            let mut sets = Vec::new();
            for expr in array_exprs {
                sets.push(match evaluate(context, expr, frame)? {
                    Value::Array(items) => elements(&items),
                    _ => Vec::new(),
                });
            }
            let types: Vec<u32> = array_exprs
                .iter()
                .map(|expr| {
                    let array = type_of(context, expr, frame);
                    known::element_of(array).map_or(known::TEXT, |element| element.id)
                })
                .collect();
            Ok(table_of("unnest", &sets, &types, alias.as_ref(), *with_ordinality))
        }
        TableFactor::Derived { subquery, alias, .. } => {
            let found = context.queries.query(context, subquery, frame)?;
            Ok(aliased(found, alias.as_ref(), ""))
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            let found = from(context, std::slice::from_ref(table_with_joins.as_ref()), None, frame)?;
            Ok(match alias {
                Some(_) => aliased(found, alias.as_ref(), ""),
                None => found,
            })
        }
        _ => Err(PgError::not_supported("this kind of table in a catalogue query")),
    }
}

fn named(context: &Context<'_>, schema: Option<&str>, table: &str) -> Result<Option<Relation>, PgError> {
    if let Some(found) = context.source.relation(schema.unwrap_or("pg_catalog"), table)? {
        return Ok(Some(found));
    }
    let schemas = match schema {
        Some(schema) => vec![schema.to_owned()],
        None => searched(context, true)?,
    };
    for schema in schemas {
        if let Some(found) = context.source.sequence(&schema, table)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Evaluates a function in FROM.
fn function(
    context: &Context<'_>,
    name: &ObjectName,
    args: &[FunctionArg],
    alias: Option<&TableAlias>,
    with_ordinality: bool,
    frame: &Frame<'_>,
) -> Result<Relation, PgError> {
    let (_, function) = schema_and_name(name);
    if let Some(relation) = context.source.relation("function", &function)? {
        return Ok(aliased(relation, alias, &function));
    }
    let (mut values, mut types) = (Vec::new(), Vec::new());
    let mut type_id = known::INT4;
    for arg in args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else {
            return Err(PgError::not_supported("a named argument"));
        };
        if function == "unnest" || function == "_pg_expandarray" {
            let array = type_of(context, expr, frame);
            type_id = known::element_of(array).map_or(known::TEXT, |element| element.id);
        }
        types.push(type_of(context, expr, frame));
        values.push(evaluate(context, expr, frame)?);
    }
    if !is_set_function(&function) {
        // A scalar function yields one row with its value.
        let value = call(context, &function, &values)?;
        let type_id = result_type(context, &function, &types);
        return Ok(table_of(&function, &[vec![value]], &[type_id], alias, with_ordinality));
    }
    let mut items = set_of(&function, &values)?;
    if function == "generate_subscripts" {
        items = subscripts(context, args, &items, frame);
    }
    if function == "_pg_expandarray" {
        let column = |at: usize| -> Vec<Value> {
            let part = |item: &Value| match item {
                Value::Record(parts) => parts.get(at).cloned().unwrap_or(Value::Null),
                _ => Value::Null,
            };
            items.iter().map(part).collect()
        };
        let mut found = table_of(&function, &[column(0), column(1)], &[type_id, known::INT4], alias, with_ordinality);
        for (column, name) in found.columns.iter_mut().zip(["x", "n"]) {
            name.clone_into(&mut column.name);
        }
        return Ok(found);
    }
    Ok(table_of(&function, &[items], &[type_id], alias, with_ordinality))
}

/// Combines sets as columns of one relation. A column without a name gets the name of the alias.
fn table_of(
    function: &str,
    sets: &[Vec<Value>],
    types: &[u32],
    alias: Option<&TableAlias>,
    with_ordinality: bool,
) -> Relation {
    let name = alias.map_or_else(|| function.to_owned(), |alias| ident(&alias.name));
    let mut columns: Vec<ColumnName> = types.iter().map(|type_id| ColumnName::new(&name, *type_id)).collect();
    if with_ordinality {
        columns.push(ColumnName::new("ordinality", known::INT8));
    }
    let row_count = sets.iter().map(Vec::len).max().unwrap_or(0);
    let row = |position: usize| {
        let mut row: Row = sets.iter().map(|set| set.get(position).cloned().unwrap_or(Value::Null)).collect();
        if with_ordinality {
            row.push(Value::Int(position as i64 + 1));
        }
        row
    };
    aliased(Relation::new(columns, (0..row_count).map(row).collect()), alias, &name)
}
