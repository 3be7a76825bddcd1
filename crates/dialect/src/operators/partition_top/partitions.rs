//! Numbers the partitions of rows.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use datafusion::arrow::compute::{cast, max, min, take};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::common::Result;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use std::collections::HashMap;
use std::sync::Arc;

/// Integers below this are numbers of partitions themselves.
const SMALL: i64 = 1 << 20;

/// The partitions so far. Rows with equal values in all columns are in one partition, and NULLs are equal.
pub(super) struct Partitions {
    /// The numbers of each column's strings; `None` for a column without a dictionary.
    strings: Vec<Option<Strings>>,
    /// The only column, if it has integers or strings.
    small: Option<SmallIntegers>,
    values: Box<dyn GroupValues>,
}

impl Partitions {
    /// No partitions yet, by columns of these types.
    pub(super) fn new(types: &[DataType]) -> Result<Self> {
        let numbered = |data_type: &DataType| matches!(data_type, DataType::Dictionary(..));
        let plain = |data_type: &DataType| if numbered(data_type) { DataType::UInt64 } else { data_type.clone() };
        let plain: Vec<DataType> = types.iter().map(plain).collect();
        let schema =
            Schema::new(plain.iter().map(|data_type| Field::new("", data_type.clone(), true)).collect::<Vec<_>>());
        let strings = types.iter().map(|data_type| numbered(data_type).then(Strings::default)).collect();
        let small = matches!(plain.as_slice(), [only] if only.is_integer()).then(SmallIntegers::default);
        Ok(Self { strings, small, values: new_group_values(Arc::new(schema), &GroupOrdering::None)? })
    }

    /// The number of the partition of each row. There may be numbers without a partition.
    pub(super) fn number(&mut self, columns: &[ArrayRef], partitions: &mut Vec<usize>) -> Result<()> {
        let numbered = columns.iter().zip(&mut self.strings).map(|(column, strings)| match strings {
            Some(strings) => strings.number(column),
            None => Ok(Arc::clone(column)),
        });
        let columns = numbered.collect::<Result<Vec<_>>>()?;
        let Some(small) = &mut self.small else { return self.values.intern(&columns, partitions) };
        let integers = cast(&columns[0], &DataType::Int64)?;
        let integers = integers.as_primitive::<Int64Type>();
        // An integer without sign that is too large for the cast is NULL now.
        let are_cast = integers.null_count() == columns[0].null_count();
        small.is_closed |= !are_cast;
        if are_cast && small.number(integers, partitions) {
            return Ok(());
        }
        self.values.intern(&columns, partitions)?;
        for (row, partition) in partitions.iter_mut().enumerate() {
            let is_cast = integers.is_valid(row) || columns[0].is_null(row);
            *partition = small.number_of(integers, row).filter(|_| is_cast).unwrap_or(small.count + *partition);
        }
        Ok(())
    }

    /// The size in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.values.size() + self.strings.iter().flatten().map(|strings| strings.bytes).sum::<usize>()
    }
}

/// Partitions by small integers, which need no look-up: NULL has the number 0, and each integer the next after itself.
#[derive(Default)]
struct SmallIntegers {
    /// The numbers that are taken. Integers beyond them are looked up once there was one that is not small.
    count: usize,
    is_closed: bool,
}

impl SmallIntegers {
    /// The numbers of integers, if all of them are small.
    fn number(&mut self, integers: &Int64Array, partitions: &mut Vec<usize>) -> bool {
        let (least, most) = (min(integers).unwrap_or(0), max(integers).unwrap_or(0));
        if least < 0 || most >= SMALL {
            self.is_closed = true;
        }
        let count = if least < 0 { usize::MAX } else { (most as usize).saturating_add(2) };
        if self.is_closed && count > self.count {
            return false;
        }
        self.count = self.count.max(count);
        match integers.nulls() {
            None => partitions.extend(integers.values().iter().map(|value| *value as usize + 1)),
            Some(_) => partitions.extend(integers.iter().map(|value| value.map_or(0, |value| value as usize + 1))),
        }
        true
    }

    /// The number of an integer, if it has one.
    fn number_of(&self, integers: &Int64Array, row: usize) -> Option<usize> {
        let number = match integers.is_valid(row) {
            true => usize::try_from(integers.value(row)).ok()?.saturating_add(1),
            false => 0,
        };
        (number < self.count).then_some(number)
    }
}

/// Numbers for the strings of dictionaries, which may differ from batch to batch.
#[derive(Default)]
struct Strings {
    numbers: HashMap<Box<str>, u64>,
    bytes: usize,
    /// The strings of the last batch's dictionary and their numbers. Batches often share a dictionary.
    last: Option<(ArrayRef, UInt64Array)>,
}

impl Strings {
    fn number(&mut self, column: &ArrayRef) -> Result<ArrayRef> {
        let dictionary = column.as_any_dictionary();
        let strings = dictionary.values();
        let numbers = match &self.last {
            Some((last, numbers)) if Arc::ptr_eq(last, strings) => numbers.clone(),
            _ => {
                let texts = cast(strings, &DataType::Utf8)?;
                let numbers: UInt64Array =
                    texts.as_string::<i32>().iter().map(|text| text.map(|text| self.number_of(text))).collect();
                self.last = Some((Arc::clone(strings), numbers.clone()));
                numbers
            }
        };
        Ok(take(&numbers, dictionary.keys(), None)?)
    }

    fn number_of(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.numbers.len() as u64;
        self.bytes += text.len() + 2 * size_of::<(Box<str>, u64)>();
        self.numbers.insert(text.into(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int32Array, StringArray};
    use datafusion::arrow::util::display::array_value_to_string;

    /// Numbers batches of one column, and checks that equal values have equal numbers, and others have others.
    fn check(batches: &[ArrayRef]) -> usize {
        let mut partitions = Partitions::new(&[batches[0].data_type().clone()]).unwrap();
        let mut found: HashMap<String, usize> = HashMap::new();
        let mut largest = 0;
        for batch in batches {
            let mut numbers = Vec::new();
            partitions.number(&[Arc::clone(batch)], &mut numbers).unwrap();
            assert_eq!(numbers.len(), batch.len());
            for (row, number) in numbers.into_iter().enumerate() {
                let value = array_value_to_string(batch, row).unwrap();
                assert_eq!(*found.entry(value).or_insert(number), number);
                largest = largest.max(number);
            }
        }
        let numbers: std::collections::HashSet<usize> = found.values().copied().collect();
        assert_eq!(numbers.len(), found.len());
        largest
    }

    fn integers(values: &[Option<i32>]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    #[test]
    fn each_value_has_one_number_also_after_the_first_that_is_not_small() {
        let (small, large) = (integers(&[Some(3), None, Some(0), Some(3)]), integers(&[Some(i32::MAX), Some(3), None]));
        let other = integers(&[Some(4), Some(3), Some(i32::MAX), Some(100), Some(0), None]);
        let negative = integers(&[Some(-1), Some(0), Some(i32::MIN), None]);
        assert_eq!(check(&[Arc::clone(&small)]), 4);
        let batches = [large, small, other, negative];
        for first in 0..batches.len() {
            let mut batches = batches.clone();
            batches.rotate_left(first);
            assert!(check(&batches) < 32, "no gap up to the largest");
        }
    }

    #[test]
    fn integers_without_sign_and_strings_have_numbers() {
        let unsigned = UInt64Array::from(vec![Some(u64::MAX), Some(1), None, Some(u64::MAX - 1), Some(u64::MAX)]);
        check(&[Arc::new(unsigned), Arc::new(UInt64Array::from(vec![Some(1), None, Some(0)]))]);
        let texts = |texts: Vec<Option<&str>>| {
            let target = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            cast(&StringArray::from(texts), &target).unwrap()
        };
        assert_eq!(check(&[texts(vec![Some("b"), None, Some("a")]), texts(vec![Some("c"), Some("b"), None])]), 3);
    }
}
