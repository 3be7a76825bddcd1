//! Operator precedence. In PostgreSQL `^` is power and binds tighter than `*`; `#` is the exclusive or, and binds like
//! `&`, `|`, `<<`, `>>` and `||`: looser than `+`, from left to right. The parser reads `^` as MySQL's exclusive or,
//! does not know `#`, lets `||` bind like `*`, and gives each of the others a precedence of its own. So chains of
//! operators without parentheses are regrouped. DataFusion does not know `OPERATOR(...)`.
//!
//! Waits for [#2461](https://github.com/apache/datafusion-sqlparser-rs/issues/2461) of the parser (`&`).
//! [#22252](https://github.com/apache/datafusion/issues/22252) (`^`) is fixed for the parser's PostgreSQL dialect
//! alone; for the others no upstream issue is known.

use crate::workarounds::syntax::{expression, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Turns `a # b` into the operator `XOR`, which the parser knows. No statement may contain the word itself.
pub(crate) fn sharps_to_words(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        if token.token == Token::Sharp {
            let xor = Word { value: "#".to_owned(), quote_style: None, keyword: Keyword::XOR };
            token.token = Token::Word(xor);
        } else if let Token::Word(Word { quote_style: None, keyword: keyword @ Keyword::XOR, .. }) = &mut token.token {
            *keyword = Keyword::NoKeyword;
        }
    }
}

/// Writes the operators `@>`, `@?` and `@@` after a name, where the tokenizer mistakes `@` for a letter.
pub(crate) fn join_at_operators(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(has_at) {
        return;
    }
    let mut joined = Vec::with_capacity(tokens.len());
    let mut rest = std::mem::take(tokens).into_iter().peekable();
    while let Some(token) = rest.next() {
        let Token::Word(Word { value, quote_style: None, .. }) = &token.token else {
            joined.push(token);
            continue;
        };
        let ends_in_one = value.ends_with('@') && !value.ends_with("@@");
        let operator = match rest.peek().map(|next| &next.token) {
            Some(Token::Gt) if ends_in_one => Some(Token::AtArrow),
            Some(Token::Question) if ends_in_one => Some(Token::AtQuestion),
            Some(Token::Placeholder(mark)) if ends_in_one && mark == "?" => Some(Token::AtQuestion),
            _ => None,
        };
        if operator.is_none() && !value.contains("@@") {
            joined.push(token);
            continue;
        }
        let span = token.span;
        let operands = if operator.is_some() { value.strip_suffix('@').unwrap_or(value) } else { value };
        for (at, operand) in operands.split("@@").enumerate() {
            if at > 0 {
                joined.push(TokenWithSpan::new(Token::AtAt, span));
            }
            if !operand.is_empty() {
                joined.push(TokenWithSpan::new(operand_token(operand), span));
            }
        }
        if let Some(operator) = operator {
            joined.push(TokenWithSpan::new(operator, span));
            drop(rest.next());
        }
    }
    *tokens = joined;
}

/// Returns whether a token is a name with `@` in it. Few statements have one.
fn has_at(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.contains('@'),
        _ => false,
    }
}

/// A part of a name that is an operand of its own.
fn operand_token(text: &str) -> Token {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(text) {
        Token::Number(text.to_owned(), false)
    } else if text.strip_prefix('$').is_some_and(is_number) {
        Token::Placeholder(text.to_owned())
    } else {
        Token::make_word(text, None)
    }
}

/// Turns the operator `XOR` into PostgreSQL's exclusive or.
pub(crate) fn word_to_sharp(expr: &mut Expr) {
    if let Expr::BinaryOp { op: op @ BinaryOperator::Xor, .. } = expr {
        *op = BinaryOperator::PGBitwiseXor;
    }
}

/// Writes `a OPERATOR(pg_catalog.+) b` as `((a) + (b))`. Whatever the operator, it binds looser than arithmetic.
pub(crate) fn plain_operator(expr: &mut Expr) {
    let Expr::BinaryOp { left, op: BinaryOperator::PGCustomBinaryOperator(names), right } = expr else { return };
    let symbol = match names.as_slice() {
        [symbol] => symbol,
        [schema, symbol] if schema.eq_ignore_ascii_case("pg_catalog") => symbol,
        _ => return,
    };
    if !symbol.chars().all(|letter| "+-*/<>=~!@#%^&|?".contains(letter)) {
        return;
    }
    let Ok(Expr::BinaryOp { op, .. }) = expression(&format!("NULL {symbol} NULL")) else { return };
    let nested = |operand: &mut Box<Expr>| {
        Box::new(Expr::Nested(std::mem::replace(operand, Box::new(Expr::value(Value::Null)))))
    };
    *expr = Expr::Nested(Box::new(Expr::BinaryOp { left: nested(left), op, right: nested(right) }));
}

/// Regroups the operators of an expression as PostgreSQL does, and writes `^` as calls of `power`.
pub(crate) fn settle_operators(expr: &mut Expr) -> Result<()> {
    let mut found = Vec::new();
    operators_of(expr, &mut found);
    let (Some(first), Some(least)) = (found.first(), found.iter().filter_map(tightness).min()) else {
        return Ok(());
    };
    let is_mixed = least == LEAST && found.iter().any(|op| op != first);
    if !is_mixed && !found.contains(&BinaryOperator::BitwiseXor) {
        return Ok(());
    }
    let (mut operands, mut operators) = (Vec::new(), Vec::new());
    flatten(std::mem::replace(expr, Expr::value(Value::Null)), &mut operands, &mut operators);
    let mut rest = Chain { operands: operands.into_iter().peekable(), operators: operators.into_iter().peekable() };
    *expr = rest.sum(0)?;
    Ok(())
}

/// The precedence of the loosest of these operators.
const LEAST: u8 = 1;

/// The precedence of an operator in PostgreSQL; `None` for operators that bind looser than all of these in the parser,
/// too.
fn tightness(op: &BinaryOperator) -> Option<u8> {
    use BinaryOperator as B;
    Some(match op {
        B::BitwiseXor => 4,
        B::Multiply | B::Divide | B::Modulo => 3,
        B::Plus | B::Minus => 2,
        B::StringConcat | B::BitwiseAnd | B::BitwiseOr | B::PGBitwiseXor => LEAST,
        B::PGBitwiseShiftLeft | B::PGBitwiseShiftRight => LEAST,
        _ => return None,
    })
}

fn operators_of(expr: &Expr, found: &mut Vec<BinaryOperator>) {
    if let Expr::BinaryOp { left, op, right } = expr
        && tightness(op).is_some()
    {
        operators_of(left, found);
        found.push(op.clone());
        operators_of(right, found);
    }
}

fn flatten(expr: Expr, operands: &mut Vec<Expr>, operators: &mut Vec<BinaryOperator>) {
    match expr {
        Expr::BinaryOp { left, op, right } if tightness(&op).is_some() => {
            flatten(*left, operands, operators);
            operators.push(op);
            flatten(*right, operands, operators);
        }
        operand => operands.push(operand),
    }
}

struct Chain {
    operands: std::iter::Peekable<std::vec::IntoIter<Expr>>,
    operators: std::iter::Peekable<std::vec::IntoIter<BinaryOperator>>,
}

impl Chain {
    /// Builds an expression from the next operands and those operators that bind tighter than `level`. Operators of
    /// equal precedence are applied from left to right.
    fn sum(&mut self, level: u8) -> Result<Expr> {
        let mut left = self.operands.next().unwrap_or_else(|| Expr::value(Value::Null));
        while let Some(of_operator) = self.operators.peek().and_then(tightness).filter(|of| *of > level) {
            let Some(op) = self.operators.next() else { break };
            let right = self.sum(of_operator)?;
            left = match op {
                BinaryOperator::BitwiseXor => {
                    let mut call = expression("power(NULL, NULL)")?;
                    let as_double = |operand: Expr| -> Result<Expr> {
                        let mut cast = expression("CAST(NULL AS DOUBLE PRECISION)")?;
                        if let Expr::Cast { expr, .. } = &mut cast {
                            **expr = operand;
                        }
                        Ok(cast)
                    };
                    set_arguments(&mut call, vec![as_double(left)?, as_double(right)?]);
                    call
                }
                op => Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) },
            };
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workarounds::syntax::tokens::dialect::StatementDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    fn rewritten(text: &str) -> Vec<TokenWithSpan> {
        let mut tokens = Tokenizer::new(&StatementDialect::new(0), text).tokenize_with_location().unwrap();
        sharps_to_words(&mut tokens);
        join_at_operators(&mut tokens);
        tokens
    }

    #[test]
    fn operators_need_no_blanks() {
        for (text, expected) in [
            ("doc@@path", "doc @@ path"),
            ("doc@@$1", "doc @@ $1"),
            ("doc@@'$'", "doc @@ '$'"),
            ("a@@b@@c", "a @@ b @@ c"),
            ("a@@b@>c", "a @@ b @> c"),
            ("doc@?'$'", "doc @? '$'"),
            ("doc@>'1'", "doc @> '1'"),
            ("\"a@@b\",a@b", "\"a@@b\" , a@b"),
            ("a#b", "a # b"),
        ] {
            let written: Vec<String> = rewritten(text).iter().map(|token| token.to_string()).collect();
            assert_eq!(written.join(" "), expected, "{text}");
        }
    }

    /// A time for each pair of operators would be many minutes.
    #[test]
    fn a_statement_may_have_many_operators() {
        const COUNT: usize = 200_000;
        let tokens = rewritten(&"a@@b ".repeat(COUNT));
        assert_eq!(tokens.iter().filter(|token| token.token == Token::AtAt).count(), COUNT);
    }
}
