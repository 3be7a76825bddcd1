//! A clock for each series of a key: as long as the growing column of the key grows in each combination of the others,
//! no two rows are the same, and nothing needs to be looked up. That is how measurements come.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::*;
use std::collections::HashMap;

/// Series of lower numbers have their clock in an array.
const NUMBER_MAX: u64 = 1 << 22;
/// With more series than this beyond the array the clocks stop.
const HASHED_MAX: usize = 1 << 22;

/// The latest value of the growing column in each series.
#[derive(Debug)]
pub(crate) struct SeriesClock {
    /// Which column of the key grows.
    growing: usize,
    by_number: Vec<i64>,
    by_hash: HashMap<u64, i64>,
    /// Rows came that it could not take in: nothing is known any more.
    stopped: bool,
}

impl SeriesClock {
    /// A clock for a key whose column at `growing` is expected to grow.
    pub(crate) fn new(growing: Option<usize>) -> Self {
        let (by_number, by_hash) = (Vec::new(), HashMap::new());
        Self { growing: growing.unwrap_or(0), by_number, by_hash, stopped: growing.is_none() }
    }

    /// Takes the key's columns of some rows in. Says whether no two of all the rows so far are the same, as far as it
    /// can tell.
    pub(crate) fn advance(&mut self, columns: &[ArrayRef]) -> bool {
        if self.stopped {
            return false;
        }
        match self.numbers(columns) {
            Some((series, times)) => self.tick(series.as_deref(), &times),
            None => {
                self.stopped = true;
                false
            }
        }
    }

    /// For each row the number of its series (none: there is one) and the growing value.
    fn numbers(&self, columns: &[ArrayRef]) -> Option<(Option<Vec<u64>>, Vec<i64>)> {
        if columns.iter().any(|column| column.null_count() > 0) {
            return None;
        }
        let times: Vec<i64> = integers(columns.get(self.growing)?)?;
        let mut others = columns.iter().enumerate().filter(|(at, _)| *at != self.growing).map(|(_, array)| array);
        let series = match (others.next(), others.next(), others.next()) {
            (None, ..) => None,
            (Some(one), None, _) => Some(integers(one)?.into_iter().map(|value| value as u64).collect()),
            (Some(one), Some(two), None) => {
                let (one, two) = (integers(one)?, integers(two)?);
                let both = |(one, two): (i64, i64)| {
                    Some(u64::from(u32::try_from(one).ok()?) << 32 | u64::from(u32::try_from(two).ok()?))
                };
                Some(one.into_iter().zip(two).map(both).collect::<Option<Vec<u64>>>()?)
            }
            _ => return None,
        };
        Some((series, times))
    }

    fn tick(&mut self, series: Option<&[u64]>, times: &[i64]) -> bool {
        let Some(series) = series else {
            return self.tick_one(times);
        };
        let mut grows = true;
        for (number, time) in series.iter().zip(times) {
            let latest = match *number < NUMBER_MAX {
                true => {
                    let at = *number as usize;
                    if at >= self.by_number.len() {
                        self.by_number.resize((at + 1).next_power_of_two(), i64::MIN);
                    }
                    &mut self.by_number[at]
                }
                false => self.by_hash.entry(*number).or_insert(i64::MIN),
            };
            grows &= *time > *latest;
            *latest = (*latest).max(*time);
        }
        self.stopped = self.by_hash.len() > HASHED_MAX;
        grows
    }

    fn tick_one(&mut self, times: &[i64]) -> bool {
        let mut latest = self.by_number.first().copied().unwrap_or(i64::MIN);
        let mut grows = true;
        for time in times {
            grows &= *time > latest;
            latest = latest.max(*time);
        }
        self.by_number = vec![latest];
        grows
    }
}

/// Integers, indices, dates and times as numbers; `None` for what is none, or does not fit.
fn integers(array: &ArrayRef) -> Option<Vec<i64>> {
    fn widened<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<Vec<i64>>
    where
        T::Native: Into<i64>,
    {
        Some(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect())
    }
    match array.data_type() {
        DataType::Int8 => widened::<Int8Type>(array),
        DataType::Int16 => widened::<Int16Type>(array),
        DataType::Int32 => widened::<Int32Type>(array),
        DataType::Int64 => widened::<Int64Type>(array),
        DataType::UInt8 => widened::<UInt8Type>(array),
        DataType::UInt16 => widened::<UInt16Type>(array),
        DataType::UInt32 => widened::<UInt32Type>(array),
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().values().iter().map(|value| i64::try_from(*value).ok()).collect()
        }
        DataType::Date32 => widened::<Date32Type>(array),
        DataType::Timestamp(arrow::datatypes::TimeUnit::Second, _) => widened::<TimestampSecondType>(array),
        DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, _) => widened::<TimestampMillisecondType>(array),
        DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _) => widened::<TimestampMicrosecondType>(array),
        DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, _) => widened::<TimestampNanosecondType>(array),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::SeriesClock;
    use arrow::array::{ArrayRef, Int64Array, StringArray, UInt32Array};
    use std::sync::Arc;

    fn rows(series: &[u32], times: &[i64]) -> Vec<ArrayRef> {
        vec![Arc::new(UInt32Array::from(series.to_vec())), Arc::new(Int64Array::from(times.to_vec()))]
    }

    #[test]
    fn rows_that_grow_in_each_series_are_all_different() {
        let mut clock = SeriesClock::new(Some(1));
        assert!(clock.advance(&rows(&[1, 2, 1], &[5, 5, 6])));
        assert!(clock.advance(&rows(&[2, 7_000_000], &[6, 1])));
        assert!(!clock.advance(&rows(&[2], &[6])));
        assert!(!clock.advance(&rows(&[7_000_000], &[1])));
        assert!(!clock.advance(&rows(&[1], &[4])), "older than the latest of its series");
        assert!(clock.advance(&rows(&[1], &[7])));
    }

    #[test]
    fn a_late_row_does_not_turn_the_clock_back() {
        let mut clock = SeriesClock::new(Some(1));
        assert!(clock.advance(&rows(&[1], &[9])));
        assert!(!clock.advance(&rows(&[1], &[3])));
        assert!(!clock.advance(&rows(&[1], &[9])));
    }

    #[test]
    fn what_it_cannot_take_in_stops_it() {
        let mut clock = SeriesClock::new(Some(1));
        let text: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec!["a"])), Arc::new(Int64Array::from(vec![1]))];
        assert!(!clock.advance(&text));
        assert!(!clock.advance(&rows(&[1], &[1])));
        let mut clock = SeriesClock::new(Some(1));
        let null: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(vec![None])), Arc::new(Int64Array::from(vec![1]))];
        assert!(!clock.advance(&null));
        assert!(!clock.advance(&rows(&[1], &[1])));
    }
}
