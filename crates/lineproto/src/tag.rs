//! The values of one tag, each once.

use arrow::array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::UInt32Type;
use hashbrown::HashMap;
use std::sync::Arc;

/// The number of a series' value in a tag that the series does not have. Values count from 1.
pub(crate) const NO_VALUE: u32 = 0;

/// A tag's values, in the order of their arrival.
pub(crate) struct TagColumn {
    pub(crate) name: String,
    values: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl TagColumn {
    pub(crate) fn new(name: String) -> Self {
        Self { name, values: Vec::new(), numbers: HashMap::new() }
    }

    /// The number of a value, from 1 on.
    pub(crate) fn number(&mut self, value: &str) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let value: Arc<str> = value.into();
        self.values.push(Arc::clone(&value));
        let number = self.values.len() as u32;
        self.numbers.insert(value, number);
        number
    }

    /// The values of rows, given by their numbers; `None` if all are [`NO_VALUE`].
    pub(crate) fn array(&self, numbers: impl Iterator<Item = u32>) -> Option<ArrayRef> {
        let numbers: Vec<u32> = numbers.collect();
        if numbers.iter().all(|number| *number == NO_VALUE) {
            return None;
        }
        let nulls = NullBuffer::from_iter(numbers.iter().map(|number| *number != NO_VALUE));
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        let keys: Vec<u32> = numbers.iter().map(|number| number.saturating_sub(1)).collect();
        let values = StringArray::from_iter_values(self.values.iter().map(AsRef::as_ref));
        let keys = PrimitiveArray::<UInt32Type>::new(keys.into(), nulls);
        Some(Arc::new(DictionaryArray::try_new(keys, Arc::new(values)).ok()?))
    }
}
