//! The text of an SQL/JSON path: `$.a.b`, `$.a[*]`, `$[0 to last]`, `$.a[*] ? (@.x > 1 && @.y == "q")`, `$.a.type()`,
//! `$.a.size()`. Paths are lax, as they are without a mode. Owned here: what a text means. Not owned: what a path finds
//! in a document ([`path_query`](super::path_query)).
//!
//! Arithmetic, variables, `**`, `like_regex`, `is unknown`, the mode `strict` and other methods are refused.

use super::jsonb::Json;
use crate::text::errors::{not_supported, sql_error};
use atsdb_core::{Error, Result, json_text};

/// Parentheses in conditions may be nested as deep as this.
const DEPTH_MAX: usize = 64;

/// How often a path may list one element: `[0, 0]` lists it twice, and `[0, 0][0, 0]` four times.
const REPEATS_MAX: usize = 10_000;

/// The path of a text.
#[derive(Debug)]
pub(super) struct JsonPath {
    pub(super) path: Path,
    /// The number of paths in conditions that begin at the document.
    pub(super) inner_count: usize,
    /// The number of [`Condition::Once`]s.
    pub(super) once_count: usize,
}

/// A path from the document, or from the item that a condition is about.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) start: PathStart,
    pub(super) steps: Vec<PathStep>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStart {
    Document,
    /// The document, in a condition. The path has this number, and finds the same for each item.
    Inner(usize),
    Item,
}

#[derive(Debug)]
pub(super) enum PathStep {
    /// The member of a key, which is here as objects have it.
    Member((usize, String)),
    Members,
    /// Ranges of positions; both ends belong to them.
    Positions(Vec<(Position, Position)>),
    Elements,
    Filter(Condition),
    TypeName,
    Size,
}

/// A position in an array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Position {
    FromStart(i64),
    /// So many elements before the last one.
    BeforeLast(i64),
}

#[derive(Debug)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Exists(Path),
    /// A condition that does not depend on the item, and its number.
    Once(usize, Box<Condition>),
    Compare(Operand, Comparison, Operand),
    StartsWith(Operand, String),
}

#[derive(Debug)]
pub(super) enum Operand {
    Path(Path),
    Value(Json),
}

impl Operand {
    fn is_of_item(&self) -> bool {
        matches!(self, Self::Path(path) if path.start == PathStart::Item)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Reads a path.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut reader = Reader { text, rest: text, depth: 0, inner_count: 0, once_count: 0 };
        if reader.takes_word("strict") {
            return Err(refused(text, "the mode strict"));
        }
        reader.takes_word("lax");
        if !reader.takes("$") {
            return Err(reader.wrong());
        }
        let steps = reader.steps()?;
        if !reader.rest.trim_start().is_empty() {
            return Err(reader.wrong());
        }
        let path = Path { start: PathStart::Document, steps };
        Ok(Self { path, inner_count: reader.inner_count, once_count: reader.once_count })
    }
}

fn refused(text: &str, what: &str) -> Error {
    not_supported(format_args!("{what} in the JSON path \"{text:.60}\"")).with_hint(HINT)
}

const HINT: &str = "a path is $ with .key, .*, [0], [*], .type(), .size() and ? (@.key > 1 && @.other == \"x\")";

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
    inner_count: usize,
    once_count: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self) -> Error {
        let error = match self.rest.trim_start() {
            "" => format!("the JSON path \"{:.60}\" ends too early", self.text),
            rest => format!("the JSON path \"{:.60}\" is wrong at \"{rest:.20}\"", self.text),
        };
        sql_error(error).with_hint(HINT)
    }

    /// Skips spaces, and a token if it is next.
    fn takes(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The same for a word, which no letter or digit may follow.
    fn takes_word(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(word) {
            Some(rest) if !rest.starts_with(is_of_word) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.takes(token) { Ok(()) } else { Err(self.wrong()) }
    }

    fn steps(&mut self) -> Result<Vec<PathStep>> {
        let mut steps = Vec::new();
        let mut repeats = 1_usize;
        loop {
            if self.takes(".**") {
                return Err(refused(self.text, ".**"));
            } else if self.takes(".*") {
                steps.push(PathStep::Members);
            } else if self.takes(".") {
                steps.push(self.member_or_method()?);
            } else if self.takes("[") {
                let elements = self.elements()?;
                if let PathStep::Positions(positions) = &elements {
                    repeats = repeats.saturating_mul(positions.len());
                    if repeats > REPEATS_MAX {
                        return Err(sql_error(format!("the JSON path \"{:.60}\" lists too many positions", self.text)));
                    }
                }
                steps.push(elements);
            } else if self.takes("?") {
                self.expect("(")?;
                let condition = self.condition()?;
                self.expect(")")?;
                steps.push(PathStep::Filter(condition));
            } else {
                return Ok(steps);
            }
        }
    }

    fn member_or_method(&mut self) -> Result<PathStep> {
        let member = |key: String| PathStep::Member((key.len(), key));
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('"') {
            return self.string().map(member);
        }
        let name = self.word()?;
        if !self.takes("(") {
            return Ok(member(name.to_owned()));
        }
        let step = match name {
            "type" => PathStep::TypeName,
            "size" => PathStep::Size,
            other => return Err(refused(self.text, &format!("the method {other}()"))),
        };
        self.expect(")")?;
        Ok(step)
    }

    /// What is between brackets.
    fn elements(&mut self) -> Result<PathStep> {
        if self.takes("*") {
            self.expect("]")?;
            return Ok(PathStep::Elements);
        }
        let mut positions = Vec::new();
        loop {
            let from = self.position()?;
            let to = if self.takes_word("to") { self.position()? } else { from };
            positions.push((from, to));
            if !self.takes(",") {
                self.expect("]")?;
                return Ok(PathStep::Positions(positions));
            }
        }
    }

    fn position(&mut self) -> Result<Position> {
        if self.takes_word("last") {
            return Ok(Position::BeforeLast(if self.takes("-") { self.whole_number()? } else { 0 }));
        }
        let is_negative = self.takes("-");
        let number = self.whole_number()?;
        Ok(Position::FromStart(if is_negative { -number } else { number }))
    }

    fn whole_number(&mut self) -> Result<i64> {
        self.rest = self.rest.trim_start();
        let digits = self.head(|letter| letter.is_ascii_digit());
        match digits.parse::<i64>() {
            Ok(number) if !self.rest.starts_with('.') => Ok(number),
            _ => Err(self.wrong()),
        }
    }

    /// Takes the letters that come next and are of a kind.
    fn head(&mut self, is_of: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter: char| !is_of(letter)).unwrap_or(self.rest.len());
        let (head, rest) = self.rest.split_at(end);
        self.rest = rest;
        head
    }

    fn word(&mut self) -> Result<&'a str> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.wrong());
        }
        let word = self.head(is_of_word);
        if word.is_empty() { Err(self.wrong()) } else { Ok(word) }
    }

    /// A text in double quotes.
    fn string(&mut self) -> Result<String> {
        let mut is_escaped = false;
        let is_end = |(_, letter): &(usize, char)| {
            let ends = *letter == '"' && !is_escaped;
            is_escaped = *letter == '\\' && !is_escaped;
            ends
        };
        let end = self.rest.char_indices().skip(1).find(is_end);
        let Some((end, _)) = end else { return Err(self.wrong()) };
        let (quoted, rest) = self.rest.split_at(end + 1);
        if json_text::check(quoted).is_err() {
            return Err(self.wrong());
        }
        self.rest = rest;
        Ok(json_text::as_text(quoted).unwrap_or_default().into_owned())
    }

    fn condition(&mut self) -> Result<Condition> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(sql_error(format!("the JSON path \"{:.60}\" has too many parentheses", self.text)));
        }
        let mut conditions = vec![self.conjunction()?];
        while self.takes("||") {
            conditions.push(self.conjunction()?);
        }
        self.depth -= 1;
        Ok(Condition::Any(conditions))
    }

    fn conjunction(&mut self) -> Result<Condition> {
        let mut conditions = vec![self.single_condition()?];
        while self.takes("&&") {
            conditions.push(self.single_condition()?);
        }
        Ok(Condition::All(conditions))
    }

    fn single_condition(&mut self) -> Result<Condition> {
        if self.takes("!") {
            self.rest = self.rest.trim_start();
            // Without parentheses it would be unclear what is negated.
            let is_clear = self.rest.starts_with('(') || self.rest.starts_with("exists");
            return if is_clear { Ok(Condition::Not(Box::new(self.delimited()?))) } else { Err(self.wrong()) };
        }
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('(') || self.rest.starts_with("exists") {
            return self.delimited();
        }
        let left = self.operand()?;
        if self.takes_word("starts") {
            if !self.takes_word("with") || !self.rest.trim_start().starts_with('"') {
                return Err(self.wrong());
            }
            self.rest = self.rest.trim_start();
            let is_of_item = left.is_of_item();
            let condition = Condition::StartsWith(left, self.string()?);
            return Ok(self.settled(condition, is_of_item));
        }
        for word in ["like_regex", "is"] {
            if self.takes_word(word) {
                return Err(refused(self.text, word));
            }
        }
        let comparison = self.comparison()?;
        let right = self.operand()?;
        let is_of_item = left.is_of_item() || right.is_of_item();
        Ok(self.settled(Condition::Compare(left, comparison, right), is_of_item))
    }

    /// Numbers a condition that does not depend on the item.
    fn settled(&mut self, condition: Condition, is_of_item: bool) -> Condition {
        if is_of_item {
            return condition;
        }
        self.once_count += 1;
        Condition::Once(self.once_count - 1, Box::new(condition))
    }

    /// A condition in parentheses, or `exists (path)`.
    fn delimited(&mut self) -> Result<Condition> {
        if self.takes_word("exists") {
            self.expect("(")?;
            let Operand::Path(path) = self.operand()? else { return Err(self.wrong()) };
            self.expect(")")?;
            let is_of_item = path.start == PathStart::Item;
            return Ok(self.settled(Condition::Exists(path), is_of_item));
        }
        self.expect("(")?;
        let condition = self.condition()?;
        self.expect(")")?;
        Ok(condition)
    }

    fn comparison(&mut self) -> Result<Comparison> {
        let comparisons = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<>", Comparison::Unequal),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        match comparisons.into_iter().find(|(written, _)| self.takes(written)) {
            Some((_, comparison)) => Ok(comparison),
            None => Err(self.wrong()),
        }
    }

    fn operand(&mut self) -> Result<Operand> {
        for sign in ["@", "$"] {
            if self.takes(sign) {
                if self.rest.starts_with(is_of_word) || self.rest.starts_with('"') {
                    return Err(refused(self.text, "a variable"));
                }
                let start = match sign {
                    "@" => PathStart::Item,
                    _ => {
                        self.inner_count += 1;
                        PathStart::Inner(self.inner_count - 1)
                    }
                };
                return Ok(Operand::Path(Path { start, steps: self.steps()? }));
            }
        }
        if self.rest.starts_with('"') {
            return Ok(Operand::Value(Json::Scalar(json_text::quoted(&self.string()?))));
        }
        for word in ["true", "false", "null"] {
            if self.takes_word(word) {
                return Ok(Operand::Value(Json::Scalar(word.to_owned())));
            }
        }
        let number = self.head(|letter| letter.is_ascii_digit() || matches!(letter, '+' | '-' | '.' | 'e' | 'E'));
        if number.is_empty() || json_text::check(number).is_err() {
            return Err(self.wrong());
        }
        Ok(Operand::Value(Json::of(number)))
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
