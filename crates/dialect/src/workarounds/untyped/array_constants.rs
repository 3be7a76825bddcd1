//! Text constants that stand for one of several values of a type, for arrays and for their elements:
//! `coalesce(day, '2024-01-01')`, `tags IS DISTINCT FROM '{a}'`, `CASE WHEN x THEN tags ELSE '{}' END`,
//! `'7' = ANY (numbers)`. Each becomes the right operand of an operator whose left operand has the type. While the
//! statement is planned, [`texts`](super::texts) reads the constant as such a value and leaves nothing of the operator.
//! A number with a point among the elements is written like that, too, because DataFusion knows no type for a decimal
//! beside an array of floats.
//!
//! `ARRAY[...]` becomes a call of a function, because DataFusion plans its elements without the outer queries, whose
//! columns they may mention. A constant beside a cast to bytes becomes such a cast: `ARRAY['\x01'::bytea, NULL]`.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041) (constants).

use crate::text::tree_walk::{visit_expressions, visit_expressions_mut};
use crate::workarounds::syntax::{expression, is_null, set_arguments};
use datafusion::sql::sqlparser::ast::{
    Array, BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Statement, Value, ValueWithSpan,
};
use std::ops::ControlFlow;

/// The operator whose left operand is a value of the type of the right operand, often an array.
pub(crate) const ARRAY: &str = "\u{1}array";

/// The operator whose left operand is an array that has elements like the right operand.
pub(crate) const ELEMENT: &str = "\u{1}element";

/// Writes the operators. Called when the headings of the columns have been read from the statement.
pub fn write_array_constants(statement: &mut Statement) {
    let _ = visit_expressions_mut(statement, |expr| {
        match expr {
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                beside_values(vec![left, right]);
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let (mut compared, mut results) = (Vec::new(), Vec::new());
                for CaseWhen { condition, result } in conditions {
                    compared.push(condition);
                    results.push(result);
                }
                results.extend(else_result.as_deref_mut());
                beside_values(results);
                if let Some(operand) = operand {
                    compared.push(operand);
                    beside_values(compared);
                }
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. }
                if !matches!(right.as_ref(), Expr::Subquery(_)) =>
            {
                of_array(right, vec![left]);
            }
            Expr::Function(function) => in_arguments(function),
            Expr::Array(Array { elem, .. }) if !elem.is_empty() => {
                cast_to_bytes(elem);
                if let Ok(mut call) = expression("make_array(NULL)") {
                    set_arguments(&mut call, std::mem::take(elem));
                    *expr = call;
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Casts the constants among the elements of an array to bytes if another element is such a cast. DataFusion knows no
/// type that bytes have in common with anything else.
fn cast_to_bytes(elements: &mut [Expr]) {
    let Some(of_bytes) = elements.iter().find_map(type_of_bytes).cloned() else { return };
    for element in elements.iter_mut().filter(|element| is_null(element) || text(element).is_some()) {
        let constant = Box::new(std::mem::replace(element, Expr::value(Value::Null)));
        let (kind, data_type) = (CastKind::Cast, of_bytes.clone());
        *element = Expr::Cast { kind, expr: constant, data_type, array: false, format: None };
    }
}

/// The type that an expression is cast to, if its values are bytes.
fn type_of_bytes(expr: &Expr) -> Option<&DataType> {
    match expr {
        Expr::Nested(inner) => type_of_bytes(inner),
        Expr::Cast { data_type: of @ (DataType::Bytea | DataType::Blob(None)), .. } => Some(of),
        _ => None,
    }
}

fn in_arguments(function: &mut Function) {
    let [name] = function.name.0.as_slice() else { return };
    let Some(name) = name.as_ident().map(|name| name.value.to_ascii_lowercase()) else { return };
    let FunctionArguments::List(list) = &mut function.args else { return };
    let arguments = list.args.iter_mut().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    });
    match name.as_str() {
        "coalesce" | "nullif" | "greatest" | "least" => beside_values(arguments.collect()),
        "array_cat" | "array_concat" => beside_arrays(arguments.collect()),
        "array_prepend" => {
            if let [element, array] = arguments.collect::<Vec<_>>().as_mut_slice() {
                of_array(array, vec![&mut **element]);
            }
        }
        "array_append" | "array_position" | "array_positions" | "array_remove_all" | "array_replace_all" => {
            let mut arguments = arguments;
            if let Some(array) = arguments.next() {
                of_array(array, arguments.collect());
            }
        }
        _ => {}
    }
}

/// Marks the constants among expressions of one type.
fn beside_values(exprs: Vec<&mut Expr>) {
    mark_some(exprs, |_| true);
}

/// Marks the constants among expressions of one type that may be arrays.
fn beside_arrays(exprs: Vec<&mut Expr>) {
    mark_some(exprs, |text| text.trim_start().starts_with('{'));
}

fn mark_some(exprs: Vec<&mut Expr>, is_marked: fn(&str) -> bool) {
    let is_constant = |expr: &Expr| text(expr).is_some_and(is_marked);
    if !exprs.iter().any(|expr| is_constant(expr)) {
        return;
    }
    let Some(typed) = exprs.iter().find(|expr| has_type(expr)).map(|expr| type_source(expr).clone()) else { return };
    mark(exprs.into_iter().filter(|expr| is_constant(expr)), &typed, ARRAY);
}

/// Marks the constants among the elements of an array.
fn of_array(array: &Expr, elements: Vec<&mut Expr>) {
    let is_constant = |element: &Expr| text(element).is_some() || is_decimal(element);
    if elements.iter().any(|element| is_constant(element)) && has_type(array) {
        mark(elements.into_iter().filter(|element| is_constant(element)), type_source(array), ELEMENT);
    }
}

fn mark<'a>(constants: impl Iterator<Item = &'a mut Expr>, typed: &Expr, operator: &str) {
    // Copies of copies would grow without bounds.
    let unmarked = visit_expressions(typed, |expr| {
        if mark_of(expr).is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if unmarked.is_break() {
        return;
    }
    for constant in constants {
        let right = Box::new(std::mem::replace(constant, Expr::value(Value::Null)));
        let op = BinaryOperator::Custom(operator.to_owned());
        *constant = Expr::BinaryOp { left: Box::new(typed.clone()), op, right };
    }
}

/// The operand with the type, if the expression is a marked constant.
fn mark_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Custom(name), .. } if name == ARRAY || name == ELEMENT => Some(left),
        _ => None,
    }
}

/// The part of an expression that has the expression's type and is not such a constant.
fn type_source(expr: &Expr) -> &Expr {
    if let Some(typed) = mark_of(expr) {
        return typed;
    }
    let first = match expr {
        Expr::Nested(inner) => Some(inner.as_ref()),
        Expr::Case { conditions, else_result, .. } => {
            let mut results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            results.find(|result| has_type(result))
        }
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if matches!(name.to_string().to_ascii_lowercase().as_str(), "coalesce" | "nullif") =>
        {
            let mut arguments = list.args.iter().filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
                _ => None,
            });
            arguments.find(|argument| has_type(argument))
        }
        _ => None,
    };
    first.map_or(expr, type_source)
}

/// Returns whether an expression has a type of its own: it is neither a constant nor a parameter.
fn has_type(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => has_type(inner),
        Expr::Value(_) => false,
        _ => true,
    }
}

/// Returns whether an expression is a number with a point.
fn is_decimal(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => is_decimal(inner),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.contains('.'),
        _ => false,
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::statement::parse_declaring;
    use crate::text::params::Parameters;
    use crate::text::source_position::SourcePosition;

    fn written(expression: &str) -> String {
        let text = format!("SELECT {expression}");
        let mut statement = parse_declaring(&text, SourcePosition::START, &Parameters::none()).unwrap();
        write_array_constants(&mut statement);
        statement.to_string()
    }

    #[test]
    fn a_constant_gets_the_operand_with_its_type() {
        for (expression, operand) in [
            ("coalesce('{}', NULL, a)", "a \u{1}array '{}'"),
            ("coalesce(day, '2024-01-01')", "day \u{1}array '2024-01-01'"),
            ("CASE k WHEN '1' THEN 2 ELSE 3 END", "k \u{1}array '1'"),
            ("x IS DISTINCT FROM 'a'", "x \u{1}array 'a'"),
            ("CASE WHEN x THEN '{}' ELSE nullif(b, '{q}') END", "b \u{1}array '{}'"),
            ("array_append(a, '7')", "a \u{1}element '7'"),
            ("-0.5 = ANY (c)", "c \u{1}element -0.5"),
        ] {
            let written = written(expression);
            assert!(written.contains(operand), "{expression}: {written}");
        }
        for text in ["array_cat(a, '')", "coalesce(NULL, '{}')", "x = ANY (SELECT '{}')", "x = 'a'"] {
            let written = written(text);
            assert!(!written.contains(ARRAY) && !written.contains(ELEMENT), "{text}: {written}");
        }
    }

    #[test]
    fn nested_constants_do_not_multiply() {
        for function in ["coalesce", "array_cat"] {
            let nested = (0..20).fold("a".to_owned(), |inner, _| format!("{function}({inner}, '{{}}')"));
            let length = written(&nested).len();
            assert!(length < 10 * nested.len(), "{function}: {length}");
        }
    }
}
