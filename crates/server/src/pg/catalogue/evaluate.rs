//! Evaluates expressions.

use super::access::split;
use super::aggregate::{aggregate, is_aggregate};
use super::arithmetic::{arithmetic, of_numerics, shifted};
use super::casts::{cast, cast_to, interval_of};
use super::context::{Context, Frame};
use super::functions::{call, special_name};
use super::json::json_row;
use super::names::{function_name, ident};
use super::patterns::{LastPattern, like};
use super::select_sort::sort;
use super::typing::{first_subscript, type_as_written, type_of};
use super::value::{Value, key_of};
use crate::pg::error::PgError;
use crate::pg::types::array_elements::malformed_array;
use atsdb::array_text;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, Query, Subscript, TrimWhereField, UnaryOperator, Value as Literal,
    ValueWithSpan,
};
use std::cmp::Ordering;

/// Evaluates an expression for the row of a frame.
pub(super) fn evaluate(context: &Context<'_>, expr: &Expr, frame: &Frame<'_>) -> Result<Value, PgError> {
    if let Some(value) = frame.computed.and_then(|computed| computed.get(&std::ptr::from_ref(expr))) {
        return Ok(value.clone());
    }
    let of = |expr: &Expr| evaluate(context, expr, frame);
    let truth = |expr: &Expr| Ok::<_, PgError>(truth_of(&of(expr)?));
    let patterns = &context.last_pattern;
    Ok(match expr {
        Expr::Identifier(name) => identifier(context, &ident(name), name.quote_style.is_some(), frame)?,
        Expr::CompoundIdentifier(parts) => {
            let [.., table, name] = parts.as_slice() else { return Err(PgError::syntax("an empty name")) };
            let (table, name) = (ident(table), ident(name));
            match frame.column(Some(&table), &name) {
                Some((_, value)) => value.clone(),
                None => return Err(no_column(&format!("{table}.{name}"))),
            }
        }
        Expr::Value(value) => literal(context, value)?,
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => of(inner)?,
        Expr::TypedString(typed) => match typed.value.clone().value.into_string() {
            Some(text) => cast(context, Value::Text(text), &typed.data_type)?,
            None => Value::Null,
        },
        Expr::Cast { expr, data_type, .. } => cast(context, of(expr)?, data_type)?,
        Expr::IsNull(inner) => Value::Bool(of(inner)?.is_null()),
        Expr::IsNotNull(inner) => Value::Bool(!of(inner)?.is_null()),
        Expr::IsTrue(inner) => Value::Bool(truth(inner)? == Some(true)),
        Expr::IsNotTrue(inner) => Value::Bool(truth(inner)? != Some(true)),
        Expr::IsFalse(inner) => Value::Bool(truth(inner)? == Some(false)),
        Expr::IsNotFalse(inner) => Value::Bool(truth(inner)? != Some(false)),
        Expr::IsUnknown(inner) => Value::Bool(truth(inner)?.is_none()),
        Expr::IsNotUnknown(inner) => Value::Bool(truth(inner)?.is_some()),
        Expr::IsDistinctFrom(one, two) => Value::Bool(!is_same(&of(one)?, &of(two)?)),
        Expr::IsNotDistinctFrom(one, two) => Value::Bool(is_same(&of(one)?, &of(two)?)),
        Expr::InList { expr, list, negated } => {
            let value = of(expr)?;
            let items = list.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            negated_if(*negated, any(patterns, &value, &BinaryOperator::Eq, &items)?)
        }
        Expr::InSubquery { expr, subquery, negated } => {
            let items = column(context, subquery, frame)?;
            negated_if(*negated, any(patterns, &of(expr)?, &BinaryOperator::Eq, &items)?)
        }
        Expr::Between { expr, negated, low, high } => {
            let (value, low, high) = (of(expr)?, of(low)?, of(high)?);
            let inside = match (value.compare(&low), value.compare(&high)) {
                (Some(low), Some(high)) => Value::Bool(low != Ordering::Less && high != Ordering::Greater),
                _ => Value::Null,
            };
            negated_if(*negated, inside)
        }
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => match truth(left)? {
            Some(false) => Value::Bool(false),
            left => match (left, truth(right)?) {
                (_, Some(false)) => Value::Bool(false),
                (Some(true), Some(true)) => Value::Bool(true),
                _ => Value::Null,
            },
        },
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => match truth(left)? {
            Some(true) => Value::Bool(true),
            left => match (left, truth(right)?) {
                (_, Some(true)) => Value::Bool(true),
                (Some(false), Some(false)) => Value::Bool(false),
                _ => Value::Null,
            },
        },
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::PGBitwiseShiftLeft | BinaryOperator::PGBitwiseShiftRight),
            right,
        } => shifted(type_of(context, expr, frame), &of(left)?, op, &of(right)?)?,
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (of(left)?, of(right)?);
            of_numerics(context, &left, op, &right)?.map_or_else(|| binary(patterns, &left, op, &right), Ok)?
        }
        Expr::UnaryOp { op, expr } => unary(*op, of(expr)?)?,
        Expr::Like { negated, expr, pattern, escape_char, .. } => {
            negated_if(*negated, like(&of(expr)?, &of(pattern)?, escape(escape_char.as_ref()), false))
        }
        Expr::ILike { negated, expr, pattern, escape_char, .. } => {
            negated_if(*negated, like(&of(expr)?, &of(pattern)?, escape(escape_char.as_ref()), true))
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            any(patterns, &of(left)?, compare_op, &items_of(context, right, frame)?)?
        }
        Expr::AllOp { left, compare_op, right } => {
            all(patterns, &of(left)?, compare_op, &items_of(context, right, frame)?)?
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            let operand = operand.as_deref().map(of).transpose()?;
            for when in conditions {
                let condition = of(&when.condition)?;
                let is_met = match &operand {
                    Some(operand) => operand.compare(&condition) == Some(Ordering::Equal),
                    None => condition.is_true(),
                };
                if is_met {
                    return of(&when.result);
                }
            }
            else_result.as_deref().map_or(Ok(Value::Null), of)?
        }
        Expr::Exists { subquery, negated } => {
            let found = context.queries.query(context, subquery, frame)?;
            Value::Bool(found.rows.is_empty() == *negated)
        }
        Expr::Subquery(query) => {
            let items = column(context, query, frame)?;
            if items.len() > 1 {
                return Err(PgError::error("21000", "more than one row returned by a subquery used as an expression"));
            }
            items.into_iter().next().unwrap_or(Value::Null)
        }
        Expr::Array(array) => Value::Array(array.elem.iter().map(of).collect::<Result<_, _>>()?),
        Expr::Tuple(items) => Value::Record(items.iter().map(of).collect::<Result<_, _>>()?),
        Expr::Function(function) => function_value(context, function, frame)?,
        Expr::Interval(interval) if interval.leading_field.is_none() => interval_of(&of(&interval.value)?)?,
        Expr::Extract { field, expr, .. } => {
            call(context, "date_part", &[Value::Text(field.to_string().to_lowercase()), of(expr)?])?
        }
        Expr::CompoundFieldAccess { root, access_chain } => access(context, root, access_chain, frame)?,
        Expr::Position { expr, r#in } => call(context, "strpos", &[of(r#in)?, of(expr)?])?,
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let mut arguments = vec![of(expr)?];
            arguments.push(substring_from.as_deref().map_or(Ok(Value::Int(1)), of)?);
            if let Some(length) = substring_for {
                arguments.push(of(length)?);
            }
            call(context, "substring", &arguments)?
        }
        Expr::Trim { expr, trim_where, trim_what, trim_characters: None } => {
            let name = match trim_where {
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
                Some(TrimWhereField::Both) | None => "btrim",
            };
            let mut arguments = vec![of(expr)?];
            if let Some(what) = trim_what {
                arguments.push(of(what)?);
            }
            call(context, name, &arguments)?
        }
        other => return Err(PgError::not_supported(format_args!("{other} in a catalogue query"))),
    })
}

/// Evaluates an integer; `None` is NULL.
pub(super) fn evaluate_int(context: &Context<'_>, expr: &Expr, frame: &Frame<'_>) -> Result<Option<i64>, PgError> {
    Ok(evaluate(context, expr, frame)?.int())
}

fn no_column(name: &str) -> PgError {
    PgError::error("42703", format!("column \"{name}\" does not exist"))
}

fn identifier(context: &Context<'_>, name: &str, is_quoted: bool, frame: &Frame<'_>) -> Result<Value, PgError> {
    if let Some((_, value)) = frame.column(None, name) {
        return Ok(value.clone());
    }
    // A table's name refers to its whole row.
    if let Some(row) = frame.whole_row(name) {
        return Ok(Value::Record(row));
    }
    match special_name(name) {
        true if !is_quoted => call(context, name, &[]),
        _ => Err(no_column(name)),
    }
}

fn literal(context: &Context<'_>, value: &ValueWithSpan) -> Result<Value, PgError> {
    Ok(match &value.value {
        Literal::Number(digits, _) => match digits.parse() {
            Ok(value) => Value::Int(value),
            Err(_) if digits.contains(['e', 'E']) => {
                Value::Float(digits.parse().map_err(|_| PgError::syntax("a number out of range"))?)
            }
            Err(_) if digits.starts_with('.') => Value::Numeric(format!("0{digits}")),
            Err(_) => Value::Numeric(digits.trim_end_matches('.').to_owned()),
        },
        Literal::Boolean(value) => Value::Bool(*value),
        Literal::Null => Value::Null,
        Literal::Placeholder(name) => {
            let number = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
            let value = number.and_then(|number| context.parameters.get(number.checked_sub(1)?));
            value.cloned().ok_or_else(|| PgError::error("42P02", format!("there is no parameter {name}")))?
        }
        other => Value::Text(other.clone().into_string().unwrap_or_default()),
    })
}

fn truth_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Text(text) => Some(["t", "true", "on", "1", "yes"].contains(&text.as_str())),
        _ => None,
    }
}

fn is_same(one: &Value, two: &Value) -> bool {
    one.is_null() && two.is_null() || one.compare(two) == Some(Ordering::Equal)
}

fn negated_if(negated: bool, value: Value) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(value != negated),
        other => other,
    }
}

fn escape(escape: Option<&ValueWithSpan>) -> Option<char> {
    match escape.map(|escape| escape.value.clone().into_string().unwrap_or_default()) {
        None => Some('\\'),
        Some(text) => text.chars().next(),
    }
}

/// Executes a subquery, and returns the values of its first column.
fn column(context: &Context<'_>, query: &Query, frame: &Frame<'_>) -> Result<Vec<Value>, PgError> {
    let found = context.queries.query(context, query, frame)?;
    Ok(found.rows.iter().map(|row| row.first().cloned().unwrap_or(Value::Null)).collect())
}

/// The values that ANY and ALL compare with: the items of an array, or the rows of a subquery.
fn items_of(context: &Context<'_>, expr: &Expr, frame: &Frame<'_>) -> Result<Vec<Value>, PgError> {
    match expr {
        Expr::Subquery(query) => column(context, query, frame),
        Expr::Nested(inner) => items_of(context, inner, frame),
        expr => match evaluate(context, expr, frame)? {
            Value::Array(items) => Ok(items),
            Value::Text(text) => match array_text::parse(&text) {
                Ok(items) => Ok(items.into_iter().map(Value::maybe).collect()),
                Err(error) => Err(malformed_array(&text, error)),
            },
            _ => Ok(Vec::new()),
        },
    }
}

fn any(patterns: &LastPattern, value: &Value, op: &BinaryOperator, items: &[Value]) -> Result<Value, PgError> {
    let mut is_unknown = false;
    for item in items {
        match binary(patterns, value, op, item)? {
            Value::Bool(true) => return Ok(Value::Bool(true)),
            Value::Bool(false) => {}
            _ => is_unknown = true,
        }
    }
    Ok(if is_unknown { Value::Null } else { Value::Bool(false) })
}

fn all(patterns: &LastPattern, value: &Value, op: &BinaryOperator, items: &[Value]) -> Result<Value, PgError> {
    let mut is_unknown = false;
    for item in items {
        match binary(patterns, value, op, item)? {
            Value::Bool(false) => return Ok(Value::Bool(false)),
            Value::Bool(true) => {}
            _ => is_unknown = true,
        }
    }
    Ok(if is_unknown { Value::Null } else { Value::Bool(true) })
}

fn unary(op: UnaryOperator, value: Value) -> Result<Value, PgError> {
    Ok(match (op, value) {
        (_, Value::Null) => Value::Null,
        (UnaryOperator::Not, value) => truth_of(&value).map_or(Value::Null, |truth| Value::Bool(!truth)),
        (UnaryOperator::Minus, Value::Int(value)) => Value::Int(value.saturating_neg()),
        (UnaryOperator::Minus, Value::Float(value)) => Value::Float(-value),
        (UnaryOperator::Minus, Value::Numeric(digits)) => Value::Numeric(match digits.strip_prefix('-') {
            Some(digits) => digits.to_owned(),
            None => format!("-{digits}"),
        }),
        (UnaryOperator::Plus, value) => value,
        (op, _) => return Err(PgError::not_supported(format_args!("the operator {op} in a catalogue query"))),
    })
}

/// Applies a binary operator.
fn binary(patterns: &LastPattern, left: &Value, op: &BinaryOperator, right: &Value) -> Result<Value, PgError> {
    let compared =
        |holds: fn(Ordering) -> bool| left.compare(right).map_or(Value::Null, |found| Value::Bool(holds(found)));
    let matched =
        |negated: bool, ignores_case: bool| Ok(negated_if(negated, patterns.matches(left, right, ignores_case)?));
    if let Some(found) = arithmetic(left, op, right) {
        return found;
    }
    match op {
        BinaryOperator::Eq => Ok(compared(Ordering::is_eq)),
        BinaryOperator::NotEq => Ok(compared(Ordering::is_ne)),
        BinaryOperator::Lt => Ok(compared(Ordering::is_lt)),
        BinaryOperator::LtEq => Ok(compared(Ordering::is_le)),
        BinaryOperator::Gt => Ok(compared(Ordering::is_gt)),
        BinaryOperator::GtEq => Ok(compared(Ordering::is_ge)),
        BinaryOperator::StringConcat => Ok(concatenated(left, right)),
        BinaryOperator::PGRegexMatch => matched(false, false),
        BinaryOperator::PGRegexIMatch => matched(false, true),
        BinaryOperator::PGRegexNotMatch => matched(true, false),
        BinaryOperator::PGRegexNotIMatch => matched(true, true),
        BinaryOperator::PGLikeMatch => Ok(like(left, right, Some('\\'), false)),
        BinaryOperator::PGNotLikeMatch => Ok(negated_if(true, like(left, right, Some('\\'), false))),
        BinaryOperator::PGCustomBinaryOperator(parts) => match parts.last().map(String::as_str) {
            Some("~") => matched(false, false),
            Some("~*") => matched(false, true),
            Some("!~") => matched(true, false),
            Some("!~*") => matched(true, true),
            Some("=") => Ok(compared(Ordering::is_eq)),
            Some("<>") => Ok(compared(Ordering::is_ne)),
            _ => Err(PgError::not_supported(format_args!("the operator {op}"))),
        },
        BinaryOperator::AtArrow => Ok(contains(left, right)),
        BinaryOperator::PGOverlap => Ok(match (left, right) {
            (Value::Array(one), Value::Array(two)) => Value::Bool(one.iter().any(|item| two.contains(item))),
            _ => Value::Null,
        }),
        other => Err(PgError::not_supported(format_args!("the operator {other} in a catalogue query"))),
    }
}

fn contains(left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Array(one), Value::Array(two)) => {
            let is_in = |item: &Value| one.iter().any(|other| other.compare(item) == Some(Ordering::Equal));
            Value::Bool(two.iter().all(is_in))
        }
        _ => Value::Null,
    }
}

fn concatenated(left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Array(one), Value::Array(two)) => Value::Array(one.iter().chain(two).cloned().collect()),
        (Value::Array(one), item) => Value::Array(one.iter().chain([item]).cloned().collect()),
        (item, Value::Array(two)) => Value::Array([item].into_iter().chain(two).cloned().collect()),
        _ => match (left.shown(), right.shown()) {
            (Some(one), Some(two)) => Value::Text(one + &two),
            _ => Value::Null,
        },
    }
}

/// Evaluates accesses to elements and fields.
fn access(context: &Context<'_>, root: &Expr, chain: &[AccessExpr], frame: &Frame<'_>) -> Result<Value, PgError> {
    let (root, chain) = split(root, chain, frame);
    let first = first_subscript(context, &root, frame);
    let value = evaluate(context, &root, frame)?;
    chain.iter().try_fold(value, |value, part| of_part(context, &value, part, first, frame))
}

fn of_part(
    context: &Context<'_>,
    value: &Value,
    part: &AccessExpr,
    first: i64,
    frame: &Frame<'_>,
) -> Result<Value, PgError> {
    match (value, part) {
        (Value::Null, _) => Ok(Value::Null),
        // All records come from _pg_expandarray, and have its fields.
        (Value::Record(parts), AccessExpr::Dot(Expr::Identifier(name))) => match ident(name).as_str() {
            "x" => Ok(parts.first().cloned().unwrap_or(Value::Null)),
            "n" => Ok(parts.get(1).cloned().unwrap_or(Value::Null)),
            other => Err(no_column(other)),
        },
        // The letters of a value of type `name` are numbered from 0.
        (Value::Text(name), AccessExpr::Subscript(Subscript::Index { index })) if first == 0 => {
            let position = evaluate_int(context, index, frame)?.and_then(|index| usize::try_from(index).ok());
            Ok(Value::maybe(position.and_then(|position| name.chars().nth(position)).map(String::from)))
        }
        (Value::Array(items), AccessExpr::Subscript(Subscript::Index { index })) => {
            let index = evaluate_int(context, index, frame)?;
            let position = index.and_then(|index| usize::try_from(index.checked_sub(first)?).ok());
            Ok(position.and_then(|position| items.get(position)).cloned().unwrap_or(Value::Null))
        }
        (Value::Array(items), AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. })) => {
            let bound = |bound: &Option<Expr>, otherwise: i64| match bound {
                Some(bound) => evaluate_int(context, bound, frame).map(|found| found.unwrap_or(otherwise)),
                None => Ok(otherwise),
            };
            let last = first + items.len() as i64 - 1;
            let (lower, upper) = (bound(lower_bound, first)?, bound(upper_bound, last)?);
            let numbered = (first..).zip(items).filter(|(number, _)| (lower..=upper).contains(number));
            Ok(Value::Array(numbered.map(|(_, item)| item.clone()).collect()))
        }
        _ => Err(PgError::not_supported("this kind of element access in a catalogue query")),
    }
}

fn function_value(context: &Context<'_>, function: &Function, frame: &Frame<'_>) -> Result<Value, PgError> {
    let name = function_name(function);
    let list = match &function.args {
        FunctionArguments::None => return call(context, &name, &[]),
        FunctionArguments::Subquery(query) => return Ok(Value::Array(column(context, query, frame)?)),
        FunctionArguments::List(list) => list,
    };
    if name == "row_to_json"
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(table)))] = list.args.as_slice()
        && let Some(fields) = frame.fields(&ident(table))
    {
        return Ok(json_row(&fields));
    }
    if name == "pg_typeof"
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] = list.args.as_slice()
    {
        return cast_to(context, Value::Int(i64::from(type_as_written(context, value, frame))), "regtype");
    }
    if !is_aggregate(function) {
        let mut values = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            values.push(match argument(arg)? {
                Some(expr) => evaluate(context, expr, frame)?,
                None => Value::Null,
            });
        }
        let value = call(context, &name, &values)?;
        return Ok(match (name.as_str(), value, list.args.first()) {
            // The elements of some arrays are numbered from 0.
            (
                "array_upper" | "array_lower",
                Value::Int(bound),
                Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(array))),
            ) => Value::Int(bound - 1 + first_subscript(context, array, frame)),
            (_, value, _) => value,
        });
    }
    let Some(rows) = frame.group else {
        return Err(PgError::error("42803", format!("{name} is an aggregate function, which is not allowed here")));
    };
    let order = list.clauses.iter().find_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => Some(order.as_slice()),
        _ => None,
    });
    let order = order.unwrap_or_default();
    let mut keyed: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    for row in rows {
        let mut inner = frame.clone();
        (inner.row, inner.group) = (row, None);
        if let Some(filter) = &function.filter
            && !evaluate(context, filter, &inner)?.is_true()
        {
            continue;
        }
        let keys = order.iter().map(|by| evaluate(context, &by.expr, &inner)).collect::<Result<_, _>>()?;
        let mut values = Vec::new();
        for arg in &list.args {
            if let Some(expr) = argument(arg)? {
                values.push(evaluate(context, expr, &inner)?);
            }
        }
        keyed.push((keys, values));
    }
    sort(&mut keyed, order);
    let mut rows: Vec<Vec<Value>> = keyed.into_iter().map(|(_, values)| values).collect();
    if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        let mut seen = std::collections::BTreeSet::new();
        rows.retain(|row| seen.insert(key_of(row)));
    }
    aggregate(context, &name, rows)
}

/// The expression of an argument; `None` is `*`.
fn argument(arg: &FunctionArg) -> Result<Option<&Expr>, PgError> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } => Ok(Some(expr)),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(None),
        _ => Err(PgError::not_supported("this kind of function argument")),
    }
}
