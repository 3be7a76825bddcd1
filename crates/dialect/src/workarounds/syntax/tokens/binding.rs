//! Operator precedence. In PostgreSQL `^` is power and binds tighter than `*`; `#` is the exclusive or, and binds like
//! `&`, `|`, `<<`, `>>` and `||`: looser than `+`, from left to right. The parser reads `^` as MySQL's exclusive or,
//! does not know `#`, lets `||` bind like `*`, and gives each of the others a precedence of its own. So chains of
//! operators without parentheses are regrouped. DataFusion does not know `OPERATOR(...)`.
//!
//! Waits for [#2461](https://github.com/apache/datafusion-sqlparser-rs/issues/2461) of the parser (`&`).
//! [#22252](https://github.com/apache/datafusion/issues/22252) (`^`) is fixed for the parser's PostgreSQL dialect
//! alone; for the others no upstream issue is known.

use crate::text::tree_walk::visit_expressions_mut;
use crate::workarounds::syntax::{expression, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Statement, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::ops::ControlFlow;

/// Turns `a # b` into the operator `XOR`, which the parser knows. No statement may contain the word itself.
pub(crate) fn sharps_to_words(tokens: &mut Vec<TokenWithSpan>) {
    let xor = || Token::Word(Word { value: "#".to_owned(), quote_style: None, keyword: Keyword::XOR });
    for token in tokens.iter_mut() {
        if let Token::Word(Word { quote_style: None, keyword: keyword @ Keyword::XOR, .. }) = &mut token.token {
            *keyword = Keyword::NoKeyword;
        }
    }
    let (mut at, mut follows_operand) = (0, false);
    while at < tokens.len() {
        let split = match &tokens[at].token {
            Token::Sharp => Some(None),
            // The tokenizer takes `#` for the start of a name.
            Token::Word(Word { value, quote_style: None, .. }) if follows_operand => {
                value.strip_prefix('#').map(|rest| Some(rest.to_owned()))
            }
            _ => None,
        };
        if let Some(rest) = split {
            tokens[at].token = xor();
            if let Some(rest) = rest {
                let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
                let token = if is_number { Token::Number(rest, false) } else { Token::make_word(&rest, None) };
                tokens.insert(at + 1, TokenWithSpan::new(token, tokens[at].span));
            }
        }
        if !matches!(tokens[at].token, Token::Whitespace(_)) {
            follows_operand = ends_operand(&tokens[at].token);
        }
        at += 1;
    }
}

/// Joins the operators `@>`, `@?` and `@@`, in which the tokenizer takes `@` for a letter behind a name.
pub(crate) fn join_at_operators(tokens: &mut Vec<TokenWithSpan>) {
    for at in (0..tokens.len()).rev() {
        let Token::Word(Word { value, quote_style: None, .. }) = &tokens[at].token else { continue };
        let (name, operator, is_joined) = if let Some(name) = value.strip_suffix("@@") {
            (name, Token::AtAt, false)
        } else if let Some(name) = value.strip_suffix('@') {
            let operator = match tokens.get(at + 1).map(|next| &next.token) {
                Some(Token::Gt) => Token::AtArrow,
                Some(Token::Question) => Token::AtQuestion,
                Some(Token::Placeholder(mark)) if mark == "?" => Token::AtQuestion,
                _ => continue,
            };
            (name, operator, true)
        } else {
            continue;
        };
        let span = tokens[at].span;
        let name = (!name.is_empty()).then(|| TokenWithSpan::new(Token::make_word(name, None), span));
        let end = at + 1 + usize::from(is_joined);
        drop(tokens.splice(at..end, name.into_iter().chain([TokenWithSpan::new(operator, span)])));
    }
}

fn ends_operand(token: &Token) -> bool {
    match token {
        Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => true,
        Token::RParen | Token::RBracket => true,
        Token::Word(word) => word.quote_style.is_some() || word.keyword == Keyword::NoKeyword,
        _ => false,
    }
}

/// Turns the operator `XOR` into PostgreSQL's exclusive or.
pub(crate) fn words_to_sharps(statement: &mut Statement) {
    let _ = visit_expressions_mut(statement, |expr| {
        if let Expr::BinaryOp { op: op @ BinaryOperator::Xor, .. } = expr {
            *op = BinaryOperator::PGBitwiseXor;
        }
        ControlFlow::<()>::Continue(())
    });
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
