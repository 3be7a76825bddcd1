//! Predicates prepared for stored columns, and the rows of a chunk that they select.

use crate::chunk::missing::{column_statistics, scalar_of};
use crate::read::predicate::{Comparison, Predicate, text_matches};
use crate::read::scan_chunk::ScanChunk;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, BooleanBufferBuilder, Int32Array, RecordBatch, Scalar,
    StringArray, UInt8Array, UInt16Array, UInt32Array,
};
use arrow::compute::kernels::cmp;
use arrow::compute::{and, filter_record_batch, is_not_null, is_null, or, prep_null_mask_filter, take};
use arrow::datatypes::{
    DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use atsdb_codec::stored_type;
use atsdb_core::{Bound, Column, Result, TableDefinition, Value};
use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// The number of values that are tested at a time to find the first one that matches, or to count those that match.
const BLOCK_VALUES: usize = 256;

/// A predicate prepared for stored columns.
pub(crate) struct Condition {
    pub(crate) predicate: Predicate,
    /// For each index of a mapped column, whether its string matches; `None` for other columns.
    pub(crate) matching: Option<BooleanArray>,
}

/// The selected rows of a chunk.
pub(crate) enum RowSelection {
    All,
    /// Contiguous rows, as sealed chunks often have them: the first, and how many.
    Run(usize, usize),
    /// A mask without NULLs.
    Mask(BooleanArray),
}

impl RowSelection {
    pub(crate) fn of(mask: BooleanArray) -> Self {
        // NULL means unknown: such a row does not match.
        let mask = if mask.null_count() > 0 { prep_null_mask_filter(&mask) } else { mask };
        let mut runs = mask.values().set_slices();
        match (runs.next(), runs.next()) {
            (Some((start, end)), None) if end - start == mask.len() => Self::All,
            (Some((start, end)), None) => Self::Run(start, end - start),
            _ => Self::Mask(mask),
        }
    }

    /// The first row that the next predicate examines, and the number of rows: those of a run, or all rows of the
    /// chunk.
    pub(crate) fn span(&self, row_count: usize) -> (usize, usize) {
        match self {
            Self::Run(first, length) => (*first, *length),
            Self::All | Self::Mask(_) => (0, row_count),
        }
    }

    /// Keeps the selected rows for which a mask over their [span](Self::span) is true. `None` if no row is left.
    pub(crate) fn narrowed(self, mask: &BooleanArray, row_count: usize) -> Result<Option<Self>> {
        // NULL means unknown: such a row does not match.
        let mask = if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() };
        let mask = match &self {
            Self::Mask(own) => and(own, &mask)?,
            Self::All | Self::Run(..) => mask,
        };
        if !mask.has_true() {
            return Ok(None);
        }
        let Self::Run(first, _) = self else { return Ok(Some(Self::of(mask))) };
        Ok(Some(match Self::of(mask) {
            Self::All => self,
            Self::Run(start, length) => Self::Run(first + start, length),
            Self::Mask(mask) => {
                let mut whole = BooleanBufferBuilder::new(row_count);
                whole.append_n(first, false);
                whole.append_buffer(mask.values());
                whole.append_n(row_count - first - mask.len(), false);
                Self::Mask(BooleanArray::new(whole.finish(), None))
            }
        }))
    }

    /// The number of selected rows of a chunk.
    pub(crate) fn count(&self, row_count: usize) -> usize {
        match self {
            Self::All => row_count,
            Self::Run(_, length) => *length,
            Self::Mask(mask) => mask.true_count(),
        }
    }

    /// The selected rows of a chunk, as ranges in ascending order.
    pub(crate) fn runs(&self, row_count: usize) -> Vec<Range<usize>> {
        match self {
            Self::All => iter::once(0..row_count).collect(),
            Self::Run(start, length) => iter::once(*start..start + length).collect(),
            Self::Mask(mask) => mask.values().set_slices().map(|(start, end)| start..end).collect(),
        }
    }

    pub(crate) fn apply(&self, rows: RecordBatch) -> Result<RecordBatch> {
        match self {
            Self::All => Ok(rows),
            Self::Run(start, length) => Ok(rows.slice(*start, *length)),
            Self::Mask(mask) => Ok(filter_record_batch(&rows, mask)?),
        }
    }
}

impl Condition {
    pub(crate) fn can_match(&self, definition: &TableDefinition, chunk: &ScanChunk) -> bool {
        let statistics = column_statistics(&chunk.descriptor, &definition.columns[self.predicate.column]);
        let Some(matching) = &self.matching else {
            return self.predicate.can_match(&statistics, chunk.entry.row_count);
        };
        match (self.predicate.operator, &statistics.min, &statistics.max) {
            (Comparison::IsNull, ..) => statistics.null_count > 0,
            (_, Some(Bound::UInt(min)), Some(Bound::UInt(max))) => {
                let (first, last) = (*min as usize, (*max as usize).min(matching.len().saturating_sub(1)));
                first <= last && matching.slice(first, last - first + 1).has_true()
            }
            _ => statistics.null_count < chunk.entry.row_count,
        }
    }

    /// Returns whether the statistics of a chunk show that all of its rows match.
    pub(crate) fn matches_all(&self, definition: &TableDefinition, chunk: &ScanChunk) -> bool {
        let statistics = column_statistics(&chunk.descriptor, &definition.columns[self.predicate.column]);
        self.matching.is_none() && self.predicate.matches_all(&statistics, chunk.entry.row_count)
    }

    /// The column of the condition, if [`count`](Self::count) may be able to count its values in a chunk. `None` if its
    /// type or the chunk's statistics show that it is not, so that the column need not be read for that.
    pub(crate) fn counted_column<'d>(&self, definition: &'d TableDefinition, chunk: &ScanChunk) -> Option<&'d Column> {
        let column = &definition.columns[self.predicate.column];
        let is_integer = self.matching.is_none() && stored_type(column).is_integer();
        (is_integer && column_statistics(&chunk.descriptor, column).null_count == 0).then_some(column)
    }

    /// The number of matching rows, if integers without NULLs are compared with one value. Counting them takes less
    /// time than marking each.
    pub(crate) fn count(&self, column: &Column, array: &ArrayRef) -> Option<usize> {
        let [value] = self.predicate.values.as_slice() else { return None };
        let scalar = scalar_of(column, value)?;
        if self.matching.is_some() || array.null_count() > 0 || scalar.data_type() != array.data_type() {
            return None;
        }
        let operator = self.predicate.operator;
        match array.data_type() {
            DataType::Int8 => count_of::<Int8Type>(operator, array, &scalar),
            DataType::Int16 => count_of::<Int16Type>(operator, array, &scalar),
            DataType::Int32 => count_of::<Int32Type>(operator, array, &scalar),
            DataType::Int64 => count_of::<Int64Type>(operator, array, &scalar),
            DataType::UInt8 => count_of::<UInt8Type>(operator, array, &scalar),
            DataType::UInt16 => count_of::<UInt16Type>(operator, array, &scalar),
            DataType::UInt32 => count_of::<UInt32Type>(operator, array, &scalar),
            DataType::UInt64 => count_of::<UInt64Type>(operator, array, &scalar),
            _ => None,
        }
    }

    /// The matching rows, if only one string matches and its rows are adjacent. Finding them takes less time than
    /// comparing each row.
    pub(crate) fn run(&self, indices: &ArrayRef) -> Option<Range<usize>> {
        if indices.null_count() > 0 || !matches!(self.predicate.operator, Comparison::Equal | Comparison::In) {
            return None;
        }
        let index = only_index(self.matching.as_ref()?, indices)?;
        match indices.data_type() {
            DataType::UInt8 => run_of::<UInt8Type>(indices, &index),
            DataType::UInt16 => run_of::<UInt16Type>(indices, &index),
            _ => run_of::<UInt32Type>(indices, &index),
        }
    }

    /// Returns for each row whether it matches; `None` if that cannot be decided cheaply.
    pub(crate) fn evaluate(&self, column: &Column, array: &ArrayRef) -> Result<Option<BooleanArray>> {
        match self.predicate.operator {
            Comparison::IsNull => return Ok(Some(is_null(array)?)),
            Comparison::IsNotNull => return Ok(Some(is_not_null(array)?)),
            _ => {}
        }
        if let Some(matching) = &self.matching {
            return Ok(Some(match only_index(matching, array) {
                Some(index) => cmp::eq(array, &Scalar::new(index))?,
                None => take(matching, array, None)?.as_boolean().clone(),
            }));
        }
        let mut all: Option<BooleanArray> = None;
        for value in self.predicate.values.iter().flat_map(|value| with_both_zeros(value, self.predicate.operator)) {
            let Some(scalar) = scalar_of(column, &value) else { return Ok(None) };
            let matches = compare_all(self.predicate.operator, array, scalar)?;
            all = Some(match (all, self.predicate.operator) {
                (None, _) => matches,
                (Some(all), Comparison::NotEqual) => and(&all, &matches)?,
                (Some(all), _) => or(&all, &matches)?,
            });
        }
        Ok(all)
    }
}

/// Compares each value with the only value of `with`.
fn compare_all(operator: Comparison, array: &ArrayRef, with: ArrayRef) -> Result<BooleanArray> {
    if is_empty_string(&with)
        && let Some((starts, ends)) = bounds_of_strings(array)
    {
        match operator {
            Comparison::Equal | Comparison::In | Comparison::LessOrEqual => return Ok(cmp::eq(&starts, &ends)?),
            Comparison::NotEqual | Comparison::Greater => return Ok(cmp::neq(&starts, &ends)?),
            _ => {}
        }
    }
    let with = Scalar::new(with);
    Ok(match operator {
        Comparison::NotEqual => cmp::neq(array, &with),
        Comparison::Less => cmp::lt(array, &with),
        Comparison::LessOrEqual => cmp::lt_eq(array, &with),
        Comparison::Greater => cmp::gt(array, &with),
        Comparison::GreaterOrEqual => cmp::gt_eq(array, &with),
        _ => cmp::eq(array, &with),
    }?)
}

/// Returns whether the only value of an array is an empty text, or no bytes.
fn is_empty_string(array: &ArrayRef) -> bool {
    bounds_of_strings(array).is_some_and(|(starts, ends)| starts == ends)
}

/// Returns the bytes at which each text or byte string of an array starts and ends. They show which texts are empty in
/// much less time than it takes to compare the bytes of each. `None` for arrays of other types.
fn bounds_of_strings(array: &ArrayRef) -> Option<(Int32Array, Int32Array)> {
    let offsets = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().offsets(),
        DataType::Binary => array.as_binary::<i32>().offsets(),
        _ => return None,
    };
    let bounds = |first| Int32Array::new(offsets.inner().slice(first, array.len()), array.nulls().cloned());
    Some((bounds(0), bounds(1)))
}

/// The index of the only string that matches, as one of a column of indices. Comparing with it is much faster than
/// looking each index up.
fn only_index(matching: &BooleanArray, indices: &ArrayRef) -> Option<ArrayRef> {
    let mut matching = matching.values().set_indices();
    let (index, None) = (matching.next()?, matching.next()) else { return None };
    Some(match indices.data_type() {
        DataType::UInt8 => Arc::new(UInt8Array::from(vec![u8::try_from(index).ok()?])),
        DataType::UInt16 => Arc::new(UInt16Array::from(vec![u16::try_from(index).ok()?])),
        DataType::UInt32 => Arc::new(UInt32Array::from(vec![u32::try_from(index).ok()?])),
        _ => return None,
    })
}

/// The rows with an index, if they are adjacent.
fn run_of<T: ArrowPrimitiveType>(indices: &ArrayRef, index: &ArrayRef) -> Option<Range<usize>> {
    let (values, index) = (indices.as_primitive::<T>().values(), index.as_primitive::<T>().value(0));
    let start = position(values, |value| value == index);
    let end = start + position(&values[start..], |value| value != index);
    (end + position(&values[end..], |value| value == index) == values.len()).then_some(start..end)
}

/// The number of integers without NULLs that compare with a value in some way.
fn count_of<T: ArrowPrimitiveType<Native: Ord>>(
    operator: Comparison,
    array: &ArrayRef,
    with: &ArrayRef,
) -> Option<usize> {
    let (values, with) = (array.as_primitive::<T>().values(), with.as_primitive::<T>().value(0));
    Some(match operator {
        Comparison::Equal | Comparison::In => count(values, |value| value == with),
        Comparison::NotEqual => count(values, |value| value != with),
        Comparison::Less => count(values, |value| value < with),
        Comparison::LessOrEqual => count(values, |value| value <= with),
        Comparison::Greater => count(values, |value| value > with),
        Comparison::GreaterOrEqual => count(values, |value| value >= with),
        Comparison::IsNull | Comparison::IsNotNull => return None,
    })
}

/// The number of values for which a test holds. The numbers of a block are small, so the processor adds up many of them
/// at once.
fn count<N: Copy>(values: &[N], test: impl Fn(N) -> bool) -> usize {
    let count_in = |block: &[N]| block.iter().map(|value| u16::from(test(*value))).sum::<u16>();
    values.chunks(BLOCK_VALUES).map(|block| usize::from(count_in(block))).sum()
}

/// The position of the first value for which a test holds, or the number of values. It tests whole blocks at a time,
/// which the processor does for many values at once.
fn position<N: Copy>(values: &[N], test: impl Fn(N) -> bool) -> usize {
    let holds_in = |block: &&[N]| block.iter().fold(false, |holds, value| holds | test(*value));
    let before = values.chunks(BLOCK_VALUES).take_while(|block| !holds_in(block)).count() * BLOCK_VALUES;
    let before = before.min(values.len());
    before + values[before..].iter().position(|value| test(*value)).unwrap_or(values.len() - before)
}

/// The values to compare an array with. In SQL 0.0 equals -0.0, but Arrow orders -0.0 before 0.0.
fn with_both_zeros(value: &Value, operator: Comparison) -> Vec<Value> {
    match (value, operator) {
        (Value::Float(0.0), Comparison::Less | Comparison::GreaterOrEqual) => vec![Value::Float(-0.0)],
        (Value::Float(0.0), Comparison::LessOrEqual | Comparison::Greater) => vec![Value::Float(0.0)],
        (Value::Float(0.0), _) => vec![Value::Float(0.0), Value::Float(-0.0)],
        _ => vec![value.clone()],
    }
}

/// Returns whether a read filters exactly by a predicate, so that its rows need not be filtered again.
pub fn is_exact(predicate: &Predicate, column: &Column) -> bool {
    match predicate.operator {
        Comparison::IsNull | Comparison::IsNotNull => true,
        _ if column.map.is_some() => predicate.values.iter().all(|value| matches!(value, Value::Text(_))),
        _ => !predicate.values.is_empty() && predicate.values.iter().all(|value| scalar_of(column, value).is_some()),
    }
}

pub(crate) fn matching_strings(strings: &StringArray, predicate: &Predicate) -> BooleanArray {
    let mut matching = BooleanBufferBuilder::new(strings.len());
    strings.iter().for_each(|text| matching.append(text.is_some_and(|text| text_matches(text, predicate))));
    BooleanArray::new(matching.finish(), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::*;
    use arrow::array::{BinaryArray, Int16Array};
    use atsdb_core::{ChunkDescriptor, ChunkEntry, ChunkId, ChunkUid, ColumnId, ColumnType, Slice, TableId};

    #[test]
    fn as_many_rows_are_counted_as_are_marked() {
        let column = Column::new(ColumnId(1), "n", ColumnType::Int16);
        for length in [0, 1, 255, 256, 257, 1_000] {
            let values = (0..length).map(|row| [i16::MIN, -1, 0, 0, 7, i16::MAX][row * 7 / 3 % 6]);
            let array: ArrayRef = Arc::new(Int16Array::from_iter_values(values));
            let sliced = array.slice(length / 3, length / 2);
            for operator in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, In] {
                for value in [i16::MIN, 0, 5, i16::MAX].map(|value| Value::Int(value.into())) {
                    let condition = Condition { predicate: Predicate::new(0, operator, value), matching: None };
                    for array in [&array, &sliced] {
                        let marked = condition.evaluate(&column, array).unwrap().unwrap();
                        let counted = condition.count(&column, array);
                        assert_eq!(counted, Some(marked.true_count()), "{:?}", condition.predicate);
                    }
                }
            }
        }
        let with_null: ArrayRef = Arc::new(Int16Array::from(vec![Some(1), None]));
        let condition = Condition { predicate: Predicate::new(0, Equal, Value::Int(1)), matching: None };
        assert_eq!(condition.count(&column, &with_null), None);
    }

    #[test]
    fn texts_and_bytes_are_compared_with_nothing() {
        let strings = [Some(""), Some("a"), None, Some(""), Some("\u{e9}"), Some("\0")];
        let texts: ArrayRef = Arc::new(StringArray::from_iter(strings));
        let bytes: ArrayRef = Arc::new(BinaryArray::from_iter(strings));
        let of_texts = (Column::new(ColumnId(1), "t", ColumnType::Text), Value::Text(String::new()), texts);
        let of_bytes = (Column::new(ColumnId(1), "b", ColumnType::Binary), Value::Bytes(Vec::new()), bytes);
        for (column, value, array) in [of_texts, of_bytes] {
            for (first, length) in [(0, 6), (1, 4), (3, 0), (0, 1)] {
                for operator in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, In] {
                    let matches = |text: &str| match operator {
                        Equal | In | LessOrEqual => text.is_empty(),
                        NotEqual | Greater => !text.is_empty(),
                        _ => operator == GreaterOrEqual,
                    };
                    let expected: BooleanArray =
                        strings[first..first + length].iter().map(|text| text.map(matches)).collect();
                    let condition = Condition { predicate: Predicate::new(0, operator, value.clone()), matching: None };
                    let marked = condition.evaluate(&column, &array.slice(first, length)).unwrap();
                    assert_eq!(marked, Some(expected), "{operator:?} from {first}");
                }
            }
        }
        let of_all = Condition {
            predicate: Predicate {
                column: 0,
                operator: In,
                values: ["a", ""].map(|it| Value::Text(it.into())).to_vec(),
            },
            matching: None,
        };
        let column = Column::new(ColumnId(1), "t", ColumnType::Text);
        let texts: ArrayRef = Arc::new(StringArray::from_iter(strings));
        let expected = [Some(true), Some(true), None, Some(true), Some(false), Some(false)];
        assert_eq!(of_all.evaluate(&column, &texts).unwrap(), Some(BooleanArray::from_iter(expected)));
    }

    /// A column without a page has its missing value in all rows.
    #[test]
    fn only_integers_without_nulls_are_counted() {
        let (table, slice) = (TableId(1), Slice { start: 0, last: 0 });
        let entry = ChunkEntry {
            id: ChunkId(1),
            table,
            slice_start: 0,
            sealed: true,
            row_count: 10,
            time_min: 0,
            time_max: 0,
            byte_count: 0,
            descriptor_bytes: Vec::new(),
        };
        let descriptor = ChunkDescriptor {
            uid: ChunkUid([0; 16]),
            row_count: 10,
            sealed: true,
            slice,
            time_min: 0,
            time_max: 0,
            pages: Vec::new(),
        };
        let chunk = ScanChunk { entry, descriptor: Arc::new(descriptor) };
        let is_counted = |column_type: ColumnType, missing: Option<Value>, matching: Option<BooleanArray>| {
            let mut definition = TableDefinition::new("t").with_column("n", column_type, None);
            definition.columns[0].missing = missing;
            let condition = Condition { predicate: Predicate::new(0, Equal, Value::Int(3)), matching };
            condition.counted_column(&definition, &chunk).is_some()
        };
        assert!(is_counted(ColumnType::Int64, Some(Value::Int(3)), None));
        assert!(!is_counted(ColumnType::Int64, None, None), "NULLs");
        assert!(!is_counted(ColumnType::Float64, Some(Value::Float(3.0)), None), "no integers");
        assert!(!is_counted(ColumnType::Int64, Some(Value::Int(3)), Some(BooleanArray::from(vec![true]))), "strings");
    }

    #[test]
    fn adjacent_rows_with_an_index_are_a_run() {
        let run = |values: Vec<u8>, index: u8| {
            run_of::<UInt8Type>(
                &(Arc::new(UInt8Array::from(values)) as ArrayRef),
                &(Arc::new(UInt8Array::from(vec![index])) as ArrayRef),
            )
        };
        for length in [0, 1, 255, 256, 257, 1_000] {
            for (start, end) in [(0, 0), (0, 1), (0, length), (length / 2, length), (length / 3, length / 2)] {
                let (start, end) = (start.min(length), end.min(length));
                let values: Vec<u8> = (0..length).map(|row| u8::from((start..end).contains(&row))).collect();
                let expected = if start < end { start..end } else { length..length };
                assert_eq!(run(values.clone(), 1), Some(expected), "{start} to {end} of {length}");
                let apart = [values, vec![7, 1]].concat();
                assert_eq!(run(apart, 1).is_some(), start == end, "{start} to {end} of {length}, and one more");
            }
        }
    }
}
