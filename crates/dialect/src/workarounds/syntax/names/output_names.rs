//! Several columns of an answer with one name: PostgreSQL shows them all, DataFusion refuses them. All but the first
//! get a unique name with a mark. The mark and the text after it are removed when the answer is shown.
//!
//! In a subquery, a cast is named after the column that it casts, and a function after itself, as in PostgreSQL. Other
//! expressions are named by their texts. DataFusion names all of them by texts of its own, without casts.
//!
//! Waits for [#4478](https://github.com/apache/datafusion/issues/4478) and
//! [#13558](https://github.com/apache/datafusion/issues/13558) (casts); of
//! [#6543](https://github.com/apache/datafusion/issues/6543) (equal aliases) the fix is not in 55.2.

use super::distinct_name::BESIDE_STARS;
pub use super::distinct_name::{distinct, shown, without_marks};
use super::stars::Stars;
use crate::text::relations::{name_of_relation, relations_of};
use crate::text::tree_walk::{visit_expressions, visit_expressions_mut};
use crate::text::written_schemas::remove_written;
use crate::workarounds::syntax::tokens::between::SymmetricBetween;
use crate::workarounds::syntax::tokens::variadic::array_in;
use crate::workarounds::syntax::windows::exclusions::take_mark;
use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    CopySource, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement, TrimWhereField, UnaryOperator, Value, ValueWithSpan,
    WindowType,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// The maximum size in bytes of an expression's text that becomes its name. DataFusion names longer expressions.
pub const HEADING_BYTES_MAX: usize = 120;

/// The text of an expression with its parameters' values, and without schemas that it did not have as it was written.
pub fn text_of(expr: &Expr) -> String {
    let mut plain = expr.clone();
    remove_written(&mut plain);
    let _ = visit_expressions_mut(&mut plain, |expr| {
        if let Some(text) = as_written(expr) {
            *expr = Expr::Identifier(Ident::new(text));
        }
        match expr {
            Expr::Value(ValueWithSpan { value: Value::Number(_, mark), .. }) => *mark = false,
            Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) => drop(take_mark(spec)),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    plain.to_string()
}

/// The text of a form that the parser does not know, and that was written with another before it.
fn as_written(expr: &Expr) -> Option<String> {
    let symmetric = SymmetricBetween::of(expr).map(|condition| condition.to_string());
    symmetric.or_else(|| array_in(expr).map(|array| format!("VARIADIC {array}")))
}

/// The names of the outermost SELECT's expressions: their texts before they are rewritten.
pub fn texts_of_items(statement: &mut Statement) -> Vec<String> {
    let Some(select) = outermost(statement) else { return Vec::new() };
    select
        .projection
        .iter()
        .map(|item| match item {
            SelectItem::UnnamedExpr(expr) if is_called_by_text(expr) => text_of(expr),
            _ => String::new(),
        })
        .collect()
}

/// Restores these names for the expressions that were rewritten.
pub fn keep_texts(statement: &mut Statement, texts: Vec<String>) {
    let Some(select) = outermost(statement).filter(|select| select.projection.len() == texts.len()) else { return };
    for (position, (item, text)) in select.projection.iter_mut().zip(texts).enumerate() {
        if let SelectItem::UnnamedExpr(expr) = item
            && !text.is_empty()
            && text_of(expr) != text
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: distinct(&text, position) };
        }
    }
}

fn is_called_by_text(expr: &Expr) -> bool {
    !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
}

fn outermost(statement: &mut Statement) -> Option<&mut Select> {
    let (Statement::Query(query) | Statement::Copy { source: CopySource::Query(query), .. }) = statement else {
        return None;
    };
    let mut body = query.body.as_mut();
    loop {
        match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::Query(query) => body = query.body.as_mut(),
            SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            _ => return None,
        }
    }
}

/// Names the columns of the SELECTs in a nested query. `depth` is the number of queries around it.
pub fn name_inner_columns(query: &mut Query, depth: usize) {
    of_body(&mut query.body, SetOperand::First { depth });
}

/// Names the columns of the right sides of set operations in the outermost query.
pub fn name_other_sides(query: &mut Query) {
    if let SetExpr::SetOperation { right, .. } = query.body.as_mut() {
        of_body(right, SetOperand::Other);
    }
}

/// A set operation has the names of its first side.
#[derive(Clone, Copy, PartialEq)]
enum SetOperand {
    First {
        /// The number of queries around the set operation.
        depth: usize,
    },
    /// DataFusion gives its expressions the first side's names, so its columns must not have these.
    Other,
}

fn of_body(body: &mut SetExpr, side: SetOperand) {
    match body {
        SetExpr::Select(select) => name_columns(select, side),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left, side);
            of_body(right, SetOperand::Other);
        }
        SetExpr::Query(query) if side == SetOperand::Other && query.order_by.is_none() => {
            of_body(&mut query.body, side)
        }
        _ => {}
    }
}

/// The names of the relations of a FROM; `None` if not all have one.
fn names_of_relations(select: &Select) -> Option<Vec<Ident>> {
    relations_of(&select.from).map(|relation| name_of_relation(relation).cloned()).collect()
}

/// Returns whether a column is one of an outer query, because none of the relations has it.
fn is_outer(column: &Expr, relations: &[Ident]) -> bool {
    match column {
        Expr::CompoundIdentifier(parts) => parts
            .iter()
            .rev()
            .nth(1)
            .is_some_and(|relation| !relations.iter().any(|known| same_name(&known.value, &relation.value))),
        _ => relations.is_empty(),
    }
}

fn name_columns(select: &mut Select, side: SetOperand) {
    tell_casts_apart(select);
    let stars = Stars::of(select);
    let relations = names_of_relations(select);
    let (mut names, mut plain_names) = (HashSet::new(), HashSet::new());
    for (position, item) in select.projection.iter_mut().enumerate() {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                // DataFusion calls an outer column by its text.
                let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
                    && !relations.as_ref().is_some_and(|relations| is_outer(expr, relations));
                let Some(name) = name_of(expr) else {
                    let is_new = plain_names.insert(plain_name(expr));
                    if let Some(alias) = alias_of_unnamed(expr, is_new, position, side) {
                        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
                    }
                    continue;
                };
                let is_new = names.insert(name.value.to_lowercase()) && !stars.contain(expr);
                let alias = match (is_column, is_new && side != SetOperand::Other) {
                    (true, true) => continue,
                    (false, true) => name,
                    (_, false) => distinct(&name.value, position),
                };
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            SelectItem::ExprWithAlias { alias, .. } if !names.insert(alias.value.to_lowercase()) => {
                *alias = distinct(&alias.value, position);
            }
            _ => {}
        }
    }
}

/// The alias of an expression without a name, which is its text, as in the outermost SELECT. `None` if it keeps the
/// name that DataFusion gives it. That of a subquery is the name of its column; a long text is no heading.
fn alias_of_unnamed(expr: &Expr, is_new: bool, position: usize, side: SetOperand) -> Option<Ident> {
    match side {
        SetOperand::First { depth } => {
            let text = text_of(expr);
            let keeps_name = is_new && (matches!(expr, Expr::Subquery(_)) || text.len() > HEADING_BYTES_MAX);
            // The depth tells it apart from the same expression in an inner query, of which this one may select `*`.
            (!keeps_name).then(|| distinct(&text, depth * BESIDE_STARS + position))
        }
        SetOperand::Other => (!is_new).then(|| distinct(&text_of(expr), position)),
    }
}

/// The expression that DataFusion names: its names have neither casts nor parentheses around an expression nor a unary
/// plus.
pub fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => bare(inner),
        other => other,
    }
}

/// The column name that PostgreSQL gives an expression; `None` for `?column?`.
pub fn name_of(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(name) => Some(name.clone()),
        Expr::CompoundIdentifier(names) => names.last().cloned(),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => name_of(inner),
        Expr::Function(call) => call.name.0.last().and_then(|part| part.as_ident()).cloned(),
        _ => None,
    }
}

/// Gives calls that differ only in casts distinct names, because DataFusion leaves casts out of names. Wraps arguments
/// in `coalesce` with one argument, which returns its argument and is part of the name.
pub fn tell_casts_apart(select: &mut Select) {
    let mut counts: HashMap<String, Vec<String>> = HashMap::new();
    for item in &mut select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
        if !calls(expr) {
            continue;
        }
        let (text, plain) = (expr.to_string(), without_unnamed(expr));
        let others = counts.entry(plain).or_default();
        let depth = match others.iter().position(|other| *other == text) {
            Some(depth) => depth,
            None => {
                others.push(text);
                others.len() - 1
            }
        };
        if depth > 0 {
            wrap_casts(expr, depth);
        }
    }
}

fn calls(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |inner| match inner {
        Expr::Function(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn without_unnamed(expr: &Expr) -> String {
    let mut plain = expr.clone();
    let _ = visit_expressions_mut(&mut plain, |inner| {
        drop_unnamed(inner);
        ControlFlow::<()>::Continue(())
    });
    plain.to_string()
}

/// Removes what DataFusion's names leave out: casts, parentheses, a unary plus, and the `ALL` of a call.
fn drop_unnamed(expr: &mut Expr) {
    while let Expr::Cast { expr: inner, .. }
    | Expr::Nested(inner)
    | Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } = expr
    {
        *expr = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
    }
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr
        && list.duplicate_treatment == Some(DuplicateTreatment::All)
    {
        list.duplicate_treatment = None;
    }
}

/// A text that is the same for expressions to which DataFusion gives one name: without casts and subqueries, with
/// numbers by their value, and with functions in place of the forms that stand for them.
pub fn plain_name(expr: &Expr) -> String {
    let mut plain = expr.clone();
    let _ = visit_expressions_mut(&mut plain, |inner| {
        drop_unnamed(inner);
        match inner {
            Expr::Subquery(_) => *inner = Expr::Identifier(Ident::new("subquery")),
            Expr::Exists { negated, .. } => *inner = Expr::Identifier(Ident::new(format!("exists {negated}"))),
            Expr::TypedString(literal) => *inner = Expr::Value(literal.value.clone()),
            Expr::Position { expr: part, r#in: text } => *inner = called("strpos", &[&**text, &**part]),
            Expr::Substring { expr: text, substring_from: Some(from), substring_for, .. } => {
                let mut arguments: Vec<&Expr> = vec![&**text, &**from];
                arguments.extend(substring_for.as_deref());
                *inner = called("substr", &arguments);
            }
            Expr::Trim { trim_where, trim_what, expr: text, trim_characters } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                let mut arguments: Vec<&Expr> = vec![&**text];
                arguments.extend(trim_what.as_deref());
                arguments.extend(trim_characters.iter().flatten());
                *inner = called(name, &arguments);
            }
            Expr::Function(call) => {
                for name in &mut call.name.0 {
                    if let ObjectNamePart::Identifier(name) = name {
                        *name = Ident::new(name.value.to_lowercase());
                    }
                }
            }
            Expr::Value(ValueWithSpan { value: Value::Number(digits, mark), .. }) => {
                *mark = false;
                if let Ok(number) = digits.parse::<f64>() {
                    *digits = number.to_string();
                }
            }
            // `-0` is the integer 0.
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } if is_zero(expr) => *inner = expr.as_ref().clone(),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    plain.to_string()
}

fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) if digits == "0")
}

/// The text of a call in the place of an expression.
fn called(name: &str, arguments: &[&Expr]) -> Expr {
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
    Expr::Identifier(Ident::new(format!("{name}({})", arguments.join(", "))))
}

/// Wraps the first argument of each function `depth` times.
fn wrap_casts(expr: &mut Expr, depth: usize) {
    let mut wrapped = expr.clone();
    let outcome = visit_expressions_mut(&mut wrapped, |inner| {
        let Expr::Function(call) = inner else { return ControlFlow::Continue(()) };
        let FunctionArguments::List(list) = &mut call.args else { return ControlFlow::Continue(()) };
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut() else {
            return ControlFlow::Continue(());
        };
        for _ in 0..depth {
            let Ok(mut call) = expression("coalesce(NULL)") else { return ControlFlow::Break(()) };
            set_first_argument(&mut call, argument.clone());
            *argument = call;
        }
        ControlFlow::Continue(())
    });
    if outcome.is_continue() {
        *expr = wrapped;
    }
}
