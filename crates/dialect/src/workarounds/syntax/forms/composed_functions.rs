//! Functions of PostgreSQL that DataFusion lacks, or computes differently, written with those that it has.
//!
//! No upstream issue known that names them all.

use super::like_escape::write_backslashes;
use crate::functions::place_arguments;
use crate::functions::texts::strings::{CUT_CHAR, CUT_NAME, INT2VECTOR, OIDVECTOR};
use crate::functions::types::char_texts::VARCHAR;
use crate::text::errors::not_supported;
use crate::text::tree_walk::visit_expressions_mut;
use crate::workarounds::syntax::{expression, set_arguments, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Value,
    ValueWithSpan,
};
use std::ops::ControlFlow;

/// Functions that return rows, those that return the same as a list, and those that say that the rows are JSON.
const ROWS_OF_LISTS: [(&str, &str, Option<&str>); 10] = [
    ("regexp_matches", "regexp_all_matches", None),
    ("regexp_split_to_table", "regexp_split_to_array", None),
    ("json_array_elements", "json_elements", Some("declared_json")),
    ("jsonb_array_elements", "jsonb_elements", Some("declared_jsonb")),
    ("json_array_elements_text", "json_elements_text", None),
    ("jsonb_array_elements_text", "jsonb_elements_text", None),
    ("json_object_keys", "json_keys", None),
    ("jsonb_object_keys", "jsonb_keys", None),
    ("jsonb_path_query", "jsonb_path_elements", Some("declared_jsonb")),
    ("jsonb_path_query_tz", "jsonb_path_elements_tz", Some("declared_jsonb")),
];

/// Functions whose rows are pairs, and the texts of such rows. The keys and the values are unnested side by side.
const PAIRS: [(&str, &str); 4] = [
    ("json_each", "row_text(unnest(json_keys(a)), declared_json(unnest(json_values(a))))"),
    ("json_each_text", "row_text(unnest(json_keys(a)), unnest(json_values_text(a)))"),
    ("jsonb_each", "row_text(unnest(jsonb_keys(a)), declared_jsonb(unnest(jsonb_values(a))))"),
    ("jsonb_each_text", "row_text(unnest(jsonb_keys(a)), unnest(jsonb_values_text(a)))"),
];

/// Returns whether it is the name of a function that returns rows, and becomes an `unnest` here.
pub(crate) fn returns_rows_of_list(name: &ObjectName) -> bool {
    let name = name.to_string().to_ascii_lowercase();
    matches!(name.as_str(), "string_to_table" | "generate_subscripts")
        || ROWS_OF_LISTS.iter().any(|(rows, ..)| *rows == name)
}

/// Replaces a call whose arguments have been rewritten already.
pub(crate) fn composed_function(expr: &mut Expr) -> Result<()> {
    if let Some(column) = column_of_pair(expr).cloned() {
        *expr = column;
        return Ok(());
    }
    if let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr
        && returns_rows_of_list(name)
    {
        place_arguments(name, &mut list.args)?;
    }
    let Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, filter: None, .. }) = &*expr
    else {
        return Ok(());
    };
    if !list.clauses.is_empty() || list.duplicate_treatment.is_some() {
        return Ok(());
    }
    let argument = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    let Some(arguments) = list.args.iter().map(argument).collect::<Option<Vec<_>>>() else { return Ok(()) };
    let composed = match (name.to_string().to_ascii_lowercase().as_str(), arguments.as_slice()) {
        ("mod", [a, b]) => filled("(a % b)", &[a, b])?,
        // Functions of operators.
        ("like", [text, pattern]) => like(text, pattern, false)?,
        ("notlike", [text, pattern]) => like(text, pattern, true)?,
        ("booleq", [a, b]) => filled("(a = b)", &[&boolean(a)?, &boolean(b)?])?,
        ("boolne", [a, b]) => filled("(a <> b)", &[&boolean(a)?, &boolean(b)?])?,
        // The integer part of the quotient, in the type of the operands; of decimals without digits after the point.
        ("div", [a, b]) => filled("round((a - a % b) / b)", &[a, b])?,
        // Lines of 76 letters. Equals signs only occur in the last one, which ends without a newline then.
        ("encode", [bytes, encoding]) if is_base64(encoding) => {
            filled("regexp_replace(encode(a, 'base64pad'), '([^=]{76})', '\\1\n', 'g')", &[bytes])?
        }
        ("pg_sleep_for", [pause]) => {
            filled("pg_sleep(date_part('epoch', now() + CAST(a AS INTERVAL)) - date_part('epoch', now()))", &[pause])?
        }
        ("pg_sleep_until", [end]) => filled(
            "pg_sleep(date_part('epoch', CAST(a AS TIMESTAMPTZ)) - date_part('epoch', clock_timestamp()))",
            &[end],
        )?,
        ("array_upper", [array, dimension]) => filled("CAST(array_length(a, b) AS INT)", &[array, dimension])?,
        ("array_lower", [array, dimension]) => {
            filled("CASE WHEN array_length(a, b) > 0 THEN CAST(1 AS INT) END", &[array, dimension])?
        }
        ("array_fill", [value, counts]) => {
            let Some(counts) = elements_of(counts) else { return Ok(()) };
            array_of_equals(value, counts)?
        }
        ("array_fill", [value, counts, bounds]) => {
            let (Some(counts), Some(bounds)) = (elements_of(counts), elements_of(bounds)) else { return Ok(()) };
            if !bounds.iter().all(is_one) {
                let error = not_supported("array_fill with positions that do not begin at 1");
                return Err(error.with_hint("leave the third argument out"));
            }
            array_of_equals(value, counts)?
        }
        ("pg_typeof", [Expr::Function(cast)]) => match name_of_cast(&cast.name) {
            Some(name) => Expr::value(Value::SingleQuotedString(name.to_owned())),
            None => return Ok(()),
        },
        ("num_nulls", [first, rest @ ..]) => counted("a IS NULL", first, rest)?,
        ("num_nonnulls", [first, rest @ ..]) => counted("a IS NOT NULL", first, rest)?,
        ("normalize", [text]) => filled("normalize(a, 'NFC')", &[text])?,
        // The form is a word.
        ("normalize", [text, Expr::Identifier(form)]) => {
            filled("normalize(a, b)", &[text, &Expr::value(Value::SingleQuotedString(form.value.clone()))])?
        }
        ("string_to_table", [text, separator]) => filled("unnest(string_to_array(a, b))", &[text, separator])?,
        ("string_to_table", [text, separator, null]) => {
            filled("unnest(string_to_array(a, b, c))", &[text, separator, null])?
        }
        (name, [document]) if let Some((_, pairs)) = PAIRS.iter().find(|(pairs, _)| *pairs == name) => {
            filled(pairs, &[document])?
        }
        (name, arguments) => match ROWS_OF_LISTS.iter().find(|(rows, ..)| *rows == name) {
            Some((_, list, declaration)) => rows_of_list(list, *declaration, arguments)?,
            None => return Ok(()),
        },
    };
    *expr = composed;
    Ok(())
}

/// `(json_each(x)).key` and `.value`, whose function has been replaced already.
fn column_of_pair(expr: &Expr) -> Option<&Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let Expr::Nested(row) = root.as_ref() else { return None };
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = row.as_ref() else { return None };
    let (
        [AccessExpr::Dot(Expr::Identifier(column))],
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(key)), FunctionArg::Unnamed(FunctionArgExpr::Expr(value))],
    ) = (access_chain.as_slice(), list.args.as_slice())
    else {
        return None;
    };
    let is_pair = name.to_string() == "row_text" && key.to_string().starts_with("unnest(json");
    match column.value.to_ascii_lowercase().as_str() {
        "key" if is_pair => Some(key),
        "value" if is_pair => Some(value),
        _ => None,
    }
}

/// The elements of an array that is written as one. An empty one has a type, as in `ARRAY[]::int[]`.
fn elements_of(array: &Expr) -> Option<&[Expr]> {
    match array {
        Expr::Array(Array { elem, .. }) if !elem.is_empty() => Some(elem),
        Expr::Cast { expr, .. } => match expr.as_ref() {
            Expr::Array(Array { elem, .. }) => Some(elem),
            _ => None,
        },
        _ => None,
    }
}

/// `array_fill`. The last number counts the elements, and the one before it the arrays of them.
fn array_of_equals(value: &Expr, counts: &[Expr]) -> Result<Expr> {
    if counts.is_empty() {
        return filled("array_repeat(a, 0)", &[value]);
    }
    let repeated = |inner: Expr, count: &Expr| filled("array_repeat(a, b)", &[&inner, count]);
    counts.iter().rev().try_fold(value.clone(), repeated)
}

/// The type that a cast to a text has in PostgreSQL, from the function that the cast has become. The engine does not
/// know these types.
fn name_of_cast(function: &ObjectName) -> Option<&'static str> {
    match function.to_string().as_str() {
        CUT_NAME => Some("name"),
        CUT_CHAR => Some("\"char\""),
        VARCHAR => Some("character varying"),
        INT2VECTOR => Some("int2vector"),
        OIDVECTOR => Some("oidvector"),
        _ => None,
    }
}

/// Returns whether an expression is the number 1.
fn is_one(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { expr, .. } => is_one(expr),
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => number == "1",
        _ => false,
    }
}

/// A call of a function that returns a list, whose elements become rows.
fn rows_of_list(list: &str, declaration: Option<&str>, arguments: &[Expr]) -> Result<Expr> {
    let mut call = expression(&format!("{list}(NULL)"))?;
    set_arguments(&mut call, arguments.to_vec());
    let mut rows = expression("unnest(NULL)")?;
    set_first_argument(&mut rows, call);
    let Some(declaration) = declaration else { return Ok(rows) };
    let mut declared = expression(&format!("{declaration}(NULL)"))?;
    set_first_argument(&mut declared, rows);
    Ok(declared)
}

/// A LIKE, whose pattern is read as that of the operator.
fn like(text: &Expr, pattern: &Expr, negated: bool) -> Result<Expr> {
    let nested = |expr: &Expr| Box::new(Expr::Nested(Box::new(expr.clone())));
    let pattern = match pattern {
        Expr::Value(_) => Box::new(pattern.clone()),
        _ => nested(pattern),
    };
    let mut like = Expr::Like { negated, any: false, expr: nested(text), pattern, escape_char: None };
    write_backslashes(&mut like)?;
    Ok(Expr::Nested(Box::new(like)))
}

fn boolean(value: &Expr) -> Result<Expr> {
    filled("CAST(a AS BOOLEAN)", &[value])
}

fn is_base64(encoding: &Expr) -> bool {
    matches!(encoding, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(name), .. })
        if name.eq_ignore_ascii_case("base64"))
}

/// A text of this crate in which the names `a`, `b` and `c` stand for expressions.
pub(crate) fn filled(template: &str, values: &[&Expr]) -> Result<Expr> {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let mut filled = expression(template)?;
    // What is inserted is not visited again.
    let _ = visit_expressions_mut(&mut filled, |inner| {
        if let Expr::Identifier(name) = inner
            && let Some(value) =
                NAMES.iter().zip(values).find(|(other, _)| **other == name.value).map(|(_, value)| value)
        {
            *inner = Expr::Nested(Box::new((*value).clone()));
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(filled)
}

/// The number of values for which a condition holds.
fn counted(condition: &str, first: &Expr, rest: &[Expr]) -> Result<Expr> {
    let one = format!("CASE WHEN {condition} THEN CAST(1 AS INT) ELSE CAST(0 AS INT) END");
    let mut sum = filled(&format!("({one})"), &[first])?;
    for value in rest {
        sum = filled(&format!("(a + {})", one.replace("a IS", "b IS")), &[&sum, value])?;
    }
    Ok(sum)
}
