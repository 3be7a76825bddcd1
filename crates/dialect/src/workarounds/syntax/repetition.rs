//! Refuses statements that would become too large while they are rewritten and planned, because parts of them are
//! repeated. Some forms are written with others that repeat their operands: `(a, b) < (c, d)` as `a < c OR (a = c AND
//! b < d)`. And DataFusion plans an item of `WITH` anew wherever it is named. An operand that would be repeated and
//! calls `random()` or the like is refused, too: each copy would have a value of its own.
//!
//! Waits for [#8777](https://github.com/apache/datafusion/issues/8777) (`WITH`). For the others no upstream issue is
//! known: the repetition is how these forms are defined.
//!
//! Repetition in the plan of a statement is counted later
//! ([`repeated_parts`](crate::workarounds::resources::repeated_parts)).

use super::forms::item_comparisons::has_point;
use super::forms::line_ends::computed_flags;
use super::tokens::between::MARK;
use crate::text::errors::too_complex;
use crate::text::tree_walk::visit;
use crate::text::volatile_functions::{has_volatile_call, repeated_call};
use crate::workarounds::resources::repeated_parts::REPEATED_MAX;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Array, BinaryOperator, Expr, Function, FunctionArguments, Ident, ObjectName, Query, Statement, Value,
    ValueWithSpan, Visitor,
};
use std::ops::ControlFlow;

/// The maximum number of tables that a statement reads, with those of an item of `WITH` wherever the item is named.
const RELATIONS_MAX: u64 = 4_096;

/// Refuses a statement that would become too large. It has not been rewritten yet.
pub(crate) fn refuse_repetition(statement: &Statement) -> Result<()> {
    match visit(statement, &mut Counter::default()) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Counts each expression and each table as often as it will be written and planned.
#[derive(Default)]
struct Counter {
    /// The number of expressions that are written.
    written: u64,
    /// The operands of the expressions that the visitor is inside of.
    outer: Vec<Operands>,
    /// The queries that the visitor is inside of.
    queries: Vec<QueryCount>,
}

/// The sizes of an expression's operands that were visited.
#[derive(Default)]
struct Operands {
    first: Option<u64>,
    others: u64,
}

/// The number of tables that a query reads so far, and the items of its `WITH`.
#[derive(Default)]
struct QueryCount {
    relations: u64,
    /// The names of the items of its `WITH`, by the addresses of their queries.
    names: Vec<(*const Query, Ident)>,
    /// The items that were visited, and the tables that each reads.
    items: Vec<(Ident, u64)>,
}

impl Visitor for Counter {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let items = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = items.map(|item| (std::ptr::from_ref(item.query.as_ref()), item.alias.name.clone())).collect();
        self.queries.push(QueryCount { names, ..QueryCount::default() });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let relations = self.queries.pop().unwrap_or_default().relations;
        if relations > RELATIONS_MAX {
            return ControlFlow::Break(too_complex());
        }
        let Some(outer) = self.queries.last_mut() else { return ControlFlow::Continue(()) };
        let address = std::ptr::from_ref(query);
        match outer.names.iter().find(|(of, _)| *of == address) {
            Some((_, name)) => outer.items.push((name.clone(), relations)),
            None => outer.relations = outer.relations.saturating_add(relations),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Error> {
        let name = match relation.0.as_slice() {
            [name] => name.as_ident(),
            _ => None,
        };
        let mut items = self.queries.iter().rev().flat_map(|query| query.items.iter().rev());
        let item = name.and_then(|name| items.find(|(item, _)| is_same(item, name)));
        let count = item.map_or(1, |(_, count)| *count);
        if let Some(query) = self.queries.last_mut() {
            query.relations = query.relations.saturating_add(count);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<Error> {
        self.written = self.written.saturating_add(1);
        self.outer.push(Operands::default());
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        let Operands { first, others } = self.outer.pop().unwrap_or_default();
        let (first_times, other_times) = times(expr);
        if repeats_volatile(expr, (first_times, other_times)) {
            return ControlFlow::Break(repeated_call());
        }
        let first = first.unwrap_or(0).saturating_mul(first_times);
        let size = others.saturating_mul(other_times).saturating_add(first).saturating_add(1);
        if size.saturating_sub(self.written) > REPEATED_MAX {
            return ControlFlow::Break(too_complex());
        }
        if let Some(outer) = self.outer.last_mut() {
            match outer.first {
                None => outer.first = Some(size),
                Some(_) => outer.others = outer.others.saturating_add(size),
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether an operand that is written more than once has another value each time.
fn repeats_volatile(expr: &Expr, (first_times, other_times): (u64, u64)) -> bool {
    if first_times < 2 && other_times < 2 {
        return false;
    }
    match expr {
        Expr::InList { expr: operand, .. }
        | Expr::InSubquery { expr: operand, .. }
        | Expr::Like { expr: operand, .. }
        | Expr::ILike { expr: operand, .. } => has_volatile_call(operand.as_ref()),
        // An operand is looked up in an array, and compared with what is in the statement.
        Expr::AnyOp { compare_op: BinaryOperator::Eq, right, .. }
        | Expr::AllOp { compare_op: BinaryOperator::NotEq, right, .. }
            if !matches!(without_parentheses(right), Expr::Subquery(_) | Expr::Array(_)) =>
        {
            false
        }
        Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => has_volatile_call(left.as_ref()),
        Expr::Function(call) if let Some(flags) = computed_flags(call) => has_volatile_call(flags),
        other => has_volatile_call(other),
    }
}

/// Returns the number of times that an expression's first operand is written, and that the other ones are.
fn times(expr: &Expr) -> (u64, u64) {
    use BinaryOperator as B;
    let count = |items: &[Expr]| items.len() as u64;
    match expr {
        Expr::Between { low, .. } if is_symmetric(low) => (2, 2),
        Expr::BinaryOp { left, op: B::Lt | B::LtEq | B::Gt | B::GtEq, .. } if is_row(left) => (2, 2),
        Expr::InList { expr: row, list, .. } if is_row(row) => (count(list), 1),
        Expr::InSubquery { expr: row, .. } if is_row(row) => (2, 2),
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => match pattern.as_ref() {
            Expr::Tuple(patterns) => (count(patterns), 1),
            _ => (1, 1),
        },
        Expr::AnyOp { right, compare_op: B::Eq, .. } | Expr::AllOp { right, compare_op: B::NotEq, .. }
            if let Expr::Array(Array { elem, .. }) = without_parentheses(right) =>
        {
            (if elem.iter().any(has_point) { count(elem) } else { 1 }, 1)
        }
        Expr::AnyOp { right, compare_op: B::Eq, .. } | Expr::AllOp { right, compare_op: B::NotEq, .. }
            if let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }) =
                without_parentheses(right) =>
        {
            (1, 1)
        }
        Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => match without_parentheses(right) {
            Expr::Subquery(_) if is_row(left) => (2, 2),
            Expr::Subquery(_) => (1, 1),
            // A text that is an array: one comparison for each item.
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => {
                (text.split(',').count() as u64, 1)
            }
            // The planner asks for the least and the greatest element, for NULLs, and whether there are elements.
            _ => (2, 5),
        },
        Expr::Function(Function { name, .. }) if name.to_string().eq_ignore_ascii_case("div") => (2, 2),
        // The flags of a regular expression are written before its pattern, too.
        Expr::Function(call) if computed_flags(call).is_some() => (1, 2),
        _ => (1, 1),
    }
}

fn without_parentheses(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => without_parentheses(inner),
        other => other,
    }
}

fn is_symmetric(low: &Expr) -> bool {
    match low {
        Expr::Function(Function { name, .. }) => {
            name.0.last().and_then(|part| part.as_ident()).is_some_and(|name| name.value == MARK)
        }
        _ => false,
    }
}

/// Returns whether it is `(a, b)` or `ROW(a, b)`.
fn is_row(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(values) => values.len() > 1,
        Expr::Function(Function { name, args: FunctionArguments::List(_), .. }) => {
            name.to_string().eq_ignore_ascii_case("row")
        }
        _ => false,
    }
}

fn is_same(one: &Ident, other: &Ident) -> bool {
    one.value.eq_ignore_ascii_case(&other.value)
}
