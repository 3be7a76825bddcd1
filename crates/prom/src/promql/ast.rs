//! The syntax tree of an expression.

use super::functions::Function;
use super::span::Span;
use crate::labels::Matcher;
use strum::{EnumString, IntoStaticStr};

/// An expression and where it begins, in bytes.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The position of its first character.
    pub start: usize,
    /// The kind of expression.
    pub kind: ExprKind,
    /// The nesting depth, including this expression.
    pub depth: usize,
}

impl Expr {
    pub(super) fn new(start: usize, kind: ExprKind) -> Self {
        let inside = kind.operands().iter().map(|operand| operand.depth).max().unwrap_or_default();
        Self { start, kind, depth: inside + 1 }
    }

    /// All selectors in the expression, in the order of the text.
    pub fn selectors(&self) -> Vec<&Selector> {
        match &self.kind {
            ExprKind::Selector(selector) | ExprKind::Range { selector, .. } => vec![selector],
            other => other.operands().into_iter().flat_map(Self::selectors).collect(),
        }
    }

    /// The expression inside its parentheses.
    pub fn bare(&self) -> &Self {
        match &self.kind {
            ExprKind::Paren(inner) => inner.bare(),
            _ => self,
        }
    }
}

/// The kinds of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// `1.5`
    Number(f64),
    /// `"text"`
    Text(String),
    /// `metric{label="value"}`
    Selector(Selector),
    /// `metric[5m]`
    Range {
        /// The series.
        selector: Selector,
        /// The length of the range.
        range: Span,
    },
    /// `expr[1h:5m]`
    Subquery {
        /// The expression that is evaluated repeatedly.
        expr: Box<Expr>,
        /// The length of the range.
        range: Span,
        /// The step between evaluations; a minute if not given.
        step: Option<Span>,
        /// `@` and `offset`
        shift: Shift,
    },
    /// `(expr)`
    Paren(Box<Expr>),
    /// `-expr` or `+expr`
    Unary {
        /// Whether the sign is a minus.
        minus: bool,
        /// The operand.
        expr: Box<Expr>,
    },
    /// `a + b`
    Binary(Box<Binary>),
    /// `rate(metric[5m])`
    Call {
        /// The function.
        function: &'static Function,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// `sum by (label) (expr)`
    Aggregate(Box<Aggregate>),
}

impl ExprKind {
    /// The expressions that this one is made of.
    fn operands(&self) -> Vec<&Expr> {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Selector(_) | Self::Range { .. } => Vec::new(),
            Self::Subquery { expr, .. } | Self::Paren(expr) | Self::Unary { expr, .. } => vec![expr.as_ref()],
            Self::Binary(binary) => vec![&binary.left, &binary.right],
            Self::Call { args, .. } => args.iter().collect(),
            Self::Aggregate(aggregate) => aggregate.param.iter().chain([&aggregate.expr]).collect(),
        }
    }
}

/// A selector of series, and the time at which they are read.
#[derive(Debug, Clone)]
pub struct Selector {
    /// The metric's name, if it is written before the braces. It is also among the matchers.
    pub name: Option<String>,
    /// All conditions.
    pub matchers: Vec<Matcher>,
    /// `@` and `offset`
    pub shift: Shift,
    /// `anchored` or `smoothed`
    pub edge: Edge,
}

/// How the values at the edges of a range are determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edge {
    /// Only samples inside count.
    #[default]
    Inside,
    /// The last sample before the range is the value at its beginning.
    Anchored,
    /// Values at both edges are interpolated.
    Smoothed,
}

/// The modifiers `@` and `offset`.
#[derive(Debug, Clone, Default)]
pub struct Shift {
    /// A fixed time.
    pub at: Option<At>,
    /// The offset into the past; negative values are in the future.
    pub offset: Option<Span>,
}

impl Shift {
    /// Returns whether neither is given.
    pub fn is_none(&self) -> bool {
        self.at.is_none() && self.offset.is_none()
    }
}

/// The time of an `@` modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Milliseconds since 1970.
    Time(i64),
    /// The beginning of the query.
    Start,
    /// The end of the query.
    End,
}

/// Operators between two expressions. Their names are their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    #[strum(serialize = "+")]
    Add,
    #[strum(serialize = "-")]
    Sub,
    #[strum(serialize = "*")]
    Mul,
    #[strum(serialize = "/")]
    Div,
    #[strum(serialize = "%")]
    Mod,
    #[strum(serialize = "^")]
    Pow,
    Atan2,
    #[strum(serialize = "==")]
    Equal,
    #[strum(serialize = "!=")]
    NotEqual,
    #[strum(serialize = ">")]
    Greater,
    #[strum(serialize = "<")]
    Less,
    #[strum(serialize = ">=")]
    GreaterEqual,
    #[strum(serialize = "<=")]
    LessEqual,
    #[strum(serialize = "</")]
    TrimUpper,
    #[strum(serialize = ">/")]
    TrimLower,
    And,
    Or,
    Unless,
}

impl BinaryOp {
    /// `==`, `<` and the like.
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual | Self::Greater | Self::Less | Self::GreaterEqual | Self::LessEqual)
    }

    /// `and`, `or`, `unless`.
    pub fn is_set(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Unless)
    }

    /// Returns whether the result has another meaning than the operands, so that the metric's name is dropped.
    pub fn changes_meaning(self) -> bool {
        matches!(self, Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Mod | Self::Pow | Self::Atan2)
    }

    /// How tightly the operator binds; larger numbers bind tighter.
    pub(super) fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And | Self::Unless => 2,
            Self::Equal
            | Self::NotEqual
            | Self::Greater
            | Self::Less
            | Self::GreaterEqual
            | Self::LessEqual
            | Self::TrimUpper
            | Self::TrimLower => 3,
            Self::Add | Self::Sub => 4,
            Self::Mul | Self::Div | Self::Mod | Self::Atan2 => 5,
            Self::Pow => 6,
        }
    }

    /// The text as written.
    pub fn symbol(self) -> &'static str {
        self.into()
    }
}

/// A binary operation.
#[derive(Debug, Clone)]
pub struct Binary {
    /// The operator.
    pub op: BinaryOp,
    /// The left operand.
    pub left: Expr,
    /// The right operand.
    pub right: Expr,
    /// Whether a comparison yields 0 and 1 instead of filtering.
    pub bool: bool,
    /// The rule by which series of both sides belong together.
    pub matching: Matching,
}

/// The rule by which series of two vectors belong together.
#[derive(Debug, Clone, Default)]
pub struct Matching {
    /// `on`, instead of `ignoring`.
    pub on: bool,
    /// The labels of `on` or `ignoring`.
    pub labels: Vec<String>,
    /// The number of series of each side that match.
    pub cardinality: Cardinality,
    /// The labels that `group_left` and `group_right` copy from the other side.
    pub include: Vec<String>,
    /// The value of a missing series of the left side.
    pub fill_left: Option<f64>,
    /// The value of a missing series of the right side.
    pub fill_right: Option<f64>,
}

/// The number of series of one side that belong to one of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cardinality {
    /// One.
    #[default]
    OneToOne,
    /// `group_left`
    ManyToOne,
    /// `group_right`
    OneToMany,
}

/// The operators that aggregate series. They are named in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", ascii_case_insensitive)]
#[expect(missing_docs, reason = "the names say it")]
pub enum AggregateOp {
    Sum,
    Avg,
    Count,
    Min,
    Max,
    Group,
    Stddev,
    Stdvar,
    Topk,
    Bottomk,
    CountValues,
    Quantile,
    Limitk,
    LimitRatio,
}

impl AggregateOp {
    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The operator of a name.
    pub fn of(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Returns whether the aggregation takes a parameter before the vector.
    pub fn has_param(self) -> bool {
        matches!(
            self,
            Self::Topk | Self::Bottomk | Self::CountValues | Self::Quantile | Self::Limitk | Self::LimitRatio
        )
    }
}

/// An aggregation.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The operator.
    pub op: AggregateOp,
    /// The expression that is aggregated.
    pub expr: Expr,
    /// `k`, the quantile, the ratio or the label.
    pub param: Option<Expr>,
    /// The labels of `by` or `without`.
    pub labels: Vec<String>,
    /// `without`, instead of `by`.
    pub without: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_parsed_from_their_texts_in_either_case() {
        for op in [BinaryOp::Pow, BinaryOp::GreaterEqual, BinaryOp::TrimUpper, BinaryOp::Atan2, BinaryOp::Unless] {
            assert_eq!(op.symbol().to_ascii_uppercase().parse::<BinaryOp>(), Ok(op));
        }
        assert!("=".parse::<BinaryOp>().is_err() && "not equal".parse::<BinaryOp>().is_err());
        assert_eq!(AggregateOp::of("Limit_Ratio"), Some(AggregateOp::LimitRatio));
        assert_eq!(AggregateOp::of("limitratio"), None);
    }
}
