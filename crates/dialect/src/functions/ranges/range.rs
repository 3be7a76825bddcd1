//! Ranges of values and PostgreSQL's operations on them. A range is empty, or has two bounds.

use super::element::Element;
use crate::functions::base::text_types::RangeType;
use atsdb_core::{Error, Result};

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RangeBound {
    /// `None` if the range has no end there.
    pub(crate) value: Option<Element>,
    /// Whether the value itself is in the range.
    pub(crate) is_inclusive: bool,
}

/// A set of values without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueRange {
    Empty,
    /// From a lower bound to an upper one.
    Between(RangeBound, RangeBound),
}

/// A place between or at values: before all (-1), at a value (0) or after all (1); the value; before it (-1), at it (0)
/// or after it (1). A lower bound stands where its range begins, an upper one where it ends.
pub(super) type BoundPosition = (i8, Element, i8);

impl RangeBound {
    fn lower_position(self) -> BoundPosition {
        self.value.map_or((-1, Element::ZERO, 0), |value| (0, value, i8::from(!self.is_inclusive)))
    }

    fn upper_position(self) -> BoundPosition {
        self.value.map_or((1, Element::ZERO, 0), |value| (0, value, -i8::from(!self.is_inclusive)))
    }

    /// The bound on the other side of the same value, of the range that ends or begins here.
    fn opposite(self) -> Self {
        Self { is_inclusive: !self.is_inclusive, ..self }
    }

    /// The bound of a discrete range, where only lower bounds are inclusive.
    fn canonical(self, is_lower: bool, of: RangeType) -> Result<Self> {
        Ok(match self.value {
            Some(value) if self.is_inclusive != is_lower => {
                Self { value: Some(value.next(of)?), is_inclusive: is_lower }
            }
            _ => self,
        })
    }
}

fn least(left: RangeBound, right: RangeBound, position: fn(RangeBound) -> BoundPosition) -> RangeBound {
    if position(left) <= position(right) { left } else { right }
}

fn greatest(left: RangeBound, right: RangeBound, position: fn(RangeBound) -> BoundPosition) -> RangeBound {
    if position(left) >= position(right) { left } else { right }
}

/// Returns whether a range begins at the very place where another one ends.
fn is_adjacent(upper: RangeBound, lower: RangeBound) -> bool {
    match (upper.value, lower.value) {
        (Some(end), Some(start)) => end == start && upper.is_inclusive != lower.is_inclusive,
        _ => false,
    }
}

impl ValueRange {
    /// The range between two bounds, in the form that is the only one of its values.
    pub(crate) fn new(lower: RangeBound, upper: RangeBound, of: RangeType) -> Result<Self> {
        let is_empty = |lower: RangeBound, upper: RangeBound| {
            lower.value.is_some() && lower.value == upper.value && !(lower.is_inclusive && upper.is_inclusive)
        };
        if let (Some(start), Some(end)) = (lower.value, upper.value)
            && start > end
        {
            let error = Error::invalid("range lower bound must be less than or equal to range upper bound");
            return Err(error.with_hint("write the smaller bound first"));
        }
        if is_empty(lower, upper) {
            return Ok(Self::Empty);
        }
        let (lower, upper) = match of.is_discrete() {
            true => (lower.canonical(true, of)?, upper.canonical(false, of)?),
            false => (lower, upper),
        };
        if is_empty(lower, upper) {
            return Ok(Self::Empty);
        }
        let settled =
            |bound: RangeBound| RangeBound { is_inclusive: bound.is_inclusive && bound.value.is_some(), ..bound };
        Ok(Self::Between(settled(lower), settled(upper)))
    }

    /// The bounds, unless the range is empty.
    pub(super) fn bounds(self) -> Option<(RangeBound, RangeBound)> {
        match self {
            Self::Empty => None,
            Self::Between(lower, upper) => Some((lower, upper)),
        }
    }

    /// The positions of the lower and the upper bound; `None` if the range is empty. They have the order of ranges: the
    /// empty one first, then by their lower bounds, then by their upper ones.
    pub(super) fn positions(self) -> Option<[BoundPosition; 2]> {
        self.bounds().map(|(lower, upper)| [lower.lower_position(), upper.upper_position()])
    }

    /// Bytes in the order of ranges. Equal ranges have equal keys.
    pub(super) fn key(self) -> Vec<u8> {
        let Some(positions) = self.positions() else { return vec![0] };
        let mut key = vec![1];
        for (of_all, value, of_value) in positions {
            key.push((of_all + 1).cast_unsigned());
            value.push_key(&mut key);
            key.push((of_value + 1).cast_unsigned());
        }
        key
    }

    /// Returns whether the positions of both ranges' bounds fulfil a condition: the lower and the upper one of this
    /// range, then those of the other one. An empty range fulfils none.
    fn compares(self, other: Self, condition: impl Fn([BoundPosition; 4]) -> bool) -> bool {
        let positions = self.positions().zip(other.positions());
        positions.is_some_and(|([lower, upper], [from, to])| condition([lower, upper, from, to]))
    }

    /// `@>`
    pub(super) fn contains(self, other: Self) -> bool {
        other == Self::Empty || self.compares(other, |[lower, upper, from, to]| lower <= from && to <= upper)
    }

    /// `@>` of a value.
    pub(super) fn contains_element(self, element: Element) -> bool {
        let at = (0, element, 0);
        self.positions().is_some_and(|[lower, upper]| lower <= at && at <= upper)
    }

    /// `&&`
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.compares(other, |[lower, upper, from, to]| lower <= to && from <= upper)
    }

    /// `<<`
    pub(super) fn is_before(self, other: Self) -> bool {
        self.compares(other, |[_, upper, from, _]| upper < from)
    }

    /// `&<`
    pub(super) fn ends_within(self, other: Self) -> bool {
        self.compares(other, |[_, upper, _, to]| upper <= to)
    }

    /// `&>`
    pub(super) fn starts_within(self, other: Self) -> bool {
        self.compares(other, |[lower, _, from, _]| lower >= from)
    }

    /// `-|-`
    pub(super) fn is_adjacent_to(self, other: Self) -> bool {
        let bounds = self.bounds().zip(other.bounds());
        bounds.is_some_and(|((lower, upper), (from, to))| is_adjacent(upper, from) || is_adjacent(to, lower))
    }

    /// The smallest range that contains both.
    pub(super) fn merged(self, other: Self, of: RangeType) -> Result<Self> {
        match (self, other) {
            (Self::Empty, range) | (range, Self::Empty) => Ok(range),
            (Self::Between(lower, upper), Self::Between(from, to)) => Self::new(
                least(lower, from, RangeBound::lower_position),
                greatest(upper, to, RangeBound::upper_position),
                of,
            ),
        }
    }

    /// `+`
    pub(super) fn union(self, other: Self, of: RangeType) -> Result<Self> {
        let is_one = self == Self::Empty || other == Self::Empty;
        match is_one || self.overlaps(other) || self.is_adjacent_to(other) {
            true => self.merged(other, of),
            false => Err(not_contiguous("union", "range_merge(a, b) also covers what is between them")),
        }
    }

    /// `*`
    pub(super) fn intersection(self, other: Self, of: RangeType) -> Result<Self> {
        match (self, other) {
            (Self::Between(lower, upper), Self::Between(from, to)) if self.overlaps(other) => Self::new(
                greatest(lower, from, RangeBound::lower_position),
                least(upper, to, RangeBound::upper_position),
                of,
            ),
            _ => Ok(Self::Empty),
        }
    }

    /// `-`
    pub(super) fn difference(self, other: Self, of: RangeType) -> Result<Self> {
        let (Self::Between(lower, upper), Self::Between(from, to)) = (self, other) else { return Ok(self) };
        if !self.overlaps(other) {
            return Ok(self);
        }
        let starts_before = lower.lower_position() < from.lower_position();
        let ends_after = upper.upper_position() > to.upper_position();
        match (starts_before, ends_after) {
            (true, true) => {
                Err(not_contiguous("difference", "subtract a range that begins or ends with the other one"))
            }
            (true, false) => Self::new(lower, from.opposite(), of),
            (false, true) => Self::new(to.opposite(), upper, of),
            (false, false) => Ok(Self::Empty),
        }
    }
}

fn not_contiguous(operation: &str, hint: &str) -> Error {
    Error::invalid(format!("result of range {operation} would not be contiguous")).with_hint(hint)
}
