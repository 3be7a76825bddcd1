//! Values of a `char(n)`: a column of this type, or a cast to it. They are texts without spaces at the end, and equal
//! texts are equal values. A constant or a cast to `varchar(n)` that is compared with one loses its spaces, too, as in
//! PostgreSQL, and any other text keeps them. Patterns, arrays, JSON and functions that write values of any type get
//! the value with its spaces.
//!
//! DataFusion 55.2 has no type for `char(n)`. No upstream issue known.

use crate::functions::base::text_types::TextType;
use crate::functions::types::char_texts::{PADDED, VARCHAR, declared_char, padded_char, trimmed};
use crate::functions::types::declared::{is_untyped, text_type_of};
use crate::workarounds::shared::writing_functions::writes_values;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunctionParams, Like, WindowFunctionParams};
use datafusion::logical_expr::{Expr, Operator};

/// The aggregate that gets values with their spaces.
const COLLECTING: &str = "array_agg";

/// Functions that get values with their spaces, beside those that [write](writes_values) values: they keep values, or
/// count the spaces.
const PADDING: [&str; 2] = ["make_array", "octet_length"];

/// Gives the values of a `char(n)` in a pattern match, or among the arguments of a function, the spaces that count
/// there. Returns whether there were any.
pub(super) fn pad_operands(expr: &mut Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Like(like) => !is_blind_to_spaces(like) && pad(&mut like.expr, schema),
        Expr::SimilarTo(like) => pad(&mut like.expr, schema),
        Expr::BinaryExpr(binary) if matches_pattern(binary.op) => pad(&mut binary.left, schema),
        Expr::ScalarFunction(call) if is_padding(call.func.name()) => pad_all(&mut call.args, schema),
        Expr::AggregateFunction(call) if call.func.name() == COLLECTING => {
            let AggregateFunctionParams { args, order_by, .. } = &mut call.params;
            // The keys that sort distinct values are these values.
            let keys = order_by.iter_mut().filter(|key| args.contains(&key.expr));
            let has_padded_keys = keys.fold(false, |is_changed, key| pad(&mut key.expr, schema) | is_changed);
            pad_all(args, schema) | has_padded_keys
        }
        Expr::WindowFunction(call) if call.fun.name() == COLLECTING => {
            let WindowFunctionParams { args, .. } = &mut call.params;
            pad_all(args, schema)
        }
        _ => false,
    }
}

fn is_padding(function: &str) -> bool {
    PADDING.contains(&function) || writes_values(function)
}

fn pad_all(values: &mut [Expr], schema: &DFSchema) -> bool {
    values.iter_mut().fold(false, |is_changed, value| pad(value, schema) | is_changed)
}

fn pad(value: &mut Expr, schema: &DFSchema) -> bool {
    let Some(TextType::Char(Some(characters))) = text_type_of(value, schema) else { return false };
    *value = padded_char(characters).call(vec![std::mem::take(value)]);
    true
}

fn matches_pattern(operator: Operator) -> bool {
    use Operator as O;
    matches!(operator, O::LikeMatch | O::ILikeMatch | O::NotLikeMatch | O::NotILikeMatch)
        || matches!(operator, O::RegexMatch | O::RegexIMatch | O::RegexNotMatch | O::RegexNotIMatch)
}

/// Returns whether spaces at the end of a text make no difference to a match: the pattern ends in `%`, and the rest of
/// it matches no spaces. Chunks without such texts can then be skipped.
fn is_blind_to_spaces(like: &Like) -> bool {
    match like.pattern.as_ref() {
        Expr::Literal(ScalarValue::Utf8(Some(pattern)) | ScalarValue::Utf8View(Some(pattern)), _) => {
            like.escape_char.is_none() && pattern.ends_with('%') && !pattern.contains([' ', '_', '\\'])
        }
        _ => false,
    }
}

/// Settles expressions that are compared with each other if there are values of a `char(n)` among them. Returns whether
/// something changed.
pub(super) fn settle(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let are_bare = exprs.iter_mut().fold(false, |is_changed, expr| make_bare(expr) | is_changed);
    let is_char = |expr: &Expr| text_type_of(expr, schema).is_some_and(|of| of.is_char());
    let loses_spaces = |expr: &Expr| is_char(expr) || is_varchar(expr) || is_constant(expr);
    if !exprs.iter().any(|expr| is_char(expr)) || !exprs.iter().all(|expr| loses_spaces(expr)) {
        return are_bare;
    }
    let others = exprs.iter_mut().filter(|expr| !is_char(expr));
    others.fold(are_bare, |is_changed, other| trim(other) | is_changed)
}

/// Takes the spaces from an element of an array again whose elements are compared.
fn make_bare(expr: &mut Expr) -> bool {
    let value = match expr {
        Expr::ScalarFunction(call) if call.func.name() == PADDED => call.args.pop(),
        _ => None,
    };
    let Some(value) = value else { return false };
    *expr = value;
    true
}

fn is_varchar(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == VARCHAR)
}

/// Returns whether it is a constant or a parameter without a type. Its value may have the type of a mapped column.
fn is_constant(expr: &Expr) -> bool {
    is_untyped(expr) || matches!(expr, Expr::Placeholder(_) | Expr::Literal(ScalarValue::Dictionary(..), _))
}

/// Removes the spaces at the end of a value. Returns whether something changed.
fn trim(expr: &mut Expr) -> bool {
    if let Expr::Literal(value, _) = expr {
        let Some(trimmed) = trimmed(value) else { return false };
        *value = trimmed;
        return true;
    }
    *expr = declared_char(None).call(vec![std::mem::take(expr)]);
    true
}
