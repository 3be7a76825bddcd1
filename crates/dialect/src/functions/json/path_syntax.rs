//! Reading the text of an SQL/JSON path, as PostgreSQL 15 does. Owned here: the grammar, and its limits. Not owned: the
//! [tokens](super::path_tokens), and what a path [finds](super::path_items).

use super::jsonb::Json;
use super::path_numbers::negated;
use super::path_regex::{PathRegex, refuse_more_regexes};
use super::path_tokens::{NextToken, PathToken};
use super::path_tree::{
    ArithmeticOperator, Comparison, JsonPath, LEVEL_LAST, PathCondition, PathExpression, PathMethod, PathSign,
    PathStart, PathStep, Subscript, member_key,
};
use crate::text::errors::sql_error;
use atsdb_core::json_text::{kind, quoted};
use atsdb_core::{Error, Result};

/// How deep parentheses, brackets and signs may be nested.
const DEPTH_MAX: usize = 64;

/// The maximum number of steps behind each other, or of operands of one precedence.
const CHAIN_MAX: usize = 1_000;

/// Reads a path.
pub(super) fn parse(text: &str) -> Result<JsonPath> {
    let mut reader = Reader {
        next: NextToken::new(text)?,
        depth: 0,
        filters: 0,
        subscripts: 0,
        items: 0,
        lasts: 0,
        once_count: 0,
        regexes: 0,
    };
    if reader.next.token == PathToken::End {
        return Err(Error::invalid(format!("invalid input syntax for type jsonpath: \"{text:.60}\"")));
    }
    let is_lax = reader.next.takes_word("lax")? || !reader.next.takes_word("strict")?;
    let expression = match reader.any()? {
        Parsed::Value(path) => path,
        Parsed::Condition(condition) => PathExpression::of(PathStart::Condition(Box::new(condition))),
    };
    if reader.next.token == PathToken::End {
        Ok(JsonPath { is_lax, expression, once_count: reader.once_count })
    } else {
        Err(reader.next.wrong())
    }
}

/// What was read: a condition has no place where a value is required, nor the reverse.
enum Parsed {
    Value(PathExpression),
    Condition(PathCondition),
}

struct Reader<'a> {
    next: NextToken<'a>,
    depth: usize,
    /// How many filters and subscripts are around the next token.
    filters: usize,
    subscripts: usize,
    /// How many `@` and `last` have been read that belong to the filter and the subscript around the next token.
    items: usize,
    lasts: usize,
    once_count: usize,
    regexes: usize,
}

impl Reader<'_> {
    /// Reads something one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let error = sql_error("the jsonpath is nested too deeply");
            return Err(error.with_hint(format!("the maximum is {DEPTH_MAX} levels")));
        }
        let parsed = read(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn value(&self, parsed: Parsed) -> Result<PathExpression> {
        match parsed {
            Parsed::Value(path) => Ok(path),
            Parsed::Condition(_) => Err(self.next.wrong()),
        }
    }

    fn condition(&self, parsed: Parsed) -> Result<PathCondition> {
        match parsed {
            Parsed::Condition(condition) => Ok(condition),
            Parsed::Value(_) => Err(self.next.wrong()),
        }
    }

    fn any(&mut self) -> Result<Parsed> {
        self.joined("||", Self::all, PathCondition::Any)
    }

    fn all(&mut self) -> Result<Parsed> {
        self.joined("&&", Self::negation, PathCondition::All)
    }

    /// Reads conditions with a symbol between them, or what else is there.
    fn joined(
        &mut self,
        symbol: &'static str,
        operand: fn(&mut Self) -> Result<Parsed>,
        join: fn(Vec<PathCondition>) -> PathCondition,
    ) -> Result<Parsed> {
        let first = operand(self)?;
        if self.next.token != PathToken::Symbol(symbol) {
            return Ok(first);
        }
        let mut conditions = vec![self.condition(first)?];
        while self.next.takes(symbol)? {
            let next = operand(self)?;
            conditions.push(self.condition(next)?);
            refuse_longer(conditions.len())?;
        }
        Ok(Parsed::Condition(join(conditions)))
    }

    /// Reads a condition behind `!`, or a comparison.
    fn negation(&mut self) -> Result<Parsed> {
        if !self.next.takes("!")? {
            return self.comparison();
        }
        let negated = if self.next.is_word("exists") {
            self.exists()?
        } else {
            self.next.expect("(")?;
            let inner = self.deeper(Self::any)?;
            let inner = self.condition(inner)?;
            self.next.expect(")")?;
            inner
        };
        Ok(Parsed::Condition(PathCondition::Not(Box::new(negated))))
    }

    fn comparison(&mut self) -> Result<Parsed> {
        let before = (self.items, self.lasts);
        let left = match self.sum()? {
            Parsed::Value(left) => left,
            condition @ Parsed::Condition(_) => return Ok(condition),
        };
        let condition = if let Some(comparison) = self.next.one_of(&Comparison::WRITTEN) {
            self.next.advance()?;
            let right = self.sum()?;
            PathCondition::Compare(left, comparison, self.value(right)?)
        } else if self.next.takes_word("starts")? {
            self.next.expect_word("with")?;
            let start = match &self.next.token {
                PathToken::Text(text) => PathStart::Literal(Json::Scalar(quoted(text))),
                PathToken::Variable(name) => PathStart::Variable(member_key(name.clone())),
                _ => return Err(self.next.wrong()),
            };
            self.next.advance()?;
            PathCondition::StartsWith(left, PathExpression::of(start))
        } else if self.next.takes_word("like_regex")? {
            let pattern = self.next.text()?;
            let flags = if self.next.takes_word("flag")? { self.next.text()? } else { String::new() };
            self.regexes += 1;
            refuse_more_regexes(self.regexes)?;
            PathCondition::LikeRegex(left, PathRegex::new(pattern, &flags)?)
        } else {
            return Ok(Parsed::Value(left));
        };
        Ok(Parsed::Condition(self.settled(condition, before)))
    }

    /// Numbers a condition in a filter in which neither the item nor a position has been mentioned.
    fn settled(&mut self, condition: PathCondition, before: (usize, usize)) -> PathCondition {
        if self.filters == 0 || before != (self.items, self.lasts) {
            return condition;
        }
        self.once_count += 1;
        PathCondition::Once(self.once_count - 1, Box::new(condition))
    }

    fn exists(&mut self) -> Result<PathCondition> {
        let before = (self.items, self.lasts);
        self.next.expect_word("exists")?;
        self.next.expect("(")?;
        let path = self.deeper(Self::sum)?;
        let path = self.value(path)?;
        self.next.expect(")")?;
        Ok(self.settled(PathCondition::Exists(path), before))
    }

    fn sum(&mut self) -> Result<Parsed> {
        const OPERATORS: [(&str, ArithmeticOperator); 2] =
            [("+", ArithmeticOperator::Add), ("-", ArithmeticOperator::Subtract)];
        self.arithmetic(&OPERATORS, Self::product)
    }

    fn product(&mut self) -> Result<Parsed> {
        const OPERATORS: [(&str, ArithmeticOperator); 3] = [
            ("*", ArithmeticOperator::Multiply),
            ("/", ArithmeticOperator::Divide),
            ("%", ArithmeticOperator::Remainder),
        ];
        self.arithmetic(&OPERATORS, Self::signed)
    }

    fn arithmetic(
        &mut self,
        operators: &[(&'static str, ArithmeticOperator)],
        operand: fn(&mut Self) -> Result<Parsed>,
    ) -> Result<Parsed> {
        let first = operand(self)?;
        if self.next.one_of(operators).is_none() {
            return Ok(first);
        }
        let first = self.value(first)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.next.one_of(operators) {
            self.next.advance()?;
            let next = operand(self)?;
            rest.push((operator, self.value(next)?));
            refuse_longer(rest.len())?;
        }
        Ok(Parsed::Value(PathExpression::of(PathStart::Arithmetic(Box::new(first), rest))))
    }

    fn signed(&mut self) -> Result<Parsed> {
        let Some(sign) = self.next.one_of(&[("+", PathSign::Plus), ("-", PathSign::Minus)]) else {
            return self.accessed();
        };
        self.next.advance()?;
        let operand = self.deeper(Self::signed)?;
        let operand = self.value(operand)?;
        let start = match operand {
            // The sign of a number is a part of it.
            PathExpression { start: PathStart::Literal(Json::Scalar(number)), steps }
                if steps.is_empty() && kind(&number) == "number" =>
            {
                PathStart::Literal(Json::Scalar(match sign {
                    PathSign::Plus => number,
                    PathSign::Minus => negated(&number),
                }))
            }
            operand => PathStart::Signed(sign, Box::new(operand)),
        };
        Ok(Parsed::Value(PathExpression::of(start)))
    }

    /// Reads a value and the steps behind it, or a condition in parentheses.
    fn accessed(&mut self) -> Result<Parsed> {
        let mut path = if self.next.takes("(")? {
            let inner = self.deeper(Self::any)?;
            self.next.expect(")")?;
            match inner {
                Parsed::Value(path) => path,
                Parsed::Condition(condition) => {
                    if self.next.takes_word("is")? {
                        self.next.expect_word("unknown")?;
                        return Ok(Parsed::Condition(PathCondition::IsUnknown(Box::new(condition))));
                    }
                    if self.next.one_of(&STEP_SYMBOLS).is_none() {
                        return Ok(Parsed::Condition(condition));
                    }
                    PathExpression::of(PathStart::Condition(Box::new(condition)))
                }
            }
        } else if self.next.is_word("exists") {
            return self.exists().map(Parsed::Condition);
        } else {
            PathExpression::of(self.start()?)
        };
        self.read_steps(&mut path.steps)?;
        Ok(Parsed::Value(path))
    }

    fn start(&mut self) -> Result<PathStart> {
        let word = ["true", "false", "null"].into_iter().find(|word| self.next.is_word(word));
        let start = match &self.next.token {
            PathToken::Text(text) => PathStart::Literal(Json::Scalar(quoted(text))),
            PathToken::Integer(number) | PathToken::Number(number) => PathStart::Literal(Json::read(number)?),
            PathToken::Variable(name) => PathStart::Variable(member_key(name.clone())),
            PathToken::Symbol("$") => PathStart::Document,
            PathToken::Symbol("@") if self.filters == 0 => {
                return Err(sql_error("@ is not allowed in root expressions"));
            }
            PathToken::Symbol("@") => {
                self.items += 1;
                PathStart::Item
            }
            PathToken::Word(_) if self.next.is_word("last") => {
                if self.subscripts == 0 {
                    return Err(sql_error("LAST is allowed only in array subscripts"));
                }
                self.lasts += 1;
                PathStart::Last
            }
            PathToken::Word(_) if let Some(word) = word => PathStart::Literal(Json::Scalar(word.to_owned())),
            _ => return Err(self.next.wrong()),
        };
        self.next.advance()?;
        Ok(start)
    }

    fn read_steps(&mut self, steps: &mut Vec<PathStep>) -> Result<()> {
        while let Some(read) = self.next.one_of(&STEP_SYMBOLS) {
            self.next.advance()?;
            let step = match read {
                StepSymbol::Name => self.named_step()?,
                StepSymbol::Bracket => self.deeper(Self::bracketed)?,
                StepSymbol::Filter => {
                    self.next.expect("(")?;
                    self.deeper(Self::filter)?
                }
            };
            steps.push(step);
            refuse_longer(steps.len())?;
        }
        Ok(())
    }

    /// What is behind a point.
    fn named_step(&mut self) -> Result<PathStep> {
        if self.next.takes("*")? {
            return Ok(PathStep::Members);
        }
        if self.next.takes("**")? {
            return self.descendants();
        }
        let is_quoted = matches!(self.next.token, PathToken::Text(_));
        let (PathToken::Text(name) | PathToken::Word(name)) = &self.next.token else { return Err(self.next.wrong()) };
        let name = name.clone();
        self.next.advance()?;
        let is_call = !is_quoted && self.next.token == PathToken::Symbol("(");
        if is_call && name.eq_ignore_ascii_case("datetime") {
            self.next.advance()?;
            let has_template = matches!(self.next.token, PathToken::Text(_));
            let template = if has_template { Some(self.next.text()?) } else { None };
            self.next.expect(")")?;
            return Ok(PathStep::Datetime(template));
        }
        let method = PathMethod::ALL.into_iter().find(|method| is_call && name.eq_ignore_ascii_case(method.name()));
        match method {
            Some(method) => {
                self.next.advance()?;
                self.next.expect(")")?;
                Ok(PathStep::Method(method))
            }
            None => Ok(PathStep::Member(member_key(name))),
        }
    }

    /// What is behind `.**`.
    fn descendants(&mut self) -> Result<PathStep> {
        if !self.next.takes("{")? {
            return Ok(PathStep::Descendants { first: 0, last: LEVEL_LAST });
        }
        let first = self.level()?;
        let last = if self.next.takes_word("to")? { self.level()? } else { first };
        self.next.expect("}")?;
        Ok(PathStep::Descendants { first, last })
    }

    fn level(&mut self) -> Result<u32> {
        if self.next.takes_word("last")? {
            return Ok(LEVEL_LAST);
        }
        let PathToken::Integer(digits) = &self.next.token else { return Err(self.next.wrong()) };
        // Levels are integers of 32 bits with a sign.
        let Some(level) = digits.parse::<i32>().ok().and_then(|level| u32::try_from(level).ok()) else {
            return Err(Error::invalid(format!("value \"{digits:.60}\" is out of range for type integer")));
        };
        self.next.advance()?;
        Ok(level)
    }

    /// What is between brackets.
    fn bracketed(&mut self) -> Result<PathStep> {
        if self.next.takes("*")? {
            self.next.expect("]")?;
            return Ok(PathStep::Elements);
        }
        let lasts = self.lasts;
        self.subscripts += 1;
        let mut subscripts = Vec::new();
        loop {
            let from = self.sum()?;
            let from = self.value(from)?;
            let to = if self.next.takes_word("to")? {
                let to = self.sum()?;
                Some(self.value(to)?)
            } else {
                None
            };
            subscripts.push(Subscript { from, to });
            if !self.next.takes(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        self.lasts = lasts;
        self.next.expect("]")?;
        Ok(PathStep::Subscripts(subscripts))
    }

    /// What is between the parentheses of a filter.
    fn filter(&mut self) -> Result<PathStep> {
        let items = self.items;
        self.filters += 1;
        let condition = self.any()?;
        let condition = self.condition(condition)?;
        self.filters -= 1;
        self.items = items;
        self.next.expect(")")?;
        Ok(PathStep::Filter(condition))
    }
}

/// What begins a step.
#[derive(Debug, Clone, Copy)]
enum StepSymbol {
    Name,
    Bracket,
    Filter,
}

const STEP_SYMBOLS: [(&str, StepSymbol); 3] =
    [(".", StepSymbol::Name), ("[", StepSymbol::Bracket), ("?", StepSymbol::Filter)];

fn refuse_longer(count: usize) -> Result<()> {
    if count <= CHAIN_MAX {
        return Ok(());
    }
    Err(sql_error("the jsonpath has too many steps").with_hint(format!("the maximum is {CHAIN_MAX} behind each other")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(path: &str) -> String {
        parse(path).map(|_| ()).unwrap_err().message().to_owned()
    }

    /// The messages are those of PostgreSQL 15.
    #[test]
    fn wrong_paths_are_refused() {
        for (path, wanted) in [
            ("", "invalid input syntax for type jsonpath: \"\""),
            ("strict", "syntax error at end of jsonpath input"),
            ("$.a[", "syntax error at end of jsonpath input"),
            ("bad", "syntax error at or near \"bad\" of jsonpath input"),
            ("$.foo()", "syntax error at or near \"(\" of jsonpath input"),
            ("$ ? (@.a)", "syntax error at or near \")\" of jsonpath input"),
            ("($ > 1) + 1", "syntax error at or near \"+\" of jsonpath input"),
            ("$ == 1 == 2", "syntax error at or near \"==\" of jsonpath input"),
            ("$ ? (@ starts with 1)", "syntax error at or near \"1\" of jsonpath input"),
            ("last", "LAST is allowed only in array subscripts"),
            ("$ ? (last > 0)", "LAST is allowed only in array subscripts"),
            ("@ + 1", "@ is not allowed in root expressions"),
            ("00", "trailing junk after numeric literal at or near \"00\" of jsonpath input"),
            ("1.type()", "trailing junk after numeric literal at or near \"1.t\" of jsonpath input"),
            ("1.e", "trailing junk after numeric literal at or near \"1.e\" of jsonpath input"),
            ("1.2e3a", "trailing junk after numeric literal at or near \"1.2e3a\" of jsonpath input"),
            ("\"\\u12\"", "invalid unicode sequence at or near \"\\u\" of jsonpath input"),
            ("\"\\x1\"", "invalid hex character sequence at or near \"\\x\" of jsonpath input"),
            ("\"a", "unexpected end of quoted string at end of jsonpath input"),
            ("$ /* x", "unexpected end of comment at end of jsonpath input"),
            (
                "$ ? (@ like_regex \"a\" flag \"x\")",
                "XQuery \"x\" flag (expanded regular expressions) is not implemented",
            ),
        ] {
            assert_eq!(message(path), wanted, "{path}");
        }
        for path in ["$.**{99999999999}", "$ ? (@ like_regex \"(\")", "\"\\ud83d\"", "\"\\u0000\"", "exists ($).a"] {
            assert!(parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn long_and_deep_paths_are_read_or_refused() {
        const COUNT: usize = 100_000;
        for part in ["(", "-", "$[", "$ ? (", "!(", "exists (", "$ ? (@.a[(-", "$.a.**{", "\"", "\\u", "/*", "$ ? (@[$"]
        {
            assert!(parse(&part.repeat(COUNT)).is_err(), "{part}");
        }
        for (start, part) in [("$", ".a"), ("$", "[0]"), ("1", " + 1"), ("$ == 1", " && $ == 1"), ("$", " ? (@ == 1)")]
        {
            let path = |count: usize| format!("{start}{}", part.repeat(count));
            assert!(parse(&path(900)).is_ok(), "{part}");
            assert!(parse(&path(COUNT)).is_err(), "{part}");
        }
        let nested = |depth: usize| format!("{}$ == 1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&nested(DEPTH_MAX)).is_ok());
        assert!(parse(&nested(DEPTH_MAX + 1)).is_err());
        let matching = |count: usize| format!("$ == 1{}", r#" || $ like_regex "a""#.repeat(count));
        assert!(parse(&matching(50)).is_ok() && parse(&matching(100)).is_err());
        assert!(parse(&format!("$.{}", "a".repeat(COUNT))).is_ok());
        assert!(parse(&format!("$[0{}]", ", 0".repeat(COUNT))).is_ok());
    }
}
