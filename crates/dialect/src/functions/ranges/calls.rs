//! The calls of functions of ranges: how many arguments they take, and what they return.

use datafusion::logical_expr::{Signature, TypeSignature, Volatility};

/// The SQL functions of ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RangeCall {
    /// `int4range(1, 5, '[)')`, or reads a text: `int4range('[1,5)')`.
    Construct,
    /// Returns a value unchanged.
    Declare,
    /// Bytes in the order of ranges.
    Key,
    Lower,
    Upper,
    IsEmpty,
    LowerInclusive,
    UpperInclusive,
    LowerInfinite,
    UpperInfinite,
    Merge,
    /// `+`
    Union,
    /// `*`
    Intersection,
    /// `-`
    Difference,
    /// `@>` of two ranges.
    Contains,
    /// `@>` of a range and a value.
    ContainsElement,
    /// `&&`
    Overlaps,
    /// `<<`
    IsBefore,
    /// `&<`
    EndsWithin,
    /// `&>`
    StartsWithin,
    /// `-|-`
    IsAdjacent,
    Greatest,
    Least,
    NullIf,
}

impl RangeCall {
    /// The calls that have a name in SQL which no other function has, other than those that make ranges.
    pub(crate) const NAMED: [Self; 6] = [
        Self::IsEmpty,
        Self::LowerInclusive,
        Self::LowerInfinite,
        Self::Merge,
        Self::UpperInclusive,
        Self::UpperInfinite,
    ];

    pub(super) fn signature(self) -> Signature {
        use RangeCall as C;
        match self {
            C::Construct => {
                Signature::one_of((1..=3).map(TypeSignature::Any).collect::<Vec<_>>(), Volatility::Immutable)
            }
            C::Greatest | C::Least => Signature::variadic_any(Volatility::Immutable),
            C::Declare | C::Key | C::Lower | C::Upper | C::IsEmpty => Signature::any(1, Volatility::Immutable),
            C::LowerInclusive | C::UpperInclusive | C::LowerInfinite | C::UpperInfinite => {
                Signature::any(1, Volatility::Immutable)
            }
            _ => Signature::any(2, Volatility::Immutable),
        }
    }

    pub(super) fn result(self) -> ResultOfRanges {
        use RangeCall as C;
        match self {
            C::Key => ResultOfRanges::Key,
            C::Lower | C::Upper => ResultOfRanges::Element,
            C::Construct | C::Declare | C::Merge | C::Union | C::Intersection | C::Difference => ResultOfRanges::Range,
            C::Greatest | C::Least | C::NullIf => ResultOfRanges::Range,
            _ => ResultOfRanges::Condition,
        }
    }
}

/// The type of the results of a function of ranges.
pub(super) enum ResultOfRanges {
    Range,
    Element,
    Condition,
    Key,
}
