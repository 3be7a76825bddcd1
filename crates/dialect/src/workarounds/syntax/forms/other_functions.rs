//! Rewrites functions that have another name in DataFusion than in PostgreSQL or other databases, and functions that
//! DataFusion computes wrongly for some arguments.
//!
//! No upstream issue known.

use super::composed_functions::filled;
use super::percentile_lists::each_percentile;
use crate::text::sequence_names::is_of_sequences;
use crate::text::tree_walk::visit_expressions;
use crate::workarounds::syntax::{binary, expression, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, OrderByExpr, OrderByOptions, Select, SelectItem, TableFactor, Value,
    ValueWithSpan,
};
use std::ops::ControlFlow;

/// Names in other databases, and DataFusion's name of the same function.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("every", "bool_and"),
    ("variance", "var_samp"),
    ("group_concat", "string_agg"),
    ("ceiling", "ceil"),
    ("array_remove", "array_remove_all"),
    ("array_replace", "array_replace_all"),
    ("transaction_timestamp", "now"),
    ("gen_random_uuid", "uuid"),
];

/// Functions that return a part of a time, as MySQL and DuckDB have them.
const PARTS_OF_TIMES: [&str; 9] = ["year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second"];

/// Types whose names are also functions that cast, and the types as a cast has them.
const CASTS: [(&str, &str); 13] = [
    ("bool", "BOOLEAN"),
    ("bytea", "BYTEA"),
    ("date", "DATE"),
    ("float4", "REAL"),
    ("float8", "DOUBLE PRECISION"),
    ("int2", "SMALLINT"),
    ("int4", "INT"),
    ("int8", "BIGINT"),
    ("json", "JSON"),
    ("jsonb", "JSONB"),
    ("text", "TEXT"),
    ("timestamp", "TIMESTAMP"),
    ("timestamptz", "TIMESTAMPTZ"),
];

/// Functions that compute squares, which may be out of range.
const OF_SQUARES: [&str; 12] = [
    "var_pop",
    "var_samp",
    "var",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "covar_pop",
    "covar_samp",
    "covar",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
];

/// Functions of one number, which read a text in the statement as a DOUBLE.
const OF_ONE_DOUBLE: [&str; 32] = [
    "abs", "acos", "acosd", "acosh", "asin", "asind", "asinh", "atan", "atand", "atanh", "cbrt", "ceil", "cos", "cosd",
    "cosh", "cot", "cotd", "degrees", "exp", "ln", "log", "log10", "radians", "round", "sign", "sin", "sind", "sinh",
    "sqrt", "tan", "tand", "tanh",
];

/// Functions of bytes, which read a text in the statement as bytes.
const OF_BYTES: [&str; 7] = ["convert_from", "get_byte", "set_byte", "sha224", "sha256", "sha384", "sha512"];

/// Functions of two numbers, which read such texts as DOUBLEs.
const OF_TWO_DOUBLES: [&str; 4] = ["atan2", "atan2d", "pow", "power"];

/// Rewrites a call before its arguments are: `pg_catalog.f(x)` as `f(x)`, and the name of a sequence as a text without
/// a cast, `nextval('s'::regclass)` as `nextval('s')`.
pub(crate) fn plain_call(expr: &mut Expr) {
    let Expr::Function(call) = expr else { return };
    drop_catalogue(&mut call.name);
    let [part] = call.name.0.as_slice() else { return };
    if !part.as_ident().is_some_and(|name| is_of_sequences(&name.value)) {
        return;
    }
    if let FunctionArguments::List(list) = &mut call.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(sequence))) = list.args.first_mut()
        && let Expr::Cast { expr: name, data_type, .. } = sequence
        && is_regclass(data_type)
    {
        *sequence = std::mem::replace(name.as_mut(), Expr::value(Value::Null));
    }
}

fn is_regclass(data_type: &DataType) -> bool {
    let name = data_type.to_string();
    ["regclass", "pg_catalog.regclass"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Removes the schema of PostgreSQL's own functions from the name of one.
fn drop_catalogue(name: &mut ObjectName) {
    let is_catalogue = |schema: &Ident| schema.value.eq_ignore_ascii_case("pg_catalog");
    if name.0.len() == 2 && name.0[0].as_ident().is_some_and(is_catalogue) {
        name.0.remove(0);
    }
}

/// The same for the calls that are rewritten with their SELECT: those that may return rows.
pub(crate) fn plain_calls_of_rows(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            plain_call(expr);
        }
    }
    for from in &mut select.from {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        for relation in std::iter::once(&mut from.relation).chain(joined) {
            if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } = relation {
                drop_catalogue(name);
            }
        }
    }
}

/// Rewrites a call whose arguments have been rewritten already.
pub(crate) fn other_functions(expr: &mut Expr) -> Result<()> {
    if let Expr::Ceil { expr: number, .. } | Expr::Floor { expr: number, .. } = expr {
        return text_as_double(number);
    }
    let Expr::Function(call) = expr else { return Ok(()) };
    order_by_constants(call);
    let [part] = call.name.0.as_slice() else { return Ok(()) };
    let Some(mut name) = part.as_ident().map(|name| name.value.to_ascii_lowercase()) else { return Ok(()) };
    if let Some((_, other)) = OTHER_NAMES.iter().find(|(one, _)| *one == name) {
        rename(call, other);
        if *other == "string_agg" {
            separate_by_comma(call);
        }
        name = (*other).to_owned();
    }
    if PARTS_OF_TIMES.contains(&name.as_str()) {
        return part_of_time(expr, &name);
    }
    if let Some((_, data_type)) = CASTS.iter().find(|(cast, _)| *cast == name) {
        return cast_to(expr, data_type);
    }
    if OF_ONE_DOUBLE.contains(&name.as_str()) {
        texts_as_doubles(call, 1)?;
    } else if OF_TWO_DOUBLES.contains(&name.as_str()) {
        texts_as_doubles(call, 2)?;
    } else if OF_BYTES.contains(&name.as_str()) {
        text_as_bytes(call)?;
    }
    match name.as_str() {
        "strftime" => {
            pattern_last(call);
            Ok(())
        }
        "arg_max" | "max_by" => value_of_extreme(call, false),
        "arg_min" | "min_by" => value_of_extreme(call, true),
        "regr_r2" => fit_of_equals(expr),
        "string_agg" => with_delimiters(expr),
        "percentile_cont" | "percentile_disc" => each_percentile(expr),
        // DataFusion divides two logarithms, which makes 2.9999999999999996 of log(1000).
        "log" => {
            if matches!(&call.args, FunctionArguments::List(list) if list.args.len() == 1) {
                rename(call, "log10");
            }
            Ok(())
        }
        "pg_typeof" => {
            if is_of_text(call) {
                *expr = Expr::value(Value::SingleQuotedString("unknown".to_owned()));
            }
            Ok(())
        }
        name if OF_SQUARES.contains(&name) => {
            let mut checked = expression("in_range(NULL)")?;
            set_first_argument(&mut checked, expr.clone());
            *expr = checked;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether the only argument of a call is a text in quotes, which has no type yet.
fn is_of_text(call: &Function) -> bool {
    let FunctionArguments::List(list) = &call.args else { return false };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = list.args.as_slice() else { return false };
    matches!(value.value, Value::SingleQuotedString(_))
}

fn rename(call: &mut Function, name: &str) {
    call.name = ObjectName::from(vec![Ident::new(name)]);
}

/// `date(x)` as a cast.
fn cast_to(expr: &mut Expr, data_type: &str) -> Result<()> {
    let Expr::Function(Function { args: FunctionArguments::List(list), over: None, filter: None, .. }) = &*expr else {
        return Ok(());
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] = list.args.as_slice() else { return Ok(()) };
    let mut cast = expression(&format!("CAST(NULL AS {data_type})"))?;
    if let Expr::Cast { expr: operand, .. } = &mut cast {
        **operand = value.clone();
    }
    *expr = cast;
    Ok(())
}

/// Texts in the statement become doubles if the call has this number of arguments, as in `sqrt('2')`.
fn texts_as_doubles(call: &mut Function, count: usize) -> Result<()> {
    let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
    if list.args.len() != count {
        return Ok(());
    }
    for arg in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = arg {
            text_as_double(value)?;
        }
    }
    Ok(())
}

fn text_as_double(value: &mut Expr) -> Result<()> {
    if matches!(value, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. })) {
        *value = filled("CAST(a AS DOUBLE PRECISION)", &[&*value])?;
    }
    Ok(())
}

/// A text in the statement becomes bytes if it is the first argument, as in `convert_from('\xc3b1', 'UTF8')`.
fn text_as_bytes(call: &mut Function) -> Result<()> {
    let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(bytes))) = list.args.first_mut()
        && matches!(bytes, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }))
    {
        *bytes = filled("CAST(a AS BYTEA)", &[&*bytes])?;
    }
    Ok(())
}

/// `year(time)` as an integer.
fn part_of_time(expr: &mut Expr, name: &str) -> Result<()> {
    let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &*expr else { return Ok(()) };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(time))] = list.args.as_slice() else { return Ok(()) };
    // DataFusion knows the parts of NULL only if it has a type.
    if matches!(time, Expr::Value(ValueWithSpan { value: Value::Null, .. })) {
        *expr = expression("CAST(NULL AS BIGINT)")?;
        return Ok(());
    }
    let unit = if name == "dayofyear" { "doy" } else { name };
    let mut part = expression(&format!("CAST(floor(date_part('{unit}', NULL)) AS BIGINT)"))?;
    if let Expr::Cast { expr: floored, .. } = &mut part
        && let Expr::Floor { expr: call, .. } = floored.as_mut()
        && let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = call.as_mut()
        && let Some(last) = list.args.last_mut()
    {
        *last = FunctionArg::Unnamed(FunctionArgExpr::Expr(time.clone()));
    }
    *expr = part;
    Ok(())
}

/// Turns `strftime(time, pattern)` (DuckDB) or `strftime(pattern, time)` (SQLite) into `to_char(time, pattern)`.
fn pattern_last(call: &mut Function) {
    let FunctionArguments::List(list) = &mut call.args else { return };
    let is_first = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(pattern))), _] => {
            matches!(&pattern.value, Value::SingleQuotedString(text) if text.contains('%'))
        }
        _ => false,
    };
    if is_first {
        list.args.reverse();
    }
    rename(call, "to_char");
}

/// Adds the default separator of `group_concat(x)`, a comma.
fn separate_by_comma(call: &mut Function) {
    let FunctionArguments::List(list) = &mut call.args else { return };
    let separator = list.clauses.iter().position(|clause| matches!(clause, FunctionArgumentClause::Separator(_)));
    let separator = match separator.map(|at| list.clauses.remove(at)) {
        Some(FunctionArgumentClause::Separator(value)) => value.value,
        _ => Value::SingleQuotedString(",".to_owned()),
    };
    if list.args.len() == 1 {
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(separator))));
    }
}

/// Turns `string_agg(x, y)` with a delimiter of each row, which DataFusion refuses, into an array that is joined.
fn with_delimiters(expr: &mut Expr) -> Result<()> {
    let Expr::Function(call) = &*expr else { return Ok(()) };
    let FunctionArguments::List(list) = &call.args else { return Ok(()) };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value)), FunctionArg::Unnamed(FunctionArgExpr::Expr(delimiter))] =
        list.args.as_slice()
    else {
        return Ok(());
    };
    let has_column = visit_expressions(delimiter, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    if has_column.is_continue() || list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        return Ok(());
    }
    let element = "CAST(octet_length(coalesce(b, '')) AS TEXT) || ':' || coalesce(b, '') || CAST(a AS TEXT)";
    let element = filled(element, &[value, delimiter])?;
    let mut collected = call.clone();
    rename(&mut collected, "array_agg");
    if let FunctionArguments::List(list) = &mut collected.args {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(element))];
    }
    let mut joined = expression("join_delimited(NULL)")?;
    set_first_argument(&mut joined, Expr::Function(collected));
    *expr = joined;
    Ok(())
}

/// Turns `arg_max(x, by)` into the first `x` in descending order of `by` where `by` is not NULL; `arg_min` is
/// ascending.
fn value_of_extreme(call: &mut Function, is_least: bool) -> Result<()> {
    let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
    if list.args.len() != 2 || !list.clauses.is_empty() || call.over.is_some() {
        return Ok(());
    }
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(mut by))) = list.args.pop() else { return Ok(()) };
    nest_constant(&mut by);
    let options = OrderByOptions { asc: Some(is_least), nulls_first: Some(false) };
    let order = OrderByExpr { expr: by.clone(), options, with_fill: None };
    list.clauses.push(FunctionArgumentClause::OrderBy(vec![order]));
    let mut condition = Expr::IsNotNull(Box::new(by));
    if let Some(other) = call.filter.take() {
        condition = binary(Expr::Nested(other), BinaryOperator::And, condition);
    }
    call.filter = Some(Box::new(condition));
    rename(call, "first_value");
    Ok(())
}

/// A number in the ORDER BY of an aggregate is a constant. DataFusion takes it for the position of a column, unless it
/// is in parentheses.
fn order_by_constants(call: &mut Function) {
    let FunctionArguments::List(list) = &mut call.args else { return };
    for clause in &mut list.clauses {
        if let FunctionArgumentClause::OrderBy(items) = clause {
            for item in items {
                nest_constant(&mut item.expr);
            }
        }
    }
}

fn nest_constant(expr: &mut Expr) {
    if matches!(expr, Expr::Value(_)) {
        *expr = Expr::Nested(Box::new(expr.clone()));
    }
}

/// `regr_r2` is 1 if all dependent values are equal, and NULL if the independent ones are equal, too.
fn fit_of_equals(expr: &mut Expr) -> Result<()> {
    let named = |name: &str| {
        let mut other = expr.clone();
        if let Expr::Function(call) = &mut other {
            rename(call, name);
        }
        other
    };
    let mut fit = expression("CASE WHEN NULL > 0 AND NULL = 0 THEN 1.0 ELSE NULL END")?;
    if let Expr::Case { conditions, else_result, .. } = &mut fit {
        if let Some(first) = conditions.first_mut()
            && let Expr::BinaryOp { left, right, .. } = &mut first.condition
            && let Expr::BinaryOp { left: of_x, .. } = left.as_mut()
            && let Expr::BinaryOp { left: of_y, .. } = right.as_mut()
        {
            **of_x = named("regr_sxx");
            **of_y = named("regr_syy");
        }
        *else_result = Some(Box::new(expr.clone()));
    }
    *expr = fit;
    Ok(())
}
