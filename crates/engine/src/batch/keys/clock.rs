//! A clock for each series of a key: while the growing column of the key grows within each combination of the other
//! columns, no two rows have the same key, and no lookup is needed. Measurements usually arrive like that.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::*;
use hashbrown::HashMap;
use twox_hash::XxHash3_64;

/// Series with smaller numbers have their clock in an array, the others in a hash table.
const NUMBER_MAX: u64 = 1 << 22;
/// The maximum number of series in the hash table. With more, the clocks stop.
const HASHED_MAX: usize = 1 << 22;

/// An odd number without a pattern: the fractional part of the golden ratio.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The latest value of the growing column in each series.
#[derive(Debug)]
pub(crate) struct SeriesClock {
    /// The position in the key of the growing column.
    growing: usize,
    by_number: Vec<i64>,
    by_hash: HashMap<u64, i64>,
    /// Whether series are identified by a hash alone; `None` before the first rows.
    hashes_series: Option<bool>,
    /// Set after rows that the clocks cannot represent. The clocks are not used any more.
    stopped: bool,
}

impl SeriesClock {
    /// A clock for a key whose column at `growing` is expected to grow.
    pub(crate) fn new(growing: Option<usize>) -> Self {
        let (by_number, by_hash) = (Vec::new(), HashMap::new());
        Self { growing: growing.unwrap_or(0), by_number, by_hash, hashes_series: None, stopped: growing.is_none() }
    }

    /// Advances the clocks by rows, given as the columns of the key. Returns true if all rows so far are known to
    /// differ.
    pub(crate) fn advance(&mut self, columns: &[ArrayRef]) -> bool {
        let grows = match columns.get(self.growing) {
            Some(growing) if !self.stopped && growing.null_count() == 0 => self.advance_series(columns),
            _ => None,
        };
        self.stopped |= grows.is_none();
        grows.unwrap_or(false)
    }

    /// `None` if the clocks cannot represent the rows.
    fn advance_series(&mut self, columns: &[ArrayRef]) -> Option<bool> {
        if self.hashes_series != Some(true) && columns.iter().all(|column| column.null_count() == 0) {
            let grows = match self.advance_mapped(columns) {
                Some(grows) => Some(grows),
                None => match self.numbers(columns) {
                    Some((Some(series), times)) => Some(self.tick(&series, &times)),
                    Some((None, times)) => Some(self.tick_one(&times)),
                    None => None,
                },
            };
            if grows.is_some() {
                self.hashes_series = Some(false);
                return grows;
            }
        }
        // Clocks of numbered series cannot be compared with those of hashed ones.
        if self.hashes_series == Some(false) {
            return None;
        }
        self.hashes_series = Some(true);
        let times = integers(columns.get(self.growing)?)?;
        let others = columns.iter().enumerate().filter(|(at, _)| *at != self.growing).map(|(_, array)| array);
        let mut series = vec![0_u64; times.len()];
        for array in others {
            add_to_hashes(&mut series, array)?;
        }
        Some(self.tick_hashed(&series, &times))
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

    /// Returns the number of each row's series, `None` if there is only one series, and each row's growing value.
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

    /// [`tick`](Self::tick) for series that are identified by a hash alone. Two series with one hash share a clock: it
    /// may then fail to show that rows differ, but never shows that equal rows differ.
    fn tick_hashed(&mut self, series: &[u64], times: &[i64]) -> bool {
        let mut grows = true;
        for (series, time) in series.iter().zip(times) {
            let latest = self.by_hash.entry(*series).or_insert(i64::MIN);
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

/// Adds a column to the hashes of rows. Values that are equal in SQL have the same hash, and so have NULLs. `None` for
/// types whose equal values differ in bits.
fn add_to_hashes(hashes: &mut [u64], array: &ArrayRef) -> Option<()> {
    fn add(hashes: &mut [u64], values: impl Iterator<Item = u64>) {
        for (hash, value) in hashes.iter_mut().zip(values) {
            *hash = (hash.rotate_left(23) ^ value).wrapping_mul(HASH_FACTOR);
        }
    }
    fn bytes(value: &[u8]) -> u64 {
        XxHash3_64::oneshot(value)
    }
    let nulls = array.nulls();
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls.is_null(row));
    // Added even if no row is NULL: the hash of a series must not depend on the other rows of the batch.
    add(hashes, (0..array.len()).map(|row| u64::from(is_null(row))));
    match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            add(hashes, texts.iter().map(|text| text.map_or(0, |text| bytes(text.as_bytes()))));
        }
        DataType::Binary => {
            add(hashes, array.as_binary::<i32>().iter().map(|value| value.map_or(0, bytes)));
        }
        DataType::Boolean => {
            add(hashes, array.as_boolean().iter().map(|value| u64::from(value == Some(true))));
        }
        _ => {
            let values = integers(array)?;
            let value = |(row, value): (usize, i64)| if is_null(row) { 0 } else { value as u64 };
            add(hashes, values.into_iter().enumerate().map(value));
        }
    }
    // The highest bits of a product depend on all bits of its factors, the lowest ones do not.
    hashes.iter_mut().for_each(|hash| *hash ^= *hash >> 32);
    Some(())
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
    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt32Array};
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
        let float: Vec<ArrayRef> = vec![Arc::new(Float64Array::from(vec![0.0])), Arc::new(Int64Array::from(vec![1]))];
        assert!(!clock.advance(&float));
        assert!(!clock.advance(&rows(&[1], &[1])));
        let mut clock = SeriesClock::new(Some(1));
        let null: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(vec![1])), Arc::new(Int64Array::from(vec![None]))];
        assert!(!clock.advance(&null));
        assert!(!clock.advance(&rows(&[1], &[1])));
    }

    #[test]
    fn series_of_many_columns_and_with_nulls_have_a_clock() {
        let rows = |rows: &[(Option<u32>, &str, Option<&str>, i64)]| -> Vec<ArrayRef> {
            vec![
                Arc::new(rows.iter().map(|row| row.0).collect::<UInt32Array>()),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
                Arc::new(rows.iter().map(|row| row.2).collect::<StringArray>()),
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.3))),
            ]
        };
        let mut clock = SeriesClock::new(Some(3));
        assert!(clock.advance(&rows(&[(None, "a", None, 5), (Some(0), "a", None, 5), (None, "a", Some(""), 5)])));
        assert!(clock.advance(&rows(&[(None, "a", None, 6), (Some(1), "b", Some("c"), 5)])));
        assert!(!clock.advance(&rows(&[(None, "a", None, 6)])), "the same series and time again");
        assert!(!clock.advance(&rows(&[(Some(1), "b", Some("c"), 4)])));
    }

    #[test]
    fn a_series_has_one_clock_whether_rows_beside_it_have_nulls_or_not() {
        let nulls = |series: Option<u32>| -> Vec<ArrayRef> {
            vec![Arc::new(UInt32Array::from(vec![series, Some(1)])), Arc::new(Int64Array::from(vec![5, 5]))]
        };
        let mut clock = SeriesClock::new(Some(1));
        assert!(clock.advance(&nulls(None)));
        assert!(!clock.advance(&rows(&[1], &[5])));
        let mut clock = SeriesClock::new(Some(1));
        assert!(clock.advance(&rows(&[1], &[5])));
        assert!(!clock.advance(&nulls(None)));
    }
}
