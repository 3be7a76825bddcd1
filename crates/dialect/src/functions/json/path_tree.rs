//! An SQL/JSON path as a tree: values, the steps that lead on from them, and conditions.

use super::jsonb::Json;
use super::path_regex::PathRegex;
use std::cmp::Ordering;

/// A path as it was written.
#[derive(Debug)]
pub(super) struct JsonPath {
    /// Whether arrays are opened and wrapped where a step needs that, and missing parts are no errors.
    pub(super) is_lax: bool,
    pub(super) expression: PathExpression,
    /// The number of [`PathCondition::Once`]s.
    pub(super) once_count: usize,
}

/// A value, and the steps that lead on from it.
#[derive(Debug)]
pub(super) struct PathExpression {
    pub(super) start: PathStart,
    pub(super) steps: Vec<PathStep>,
}

impl PathExpression {
    pub(super) fn of(start: PathStart) -> Self {
        Self { start, steps: Vec::new() }
    }

    /// The operands of a chain of these operators; another expression is the first operand of a new one.
    pub(super) fn into_chain(
        self,
        is_known: impl Fn(ArithmeticOperator) -> bool,
    ) -> (Box<Self>, Vec<(ArithmeticOperator, Self)>) {
        let is_chain = match &self.start {
            PathStart::Arithmetic(_, rest) => rest.iter().all(|(operator, _)| is_known(*operator)),
            _ => false,
        };
        match self {
            Self { start: PathStart::Arithmetic(first, rest), steps } if is_chain && steps.is_empty() => (first, rest),
            other => (Box::new(other), Vec::new()),
        }
    }
}

#[derive(Debug)]
pub(super) enum PathStart {
    /// `$`.
    Document,
    /// `@`: the item that a filter tests.
    Item,
    /// `last`: the last position of the array to which a subscript applies.
    Last,
    Variable(MemberKey),
    /// A literal, which is a scalar.
    Literal(Json),
    /// An operand, and others of the same precedence, which follow from left to right.
    Arithmetic(Box<PathExpression>, Vec<(ArithmeticOperator, PathExpression)>),
    Signed(PathSign, Box<PathExpression>),
    /// A condition, whose value is true, false or null.
    Condition(Box<PathCondition>),
}

/// The key of a member, as objects have it.
pub(super) type MemberKey = (usize, String);

pub(super) fn member_key(name: String) -> MemberKey {
    (name.len(), name)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl ArithmeticOperator {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathSign {
    Plus,
    Minus,
}

impl PathSign {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }
}

#[derive(Debug)]
pub(super) enum PathStep {
    Member(MemberKey),
    /// `.*`.
    Members,
    /// `[*]`.
    Elements,
    Subscripts(Vec<Subscript>),
    /// `.**`: values from one level below an item to another. Level 0 is the item itself.
    Descendants {
        first: u32,
        last: u32,
    },
    Filter(PathCondition),
    Method(PathMethod),
    /// `.datetime()`, with or without a template.
    Datetime(Option<String>),
}

impl PathStep {
    /// Returns whether the step from an array is taken from each of its elements in the mode lax.
    pub(super) fn is_about_single_items(&self) -> bool {
        match self {
            Self::Member(_) | Self::Members | Self::Filter(_) | Self::Datetime(_) => true,
            Self::Method(method) => !matches!(method, PathMethod::Type | PathMethod::Size),
            Self::Elements | Self::Subscripts(_) | Self::Descendants { .. } => false,
        }
    }
}

/// The symbol with which a step begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepSymbol {
    Name,
    Bracket,
    Filter,
}

impl StepSymbol {
    pub(super) const WRITTEN: [(&str, Self); 3] = [(".", Self::Name), ("[", Self::Bracket), ("?", Self::Filter)];
}

/// The level of the values that have no members or elements: `last`.
pub(super) const LEVEL_LAST: u32 = u32::MAX;

/// A position, or the first and the last one of a range.
#[derive(Debug)]
pub(super) struct Subscript {
    pub(super) from: PathExpression,
    pub(super) to: Option<PathExpression>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathMethod {
    Type,
    Size,
    Double,
    Ceiling,
    Floor,
    Abs,
    KeyValue,
}

impl PathMethod {
    pub(super) const ALL: [Self; 7] =
        [Self::Type, Self::Size, Self::Double, Self::Ceiling, Self::Floor, Self::Abs, Self::KeyValue];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Size => "size",
            Self::Double => "double",
            Self::Ceiling => "ceiling",
            Self::Floor => "floor",
            Self::Abs => "abs",
            Self::KeyValue => "keyvalue",
        }
    }
}

/// A predicate. Its value is true, false or unknown.
#[derive(Debug)]
pub(super) enum PathCondition {
    All(Vec<PathCondition>),
    Any(Vec<PathCondition>),
    Not(Box<PathCondition>),
    IsUnknown(Box<PathCondition>),
    Exists(PathExpression),
    Compare(PathExpression, Comparison, PathExpression),
    /// The second operand is a text or a variable.
    StartsWith(PathExpression, PathExpression),
    LikeRegex(PathExpression, PathRegex),
    /// A condition within a filter that does not depend on the item, and its number. It is tested once for a document.
    Once(usize, Box<PathCondition>),
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

impl Comparison {
    pub(super) const WRITTEN: [(&str, Self); 7] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<>", Self::Unequal),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
    ];

    /// Returns whether it holds for a value that is less than, equal to or greater than another one.
    pub(super) fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Unequal => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}
