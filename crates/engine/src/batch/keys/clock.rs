//! A clock for each series of a key: while the growing column of the key grows within each combination of the other
//! columns, no two rows have the same key, and no lookup is needed. Measurements usually arrive like that.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::*;
use std::collections::HashMap;

/// Series with smaller numbers have their clock in an array, the others in a hash table.
const NUMBER_MAX: u64 = 1 << 22;
/// With more series than this in the hash table, the clocks stop.
const HASHED_MAX: usize = 1 << 22;

/// The latest value of the growing column in each series.
#[derive(Debug)]
pub(crate) struct SeriesClock {
    /// Which column of the key grows.
    growing: usize,
    by_number: Vec<i64>,
    by_hash: HashMap<u64, i64>,
    /// Set after rows that the clocks cannot represent: nothing is known any more.
    stopped: bool,
}

impl SeriesClock {
    /// A clock for a key whose column at `growing` is expected to grow.
    pub(crate) fn new(growing: Option<usize>) -> Self {
        let (by_number, by_hash) = (Vec::new(), HashMap::new());
        Self { growing: growing.unwrap_or(0), by_number, by_hash, stopped: growing.is_none() }
    }

    /// Advances the clocks by rows, given as the columns of the key. Returns true if all rows so far are known to
    /// differ.
    pub(crate) fn advance(&mut self, columns: &[ArrayRef]) -> bool {
        if self.stopped || columns.iter().any(|column| column.null_count() > 0) {
            self.stopped = true;
            return false;
        }
        if let Some(grows) = self.advance_mapped(columns) {
            return grows;
        }
        match self.numbers(columns) {
            Some((Some(series), times)) => self.tick(&series, &times),
            Some((None, times)) => self.tick_one(&times),
            None => {
                self.stopped = true;
                false
            }
        }
    }

    /// [`advance`](Self::advance) without copies for a key of a mapped column and a time, which most keys are.
    fn advance_mapped(&mut self, columns: &[ArrayRef]) -> Option<bool> {
        if columns.len() != 2 {
            return None;
        }
        let times = longs(columns.get(self.growing)?)?;
        let series = &columns[1 - self.growing];
        match series.data_type() {
            DataType::UInt8 => Some(self.tick(series.as_primitive::<UInt8Type>().values(), times)),
            DataType::UInt16 => Some(self.tick(series.as_primitive::<UInt16Type>().values(), times)),
            DataType::UInt32 => Some(self.tick(series.as_primitive::<UInt32Type>().values(), times)),
            _ => None,
        }
    }

    /// For each row the number of its series, which is `None` if there is only one series, and the growing value.
    fn numbers(&self, columns: &[ArrayRef]) -> Option<(Option<Vec<u64>>, Vec<i64>)> {
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

    fn tick<N: Copy + Ord + Into<u64>>(&mut self, series: &[N], times: &[i64]) -> bool {
        let largest: u64 = series.iter().copied().max().map_or(0, N::into);
        let needed = largest.min(NUMBER_MAX - 1) as usize + 1;
        if self.by_number.len() < needed {
            self.by_number.resize(needed.next_power_of_two(), i64::MIN);
        }
        let mut grows = true;
        for (number, time) in series.iter().zip(times) {
            let number: u64 = (*number).into();
            let latest = match self.by_number.get_mut(number as usize) {
                Some(latest) => latest,
                None => self.by_hash.entry(number).or_insert(i64::MIN),
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

/// The values of an array of 64-bit integers or times.
fn longs(array: &ArrayRef) -> Option<&[i64]> {
    use arrow::datatypes::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().values(),
        DataType::Timestamp(Second, _) => array.as_primitive::<TimestampSecondType>().values(),
        DataType::Timestamp(Millisecond, _) => array.as_primitive::<TimestampMillisecondType>().values(),
        DataType::Timestamp(Microsecond, _) => array.as_primitive::<TimestampMicrosecondType>().values(),
        DataType::Timestamp(Nanosecond, _) => array.as_primitive::<TimestampNanosecondType>().values(),
        _ => return None,
    })
}

/// Integers, indices, dates and times as numbers. `None` for other types, and for values that do not fit.
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
        DataType::Timestamp(..) => longs(array).map(<[i64]>::to_vec),
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
