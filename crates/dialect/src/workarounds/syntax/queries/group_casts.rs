//! Groups, aggregates and window functions that differ only in a cast, as in `GROUP BY time::date, time` and
//! `sum(x::int) + sum(x)`. DataFusion leaves casts out of names, and refuses two of them with one name. Such a cast
//! becomes the argument of `coalesce`, which returns it and is part of the name, wherever the SELECT and its ORDER BY
//! have it.
//!
//! Waits for [#13558](https://github.com/apache/datafusion/issues/13558).

use super::order_names::plain;
use crate::text::tree_walk::{SelectVisitor, visit_expressions, visit_expressions_mut, visit_selects_mut};
use crate::workarounds::syntax::names::aggregate_names::is_aggregate;
use crate::workarounds::syntax::names::distinct_name::distinct;
use crate::workarounds::syntax::names::output_names::{name_of, plain_name, text_of};
use crate::workarounds::syntax::{expression, has_free_names, set_first_argument};
use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, GroupByExpr, Ident, OrderBy, Select, SelectItem, Statement, Value, ValueWithSpan, Visit, VisitMut,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Gives the groups and the calls of each SELECT distinct names.
pub(crate) fn tell_groups_apart(statement: &mut Statement) {
    let has_free_names = has_free_names(statement);
    let _ = visit_selects_mut(statement, &mut GroupCasts { has_free_names });
}

struct GroupCasts {
    /// Whether nothing refers to the names of the outermost query.
    has_free_names: bool,
}

impl SelectVisitor for GroupCasts {
    type Break = ();

    fn visit_select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>, depth: usize) -> ControlFlow<()> {
        let has_names = depth > 1 || !self.has_free_names;
        settle(select, order_by, has_names);
        ControlFlow::Continue(())
    }
}

/// Gives the groups and the calls distinct names. Items keep their names if others refer to them (`has_names`).
fn settle(select: &mut Select, order_by: Option<&mut OrderBy>, has_names: bool) {
    let Select { projection, group_by, having, qualify, .. } = &*select;
    let parts_have_cast = has_cast(projection) || has_cast(group_by) || has_cast(having) || has_cast(qualify);
    if !parts_have_cast && !order_by.as_deref().is_some_and(has_cast) {
        return;
    }
    let mut casts = ambiguous_casts(&groups_of(select), select);
    casts.extend(ambiguous_casts(&calls_of(select, order_by.as_deref()).iter().collect::<Vec<_>>(), select));
    if casts.is_empty() {
        return;
    }
    let whole = select.clone();
    let alias_of = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
        _ => None,
    };
    let mut aliases: HashSet<String> = select.projection.iter().filter_map(alias_of).collect();
    for (position, item) in select.projection.iter_mut().enumerate() {
        match item {
            SelectItem::ExprWithAlias { expr, .. } => wrap(expr, &casts, &whole),
            SelectItem::UnnamedExpr(expr) => {
                let mut wrapped = expr.clone();
                wrap(&mut wrapped, &casts, &whole);
                if wrapped != *expr {
                    let name = item_name(expr, position, has_names);
                    let is_new = aliases.insert(name.value.to_lowercase());
                    let alias = if is_new { name } else { distinct(&name.value, position) };
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
fn item_name(expr: &Expr, position: usize, has_names: bool) -> Ident {
    name_of(expr).filter(|_| has_names).unwrap_or_else(|| distinct(&text_of(expr), position))
}

/// The forms of groups or calls with casts that have the same name as another one, and how often their casts are
/// wrapped. Those of one name differ in it.
type AmbiguousCasts = HashMap<String, usize>;

fn ambiguous_casts(exprs: &[&Expr], select: &Select) -> AmbiguousCasts {
    if exprs.len() < 2 || !exprs.iter().any(|expr| has_cast(*expr)) {
        return AmbiguousCasts::new();
    }
    // By the name that DataFusion gives them, each form and whether it has a cast.
    let mut by_name: HashMap<String, Vec<(String, bool)>> = HashMap::new();
    let mut forms = HashSet::new();
    for expr in exprs {
        let form = form(expr, select);
        if forms.insert(form.clone()) {
            by_name.entry(plain_name(&plain(expr, select))).or_default().push((form, has_cast(*expr)));
        }
    }
    let ambiguous = by_name.into_values().filter(|forms| forms.len() > 1);
    ambiguous
        .flat_map(|forms| forms.into_iter().filter(|(_, has_cast)| *has_cast).map(|(form, _)| form).zip(1..))
        .collect()
}

/// Returns whether a part of a SELECT has a cast.
fn has_cast(part: &impl Visit) -> bool {
    let found = visit_expressions(part, |inner| match inner {
        cast if is_cast(cast) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Returns whether an expression is a cast or a literal with its type, such as `DATE '2024-03-01'`, which is planned as
/// one.
fn is_cast(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast { .. } | Expr::TypedString(_))
}

fn groups_of(select: &Select) -> Vec<&Expr> {
    match &select.group_by {
        GroupByExpr::Expressions(groups, _) => groups.iter().map(|group| key(group, &select.projection)).collect(),
        GroupByExpr::All(_) => Vec::new(),
    }
}

/// The aggregates and window functions of a SELECT and its ORDER BY.
fn calls_of(select: &Select, order_by: Option<&OrderBy>) -> Vec<Expr> {
    let mut calls = Vec::new();
    let Select { projection, having, qualify, .. } = select;
    add_calls(projection, &mut calls);
    add_calls(having, &mut calls);
    add_calls(qualify, &mut calls);
    if let Some(order_by) = order_by {
        add_calls(order_by, &mut calls);
    }
    calls
}

fn add_calls(part: &impl Visit, calls: &mut Vec<Expr>) {
    let _ = visit_expressions(part, |expr| {
        if let Expr::Function(call) = expr
            && (call.over.is_some() || is_aggregate(call))
        {
            calls.push(expr.clone());
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Returns the expression of a `GROUP BY` key: that of the SELECT item whose number or alias the key is, or the key
/// itself.
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

/// Wraps the casts of these expressions wherever they are in a part of a SELECT.
fn wrap(part: &mut impl VisitMut, casts: &AmbiguousCasts, select: &Select) {
    let _ = visit_expressions_mut(part, |expr| {
        if has_cast(&*expr)
            && let Some(depth) = casts.get(&form(expr, select))
        {
            wrap_casts(expr, *depth);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Wraps each cast in an expression this many times.
fn wrap_casts(expr: &mut Expr, depth: usize) {
    let _ = visit_expressions_mut(expr, |inner| {
        if is_cast(inner) {
            for _ in 0..depth {
                let Ok(mut call) = expression("coalesce(NULL)") else { return ControlFlow::<()>::Break(()) };
                set_first_argument(&mut call, inner.clone());
                *inner = call;
            }
        }
        ControlFlow::Continue(())
    });
}
