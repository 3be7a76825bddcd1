//! Tests of whole rows: `t IS NULL`, `t IS NOT NULL`, `count(t)` and `count(t.*)`. DataFusion mistakes `t` for a
//! column, and `count(t.*)` for `count(*)`, which also counts the rows that an outer join adds. They are written with
//! the columns of the relation. Of a relation that an outer join may miss, a row in which every column is NULL counts
//! as missing.
//!
//! No upstream issue known.

use crate::text::errors::not_supported;
use crate::workarounds::syntax::names::shown_columns::shown_name;
use crate::workarounds::syntax::{any_of, expression};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator, Select,
    TableFactor,
};

/// The name in a test or count that may be that of a relation, whose whole rows are then tested or counted.
pub(super) struct TestedName<'a> {
    pub(super) name: &'a Ident,
    /// Whether it is written `t.*`, so that it is no column.
    pub(super) is_star: bool,
}

/// Returns the name in `t IS NULL`, `t IS NOT NULL`, `count(t)` or `count(t.*)`; `None` for other expressions.
pub(super) fn tested_name(expr: &Expr) -> Option<TestedName<'_>> {
    match expr {
        Expr::IsNull(operand) | Expr::IsNotNull(operand) => match operand.as_ref() {
            Expr::Identifier(name) => Some(TestedName { name, is_star: false }),
            _ => None,
        },
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) => {
            let [part] = name.0.as_slice() else { return None };
            let is_count = part.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case("count"));
            let is_plain = list.clauses.is_empty() && list.duplicate_treatment.is_none();
            let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else { return None };
            match argument {
                FunctionArgExpr::Expr(Expr::Identifier(name)) if is_count && is_plain => {
                    Some(TestedName { name, is_star: false })
                }
                FunctionArgExpr::QualifiedWildcard(name) if is_count && is_plain => {
                    let [part] = name.0.as_slice() else { return None };
                    Some(TestedName { name: part.as_ident()?, is_star: true })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The relations that may have no row in an outer join.
pub(super) fn optional_relations(select: &Select) -> Vec<Ident> {
    let mut optional = Vec::new();
    for from in &select.from {
        let mut before: Vec<&TableFactor> = vec![&from.relation];
        for join in &from.joins {
            let (is_left_optional, is_right_optional) = match &join.join_operator {
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
                JoinOperator::FullOuter(_) => (true, true),
                _ => (false, false),
            };
            if is_left_optional {
                optional.extend(before.iter().filter_map(|relation| shown_name(relation)).cloned());
            }
            if is_right_optional {
                optional.extend(shown_name(&join.relation).cloned());
            }
            before.push(&join.relation);
        }
    }
    optional
}

/// Writes a test with the columns of the relation, as far as they are known.
pub(super) fn write_test(
    expr: &mut Expr,
    relation: &Ident,
    columns: Option<&[Ident]>,
    is_optional: bool,
) -> Result<()> {
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut *expr
        && !is_optional
    {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)];
        return Ok(());
    }
    let columns = columns.unwrap_or_default();
    let tests = |test: fn(Box<Expr>) -> Expr| -> Vec<Expr> {
        let column = |name: &Ident| Expr::CompoundIdentifier(vec![relation.clone(), name.clone()]);
        columns.iter().map(|name| test(Box::new(column(name)))).collect()
    };
    let written = match &*expr {
        Expr::IsNull(_) => any_of(tests(Expr::IsNull), &BinaryOperator::And),
        Expr::IsNotNull(_) => any_of(tests(Expr::IsNotNull), &BinaryOperator::And),
        _ => any_of(tests(Expr::IsNotNull), &BinaryOperator::Or),
    };
    let Some(written) = written else {
        return Err(not_supported(format_args!("a test of whole rows of {relation}"))
            .with_hint("name a column that is NULL only where the row is missing"));
    };
    let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut *expr else {
        *expr = Expr::Nested(Box::new(written));
        return Ok(());
    };
    let present = where_true(written, expression("1")?)?;
    list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(present))];
    Ok(())
}

/// A value where a row of a relation is present, otherwise NULL.
pub(super) fn present(relation: &Ident, columns: &[Ident], value: Expr) -> Result<Expr> {
    let column = |name: &Ident| Expr::CompoundIdentifier(vec![relation.clone(), name.clone()]);
    let tests = columns.iter().map(|name| Expr::IsNotNull(Box::new(column(name)))).collect();
    match any_of(tests, &BinaryOperator::Or) {
        Some(condition) => where_true(condition, value),
        None => Ok(value),
    }
}

/// A value where a condition is true, otherwise NULL.
fn where_true(condition: Expr, value: Expr) -> Result<Expr> {
    let mut chosen = expression("CASE WHEN NULL THEN 1 END")?;
    if let Expr::Case { conditions, .. } = &mut chosen
        && let Some(first) = conditions.first_mut()
    {
        (first.condition, first.result) = (condition, value);
    }
    Ok(chosen)
}
