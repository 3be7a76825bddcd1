//! Parsing durations and the arithmetic on them.

use super::expression::Parser;
use super::lex::{SyntaxError, Token};
use super::span::{Span, SpanOp};

/// The maximum duration: 63 bits of nanoseconds.
const SECONDS_MAX: f64 = i64::MAX as f64 / 1e9;

impl Parser<'_> {
    /// A positive duration between brackets.
    pub(super) fn bracket_span(&mut self) -> Result<Span, SyntaxError> {
        let start = self.start();
        let span = self.span(4)?;
        match span {
            Span::Literal(seconds) if seconds <= 0.0 => Err(self.error_at(start, "duration must be greater than 0")),
            _ => Ok(span),
        }
    }

    /// The duration after `offset`. Arithmetic must be in parentheses.
    pub(super) fn offset_span(&mut self) -> Result<Span, SyntaxError> {
        if self.takes("-") {
            return Ok(minus(self.span_operand(" in offset")?));
        }
        self.takes("+");
        self.span_operand(" in offset")
    }

    fn span(&mut self, precedence: u8) -> Result<Span, SyntaxError> {
        let mut left = if self.takes("-") {
            minus(self.span(6)?)
        } else {
            self.takes("+");
            self.span_operand(" in subquery or range selector")?
        };
        loop {
            let (op, own) = match self.peek() {
                Token::Symbol("+") => (SpanOp::Add, 4),
                Token::Symbol("-") => (SpanOp::Sub, 4),
                Token::Symbol("*") => (SpanOp::Mul, 5),
                Token::Symbol("/") => (SpanOp::Div, 5),
                Token::Symbol("%") => (SpanOp::Mod, 5),
                Token::Symbol("^") => (SpanOp::Pow, 6),
                _ => return Ok(left),
            };
            if own < precedence {
                return Ok(left);
            }
            self.advance();
            let right = self.span(if op == SpanOp::Pow { own } else { own + 1 })?;
            let by_zero = right == Span::Literal(0.0);
            match op {
                SpanOp::Div if by_zero => return Err(self.error("division by zero")),
                SpanOp::Mod if by_zero => return Err(self.error("modulo by zero")),
                _ => left = Span::Binary(op, Box::new(left), Box::new(right)),
            }
        }
    }

    fn span_operand(&mut self, context: &str) -> Result<Span, SyntaxError> {
        let span = match self.peek().clone() {
            Token::Number(seconds) | Token::Duration(seconds) => {
                if seconds.is_nan() || seconds.abs() > SECONDS_MAX {
                    return Err(self.error("duration out of range"));
                }
                self.advance();
                return Ok(Span::Literal(seconds));
            }
            Token::Symbol("(") => {
                self.advance();
                let span = self.span(4)?;
                self.expect(")", context)?;
                return Ok(span);
            }
            Token::Word(word) => match word.to_ascii_lowercase().as_str() {
                "step" => Span::Step,
                "range" => Span::Range,
                "min_of" => return self.span_of_two(SpanOp::Min, context),
                "max_of" => return self.span_of_two(SpanOp::Max, context),
                _ => return Err(self.unexpected(&format!("{context}, expected number, duration, step(), or range()"))),
            },
            _ => return Err(self.unexpected(&format!("{context}, expected number, duration, step(), or range()"))),
        };
        self.advance();
        self.expect("(", context)?;
        self.expect(")", context)?;
        Ok(span)
    }

    fn span_of_two(&mut self, op: SpanOp, context: &str) -> Result<Span, SyntaxError> {
        self.advance();
        self.expect("(", context)?;
        let left = self.span(4)?;
        self.expect(",", context)?;
        let right = self.span(4)?;
        self.expect(")", context)?;
        Ok(Span::Binary(op, Box::new(left), Box::new(right)))
    }
}

fn minus(span: Span) -> Span {
    match span {
        Span::Literal(seconds) => Span::Literal(-seconds),
        other => Span::Minus(Box::new(other)),
    }
}
