//! Walks over sqlparser's syntax trees, in place of sqlparser's own. Those are compiled anew for each type of visitor,
//! about a thousand functions each time. Here a visitor is a trait object, so that there is one walk for each type of
//! result.

#![expect(clippy::disallowed_methods, reason = "this file owns the walks")]

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Walks a tree. Returns what the visitor broke off with.
pub fn visit<B>(node: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    node.visit(&mut AnyVisitor(visitor))
}

/// Walks a tree that the visitor may change. Returns what the visitor broke off with.
pub fn visit_mut<B>(node: &mut impl VisitMut, visitor: &mut dyn VisitorMut<Break = B>) -> ControlFlow<B> {
    node.visit(&mut AnyVisitorMut(visitor))
}

/// Calls `each` with every expression, the outer before the inner ones.
pub fn visit_expressions<B>(node: &impl Visit, each: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    visit(node, &mut Expressions(each))
}

/// Calls `each` with every expression, the inner before the outer ones.
pub fn visit_expressions_mut<B>(
    node: &mut impl VisitMut,
    each: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit_mut(node, &mut Expressions(each))
}

/// Like [`visit_expressions_mut`], without the expressions in subqueries.
pub fn visit_outer_expressions_mut<B>(
    node: &mut impl VisitMut,
    each: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    visit_mut(node, &mut OuterExpressions { each, depth: 0 })
}

/// Calls `each` with the name of every table, the outer queries' before the inner ones'.
pub fn visit_relations<B>(node: &impl Visit, each: impl FnMut(&ObjectName) -> ControlFlow<B>) -> ControlFlow<B> {
    visit(node, &mut Relations(each))
}

struct Expressions<F>(F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Expressions<F> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct OuterExpressions<F> {
    each: F,
    /// The number of subqueries that the visitor is inside of.
    depth: usize,
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for OuterExpressions<F> {
    type Break = B;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        if self.depth == 0 { (self.each)(expr) } else { ControlFlow::Continue(()) }
    }
}

struct Relations<F>(F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
    type Break = B;

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<B> {
        (self.0)(relation)
    }
}

/// Passes each node on to another visitor. `$node` is the reference to a node of each type.
macro_rules! pass_on {
    ($($before:ident $after:ident $node:ty),+) => {
        $(
            fn $before(&mut self, node: $node) -> ControlFlow<B> {
                self.0.$before(node)
            }

            fn $after(&mut self, node: $node) -> ControlFlow<B> {
                self.0.$after(node)
            }
        )+
    };
}

struct AnyVisitor<'a, B>(&'a mut dyn Visitor<Break = B>);

impl<B> Visitor for AnyVisitor<'_, B> {
    type Break = B;

    pass_on!(
        pre_visit_query post_visit_query &Query,
        pre_visit_select post_visit_select &Select,
        pre_visit_relation post_visit_relation &ObjectName,
        pre_visit_table_factor post_visit_table_factor &TableFactor,
        pre_visit_expr post_visit_expr &Expr,
        pre_visit_statement post_visit_statement &Statement,
        pre_visit_value post_visit_value &ValueWithSpan
    );
}

struct AnyVisitorMut<'a, B>(&'a mut dyn VisitorMut<Break = B>);

impl<B> VisitorMut for AnyVisitorMut<'_, B> {
    type Break = B;

    pass_on!(
        pre_visit_query post_visit_query &mut Query,
        pre_visit_select post_visit_select &mut Select,
        pre_visit_relation post_visit_relation &mut ObjectName,
        pre_visit_table_factor post_visit_table_factor &mut TableFactor,
        pre_visit_expr post_visit_expr &mut Expr,
        pre_visit_statement post_visit_statement &mut Statement,
        pre_visit_value post_visit_value &mut ValueWithSpan
    );
}
