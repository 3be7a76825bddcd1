//! Parsing expressions: operators by precedence, modifiers, calls and aggregations.

use super::ast::{Aggregate, AggregateOp, At, Binary, BinaryOp, Cardinality, Edge, Expr, ExprKind, Matching, Shift};
use super::functions::Function;
use super::lex::{SyntaxError, Token, Word, lex};
use super::span::Span;

/// The maximum nesting depth of expressions.
const DEPTH_MAX: usize = 300;

/// The words of an expression and how many were read.
pub(super) struct Parser<'a> {
    text: &'a str,
    words: Vec<Word>,
    position: usize,
    depth: usize,
}

/// The operator of a word.
fn operator(token: &Token) -> Option<BinaryOp> {
    match token {
        Token::Symbol(symbol) => symbol.parse().ok(),
        Token::Word(word) => word.parse().ok(),
        _ => None,
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, SyntaxError> {
        Ok(Self { text, words: lex(text)?, position: 0, depth: 0 })
    }

    /// The whole text as one expression.
    pub(super) fn whole(&mut self) -> Result<Expr, SyntaxError> {
        if self.peek() == &Token::End {
            return Err(self.error("no expression found in input"));
        }
        let expr = self.expression(1)?;
        if self.peek() != &Token::End {
            return Err(self.unexpected(""));
        }
        Ok(expr)
    }

    pub(super) fn peek(&self) -> &Token {
        &self.words[self.position].token
    }

    pub(super) fn peek_second(&self) -> &Token {
        &self.words[(self.position + 1).min(self.words.len() - 1)].token
    }

    pub(super) fn start(&self) -> usize {
        self.words[self.position].start
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.words[self.position].token.clone();
        self.position = (self.position + 1).min(self.words.len() - 1);
        token
    }

    pub(super) fn error(&self, message: impl Into<String>) -> SyntaxError {
        self.error_at(self.start(), message)
    }

    pub(super) fn error_at(&self, offset: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::at(self.text, offset, message)
    }

    pub(super) fn unexpected(&self, context: &str) -> SyntaxError {
        let word = match self.peek() {
            Token::End => "end of input".to_owned(),
            Token::Word(word) => format!("identifier {word:?}"),
            Token::Number(_) => "number".to_owned(),
            Token::Duration(_) => "duration".to_owned(),
            Token::Text(text) => format!("string {text:?}"),
            Token::Symbol(symbol) => format!("{symbol:?}"),
        };
        self.error(format!("unexpected {word}{context}"))
    }

    pub(super) fn takes(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(other) if *other == symbol);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, symbol: &str, context: &str) -> Result<(), SyntaxError> {
        if self.takes(symbol) { Ok(()) } else { Err(self.unexpected(&format!("{context}, expected {symbol:?}"))) }
    }

    fn is_word(&self, keyword: &str) -> bool {
        matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn takes_word(&mut self, keyword: &str) -> bool {
        let found = self.is_word(keyword);
        if found {
            self.advance();
        }
        found
    }

    /// Fails beyond the depth that the stack of a thread can take.
    fn check_depth(&self, depth: usize) -> Result<(), SyntaxError> {
        if depth > DEPTH_MAX {
            return Err(self.error(format!("expression is nested more than {DEPTH_MAX} times")));
        }
        Ok(())
    }

    /// Parses an expression whose operators bind at least this tightly.
    pub(super) fn expression(&mut self, precedence: u8) -> Result<Expr, SyntaxError> {
        self.depth += 1;
        self.check_depth(self.depth)?;
        let mut left = self.unary()?;
        while let Some(op) = operator(self.peek()) {
            let own = op.precedence();
            if own < precedence {
                break;
            }
            self.advance();
            let (bool, matching) = self.modifiers()?;
            let right = self.expression(if op == BinaryOp::Pow { own } else { own + 1 })?;
            let start = left.start;
            left = Expr::new(start, ExprKind::Binary(Box::new(Binary { op, left, right, bool, matching })));
            self.check_depth(left.depth)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// A sign binds as tightly as a multiplication, so less than `^`.
    fn unary(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.start();
        let minus = match self.peek() {
            Token::Symbol("-") => true,
            Token::Symbol("+") => false,
            _ => return self.postfix(),
        };
        self.advance();
        let expr = self.expression(6)?;
        let kind = match expr.kind {
            ExprKind::Number(number) => ExprKind::Number(if minus { -number } else { number }),
            _ => ExprKind::Unary { minus, expr: Box::new(expr) },
        };
        Ok(Expr::new(start, kind))
    }

    fn modifiers(&mut self) -> Result<(bool, Matching), SyntaxError> {
        let mut matching = Matching::default();
        let bool = self.takes_word("bool");
        if self.is_word("on") || self.is_word("ignoring") {
            matching.on = self.is_word("on");
            self.advance();
            matching.labels = self.label_names()?;
            for (keyword, cardinality) in
                [("group_left", Cardinality::ManyToOne), ("group_right", Cardinality::OneToMany)]
            {
                if self.takes_word(keyword) {
                    matching.cardinality = cardinality;
                    if self.peek() == &Token::Symbol("(") {
                        matching.include = self.label_names()?;
                    }
                    break;
                }
            }
        }
        while self.peek_second() == &Token::Symbol("(") {
            let (left, right) = match self.peek() {
                Token::Word(word) if word.eq_ignore_ascii_case("fill") => (true, true),
                Token::Word(word) if word.eq_ignore_ascii_case("fill_left") => (true, false),
                Token::Word(word) if word.eq_ignore_ascii_case("fill_right") => (false, true),
                _ => break,
            };
            let twice = (left && matching.fill_left.is_some()) || (right && matching.fill_right.is_some());
            if twice {
                return Err(self.unexpected(""));
            }
            self.advance();
            self.advance();
            let value = self.signed_number(" in fill value")?;
            self.expect(")", " in fill value")?;
            matching.fill_left = if left { Some(value) } else { matching.fill_left };
            matching.fill_right = if right { Some(value) } else { matching.fill_right };
        }
        Ok((bool, matching))
    }

    fn signed_number(&mut self, context: &str) -> Result<f64, SyntaxError> {
        let minus = self.takes("-");
        if !minus {
            self.takes("+");
        }
        match *self.peek() {
            Token::Number(value) | Token::Duration(value) => {
                self.advance();
                Ok(if minus { -value } else { value })
            }
            _ => Err(self.unexpected(context)),
        }
    }

    /// `(a, b, "c")`
    fn label_names(&mut self) -> Result<Vec<String>, SyntaxError> {
        let context = " in grouping opts";
        self.expect("(", context)?;
        let mut names = Vec::new();
        while !self.takes(")") {
            match self.advance() {
                Token::Word(name) if !name.contains(':') => names.push(name),
                Token::Text(name) if !name.is_empty() => names.push(name),
                _ => {
                    self.position -= 1;
                    return Err(self.unexpected(&format!("{context}, expected label")));
                }
            }
            if !self.takes(",") && self.peek() != &Token::Symbol(")") {
                return Err(self.unexpected(&format!("{context}, expected \",\" or \")\"")));
            }
        }
        Ok(names)
    }

    /// An operand with its ranges, `@`, `offset`, `anchored` and `smoothed`.
    fn postfix(&mut self) -> Result<Expr, SyntaxError> {
        let mut expr = self.primary()?;
        loop {
            self.check_depth(expr.depth)?;
            if self.takes("[") {
                expr = self.range(expr)?;
            } else if self.is_word("offset") {
                self.advance();
                let span = self.offset_span()?;
                let (shift, _) = self.shift_of(&mut expr, "offset modifier")?;
                let zero = matches!(shift.offset, None | Some(Span::Literal(0.0)));
                if !zero {
                    return Err(self.error_at(expr.start, "offset may not be set multiple times"));
                }
                shift.offset = Some(span);
            } else if self.takes("@") {
                let at = self.at()?;
                let (shift, _) = self.shift_of(&mut expr, "@ modifier")?;
                if shift.at.is_some() {
                    return Err(self.error_at(expr.start, "@ <timestamp> may not be set multiple times"));
                }
                shift.at = Some(at);
            } else if self.is_word("anchored") || self.is_word("smoothed") {
                let edge = if self.is_word("anchored") { Edge::Anchored } else { Edge::Smoothed };
                self.advance();
                let (_, current) = self.shift_of(&mut expr, "anchored and smoothed modifiers")?;
                match current {
                    Some(Edge::Inside) => {}
                    Some(old) if *old == edge => {}
                    Some(_) => {
                        let message = "anchored and smoothed modifiers cannot be used together";
                        return Err(self.error_at(expr.start, message));
                    }
                    None => {
                        return Err(self.error_at(expr.start, "anchored and smoothed are not supported for subqueries"));
                    }
                }
                if let ExprKind::Selector(selector) | ExprKind::Range { selector, .. } = &mut expr.kind {
                    selector.edge = edge;
                }
            } else {
                return Ok(expr);
            }
        }
    }

    fn shift_of<'e>(
        &self,
        expr: &'e mut Expr,
        what: &str,
    ) -> Result<(&'e mut Shift, Option<&'e mut Edge>), SyntaxError> {
        let start = expr.start;
        match &mut expr.kind {
            ExprKind::Selector(selector) | ExprKind::Range { selector, .. } => {
                Ok((&mut selector.shift, Some(&mut selector.edge)))
            }
            ExprKind::Subquery { shift, .. } => Ok((shift, None)),
            _ => Err(self.error_at(
                start,
                format!("{what} must be preceded by an instant vector selector or range vector selector or a subquery"),
            )),
        }
    }

    fn at(&mut self) -> Result<At, SyntaxError> {
        for (keyword, at) in [("start", At::Start), ("end", At::End)] {
            if self.takes_word(keyword) {
                self.expect("(", " in @")?;
                self.expect(")", " in @")?;
                return Ok(at);
            }
        }
        let start = self.start();
        let seconds = self.signed_number(" in @, expected timestamp")?;
        let milliseconds = (seconds * 1000.0).round();
        if !seconds.is_finite() || seconds.abs() >= i64::MAX as f64 || milliseconds.abs() >= i64::MAX as f64 {
            return Err(self.error_at(start, format!("timestamp out of bounds for @ modifier: {seconds:.6}")));
        }
        Ok(At::Time(milliseconds as i64))
    }

    /// Parses the text after `[`.
    fn range(&mut self, expr: Expr) -> Result<Expr, SyntaxError> {
        let start = expr.start;
        let range = self.bracket_span()?;
        if self.takes(":") {
            let step = if self.peek() == &Token::Symbol("]") { None } else { Some(self.bracket_span()?) };
            self.expect("]", " in subquery selector")?;
            let expr = Box::new(expr);
            return Ok(Expr::new(start, ExprKind::Subquery { expr, range, step, shift: Shift::default() }));
        }
        self.expect("]", " in subquery or range")?;
        let message = match expr.kind {
            ExprKind::Selector(selector) if selector.shift.is_none() => {
                return Ok(Expr::new(start, ExprKind::Range { selector, range }));
            }
            ExprKind::Selector(selector) if selector.shift.offset.is_some() => {
                "no offset modifiers allowed before range"
            }
            ExprKind::Selector(_) => "no @ modifiers allowed before range",
            _ => "ranges only allowed for vector selectors",
        };
        Err(self.error_at(start, message))
    }

    fn primary(&mut self) -> Result<Expr, SyntaxError> {
        let start = self.start();
        let kind = match self.peek().clone() {
            Token::Number(value) | Token::Duration(value) => {
                self.advance();
                ExprKind::Number(value)
            }
            Token::Text(text) => {
                self.advance();
                ExprKind::Text(text)
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.expression(1)?;
                self.expect(")", "")?;
                ExprKind::Paren(Box::new(inner))
            }
            Token::Symbol("{") => ExprKind::Selector(self.selector(None)?),
            Token::Word(word) => return self.named(start, word),
            _ => return Err(self.unexpected("")),
        };
        Ok(Expr::new(start, kind))
    }

    /// An aggregation, a call or a metric.
    fn named(&mut self, start: usize, word: String) -> Result<Expr, SyntaxError> {
        let next = self.peek_second().clone();
        let grouped =
            matches!(&next, Token::Word(word) if ["by", "without"].contains(&word.to_ascii_lowercase().as_str()));
        if let (Some(op), true) = (AggregateOp::of(&word), grouped || next == Token::Symbol("(")) {
            self.advance();
            return self.aggregate(start, op, &word);
        }
        if next == Token::Symbol("(") {
            let Some(function) = Function::of(&word) else {
                return Err(self.error(format!("unknown function with name {word:?}")));
            };
            self.advance();
            let args = self.arguments()?;
            return Ok(Expr::new(start, ExprKind::Call { function, args }));
        }
        let reserved = ["bool", "on", "ignoring", "group_left", "group_right", "atan2"];
        if reserved.contains(&word.to_ascii_lowercase().as_str()) {
            return Err(self.unexpected(""));
        }
        self.advance();
        Ok(Expr::new(start, ExprKind::Selector(self.selector(Some(word))?)))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        self.expect("(", "")?;
        let mut args = Vec::new();
        if self.takes(")") {
            return Ok(args);
        }
        loop {
            args.push(self.expression(1)?);
            if self.takes(")") {
                return Ok(args);
            }
            self.expect(",", "")?;
            if self.peek() == &Token::Symbol(")") {
                return Err(self.error("trailing commas not allowed in function call args"));
            }
        }
    }

    fn aggregate(&mut self, start: usize, op: AggregateOp, name: &str) -> Result<Expr, SyntaxError> {
        let mut grouping = self.grouping()?;
        let mut args = self.arguments()?;
        if grouping.is_none() {
            grouping = self.grouping()?;
        }
        let (without, labels) = grouping.unwrap_or_default();
        let wanted = if op.has_param() { 2 } else { 1 };
        if args.is_empty() {
            return Err(self.error_at(start, "no arguments for aggregate expression provided"));
        }
        if args.len() != wanted {
            let message = "wrong number of arguments for aggregate expression provided";
            return Err(self.error_at(start, format!("{message}, expected {wanted}, got {} ({name})", args.len())));
        }
        let expr = args.remove(wanted - 1);
        let param = args.pop();
        let aggregate = Aggregate { op, expr, param, labels, without };
        Ok(Expr::new(start, ExprKind::Aggregate(Box::new(aggregate))))
    }

    fn grouping(&mut self) -> Result<Option<(bool, Vec<String>)>, SyntaxError> {
        let without = self.is_word("without");
        if !without && !self.is_word("by") {
            return Ok(None);
        }
        self.advance();
        Ok(Some((without, self.label_names()?)))
    }
}
