//! The results of the functions of ranges, row by row. A constant is read once for all rows.

use super::calls::RangeCall;
use super::element::{Element, array_of, elements_of};
use super::range::{RangeBound, ValueRange};
use super::range_text::{read, written};
use crate::functions::base::arguments::{value_in_row, values_of_texts};
use crate::functions::base::text_types::RangeType;
use crate::text::datafusion_errors::external;
use atsdb_core::{Error, Result as CoreResult};
use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray, BooleanArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use std::cmp::Ordering;
use std::sync::Arc;

/// The results of a call in `count` rows. An argument of one row has its value in all of them. `places` is the number
/// of digits after the point of decimals that are returned.
pub(super) fn computed(
    call: RangeCall,
    of: RangeType,
    places: i8,
    arguments: &[ArrayRef],
    count: usize,
) -> Result<ArrayRef> {
    use RangeCall as C;
    if call == C::Construct && arguments.len() > 1 {
        return constructed(of, arguments, count);
    }
    let texts = if call == C::ContainsElement { &arguments[..1] } else { arguments };
    let ranges = texts.iter().map(|texts| values_of_texts(texts, |text| read(text, of))).collect::<Result<Vec<_>>>()?;
    let rows = RowsOfRanges { ranges, of, count };
    Ok(match call {
        C::Construct => rows.ranges(|[range]| Ok(range))?,
        C::Declare => return internal_err!("the declaration of a range is no computation"),
        C::Key => Arc::new(rows.map(|[range]| Ok(range.key()))?.into_iter().collect::<BinaryArray>()),
        C::Lower => array_of(rows.bounds(|(lower, _)| lower)?, of, places)?,
        C::Upper => array_of(rows.bounds(|(_, upper)| upper)?, of, places)?,
        C::IsEmpty => rows.conditions(|[range]| range == ValueRange::Empty)?,
        C::LowerInclusive => rows.conditions_of_bounds(|(lower, _)| lower.is_inclusive)?,
        C::UpperInclusive => rows.conditions_of_bounds(|(_, upper)| upper.is_inclusive)?,
        C::LowerInfinite => rows.conditions_of_bounds(|(lower, _)| lower.value.is_none())?,
        C::UpperInfinite => rows.conditions_of_bounds(|(_, upper)| upper.value.is_none())?,
        C::Merge => rows.ranges(|[left, right]| left.merged(right, of))?,
        C::Union => rows.ranges(|[left, right]| left.union(right, of))?,
        C::Intersection => rows.ranges(|[left, right]| left.intersection(right, of))?,
        C::Difference => rows.ranges(|[left, right]| left.difference(right, of))?,
        C::Contains => rows.conditions(|[left, right]| left.contains(right))?,
        C::ContainsElement => {
            let elements = elements_of(&arguments[1], of)?;
            let pair = |row| rows.range(0, row).zip(value_in_row(&elements, row));
            let found = (0..count).map(|row| pair(row).map(|(range, element)| range.contains_element(element)));
            Arc::new(found.collect::<BooleanArray>())
        }
        C::Overlaps => rows.conditions(|[left, right]| left.overlaps(right))?,
        C::IsBefore => rows.conditions(|[left, right]| left.is_before(right))?,
        C::EndsWithin => rows.conditions(|[left, right]| left.ends_within(right))?,
        C::StartsWithin => rows.conditions(|[left, right]| left.starts_within(right))?,
        C::IsAdjacent => rows.conditions(|[left, right]| left.is_adjacent_to(right))?,
        C::Greatest => rows.extremes(Ordering::Greater),
        C::Least => rows.extremes(Ordering::Less),
        C::NullIf => rows.different(),
    })
}

/// The ranges of the arguments of a call.
struct RowsOfRanges {
    /// The ranges of each argument, by row. A list of one range holds for all rows.
    ranges: Vec<Vec<Option<ValueRange>>>,
    of: RangeType,
    count: usize,
}

impl RowsOfRanges {
    fn range(&self, argument: usize, row: usize) -> Option<ValueRange> {
        value_in_row(self.ranges.get(argument)?, row)
    }

    /// The result for the ranges of each row; NULL where one of them is.
    fn map<const N: usize, T>(&self, compute: impl Fn([ValueRange; N]) -> CoreResult<T>) -> Result<Vec<Option<T>>> {
        let result = |row: usize| {
            let mut ranges = [ValueRange::Empty; N];
            for (argument, range) in ranges.iter_mut().enumerate() {
                *range = match self.range(argument, row) {
                    Some(range) => range,
                    None => return Ok(None),
                };
            }
            compute(ranges).map(Some).map_err(external)
        };
        (0..self.count).map(result).collect()
    }

    fn conditions<const N: usize>(&self, condition: impl Fn([ValueRange; N]) -> bool) -> Result<ArrayRef> {
        Ok(Arc::new(BooleanArray::from(self.map(|ranges| Ok(condition(ranges)))?)))
    }

    /// A condition that the empty range does not fulfil.
    fn conditions_of_bounds(&self, condition: impl Fn((RangeBound, RangeBound)) -> bool) -> Result<ArrayRef> {
        self.conditions(|[range]| range.bounds().is_some_and(&condition))
    }

    fn ranges<const N: usize>(&self, compute: impl Fn([ValueRange; N]) -> CoreResult<ValueRange>) -> Result<ArrayRef> {
        Ok(texts_of(self.map(compute)?, self.of))
    }

    /// A bound of each range; NULL where it has none.
    fn bounds(&self, chosen: fn((RangeBound, RangeBound)) -> RangeBound) -> Result<Vec<Option<Element>>> {
        let bounds = self.map(|[range]| Ok(range.bounds().and_then(|bounds| chosen(bounds).value)))?;
        Ok(bounds.into_iter().map(Option::flatten).collect())
    }

    /// The greatest or the least range of each row. NULLs are left out.
    fn extremes(&self, extreme: Ordering) -> ArrayRef {
        let better = |best: ValueRange, candidate: ValueRange| {
            if candidate.positions().cmp(&best.positions()) == extreme { candidate } else { best }
        };
        let of_row = |row: usize| {
            let ranges = (0..self.ranges.len()).filter_map(|argument| self.range(argument, row));
            ranges.reduce(better)
        };
        texts_of((0..self.count).map(of_row).collect(), self.of)
    }

    /// The first range of each row; NULL where the second one equals it.
    fn different(&self) -> ArrayRef {
        let different = |row: usize| self.range(0, row).filter(|range| self.range(1, row) != Some(*range));
        texts_of((0..self.count).map(different).collect(), self.of)
    }
}

fn texts_of(ranges: Vec<Option<ValueRange>>, of: RangeType) -> ArrayRef {
    let texts = ranges.into_iter().map(|range| range.map(|range| written(range, of)));
    Arc::new(texts.collect::<StringArray>())
}

/// Ranges of bounds, and the brackets that say which bounds are inclusive: `[)` if they are left out.
fn constructed(of: RangeType, arguments: &[ArrayRef], count: usize) -> Result<ArrayRef> {
    let (lower, upper) = (elements_of(&arguments[0], of)?, elements_of(&arguments[1], of)?);
    let flags = match arguments.get(2) {
        Some(flags) => {
            let flags = cast(flags, &DataType::Utf8)?;
            let flags = flags.as_string::<i32>().iter();
            flags.map(|flags| inclusions(flags).map(Some)).collect::<CoreResult<Vec<_>>>().map_err(external)?
        }
        None => vec![Some((true, false))],
    };
    let range = |row: usize| -> CoreResult<Option<ValueRange>> {
        let Some((is_lower_inclusive, is_upper_inclusive)) = value_in_row(&flags, row) else { return Ok(None) };
        let bound = |values: &[Option<Element>], is_inclusive: bool| -> CoreResult<RangeBound> {
            let value = value_in_row(values, row).map(|value| value.to_bound(of)).transpose()?;
            Ok(RangeBound { value, is_inclusive })
        };
        ValueRange::new(bound(&lower, is_lower_inclusive)?, bound(&upper, is_upper_inclusive)?, of).map(Some)
    };
    let ranges = (0..count).map(range).collect::<CoreResult<Vec<_>>>().map_err(external)?;
    Ok(texts_of(ranges, of))
}

/// Returns whether the lower bound and the upper one are inclusive, by their brackets.
fn inclusions(flags: Option<&str>) -> CoreResult<(bool, bool)> {
    match flags {
        Some("[]") => Ok((true, true)),
        Some("[)") => Ok((true, false)),
        Some("(]") => Ok((false, true)),
        Some("()") => Ok((false, false)),
        Some(_) => Err(Error::invalid("invalid range bound flags").with_hint("write '[]', '[)', '(]' or '()'")),
        None => Err(Error::invalid("range constructor flags argument must not be null")
            .with_hint("write '[]', '[)', '(]' or '()'")),
    }
}
