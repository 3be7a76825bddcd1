//! One condition on one label.

use regex::{Regex, RegexBuilder};
use std::fmt;
use strum::{EnumString, FromRepr, IntoStaticStr};

/// The largest compiled size of a regular expression in a query, in bytes.
const REGEX_SIZE_MAX: usize = 1 << 22;

/// The comparison of a label's value, with its number in a read request. Its name is its text in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, FromRepr, IntoStaticStr)]
#[repr(u8)]
pub enum MatchOp {
    /// `=`
    #[strum(serialize = "=")]
    Equal = 0,
    /// `!=`
    #[strum(serialize = "!=")]
    NotEqual = 1,
    /// `=~`: the whole value matches.
    #[strum(serialize = "=~")]
    Matches = 2,
    /// `!~`
    #[strum(serialize = "!~")]
    NotMatches = 3,
}

/// A condition on a label. A label that a series lacks has the empty value.
#[derive(Clone)]
pub struct Matcher {
    /// The label's name.
    pub name: String,
    /// The comparison.
    pub op: MatchOp,
    /// A text, or a regular expression.
    pub value: String,
    regex: Option<Regex>,
}

/// A regular expression that must match the whole text. A dot also matches line ends.
pub fn anchored(pattern: &str) -> Result<Regex, String> {
    let whole = format!("^(?s:{pattern})$");
    RegexBuilder::new(&whole).size_limit(REGEX_SIZE_MAX).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("regular expression is too large: {pattern}"),
        _ => format!("error parsing regexp: {pattern}"),
    })
}

impl Matcher {
    /// Fails for a malformed regular expression.
    pub fn new(name: impl Into<String>, op: MatchOp, value: impl Into<String>) -> Result<Self, String> {
        let value = value.into();
        let regex = match op {
            MatchOp::Equal | MatchOp::NotEqual => None,
            MatchOp::Matches | MatchOp::NotMatches => Some(anchored(&value)?),
        };
        Ok(Self { name: name.into(), op, value, regex })
    }

    /// A condition that a label has exactly this value.
    pub fn equal(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), op: MatchOp::Equal, value: value.into(), regex: None }
    }

    /// Returns whether a value satisfies the condition.
    pub fn matches(&self, value: &str) -> bool {
        match (&self.regex, self.op) {
            (_, MatchOp::Equal) => self.value == value,
            (_, MatchOp::NotEqual) => self.value != value,
            (Some(regex), MatchOp::Matches) => regex.is_match(value),
            (Some(regex), MatchOp::NotMatches) => !regex.is_match(value),
            (None, _) => unreachable!("a regular expression is compiled when the matcher is made"),
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op: &str = self.op.into();
        write!(f, "{}{op}{:?}", self.name, self.value)
    }
}
