//! Walks over sqlparser's syntax trees, in place of sqlparser's own. Those are compiled anew for each type of visitor,
//! about a thousand functions each time. Here a visitor is a trait object, and another one keeps its result, so that
//! two walks are compiled: one over trees that stay as they are, and one over trees that may change.

#![expect(clippy::disallowed_methods, reason = "this file owns the walks")]

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, OrderBy, Query, Select, SetExpr, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};
use std::ops::ControlFlow;

/// Walks a tree. Returns what the visitor broke off with.
pub fn visit<B>(node: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    let mut keeper = Keeper { visitor, result: None };
    let _ = node.visit(&mut AnyVisitor(&mut keeper));
    keeper.result.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Walks a tree that the visitor may change. Returns what the visitor broke off with.
pub fn visit_mut<B>(node: &mut impl VisitMut, visitor: &mut dyn VisitorMut<Break = B>) -> ControlFlow<B> {
    let mut keeper = Keeper { visitor, result: None };
    let _ = node.visit(&mut AnyVisitorMut(&mut keeper));
    keeper.result.map_or(ControlFlow::Continue(()), ControlFlow::Break)
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

/// A visitor of the SELECTs of a statement, for [`visit_selects_mut`].
pub trait SelectVisitor {
    /// The result of a visit that ends early.
    type Break;

    /// Called with each query before its SELECTs.
    fn enter_query(&mut self, _: &Query) {}

    /// Called once with each SELECT. If its query is this SELECT alone, the ORDER BY comes with it. The depth is the
    /// number of queries around the SELECT, with its own.
    fn visit_select(
        &mut self,
        select: &mut Select,
        order_by: Option<&mut OrderBy>,
        depth: usize,
    ) -> ControlFlow<Self::Break>;
}

/// Calls a visitor with every SELECT, the outer ones before the inner ones.
pub fn visit_selects_mut<B>(node: &mut impl VisitMut, visitor: &mut dyn SelectVisitor<Break = B>) -> ControlFlow<B> {
    visit_mut(node, &mut Selects { visitor, bodies: Vec::new() })
}

struct Selects<'a, B> {
    visitor: &'a mut dyn SelectVisitor<Break = B>,
    /// The address of the SELECT of each query around, which was visited with its ORDER BY; `None` for queries that are
    /// no SELECT.
    bodies: Vec<Option<*const Select>>,
}

impl<B> VisitorMut for Selects<'_, B> {
    type Break = B;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<B> {
        self.visitor.enter_query(query);
        let Query { body, order_by, .. } = query;
        let SetExpr::Select(select) = body.as_mut() else {
            self.bodies.push(None);
            return ControlFlow::Continue(());
        };
        self.bodies.push(Some(std::ptr::from_ref::<Select>(select)));
        self.visitor.visit_select(select, order_by.as_mut(), self.bodies.len())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<B> {
        self.bodies.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<B> {
        let address = std::ptr::from_ref::<Select>(select);
        if self.bodies.last() == Some(&Some(address)) {
            return ControlFlow::Continue(());
        }
        self.visitor.visit_select(select, None, self.bodies.len())
    }
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

/// Passes each node on to another visitor. The argument is `mut` if that may change the nodes.
macro_rules! pass_on {
    ($before:ident $after:ident ($node:ty)) => {
        fn $before(&mut self, node: $node) -> ControlFlow<()> {
            self.pass(|visitor| visitor.$before(node))
        }

        fn $after(&mut self, node: $node) -> ControlFlow<()> {
            self.pass(|visitor| visitor.$after(node))
        }
    };
    ($($mutability:tt)?) => {
        type Break = ();

        pass_on!(pre_visit_query post_visit_query (&$($mutability)? Query));
        pass_on!(pre_visit_select post_visit_select (&$($mutability)? Select));
        pass_on!(pre_visit_relation post_visit_relation (&$($mutability)? ObjectName));
        pass_on!(pre_visit_table_factor post_visit_table_factor (&$($mutability)? TableFactor));
        pass_on!(pre_visit_expr post_visit_expr (&$($mutability)? Expr));
        pass_on!(pre_visit_statement post_visit_statement (&$($mutability)? Statement));
        pass_on!(pre_visit_value post_visit_value (&$($mutability)? ValueWithSpan));
    };
}

/// Keeps what a visitor breaks off with, so that walks do not depend on its type.
struct Keeper<'a, V: ?Sized, B> {
    visitor: &'a mut V,
    result: Option<B>,
}

impl<V: ?Sized, B> Keeper<'_, V, B> {
    fn pass(&mut self, call: impl FnOnce(&mut V) -> ControlFlow<B>) -> ControlFlow<()> {
        call(self.visitor).map_break(|result| self.result = Some(result))
    }
}

impl<B> Visitor for Keeper<'_, dyn Visitor<Break = B> + '_, B> {
    pass_on!();
}

impl<B> VisitorMut for Keeper<'_, dyn VisitorMut<Break = B> + '_, B> {
    pass_on!(mut);
}

/// The visitor of a walk over a tree that stays as it is.
struct AnyVisitor<'a>(&'a mut dyn Visitor<Break = ()>);

impl AnyVisitor<'_> {
    fn pass(&mut self, call: impl FnOnce(&mut dyn Visitor<Break = ()>) -> ControlFlow<()>) -> ControlFlow<()> {
        call(self.0)
    }
}

impl Visitor for AnyVisitor<'_> {
    pass_on!();
}

/// The visitor of a walk over a tree that may change.
struct AnyVisitorMut<'a>(&'a mut dyn VisitorMut<Break = ()>);

impl AnyVisitorMut<'_> {
    fn pass(&mut self, call: impl FnOnce(&mut dyn VisitorMut<Break = ()>) -> ControlFlow<()>) -> ControlFlow<()> {
        call(self.0)
    }
}

impl VisitorMut for AnyVisitorMut<'_> {
    pass_on!(mut);
}
