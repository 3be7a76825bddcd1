//! Numbers the partitions of rows.

use datafusion::arrow::array::{ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use std::collections::HashMap;
use std::sync::Arc;

/// The partitions so far. Rows with equal values in all columns are in one partition, and NULLs are equal.
pub(super) struct Partitions {
    /// For each column the numbers of its strings, if it has a dictionary.
    strings: Vec<Option<Strings>>,
    values: Box<dyn GroupValues>,
}

impl Partitions {
    /// No partitions yet, by columns of these types.
    pub(super) fn new(types: &[DataType]) -> Result<Self> {
        let numbered = |data_type: &DataType| matches!(data_type, DataType::Dictionary(..));
        let field = |data_type: &DataType| {
            let data_type = if numbered(data_type) { DataType::UInt64 } else { data_type.clone() };
            Field::new("", data_type, true)
        };
        let schema = Schema::new(types.iter().map(field).collect::<Vec<_>>());
        let strings = types.iter().map(|data_type| numbered(data_type).then(Strings::default)).collect();
        Ok(Self { strings, values: new_group_values(Arc::new(schema), &GroupOrdering::None)? })
    }

    /// The number of the partition of each row.
    pub(super) fn number(&mut self, columns: &[ArrayRef], partitions: &mut Vec<usize>) -> Result<()> {
        let numbered = columns.iter().zip(&mut self.strings).map(|(column, strings)| match strings {
            Some(strings) => strings.number(column),
            None => Ok(Arc::clone(column)),
        });
        let columns = numbered.collect::<Result<Vec<_>>>()?;
        self.values.intern(&columns, partitions)
    }

    /// The size in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.values.size() + self.strings.iter().flatten().map(|strings| strings.bytes).sum::<usize>()
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
