//! Expressions that the parser knows and DataFusion refuses or answers differently, written in another form: casts to
//! `varchar(n)`, which cut, and to `float`, which is a `DOUBLE`; `= ANY` and `<> ALL` of a list; comparisons with `ANY`
//! and `ALL` of a text that is an array; the operators `^@`, `&&`, `~`, `|/`, `||/` and `@`;
//! `substring(text FROM pattern)`, also with `FOR escape`; other escape characters of `SIMILAR TO`; texts in quotes in
//! the place of booleans; `IS NORMALIZED`; `COLLATE` of the order that texts have anyway; the types `name`, `"char"`,
//! `oid`, `int2vector` and `oidvector`.
//!
//! [#10743](https://github.com/apache/datafusion/issues/10743) is closed upstream, but the length of a `varchar(n)` is
//! still ignored; for the others no upstream issue is known.

use super::composed_functions::filled;
use super::line_ends::match_line_ends;
use super::literal_numerics::keep_digits;
use super::row_members::opposite;
use crate::functions::texts::strings::{CUT_CHAR, CUT_NAME, INT2VECTOR, OIDVECTOR};
use crate::functions::types::char_texts::{CHAR, VARCHAR};
use crate::text::declared_length::declared_length;
use crate::text::errors::{not_supported, sql_error};
use crate::text::similar_pattern::regular_expression;
use crate::workarounds::syntax::{any_of, binary, expression, set_arguments, set_first_argument};
use atsdb_core::{Result, array_text};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, ArrayElemTypeDef, BinaryOperator, DataType, ExactNumberInfo, Expr, ObjectName, Subscript,
    UnaryOperator, Value, ValueWithSpan,
};

/// Collations that compare texts by their code points, as everything here does.
const PLAIN_COLLATIONS: [&str; 6] = ["c", "posix", "default", "c.utf8", "c.utf-8", "ucs_basic"];

/// Types of PostgreSQL's catalogue that are texts here, and the functions that read their values.
const READINGS: [(&str, &str); 4] =
    [("name", CUT_NAME), ("char", CUT_CHAR), ("int2vector", INT2VECTOR), ("oidvector", OIDVECTOR)];

/// Rewrites an expression whose parts have been rewritten already.
pub(crate) fn other_forms(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Cast { expr: operand, data_type, .. } => {
            if is_custom(data_type, "oid")
                && let Some(number) = oid_of_negative(operand)
            {
                **operand = number;
            }
            drop_length(data_type);
            write_float(data_type)?;
            if is_vector(operand) && matches!(data_type, DataType::Array(_)) {
                **operand = filled("string_to_array(a, ' ')", &[operand.as_ref()])?;
            }
            let reading = READINGS.iter().find(|(name, _)| is_custom(data_type, name)).map(|(_, reading)| *reading);
            write_catalogue_type(data_type);
            keep_digits(expr)?;
            match reading {
                Some(function) => enclose(expr, function),
                None => cut_to_length(expr),
            }
        }
        Expr::TypedString(literal) => {
            write_float(&mut literal.data_type)?;
            keep_digits(expr)
        }
        Expr::BinaryOp { op: BinaryOperator::PGStartsWith, .. } => as_call(expr, "starts_with(NULL, NULL)"),
        Expr::UnaryOp { op: UnaryOperator::PGSquareRoot, expr: operand } => {
            *expr = of_float("sqrt(NULL)", operand)?;
            Ok(())
        }
        Expr::UnaryOp { op: UnaryOperator::PGCubeRoot, expr: operand } => {
            *expr = of_float("cbrt(NULL)", operand)?;
            Ok(())
        }
        Expr::UnaryOp { op: UnaryOperator::PGAbs, expr: operand } => {
            let mut call = expression("abs(NULL)")?;
            set_first_argument(&mut call, operand.as_ref().clone());
            *expr = call;
            Ok(())
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr: operand } => {
            *expr = inverse_bits(operand)?;
            Ok(())
        }
        Expr::Substring {
            expr: text, substring_from: Some(pattern), substring_for: None, shorthand: false, ..
        } if is_text(pattern.as_ref()) => {
            *expr = matched_part(text, pattern)?;
            Ok(())
        }
        Expr::Substring {
            expr: text,
            substring_from: Some(pattern),
            substring_for: Some(escape),
            shorthand: false,
            ..
        } if let (Some(pattern), Some(escape)) = (text_in(pattern), text_in(escape)) => {
            *expr = similar_part(text, &pattern, &escape)?;
            Ok(())
        }
        // Without an escape character, or with one of several bytes, which the planner refuses.
        Expr::SimilarTo { negated, expr: text, pattern, escape_char: Some(escape) }
            if let Some(pattern) = text_in(pattern)
                && let Value::SingleQuotedString(escape) = escape.value.clone()
                && escape.len() != 1 =>
        {
            let regular = regular_expression(&pattern, escape_in(&escape)?)?;
            let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
            let found = binary((**text).clone(), op, Expr::value(Value::SingleQuotedString(regular)));
            *expr = Expr::Nested(Box::new(found));
            Ok(())
        }
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            as_boolean(left)?;
            as_boolean(right)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr: operand }
        | Expr::IsTrue(operand)
        | Expr::IsNotTrue(operand)
        | Expr::IsFalse(operand)
        | Expr::IsNotFalse(operand)
        | Expr::IsUnknown(operand)
        | Expr::IsNotUnknown(operand) => as_boolean(operand),
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if let Some(list) = items(right) => {
            *expr = in_list(left, list, false);
            Ok(())
        }
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } if let Some(list) = items(right) => {
            *expr = in_list(left, list, true);
            Ok(())
        }
        Expr::AnyOp { left, compare_op, right, .. }
            if opposite(compare_op).is_some()
                && let Some(items) = text_in(right).as_deref().and_then(items_of_text) =>
        {
            *expr = compared(left, compare_op, &items, &BinaryOperator::Or);
            Ok(())
        }
        Expr::AllOp { left, compare_op, right }
            if opposite(compare_op).is_some()
                && let Some(items) = text_in(right).as_deref().and_then(items_of_text) =>
        {
            *expr = compared(left, compare_op, &items, &BinaryOperator::And);
            Ok(())
        }
        // DataFusion does not return NULL if the array has one, only for ALL.
        Expr::AnyOp { left, compare_op, right, .. }
            if is_array(right)
                && let Some(compare_op) = opposite(compare_op) =>
        {
            let none = Expr::AllOp { left: left.clone(), compare_op, right: right.clone() };
            let none = Box::new(Expr::Nested(Box::new(none)));
            *expr = Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: none }));
            Ok(())
        }
        Expr::CompoundFieldAccess { access_chain, .. } => access_chain.iter_mut().try_for_each(complete_slice),
        Expr::IsNormalized { expr: text, form, negated } => {
            let form = form.as_ref().map_or_else(|| "NFC".to_owned(), ToString::to_string);
            let op = if *negated { "<>" } else { "=" };
            *expr = filled(&format!("(normalize(a, '{form}') {op} a)"), &[text.as_ref()])?;
            Ok(())
        }
        Expr::Collate { expr: text, collation } => {
            check_collation(collation)?;
            *expr = text.as_ref().clone();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `~ x` as `x # -1`. Of a network address, too, for which the planner of its operators knows this form.
fn inverse_bits(operand: &Expr) -> Result<Expr> {
    let mut inverse = expression("(NULL + CAST(-1 AS INT))")?;
    if let Expr::Nested(inner) = &mut inverse
        && let Expr::BinaryOp { left, op, .. } = inner.as_mut()
    {
        *op = BinaryOperator::PGBitwiseXor;
        **left = Expr::Nested(Box::new(operand.clone()));
    }
    Ok(inverse)
}

/// `substring(text FROM pattern)`: the first group of the first match, or the match.
fn matched_part(text: &Expr, pattern: &Expr) -> Result<Expr> {
    let mut found = expression("(regexp_match(NULL, NULL))[1]")?;
    if let Expr::CompoundFieldAccess { root, .. } = &mut found
        && let Expr::Nested(call) = root.as_mut()
    {
        set_arguments(call, vec![text.clone(), pattern.clone()]);
        match_line_ends(call)?;
    }
    Ok(found)
}

/// The escape character of a pattern of `SIMILAR TO`; `None` of an empty text.
fn escape_in(escape: &str) -> Result<Option<char>> {
    let mut letters = escape.chars();
    match (letters.next(), letters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(sql_error("invalid escape string").with_hint("the escape string must be empty or one character")),
    }
}

/// A text in quotes where a boolean stands is one.
fn as_boolean(operand: &mut Expr) -> Result<()> {
    if is_text(operand) {
        *operand = filled("CAST(a AS BOOLEAN)", &[&*operand])?;
    }
    Ok(())
}

/// `substring(text FROM pattern FOR escape)`, whose pattern is one of `SIMILAR TO`.
fn similar_part(text: &Expr, pattern: &str, escape: &str) -> Result<Expr> {
    let regular = Expr::value(Value::SingleQuotedString(regular_expression(pattern, escape_in(escape)?)?));
    let mut found = expression("(regexp_match(NULL, NULL))[1]")?;
    if let Expr::CompoundFieldAccess { root, .. } = &mut found
        && let Expr::Nested(call) = root.as_mut()
    {
        set_arguments(call, vec![text.clone(), regular]);
    }
    Ok(found)
}

/// The text of a literal, also in parentheses.
fn text_in(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => text_in(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

/// Whether an expression is an array: the name of a column, elements in brackets, or a cast.
fn is_array(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_array(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Array(_) => true,
        Expr::Cast { data_type: DataType::Array(_), .. } => true,
        _ => false,
    }
}

/// `x[:2]` begins with the first element, and `x[2:]` ends with the last one.
fn complete_slice(access: &mut AccessExpr) -> Result<()> {
    if let AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) = access {
        for (bound, end) in [(lower_bound, "1"), (upper_bound, "2147483647")] {
            if bound.is_none() {
                *bound = Some(expression(end)?);
            }
        }
    }
    Ok(())
}

/// The items of a text that is an array, `'{a,b}'`, as texts; none of them if it is not written like that.
pub(super) fn items_of_text(text: &str) -> Option<Vec<Expr>> {
    let items = array_text::parse(text).ok()?;
    let value = |item: Option<String>| Expr::value(item.map_or(Value::Null, Value::SingleQuotedString));
    Some(items.into_iter().map(value).collect())
}

/// A list in the place of an array. In a list with a number with a point, PostgreSQL makes numbers with few digits of
/// all items if the other side has such; in an array it does not. So each item is then a list of its own.
fn in_list(left: &Expr, list: Vec<Expr>, negated: bool) -> Expr {
    let of = |list: Vec<Expr>| Expr::InList { expr: Box::new(left.clone()), list, negated };
    if list.len() < 2 || !list.iter().any(has_point) {
        return of(list);
    }
    let lists: Vec<Expr> = list.iter().map(|item| of(vec![item.clone()])).collect();
    let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
    any_of(lists, &op).unwrap_or_else(|| of(list))
}

/// The comparisons with the items of a text that is an array. Each item is a constant that gets the type of the other
/// side.
fn compared(left: &Expr, compare_op: &BinaryOperator, items: &[Expr], joined_by: &BinaryOperator) -> Expr {
    let with = |item: &Expr| Expr::Nested(Box::new(binary(left.clone(), compare_op.clone(), item.clone())));
    let none = Expr::value(Value::Boolean(*joined_by == BinaryOperator::And));
    any_of(items.iter().map(with).collect(), joined_by).unwrap_or(none)
}

/// Whether an expression is a number with a point or an exponent.
pub(crate) fn has_point(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => has_point(inner),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.contains(['.', 'e', 'E']),
        _ => false,
    }
}

/// The items of `ARRAY[a, b]`, if they are no arrays themselves, or of `'{a,b}'`.
fn items(array: &Expr) -> Option<Vec<Expr>> {
    match array {
        Expr::Nested(inner) => items(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => items_of_text(text),
        Expr::Array(Array { elem, .. })
            if !elem.is_empty() && !elem.iter().any(|item| matches!(item, Expr::Array(_))) =>
        {
            Some(elem.clone())
        }
        _ => None,
    }
}

/// Refuses a collation that orders texts in another way.
fn check_collation(collation: &ObjectName) -> Result<()> {
    let name = collation.0.last().and_then(|part| part.as_ident()).map(|name| name.value.to_ascii_lowercase());
    match name.is_some_and(|name| PLAIN_COLLATIONS.contains(&name.as_str())) {
        true => Ok(()),
        false => Err(not_supported(format_args!("COLLATE {collation}"))
            .with_hint("texts are ordered by their code points: leave it out, or write COLLATE \"C\"")),
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }))
}

/// A call with an operand as a `DOUBLE`.
fn of_float(template: &str, operand: &Expr) -> Result<Expr> {
    let mut float = expression("CAST(NULL AS DOUBLE)")?;
    if let Expr::Cast { expr, .. } = &mut float {
        **expr = operand.clone();
    }
    let mut call = expression(template)?;
    set_first_argument(&mut call, float);
    Ok(call)
}

/// Turns the operands of an operator into the arguments of a call.
fn as_call(expr: &mut Expr, template: &str) -> Result<()> {
    let Expr::BinaryOp { left, right, .. } = &*expr else { return Ok(()) };
    let mut call = expression(template)?;
    set_arguments(&mut call, vec![left.as_ref().clone(), right.as_ref().clone()]);
    *expr = call;
    Ok(())
}

/// Writes `int[4]` as `int[]`: the length means nothing.
fn drop_length(data_type: &mut DataType) {
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(element, length)) = data_type {
        *length = None;
        drop_length(element);
    }
}

/// Writes `float` as a `DOUBLE`, and `float(n)` as a `REAL` if it has up to 24 bits.
fn write_float(data_type: &mut DataType) -> Result<()> {
    match data_type {
        DataType::Float(ExactNumberInfo::None) => *data_type = DataType::DoublePrecision,
        DataType::Float(ExactNumberInfo::Precision(bits)) => {
            *data_type = match bits {
                0 => return Err(sql_error("FLOAT(0): a float has at least 1 bit")),
                1..=24 => DataType::Real,
                25..=53 => DataType::DoublePrecision,
                _ => return Err(sql_error(format!("FLOAT({bits}): a float has at most 53 bits"))),
            }
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => write_float(item)?,
        _ => {}
    }
    Ok(())
}

/// Writes types of PostgreSQL's catalogue as others: those of [`READINGS`] are texts, and an `oid` is an integer of 32
/// bits without a sign. A `bpchar` is a text, as a `char(n)` is.
fn write_catalogue_type(data_type: &mut DataType) {
    if is_custom(data_type, "bpchar") || READINGS.iter().any(|(name, _)| is_custom(data_type, name)) {
        *data_type = DataType::Text;
    } else if is_custom(data_type, "oid") {
        *data_type = DataType::IntUnsigned(None);
    }
}

/// The `oid` that a negative number of 32 bits is, which PostgreSQL counts back from the end.
fn oid_of_negative(expr: &Expr) -> Option<Expr> {
    let digits = match expr {
        Expr::Nested(inner)
        | Expr::Cast {
            expr: inner,
            data_type: DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None),
            ..
        } => return oid_of_negative(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => text.trim().strip_prefix('-')?,
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.as_str(),
            _ => return None,
        },
        _ => return None,
    };
    let number = digits.parse::<u32>().ok().filter(|number| *number <= i32::MIN.unsigned_abs())?;
    Some(Expr::value(Value::Number(number.wrapping_neg().to_string(), false)))
}

/// Whether it is the type of this name, without arguments.
fn is_custom(data_type: &DataType, wanted: &str) -> bool {
    let DataType::Custom(name, arguments) = data_type else { return false };
    let name = name.0.last().and_then(|part| part.as_ident());
    arguments.is_empty() && name.is_some_and(|name| name.value.eq_ignore_ascii_case(wanted))
}

/// Makes an expression the argument of a function.
fn enclose(expr: &mut Expr, function: &str) -> Result<()> {
    let mut call = expression(&format!("{function}(NULL)"))?;
    set_first_argument(&mut call, expr.clone());
    *expr = call;
    Ok(())
}

/// Returns whether an expression has been a cast to a list of numbers that is a text.
fn is_vector(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_vector(inner),
        Expr::Function(call) => [INT2VECTOR, OIDVECTOR].contains(&call.name.to_string().as_str()),
        _ => false,
    }
}

/// A cast to `varchar(n)` cuts, and one to `char(n)` also removes spaces at the end, which have no meaning in it.
/// `char` is `char(1)`. A cast to an array of them cuts the elements.
fn cut_to_length(expr: &mut Expr) -> Result<()> {
    let Expr::Cast { data_type, .. } = expr else { return Ok(()) };
    let (text_type, is_array) = match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => (element.as_mut(), true),
        data_type => (data_type, false),
    };
    let Some((length, is_padded)) = declared_length(text_type) else {
        if matches!(text_type, DataType::CharVarying(None) | DataType::CharacterVarying(None)) {
            *text_type = DataType::Text;
        }
        return Ok(());
    };
    *text_type = DataType::Text;
    if is_array {
        let mut cut = expression(&format!("cut_elements(NULL, {length}, {is_padded})"))?;
        set_first_argument(&mut cut, expr.clone());
        *expr = cut;
        return Ok(());
    }
    let function = if is_padded { CHAR } else { VARCHAR };
    let mut cut = expression(&format!("{function}(NULL, {length})"))?;
    set_first_argument(&mut cut, expr.clone());
    *expr = cut;
    Ok(())
}
