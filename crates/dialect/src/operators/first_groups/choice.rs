//! The choice of the groups, which all threads share.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The number of rows after which all rows pass if there are still too few groups: little would be saved.
const ROWS_MAX: usize = 1 << 19;

/// The maximum size in bytes of the keys of the groups. If they need more memory, all rows pass.
const KEY_BYTES_MAX: usize = 1 << 20;

/// The first groups that any thread sees. Rows with equal values of all keys are in one group, and NULLs are equal.
pub(super) struct GroupChoice {
    pub(super) keys: Vec<Arc<dyn PhysicalExpr>>,
    /// The number of groups that are wanted.
    pub(super) group_count: usize,
    key_schema: SchemaRef,
    state: Mutex<ChoiceState>,
}

enum ChoiceState {
    /// All rows so far are of these groups, which are too few.
    Collecting {
        groups: Box<dyn GroupValues>,
        rows_read: usize,
    },
    Made(Choice),
}

/// The rows that pass.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    All,
    /// The rows of the groups with these keys. Each key is an array with a value for each group.
    OfGroups(Arc<Vec<ArrayRef>>),
}

impl fmt::Debug for GroupChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupChoice").field("keys", &self.keys).field("group_count", &self.group_count).finish()
    }
}

impl GroupChoice {
    /// No choice yet, of groups of rows of an input with this schema.
    pub(super) fn new(keys: Vec<Arc<dyn PhysicalExpr>>, group_count: usize, input: &SchemaRef) -> Result<Self> {
        let types = keys.iter().map(|key| key.data_type(input)).collect::<Result<Vec<_>>>()?;
        let fields: Vec<Field> = types.into_iter().map(|data_type| Field::new("", data_type, true)).collect();
        let key_schema = Arc::new(Schema::new(fields));
        let groups = new_group_values(Arc::clone(&key_schema), &GroupOrdering::None)?;
        let state = Mutex::new(ChoiceState::Collecting { groups, rows_read: 0 });
        Ok(Self { keys, group_count, key_schema, state })
    }

    /// The keys of a batch's rows.
    pub(super) fn keys_of(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.keys.iter().map(|key| key.evaluate(batch)?.into_array(batch.num_rows())).collect()
    }

    /// Groups with these keys, which have the numbers 0, 1, 2, ...
    pub(super) fn numbered(&self, keys: &[ArrayRef]) -> Result<Box<dyn GroupValues>> {
        let mut groups = new_group_values(Arc::clone(&self.key_schema), &GroupOrdering::None)?;
        groups.intern(keys, &mut Vec::new())?;
        Ok(groups)
    }

    /// The choice, once the rows with these keys are seen. `None` if it is not made yet: then they are all of groups
    /// that will be chosen.
    pub(super) fn after(&self, keys: &[ArrayRef]) -> Result<Option<Choice>> {
        let mut state = self.state.lock();
        if let ChoiceState::Collecting { groups, rows_read } = &mut *state {
            let mut numbers = Vec::new();
            groups.intern(keys, &mut numbers)?;
            *rows_read += numbers.len();
            let choice = if groups.len() >= self.group_count {
                Some(Choice::of_first(&groups.emit(EmitTo::All)?, self.group_count)?)
            } else {
                (*rows_read >= ROWS_MAX || groups.size() > KEY_BYTES_MAX).then_some(Choice::All)
            };
            if let Some(choice) = choice {
                *state = ChoiceState::Made(choice);
            }
        }
        Ok(match &*state {
            ChoiceState::Collecting { .. } => None,
            ChoiceState::Made(choice) => Some(choice.clone()),
        })
    }
}

impl Choice {
    /// The first groups with these keys.
    fn of_first(keys: &[ArrayRef], group_count: usize) -> Result<Self> {
        let first = UInt64Array::from_iter_values(0..group_count as u64);
        let mut chosen = Vec::with_capacity(keys.len());
        for key in keys {
            chosen.push(compacted(take(key, &first, None)?));
        }
        let bytes: usize = chosen.iter().map(|key| key.get_array_memory_size()).sum();
        Ok(if bytes > KEY_BYTES_MAX { Self::All } else { Self::OfGroups(Arc::new(chosen)) })
    }
}

/// Keys without the texts of others. Views share the buffers of all keys that they were taken from.
fn compacted(keys: ArrayRef) -> ArrayRef {
    match keys.data_type() {
        DataType::Utf8View => Arc::new(keys.as_string_view().gc()),
        DataType::BinaryView => Arc::new(keys.as_binary_view().gc()),
        _ => keys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::StringViewArray;

    #[test]
    fn the_texts_of_other_groups_do_not_count() {
        let texts: Vec<String> = (0..4_000).map(|number| format!("{number:01000}")).collect();
        let keys: ArrayRef = Arc::new(StringViewArray::from_iter_values(&texts));
        assert!(keys.get_array_memory_size() > KEY_BYTES_MAX);
        let Choice::OfGroups(chosen) = Choice::of_first(&[keys], 10).unwrap() else { unreachable!("they are few") };
        let chosen = chosen[0].as_string_view();
        assert_eq!(chosen.iter().flatten().collect::<Vec<_>>(), texts[..10]);
        assert!(chosen.get_array_memory_size() < 1 << 16, "{}", chosen.get_array_memory_size());
    }
}
