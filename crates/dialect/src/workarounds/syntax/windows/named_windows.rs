//! `OVER (w ORDER BY ...)` extends the window of `WINDOW w AS (...)`. DataFusion ignores that window. A named window is
//! written out where it is used: its frame and its marked exclusion are settled there, and DataFusion looks for the
//! windows of a subquery among those of the query around it.
//!
//! No upstream issue known.

use super::exclusions::{is_marked, take_mark};
use crate::text::errors::sql_error;
use crate::text::tree_walk::visit_outer_expressions_mut;
use atsdb_core::Error;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, NamedWindowDefinition, NamedWindowExpr, OrderBy, Select, WindowSpec, WindowType,
};
use std::ops::ControlFlow;

/// Completes the windows of a query, and those in its ORDER BY.
pub(crate) fn complete_windows(select: &mut Select, order: Option<&mut OrderBy>) -> ControlFlow<Error> {
    let mut known: Vec<(Ident, WindowSpec)> = Vec::new();
    for NamedWindowDefinition(name, definition) in &mut select.named_window {
        let spec = match definition {
            NamedWindowExpr::NamedWindow(other) => find(&known, other)?.clone(),
            NamedWindowExpr::WindowSpec(spec) => {
                complete(spec, &known)?;
                spec.clone()
            }
        };
        known.push((name.clone(), spec));
    }
    if known.is_empty() {
        return ControlFlow::Continue(());
    }
    select
        .named_window
        .retain(|NamedWindowDefinition(name, _)| !known.iter().any(|(known, spec)| known == name && is_marked(spec)));
    visit_outer_expressions_mut(&mut select.projection, |expr| use_window(expr, &known))?;
    visit_outer_expressions_mut(&mut select.qualify, |expr| use_window(expr, &known))?;
    match order {
        Some(order) => visit_outer_expressions_mut(order, |expr| use_window(expr, &known)),
        None => ControlFlow::Continue(()),
    }
}

/// Completes the window of a function, or writes it out. Subqueries have windows of their own.
fn use_window(expr: &mut Expr, known: &[(Ident, WindowSpec)]) -> ControlFlow<Error> {
    match expr {
        Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) => complete(spec, known)?,
        Expr::Function(Function { over: over @ Some(WindowType::NamedWindow(_)), .. }) => {
            if let Some(WindowType::NamedWindow(name)) = over {
                *over = Some(WindowType::WindowSpec(find(known, name)?.clone()));
            }
        }
        _ => {}
    }
    ControlFlow::Continue(())
}

/// Adds the clauses of the window that a specification is based on.
fn complete(spec: &mut WindowSpec, known: &[(Ident, WindowSpec)]) -> ControlFlow<Error> {
    let Some(name) = spec.window_name.take() else { return ControlFlow::Continue(()) };
    let base = find(known, &name)?;
    let mark = take_mark(spec);
    if !spec.partition_by.is_empty() {
        return refuse(format!("a window based on {name} cannot have PARTITION BY"));
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        return refuse(format!("a window based on {name} cannot have ORDER BY: {name} has one"));
    }
    if base.window_frame.is_some() {
        return refuse(format!("window {name} has a frame: no other window can be based on it"));
    }
    spec.partition_by = base.partition_by.iter().cloned().chain(mark).collect();
    if spec.order_by.is_empty() {
        spec.order_by.clone_from(&base.order_by);
    }
    ControlFlow::Continue(())
}

fn find<'a>(known: &'a [(Ident, WindowSpec)], name: &Ident) -> ControlFlow<Error, &'a WindowSpec> {
    match known.iter().find(|(other, _)| other.value.eq_ignore_ascii_case(&name.value)) {
        Some((_, spec)) => ControlFlow::Continue(spec),
        None => ControlFlow::Break(sql_error(format!("no window named {name}"))),
    }
}

fn refuse<T>(message: String) -> ControlFlow<Error, T> {
    ControlFlow::Break(sql_error(message))
}
