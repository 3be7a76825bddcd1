//! PromQL's text: words, syntax tree, types.
//!
//! The grammar is that of Prometheus 3, its experimental parts included. The parser is written by hand: the crates for
//! it lag behind the language and bring a parser generator.

mod ast;
mod check;
mod expression;
mod functions;
mod lex;
mod selector;
mod span;
mod span_words;
mod unescape;
mod value_type;

pub use ast::{
    Aggregate, AggregateOp, At, Binary, BinaryOp, Cardinality, Edge, Expr, ExprKind, Matching, Selector, Shift,
};
pub use check::type_of;
pub use functions::Function;
pub use lex::SyntaxError;
pub(crate) use lex::line_and_column;
pub use span::{Span, SpanOp};
pub use value_type::ValueType;

use expression::Parser;

/// Parses and checks an expression.
pub fn parse(text: &str) -> Result<Expr, SyntaxError> {
    let mut parser = Parser::new(text)?;
    let expr = parser.whole()?;
    check::check(&expr).map_err(|misfit| misfit.in_text(text))?;
    Ok(expr)
}

/// Parses a series selector, as the API's `match[]` has it.
pub fn parse_selector(text: &str) -> Result<Selector, SyntaxError> {
    let expr = parse(text)?;
    match expr.kind {
        ExprKind::Selector(selector) if selector.shift.is_none() => Ok(selector),
        _ => Err(SyntaxError::at(text, 0, "expected a series selector")),
    }
}
