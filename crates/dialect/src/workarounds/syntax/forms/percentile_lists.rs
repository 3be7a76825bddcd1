//! `percentile_cont(ARRAY[0.25, 0.75])` and `percentile_disc` of an array, whose result is an array: a call for each
//! element. Without rows it is NULL, and the element of NULL is NULL. DataFusion takes one number, and refuses NULL. A
//! parameter is one number, `percentile_cont($1)`, which DataFusion would take for a text.
//!
//! No upstream issue known.

use crate::workarounds::syntax::{expression, is_null, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Array, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, ValueWithSpan,
};

/// Rewrites such a call. Other expressions stay.
pub(super) fn each_percentile(expr: &mut Expr) -> Result<()> {
    let Expr::Function(Function { args: FunctionArguments::List(list), within_group, .. }) = &*expr else {
        return Ok(());
    };
    if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(fraction))] = list.args.as_slice()
        && is_parameter(fraction)
    {
        let number = as_double(fraction.clone())?;
        set_arguments(expr, vec![number]);
        return Ok(());
    }
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(fractions))] = list.args.as_slice() else { return Ok(()) };
    if is_null_number(fractions) && !within_group.is_empty() {
        let mut percentile = expr.clone();
        set_arguments(&mut percentile, vec![expression("0")?]);
        let mut none = expression("CASE WHEN FALSE THEN NULL END")?;
        if let Expr::Case { conditions, .. } = &mut none
            && let Some(first) = conditions.first_mut()
        {
            first.result = percentile;
        }
        *expr = none;
        return Ok(());
    }
    let Some(fractions) = elements(fractions).filter(|elements| !elements.is_empty() && !within_group.is_empty())
    else {
        return Ok(());
    };
    let call = |fraction: Expr| {
        if is_null(&fraction) {
            return fraction;
        }
        let mut call = expr.clone();
        set_arguments(&mut call, vec![fraction]);
        call
    };
    let percentiles: Vec<Expr> = fractions.into_iter().map(call).collect();
    let least = call(expression("0")?);
    let mut list = expression("CASE WHEN NULL IS NULL THEN NULL ELSE ARRAY[NULL] END")?;
    if let Expr::Case { conditions, else_result: Some(result), .. } = &mut list
        && let Some(first) = conditions.first_mut()
        && let Expr::Array(Array { elem, .. }) = result.as_mut()
    {
        first.condition = Expr::IsNull(Box::new(least));
        *elem = percentiles;
    }
    *expr = Expr::Nested(Box::new(list));
    Ok(())
}

fn elements(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Array(Array { elem, .. }) => Some(elem.clone()),
        Expr::Nested(inner) => elements(inner),
        Expr::Cast { expr: inner, .. } => match inner.as_ref() {
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => elements_of_text(text),
            inner => elements(inner),
        },
        _ => None,
    }
}

/// The elements of `'{0.25,0.75}'`.
fn elements_of_text(text: &str) -> Option<Vec<Expr>> {
    let list = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let element = |element: &str| match element.trim() {
        null if null.eq_ignore_ascii_case("null") => Some(Expr::value(Value::Null)),
        number if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => expression(number).ok(),
        _ => None,
    };
    list.split(',').map(element).collect()
}

/// Returns whether it is NULL, also with the type of a number.
fn is_null_number(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_null_number(inner),
        Expr::Cast { expr: inner, data_type, .. } => !matches!(data_type, DataType::Array(_)) && is_null_number(inner),
        other => is_null(other),
    }
}

fn is_parameter(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_parameter(inner),
        other => matches!(other, Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. })),
    }
}

/// `CAST(x AS DOUBLE PRECISION)`.
fn as_double(expr: Expr) -> Result<Expr> {
    let mut number = expression("CAST(NULL AS DOUBLE PRECISION)")?;
    if let Expr::Cast { expr: value, .. } = &mut number {
        **value = expr;
    }
    Ok(number)
}
