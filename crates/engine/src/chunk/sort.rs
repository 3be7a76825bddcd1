//! The order of sealed rows: by series key, then time, then arrival.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::DataType;
use atsdb_codec::order_codes;
use atsdb_core::{Error, Result};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

/// The sort keys of rows.
pub(crate) struct SortKeys<'a> {
    codes: Vec<Vec<u64>>,
    times: &'a [i64],
}

impl<'a> SortKeys<'a> {
    /// The keys and times of the same rows.
    pub(crate) fn new(keys: &[ArrayRef], times: &'a Int64Array) -> Result<Self> {
        u32::try_from(times.len()).map_err(|_| Error::internal("too many rows to sort at once"))?;
        Ok(Self { codes: keys.iter().map(codes_of).collect::<Result<_>>()?, times: times.values() })
    }

    fn row_count(&self) -> u32 {
        self.times.len() as u32
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        let key_at = |row: u32| self.codes.iter().map(move |codes| codes[row as usize]);
        let time_at = |row: u32| self.times[row as usize];
        key_at(a).cmp(key_at(b)).then_with(|| time_at(a).cmp(&time_at(b))).then_with(|| a.cmp(&b))
    }

    /// The row numbers in sort order. Equal rows keep their order. `None` if the rows are sorted already.
    pub(crate) fn order(&self) -> Option<Vec<u32>> {
        let is_sorted = (1..self.row_count()).all(|row| self.compare(row - 1, row).is_le());
        (!is_sorted).then(|| self.counted().unwrap_or_else(|| self.compared()))
    }

    /// The row numbers in sort order, by a stable counting sort for each key from the last to the first. `None` if the
    /// codes of a key are spread too widely, as numbers may be; those of strings are dense.
    fn counted(&self) -> Option<Vec<u32>> {
        let spreads = self.codes.iter().map(|codes| Spread::of(codes)).collect::<Option<Vec<_>>>()?;
        let mut rows: Vec<u32> = (0..self.row_count()).collect();
        if !self.times.is_sorted() {
            let steps = steps_of(self.times);
            match Spread::of(&steps) {
                Some(spread) => rows = spread.sorted(&steps, &rows),
                None => rows.sort_by_key(|row| self.times[*row as usize]),
            }
        }
        for (codes, spread) in self.codes.iter().zip(spreads).rev() {
            rows = spread.sorted(codes, &rows);
        }
        Some(rows)
    }

    /// The row numbers in sort order, by comparing rows.
    fn compared(&self) -> Vec<u32> {
        if let [codes] = self.codes.as_slice() {
            // Sorting tuples avoids a memory access per comparison.
            let at = |row: u32| (codes[row as usize], self.times[row as usize], row);
            let mut rows: Vec<(u64, i64, u32)> = (0..self.row_count()).map(at).collect();
            rows.sort_unstable();
            return rows.into_iter().map(|(_, _, row)| row).collect();
        }
        let mut rows: Vec<u32> = (0..self.row_count()).collect();
        rows.sort_unstable_by(|a, b| self.compare(*a, *b));
        rows
    }

    /// Returns the number of rows whose key differs from that of the row before, in order of arrival.
    pub(crate) fn change_count(&self) -> usize {
        let differ = |row: &u32| self.codes.iter().any(|codes| codes[*row as usize] != codes[*row as usize - 1]);
        (1..self.row_count()).filter(differ).count()
    }

    /// The number of distinct values of the first key.
    pub(crate) fn distinct_count(&self) -> usize {
        self.codes.first().map_or(0, |codes| codes.iter().collect::<HashSet<_>>().len())
    }

    /// The `length` row numbers in the middle of the sort order, in order.
    pub(crate) fn middle(&self, length: usize) -> Vec<u32> {
        let start = self.times.len().saturating_sub(length) / 2;
        if let Some(rows) = self.counted() {
            return rows.into_iter().skip(start).take(length).collect();
        }
        // The other rows need not be sorted.
        let mut rows: Vec<u32> = (0..self.row_count()).collect();
        let mut window = rows.as_mut_slice();
        if start > 0 {
            let (_, _, after) = window.select_nth_unstable_by(start - 1, |a, b| self.compare(*a, *b));
            window = after;
        }
        if length < window.len() {
            window.select_nth_unstable_by(length, |a, b| self.compare(*a, *b));
            window = &mut window[..length];
        }
        window.sort_unstable_by(|a, b| self.compare(*a, *b));
        window.to_vec()
    }
}

/// Returns the distance of each time from the first one, in steps. The step is the largest of which all these distances
/// are multiples: a second, say, if times count microseconds and have no fractions.
fn steps_of(times: &[i64]) -> Vec<u64> {
    let first = times.iter().copied().min().unwrap_or(0);
    let mut step = 0;
    for time in times {
        let mut rest = time.abs_diff(first);
        if step == 0 || rest % step != 0 {
            while rest != 0 {
                (step, rest) = (rest, step % rest);
            }
        }
        // Times without a common step are not dense either.
        if step == 1 {
            break;
        }
    }
    times.iter().map(|time| time.abs_diff(first) / step.max(1)).collect()
}

/// The range of the codes of a key, in which each code can have a counter.
struct Spread {
    min: u64,
    count: usize,
}

impl Spread {
    /// `None` if the range is much larger than the number of rows.
    fn of(codes: &[u64]) -> Option<Self> {
        let (min, max) = codes.iter().fold((u64::MAX, 0), |(min, max), code| (min.min(*code), max.max(*code)));
        let width = max.saturating_sub(min);
        let is_dense = width <= 2 * codes.len() as u64 + 1_024;
        is_dense.then_some(Self { min, count: width as usize + 1 })
    }

    /// The rows in the order of their codes. Rows with equal codes keep their order.
    fn sorted(&self, codes: &[u64], rows: &[u32]) -> Vec<u32> {
        let at = |code: u64| (code - self.min) as usize;
        let mut next = vec![0_u32; self.count];
        codes.iter().for_each(|code| next[at(*code)] += 1);
        let mut start = 0;
        for position in &mut next {
            start += std::mem::replace(position, start);
        }
        let mut sorted = vec![0; rows.len()];
        for row in rows {
            let position = &mut next[at(codes[*row as usize])];
            sorted[*position as usize] = *row;
            *position += 1;
        }
        sorted
    }
}

/// Numbers in the order of the values; NULL comes first.
fn codes_of(array: &ArrayRef) -> Result<Vec<u64>> {
    let nulls = array.nulls();
    let with_nulls = |code: u64, row: usize| match nulls {
        // The smallest value may share its code with NULL. They then stay together, which is enough for sealing.
        Some(nulls) if nulls.is_null(row) => 0,
        _ => code,
    };
    let codes: Vec<u64> = match array.data_type() {
        DataType::Utf8 => ranks((0..array.len()).map(|row| array.as_string::<i32>().value(row).as_bytes())),
        DataType::Binary => ranks((0..array.len()).map(|row| array.as_binary::<i32>().value(row))),
        _ => order_codes(array)?,
    };
    Ok(codes.into_iter().enumerate().map(|(row, code)| with_nulls(code, row)).collect())
}

/// The rank of each value among the distinct ones.
fn ranks<'a>(values: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u64> {
    let mut rank_of: BTreeMap<&[u8], u64> = values.clone().map(|value| (value, 0)).collect();
    rank_of.values_mut().zip(0..).for_each(|(rank, number)| *rank = number);
    values.map(|value| rank_of[value]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, StringArray, UInt32Array};
    use std::sync::Arc;

    #[test]
    fn rows_are_ordered_by_key_then_time_then_arrival() {
        let sensor: ArrayRef = Arc::new(UInt32Array::from(vec![2, 1, 2, 1, 1]));
        let times = Int64Array::from(vec![5, 9, -5, 3, 3]);
        let keys = SortKeys::new(&[sensor], &times).unwrap();
        assert_eq!(keys.order().unwrap(), [3, 4, 1, 2, 0]);
        assert_eq!((keys.middle(3), keys.middle(9)), (vec![4, 1, 2], vec![3, 4, 1, 2, 0]));
    }

    #[test]
    fn several_keys_and_text_keys_order_too() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", "a"]));
        let number: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, -1]));
        let times = Int64Array::from(vec![0, 0, 0]);
        assert_eq!(SortKeys::new(&[text, number], &times).unwrap().order().unwrap(), [2, 1, 0]);
    }

    /// Counting gives the order of comparing, for keys with ties, NULLs, unordered times, and codes at the ends.
    #[test]
    fn counting_and_comparing_give_the_same_order() {
        let spread = |row: i64| row * 7_919 % 31;
        let first: ArrayRef =
            Arc::new(UInt32Array::from_iter((0..500).map(|row| (row % 9 > 0).then(|| spread(row) as u32))));
        let second: ArrayRef = Arc::new(Int32Array::from_iter_values((0..500).map(|row| i32::MIN + row % 5)));
        let dense: ArrayRef = Arc::new(Int32Array::from_iter_values((0..500).map(|row| i32::MAX - row % 7)));
        let times = Int64Array::from_iter_values((0..500).map(|row| row * 613 % 40));
        for keys in [vec![], vec![Arc::clone(&first)], vec![first, dense], vec![second]] {
            let keys = SortKeys::new(&keys, &times).unwrap();
            let compared = keys.compared();
            match keys.counted() {
                Some(counted) => assert_eq!(counted, compared),
                None => panic!("the codes are dense"),
            }
            assert_eq!(keys.middle(100), compared[200..300]);
        }
        let wide: ArrayRef = Arc::new(Int32Array::from_iter_values((0..500).map(|row| spread(row) as i32 * 1_000)));
        let wide = SortKeys::new(&[wide], &times).unwrap();
        assert_eq!((wide.counted(), wide.middle(100)), (None, wide.compared()[200..300].to_vec()));
    }

    #[test]
    fn times_are_counted_in_the_largest_common_step() {
        assert_eq!(steps_of(&[7, 1, 4, 1]), [2, 0, 1, 0]);
        assert_eq!(steps_of(&[0, 6, 4]), [0, 3, 2]);
        assert_eq!(steps_of(&[0, 3, 7]), [0, 3, 7]);
        assert_eq!(steps_of(&[-5, -5]), [0, 0]);
        assert_eq!(steps_of(&[i64::MAX, i64::MIN]), [1, 0]);
        assert!(steps_of(&[]).is_empty());
    }

    #[test]
    fn what_is_in_order_stays() {
        assert_eq!(SortKeys::new(&[], &Int64Array::from(vec![1, 1, 2])).unwrap().order(), None);
    }
}
