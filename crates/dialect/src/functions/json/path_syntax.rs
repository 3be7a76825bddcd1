//! Reading the text of an SQL/JSON path, as PostgreSQL 15 does. Owned here: the grammar, and its limits. Not owned: the
//! [tokens](super::path_tokens), and what a path [finds](super::path_items).

use super::jsonb::Json;
use super::path_numbers::negated;
use super::path_regex::{PathRegex, refuse_more_regexes};
use super::path_tokens::{NextToken, PathToken};
use super::path_tree::{
    ArithmeticOperator, Comparison, JsonPath, LEVEL_LAST, PathCondition, PathExpression, PathMethod, PathSign,
    PathStart, PathStep, StepSymbol, Subscript, member_key,
};
use crate::text::errors::sql_error;
use atsdb_core::json_text::{kind, quoted};
use atsdb_core::{Error, Result};

/// How deep operations, brackets and signs may be nested.
pub(super) const DEPTH_MAX: usize = 64;

/// The maximum number of steps in a row, or of operands of one precedence.
const CHAIN_MAX: usize = 1_000;

/// Reads a path.
pub(super) fn parse(text: &str) -> Result<JsonPath> {
    let mut reader = Reader {
        next: NextToken::new(text)?,
        depth: 0,
        depth_reached: 0,
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
    let expression = match reader.any(None)? {
        ParsedOperand::Value(path) => path,
        ParsedOperand::Condition(condition) => PathExpression::of(PathStart::Condition(Box::new(condition))),
    };
    if reader.next.token == PathToken::End {
        Ok(JsonPath { is_lax, expression, once_count: reader.once_count })
    } else {
        Err(reader.next.wrong())
    }
}

/// A parsed operand: a value or a condition. A condition is refused where a value is required, and a value where a
/// condition is.
enum ParsedOperand {
    Value(PathExpression),
    Condition(PathCondition),
}

/// The first operand of operations, if it has been read.
struct FirstOperand {
    parsed: ParsedOperand,
    /// The numbers of `@` and of `last` that had been read before it.
    before: (usize, usize),
}

struct Reader<'a> {
    next: NextToken<'a>,
    /// The number of levels around the next token.
    depth: usize,
    /// The depth of the deepest part of what has been read since the parentheses around the next token began.
    depth_reached: usize,
    /// The number of filters and that of subscripts around the next token.
    filters: usize,
    subscripts: usize,
    /// The numbers of `@` and of `last` that have been read and belong to the filter and the subscript around the next
    /// token.
    items: usize,
    lasts: usize,
    once_count: usize,
    regexes: usize,
}

impl Reader<'_> {
    /// Notes that something is so deep.
    fn reach(&mut self, depth: usize) -> Result<()> {
        self.depth_reached = self.depth_reached.max(depth);
        if self.depth_reached > DEPTH_MAX {
            let error = sql_error("the jsonpath is nested too deeply");
            return Err(error.with_hint(format!("the maximum is {DEPTH_MAX} levels")));
        }
        Ok(())
    }

    /// Reads something one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        self.reach(self.depth)?;
        let parsed = read(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    /// Adds a level around what has been read since the parentheses around the next token began.
    fn surround(&mut self) -> Result<()> {
        self.reach(self.depth_reached + 1)
    }

    /// Adds a level around a first operand in parentheses that is no part of a chain.
    fn surround_if(&mut self, is_enclosed: bool) -> Result<()> {
        if is_enclosed { self.surround() } else { Ok(()) }
    }

    fn value(&self, parsed: ParsedOperand) -> Result<PathExpression> {
        match parsed {
            ParsedOperand::Value(path) => Ok(path),
            ParsedOperand::Condition(_) => Err(self.next.wrong()),
        }
    }

    fn condition(&self, parsed: ParsedOperand) -> Result<PathCondition> {
        match parsed {
            ParsedOperand::Condition(condition) => Ok(condition),
            ParsedOperand::Value(_) => Err(self.next.wrong()),
        }
    }

    fn any(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        self.joined(first, "||", Self::all, PathCondition::Any)
    }

    fn all(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        self.joined(first, "&&", Self::negation, PathCondition::All)
    }

    /// Reads conditions with a symbol between them, or what else is there.
    fn joined(
        &mut self,
        first: Option<FirstOperand>,
        symbol: &'static str,
        operand: fn(&mut Self, Option<FirstOperand>) -> Result<ParsedOperand>,
        join: fn(Vec<PathCondition>) -> PathCondition,
    ) -> Result<ParsedOperand> {
        let is_enclosed = first.is_some();
        let first = operand(self, first)?;
        if self.next.token != PathToken::Symbol(symbol) {
            return Ok(first);
        }
        let mut conditions = match (self.condition(first)?, symbol) {
            // `(a || b) || c` is a chain.
            (PathCondition::Any(conditions), "||") | (PathCondition::All(conditions), "&&") => conditions,
            (condition, _) => {
                self.surround_if(is_enclosed)?;
                vec![condition]
            }
        };
        while self.next.takes(symbol)? {
            let next = operand(self, None)?;
            conditions.push(self.condition(next)?);
            refuse_longer(conditions.len())?;
        }
        Ok(ParsedOperand::Condition(join(conditions)))
    }

    /// Reads a condition after `!`, or a comparison.
    fn negation(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        if first.is_some() || !self.next.takes("!")? {
            return self.comparison(first);
        }
        let negated = if self.next.is_word("exists") {
            self.exists()?
        } else {
            self.next.expect("(")?;
            let inner = self.deeper(|reader| reader.any(None))?;
            let inner = self.condition(inner)?;
            self.next.expect(")")?;
            inner
        };
        Ok(ParsedOperand::Condition(PathCondition::Not(Box::new(negated))))
    }

    fn comparison(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        let before = first.as_ref().map_or((self.items, self.lasts), |first| first.before);
        let is_enclosed = first.is_some();
        let left = match self.sum(first)? {
            ParsedOperand::Value(left) => left,
            condition @ ParsedOperand::Condition(_) => return Ok(condition),
        };
        let condition = if let Some(comparison) = self.next.one_of(&Comparison::WRITTEN) {
            self.next.advance()?;
            let right = self.sum(None)?;
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
            return Ok(ParsedOperand::Value(left));
        };
        self.surround_if(is_enclosed)?;
        Ok(ParsedOperand::Condition(self.settled(condition, before)))
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
        let path = self.deeper(|reader| reader.sum(None))?;
        let path = self.value(path)?;
        self.next.expect(")")?;
        Ok(self.settled(PathCondition::Exists(path), before))
    }

    fn sum(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        const OPERATORS: [(&str, ArithmeticOperator); 2] =
            [("+", ArithmeticOperator::Add), ("-", ArithmeticOperator::Subtract)];
        self.arithmetic(first, &OPERATORS, Self::product)
    }

    fn product(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        const OPERATORS: [(&str, ArithmeticOperator); 3] = [
            ("*", ArithmeticOperator::Multiply),
            ("/", ArithmeticOperator::Divide),
            ("%", ArithmeticOperator::Remainder),
        ];
        self.arithmetic(first, &OPERATORS, Self::signed)
    }

    fn arithmetic(
        &mut self,
        first: Option<FirstOperand>,
        operators: &[(&'static str, ArithmeticOperator)],
        operand: fn(&mut Self, Option<FirstOperand>) -> Result<ParsedOperand>,
    ) -> Result<ParsedOperand> {
        let is_enclosed = first.is_some();
        let first = operand(self, first)?;
        if self.next.one_of(operators).is_none() {
            return Ok(first);
        }
        // `(a + b) + c` is a chain.
        let is_known = |operator: ArithmeticOperator| operators.iter().any(|(_, known)| *known == operator);
        let (first, mut rest) = self.value(first)?.into_chain(is_known);
        self.surround_if(is_enclosed && rest.is_empty())?;
        while let Some(operator) = self.next.one_of(operators) {
            self.next.advance()?;
            let next = operand(self, None)?;
            rest.push((operator, self.value(next)?));
            refuse_longer(rest.len())?;
        }
        Ok(ParsedOperand::Value(PathExpression::of(PathStart::Arithmetic(first, rest))))
    }

    fn signed(&mut self, first: Option<FirstOperand>) -> Result<ParsedOperand> {
        if let Some(first) = first {
            return Ok(first.parsed);
        }
        let Some(sign) = self.next.one_of(&[("+", PathSign::Plus), ("-", PathSign::Minus)]) else {
            return self.accessed();
        };
        self.next.advance()?;
        let operand = self.deeper(|reader| reader.signed(None))?;
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
        Ok(ParsedOperand::Value(PathExpression::of(start)))
    }

    /// Reads a value and the steps after it, or a condition in parentheses.
    fn accessed(&mut self) -> Result<ParsedOperand> {
        if self.next.token == PathToken::Symbol("(") {
            return self.enclosed();
        }
        if self.next.is_word("exists") {
            return self.exists().map(ParsedOperand::Condition);
        }
        let mut path = PathExpression::of(self.start()?);
        self.read_steps(&mut path.steps)?;
        Ok(ParsedOperand::Value(path))
    }

    /// Reads what is in parentheses. Those that begin at one place are no levels, because a chain of operands is shown
    /// with many of them: `(((a + b) + c) + d)`. What is not a chain adds levels.
    fn enclosed(&mut self) -> Result<ParsedOperand> {
        let before = (self.items, self.lasts);
        let reached_before = std::mem::take(&mut self.depth_reached);
        let mut opened = 0;
        while self.next.takes("(")? {
            opened += 1;
        }
        let parsed = self.deeper(|reader| {
            let mut parsed = reader.any(None)?;
            for still_open in (0..opened).rev() {
                reader.next.expect(")")?;
                parsed = reader.behind_parenthesis(parsed)?;
                if still_open > 0 {
                    parsed = reader.any(Some(FirstOperand { parsed, before }))?;
                }
            }
            Ok(parsed)
        })?;
        self.reach(reached_before)?;
        Ok(parsed)
    }

    /// Reads what belongs to something in parentheses.
    fn behind_parenthesis(&mut self, inner: ParsedOperand) -> Result<ParsedOperand> {
        let mut path = match inner {
            ParsedOperand::Value(path) => path,
            ParsedOperand::Condition(condition) => {
                if self.next.takes_word("is")? {
                    self.next.expect_word("unknown")?;
                    self.surround()?;
                    return Ok(ParsedOperand::Condition(PathCondition::IsUnknown(Box::new(condition))));
                }
                if self.next.one_of(&StepSymbol::WRITTEN).is_none() {
                    return Ok(ParsedOperand::Condition(condition));
                }
                self.surround()?;
                PathExpression::of(PathStart::Condition(Box::new(condition)))
            }
        };
        self.read_steps(&mut path.steps)?;
        Ok(ParsedOperand::Value(path))
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
        while let Some(read) = self.next.one_of(&StepSymbol::WRITTEN) {
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

    /// Parses the accessor or method that follows a `.`.
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

    /// Parses the levels after `.**`, such as `{1 to last}`. Without braces, these are all levels from 0.
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

    /// Parses the subscripts between `[` and `]`.
    fn bracketed(&mut self) -> Result<PathStep> {
        if self.next.takes("*")? {
            self.next.expect("]")?;
            return Ok(PathStep::Elements);
        }
        let lasts = self.lasts;
        self.subscripts += 1;
        let mut subscripts = Vec::new();
        loop {
            let from = self.sum(None)?;
            let from = self.value(from)?;
            let to = if self.next.takes_word("to")? {
                let to = self.sum(None)?;
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

    /// Parses the condition of a filter and its closing parenthesis.
    fn filter(&mut self) -> Result<PathStep> {
        let items = self.items;
        self.filters += 1;
        let condition = self.any(None)?;
        let condition = self.condition(condition)?;
        self.filters -= 1;
        self.items = items;
        self.next.expect(")")?;
        Ok(PathStep::Filter(condition))
    }
}

fn refuse_longer(count: usize) -> Result<()> {
    if count <= CHAIN_MAX {
        return Ok(());
    }
    Err(sql_error("the jsonpath has too many steps").with_hint(format!("the maximum is {CHAIN_MAX} in a row")))
}
