//! Parsing series selectors.

use super::ast::{Edge, Selector, Shift};
use super::expression::Parser;
use super::lex::{SyntaxError, Token};
use crate::labels::{METRIC_NAME, MatchOp, Matcher};

impl Parser<'_> {
    /// The braces after a metric's name, or alone.
    pub(super) fn selector(&mut self, name: Option<String>) -> Result<Selector, SyntaxError> {
        let start = self.start();
        let mut matchers = Vec::new();
        if self.takes("{") {
            while !self.takes("}") {
                matchers.push(self.matcher()?);
                if !self.takes(",") && self.peek() != &Token::Symbol("}") {
                    return Err(self.unexpected(" in label matching, expected \",\" or \"}\""));
                }
            }
        }
        if let Some(name) = &name {
            if let Some(second) = matchers.iter().find(|matcher| matcher.name == METRIC_NAME) {
                let message = format!("metric name must not be set twice: {name:?} or {:?}", second.value);
                return Err(self.error_at(start, message));
            }
            matchers.push(Matcher::equal(METRIC_NAME, name));
        }
        Ok(Selector { name, matchers, shift: Shift::default(), edge: Edge::Inside })
    }

    fn matcher(&mut self) -> Result<Matcher, SyntaxError> {
        let start = self.start();
        let (name, quoted) = match self.peek().clone() {
            Token::Word(name) => (name, false),
            Token::Text(name) => (name, true),
            _ => return Err(self.unexpected(" in label matching, expected identifier or \"}\"")),
        };
        self.advance();
        let op: Option<MatchOp> = match self.peek() {
            Token::Symbol(symbol) => symbol.parse().ok(),
            _ => None,
        };
        let op = match op {
            Some(op) => op,
            None if quoted => return Ok(Matcher::equal(METRIC_NAME, name)),
            None => return Err(self.unexpected(" in label matching, expected label matching operator")),
        };
        self.advance();
        let Token::Text(value) = self.peek().clone() else {
            return Err(self.unexpected(" in label matching, expected string"));
        };
        self.advance();
        Matcher::new(name, op, value).map_err(|message| self.error_at(start, message))
    }
}
