//! Groups that differ only in a cast, as in `GROUP BY time::date, time`. DataFusion leaves casts out of names, and
//! refuses two groups with one name. Such a cast becomes the argument of `coalesce`, which returns it and is part of
//! the name, wherever the SELECT and its ORDER BY have it.
//!
//! Waits for [#13558](https://github.com/apache/datafusion/issues/13558).

use super::order_names::plain;
use crate::text::tree_walk::{visit_expressions_mut, visit_mut};
use crate::workarounds::syntax::names::distinct_name::distinct;
use crate::workarounds::syntax::names::output_names::{name_of, plain_name, text_of};
use crate::workarounds::syntax::{expression, set_first_argument};
use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, GroupByExpr, Ident, OrderBy, Query, Select, SelectItem, SetExpr, Statement, Value, ValueWithSpan,
    VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Gives the groups of each SELECT distinct names.
pub(crate) fn tell_groups_apart(statement: &mut Statement) {
    let is_answer = matches!(statement, Statement::Query(_) | Statement::Copy { .. } | Statement::Explain { .. });
    let _ = visit_mut(statement, &mut GroupCasts { depth: usize::from(!is_answer) });
}

struct GroupCasts {
    /// The number of queries that the visitor is inside of. One more if something refers to the outermost one's names.
    depth: usize,
}

impl VisitorMut for GroupCasts {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        let Query { body, order_by, .. } = query;
        if let SetExpr::Select(select) = body.as_mut() {
            self.settle(select, order_by.as_mut());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.settle(select, None);
        ControlFlow::Continue(())
    }
}

impl GroupCasts {
    fn settle(&self, select: &mut Select, order_by: Option<&mut OrderBy>) {
        let casts = ambiguous_casts(select);
        if casts.is_empty() {
            return;
        }
        let whole = select.clone();
        for (position, item) in select.projection.iter_mut().enumerate() {
            match item {
                SelectItem::ExprWithAlias { expr, .. } => wrap(expr, &casts, &whole),
                SelectItem::UnnamedExpr(expr) => {
                    let mut wrapped = expr.clone();
                    wrap(&mut wrapped, &casts, &whole);
                    if wrapped != *expr {
                        let alias = self.name(expr, position);
                        *item = SelectItem::ExprWithAlias { expr: wrapped, alias };
                    }
                }
                _ => {}
            }
        }
        wrap(&mut select.group_by, &casts, &whole);
        wrap(&mut select.having, &casts, &whole);
        wrap(&mut select.qualify, &casts, &whole);
        if let Some(order_by) = order_by {
            wrap(order_by, &casts, &whole);
        }
    }

    /// The name of an item that had none. In the answer it is shown by its text.
    fn name(&self, expr: &Expr, position: usize) -> Ident {
        name_of(expr).filter(|_| self.depth > 1).unwrap_or_else(|| distinct(&text_of(expr), position))
    }
}

/// A cast that is a group and has the same name as another group.
struct AmbiguousCast {
    /// The cast in a form in which it can be compared with others.
    form: String,
    /// What DataFusion calls it.
    name: String,
    /// How often it is wrapped. Casts of one name differ in it.
    depth: usize,
}

fn ambiguous_casts(select: &Select) -> Vec<AmbiguousCast> {
    let GroupByExpr::Expressions(groups, _) = &select.group_by else { return Vec::new() };
    let keys: Vec<&Expr> = groups.iter().map(|group| key(group, &select.projection)).collect();
    if !keys.iter().any(|key| matches!(key, Expr::Cast { .. })) {
        return Vec::new();
    }
    let named: Vec<(String, String)> =
        keys.iter().map(|key| (form(key, select), plain_name(&plain(key, select)))).collect();
    let mut casts: Vec<AmbiguousCast> = Vec::new();
    for (key, (form, name)) in keys.iter().zip(&named) {
        let is_ambiguous = named.iter().any(|(other, of)| of == name && other != form);
        let is_known = casts.iter().any(|cast| cast.form == *form);
        if matches!(key, Expr::Cast { .. }) && is_ambiguous && !is_known {
            let depth = 1 + casts.iter().filter(|cast| cast.name == *name).count();
            casts.push(AmbiguousCast { form: form.clone(), name: name.clone(), depth });
        }
    }
    casts
}

/// What a group is: the item that it counts or whose alias it is, or itself.
fn key<'a>(group: &'a Expr, items: &'a [SelectItem]) -> &'a Expr {
    let item = match group {
        Expr::Nested(inner) => return key(inner, items),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            digits.parse::<usize>().ok().and_then(|number| items.get(number.checked_sub(1)?))
        }
        Expr::Identifier(name) => items.iter().find(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.eq_ignore_ascii_case(&name.value),
            _ => false,
        }),
        _ => None,
    };
    match item {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => bare(expr),
        _ => group,
    }
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

fn form(expr: &Expr, select: &Select) -> String {
    let mut form = plain(expr, select);
    let _ = visit_expressions_mut(&mut form, |inner| {
        if let Expr::Cast { kind, .. } = inner
            && *kind == CastKind::DoubleColon
        {
            *kind = CastKind::Cast;
        }
        ControlFlow::<()>::Continue(())
    });
    form.to_string()
}

/// Wraps these casts wherever they are in a part of a SELECT.
fn wrap(part: &mut impl VisitMut, casts: &[AmbiguousCast], select: &Select) {
    let _ = visit_expressions_mut(part, |expr| {
        if matches!(expr, Expr::Cast { .. })
            && let Some(cast) = casts.iter().find(|cast| cast.form == form(expr, select))
        {
            for _ in 0..cast.depth {
                let Ok(mut call) = expression("coalesce(NULL)") else { return ControlFlow::<()>::Break(()) };
                set_first_argument(&mut call, expr.clone());
                *expr = call;
            }
        }
        ControlFlow::Continue(())
    });
}
