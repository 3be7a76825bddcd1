//! `first` and `last` for many groups at once. Numbers and times are kept in a vector; other values are copied once for
//! each group and batch.

use super::ends::{End, scalar_at};
use crate::functions::base::arguments::plain_type;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, DynComparator, Int64Array, PrimitiveArray,
    downcast_primitive, make_comparator, new_empty_array,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{ArrowNativeTypeOp, DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::cmp::Ordering;
use std::sync::Arc;

/// The accumulator for values of a type.
pub(crate) fn groups(end: End, ignore_nulls: bool, value_type: &DataType) -> Box<dyn GroupsAccumulator> {
    macro_rules! primitive {
        ($t:ty, $end:expr, $ignore_nulls:expr, $value_type:expr) => {
            Box::new(Groups::new($end, $ignore_nulls, Primitive::<$t>::new($end, $value_type)))
        };
    }
    downcast_primitive! {
        value_type => (primitive, end, ignore_nulls, value_type),
        _ => Box::new(Groups::new(end, ignore_nulls, Scalars::new(end, value_type)))
    }
}

/// The storage for the values of groups.
trait Slots: Send + 'static {
    /// Begins a batch with these values.
    fn begin(&mut self, values: &ArrayRef, groups: usize);
    /// Returns whether a row's value is preferred to the group's, which has the same time.
    fn prefers(&self, group: usize, row: usize) -> Result<bool>;
    fn set(&mut self, group: usize, row: usize);
    /// Ends the batch.
    fn end(&mut self) -> Result<()>;
    fn take(&mut self, emit_to: EmitTo) -> Result<ArrayRef>;
    fn size(&self) -> usize;
}

struct Groups<S> {
    end: End,
    ignore_nulls: bool,
    /// The nearness of the time of each group's row; meaningless if the group has no row yet.
    nearness: Vec<i64>,
    seen: Vec<bool>,
    slots: S,
}

impl<S: Slots> Groups<S> {
    fn new(end: End, ignore_nulls: bool, slots: S) -> Self {
        Self { end, ignore_nulls, nearness: Vec::new(), seen: Vec::new(), slots }
    }

    fn offer(
        &mut self,
        values: &ArrayRef,
        nearness: &Int64Array,
        groups_of: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.nearness.resize(groups, 0);
        self.seen.resize(groups, false);
        self.slots.begin(values, groups);
        let wanted = wanted(values, nearness, filter, self.ignore_nulls);
        for (row, (&group, &near)) in groups_of.iter().zip(nearness.values()).enumerate() {
            if wanted.as_ref().is_some_and(|wanted| !wanted.value(row)) {
                continue;
            }
            let better = !self.seen[group] || near > self.nearness[group];
            if better || (near == self.nearness[group] && self.slots.prefers(group, row)?) {
                self.seen[group] = true;
                self.nearness[group] = near;
                self.slots.set(group, row);
            }
        }
        self.slots.end()
    }

    fn take_nearness(&mut self, emit_to: EmitTo) -> ArrayRef {
        let nearness = emit_to.take_needed(&mut self.nearness);
        let seen = NullBuffer::from(emit_to.take_needed(&mut self.seen));
        Arc::new(Int64Array::new(nearness.into(), Some(seen)))
    }
}

/// The rows that count; `None` means all.
fn wanted(
    values: &ArrayRef,
    nearness: &Int64Array,
    filter: Option<&BooleanArray>,
    ignore_nulls: bool,
) -> Option<BooleanBuffer> {
    let filter = filter.map(|filter| match filter.nulls() {
        Some(nulls) => filter.values() & nulls.inner(),
        None => filter.values().clone(),
    });
    let times = nearness.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.inner().clone());
    let values = values.logical_nulls().filter(|nulls| ignore_nulls && nulls.null_count() > 0);
    let values = values.map(|nulls| nulls.inner().clone());
    [filter, times, values].into_iter().flatten().reduce(|a, b| &a & &b)
}

impl<S: Slots> GroupsAccumulator for Groups<S> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let nearness = self.end.nearness(&values[1])?;
        self.offer(&values[0], &nearness, group_indices, opt_filter, total_num_groups)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        let nearness = values[1].as_primitive::<Int64Type>();
        self.offer(&values[0], nearness, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.take_nearness(emit_to);
        self.slots.take(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let nearness = self.take_nearness(emit_to);
        Ok(vec![self.slots.take(emit_to)?, nearness])
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let nearness = self.end.nearness(&values[1])?;
        let wanted = wanted(&values[0], &nearness, opt_filter, self.ignore_nulls).map(NullBuffer::new);
        let nearness = Int64Array::new(nearness.values().clone(), wanted);
        Ok(vec![cast(&values[0], plain_type(values[0].data_type()))?, Arc::new(nearness)])
    }

    fn size(&self) -> usize {
        self.nearness.capacity() * 8 + self.seen.capacity() + self.slots.size()
    }
}

struct Primitive<T: ArrowPrimitiveType> {
    end: End,
    data_type: DataType,
    values: Vec<T::Native>,
    valid: Vec<bool>,
    batch: PrimitiveArray<T>,
}

impl<T: ArrowPrimitiveType> Primitive<T> {
    fn new(end: End, data_type: &DataType) -> Self {
        let batch = new_empty_array(data_type).as_primitive::<T>().clone();
        Self { end, data_type: data_type.clone(), values: Vec::new(), valid: Vec::new(), batch }
    }
}

impl<T: ArrowPrimitiveType> Slots for Primitive<T> {
    fn begin(&mut self, values: &ArrayRef, groups: usize) {
        self.values.resize(groups, T::default_value());
        self.valid.resize(groups, false);
        self.batch = values.as_primitive::<T>().clone();
    }

    fn prefers(&self, group: usize, row: usize) -> Result<bool> {
        if self.batch.is_null(row) || !self.valid[group] {
            return Ok(self.batch.is_valid(row));
        }
        let order = self.batch.value(row).compare(self.values[group]);
        Ok(order == if self.end == End::First { Ordering::Less } else { Ordering::Greater })
    }

    fn set(&mut self, group: usize, row: usize) {
        self.values[group] = self.batch.values()[row];
        self.valid[group] = self.batch.is_valid(row);
    }

    fn end(&mut self) -> Result<()> {
        self.batch = self.batch.slice(0, 0);
        Ok(())
    }

    fn take(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        let valid = NullBuffer::from(emit_to.take_needed(&mut self.valid));
        let array = PrimitiveArray::<T>::new(values.into(), Some(valid)).with_data_type(self.data_type.clone());
        Ok(Arc::new(array))
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.valid.capacity()
    }
}

/// The number that stands for no row of the batch.
const NO_ROW: usize = usize::MAX;

struct Scalars {
    end: End,
    none: ScalarValue,
    values: Vec<ScalarValue>,
    /// The size of the values in bytes, without the vector.
    bytes: usize,
    /// The rows of the batch that are the best of their groups, and those groups.
    rows: Vec<usize>,
    taken: Vec<usize>,
    batch: Option<Batch>,
}

struct Batch {
    values: ArrayRef,
    /// `None` for types without an order: the first row that is seen stays.
    compare: Option<DynComparator>,
}

impl Scalars {
    fn new(end: End, data_type: &DataType) -> Self {
        let none = ScalarValue::try_from(plain_type(data_type)).unwrap_or(ScalarValue::Null);
        Self { end, none, values: Vec::new(), bytes: 0, rows: Vec::new(), taken: Vec::new(), batch: None }
    }
}

impl Slots for Scalars {
    fn begin(&mut self, values: &ArrayRef, groups: usize) {
        self.values.resize(groups, self.none.clone());
        self.rows.resize(groups, NO_ROW);
        let compare = make_comparator(values, values, self.end.preference()).ok();
        self.batch = Some(Batch { values: Arc::clone(values), compare });
    }

    fn prefers(&self, group: usize, row: usize) -> Result<bool> {
        let Some(batch) = &self.batch else { return Ok(false) };
        match (self.rows[group], &batch.compare) {
            (_, None) => Ok(false),
            (NO_ROW, _) => Ok(self.end.prefers(&scalar_at(&batch.values, row)?, &self.values[group])),
            (taken, Some(compare)) => Ok(compare(row, taken) == Ordering::Greater),
        }
    }

    fn set(&mut self, group: usize, row: usize) {
        if self.rows[group] == NO_ROW {
            self.taken.push(group);
        }
        self.rows[group] = row;
    }

    fn end(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        for group in self.taken.drain(..) {
            let value = scalar_at(&batch.values, std::mem::replace(&mut self.rows[group], NO_ROW))?;
            // Copied, so that a single value does not keep the buffers of a whole batch.
            let value = value.compacted();
            self.bytes = (self.bytes + value.size()).saturating_sub(self.values[group].size());
            self.values[group] = value;
        }
        Ok(())
    }

    fn take(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        emit_to.take_needed(&mut self.rows);
        let freed: usize = values.iter().map(ScalarValue::size).sum();
        self.bytes = self.bytes.saturating_sub(freed);
        if values.is_empty() {
            return Ok(new_empty_array(&self.none.data_type()));
        }
        ScalarValue::iter_to_array(values)
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<ScalarValue>() + self.bytes + self.rows.capacity() * 8
    }
}
