//! The group keys of a row, packed into one integer of as few bits as the values need.

use super::bits::{integer_width, nulls, values};
use super::packed_key::PackedKey;
use arrow::array::{ArrayData, ArrayRef, RecordBatch, make_array};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;
use atsdb_core::{Error, Result, refusal};
use std::fmt;
use std::sync::Arc;

/// Finds the bucket that contains a time: its first and its last tick. `None` if the first one is below the range of 64
/// bits.
pub type BucketOf = Arc<dyn Fn(i64) -> Option<(i64, i64)> + Send + Sync>;

/// A key by which rows are grouped.
#[derive(Clone)]
pub enum GroupKey {
    /// The values of a column: integers, indices, dates or times.
    Values {
        /// The column's position in the batches.
        column: usize,
    },
    /// The starts of the buckets that contain the times. The column must have no NULLs.
    Bucket {
        /// The position of a column of 64-bit times.
        column: usize,
        /// Returns the bounds of a time's bucket, in ticks of the column. Buckets must not overlap.
        bucket_of: BucketOf,
    },
}

impl fmt::Debug for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Values { column } => write!(f, "Values({column})"),
            Self::Bucket { column, .. } => write!(f, "Bucket({column})"),
        }
    }
}

impl GroupKey {
    pub(super) fn column(&self) -> usize {
        match self {
            Self::Values { column } | Self::Bucket { column, .. } => *column,
        }
    }
}

/// The values of one key in a batch.
pub(super) enum KeyValues<'a> {
    Bits8(ScalarBuffer<u8>),
    Bits16(ScalarBuffer<u16>),
    Bits32(ScalarBuffer<u32>),
    Bits64(ScalarBuffer<u64>),
    Buckets { times: ScalarBuffer<i64>, bucket_of: &'a BucketOf },
}

/// The range of a column's values, as known before the column is read. Both bounds are bit patterns of the column's
/// type; bits above its width are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBounds {
    /// The bits of the smallest value.
    pub min: u64,
    /// The bits of the largest value.
    pub max: u64,
    /// Whether the column contains a NULL.
    pub has_nulls: bool,
}

/// The position of one key in a packed key. A value is stored as its distance from the smallest value, which needs few
/// bits. A bit above it marks NULL.
#[derive(Debug, Clone)]
struct KeySlot {
    key: GroupKey,
    data_type: DataType,
    /// The width of the column's values in bits.
    width: u32,
    smallest: u64,
    code_max: u64,
    has_nulls: bool,
    shift: u32,
    /// The width of the code in bits, without the bit that marks NULL.
    bits: u32,
}

/// Packs the keys of a row into one integer. Equal keys become equal integers.
#[derive(Debug, Clone)]
pub(super) struct Packing {
    slots: Vec<KeySlot>,
    bits: u32,
}

/// The rows of a batch whose keys are packed.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowPositions<'a> {
    /// Every row.
    All,
    /// The rows at these positions.
    At(&'a [u32]),
}

impl RowPositions<'_> {
    /// The number of rows, of a batch with this many.
    fn count(self, of_batch: usize) -> usize {
        match self {
            Self::All => of_batch,
            Self::At(rows) => rows.len(),
        }
    }
}

impl Packing {
    /// Assigns a slot to each key. `None` if a key has an unsupported type, or if all keys together exceed 128 bits.
    /// `bounds` returns the known bounds of a column, by its position in the batches.
    pub(super) fn new(schema: &Schema, keys: &[GroupKey], bounds: impl Fn(usize) -> Option<KeyBounds>) -> Option<Self> {
        let mut slots = Vec::with_capacity(keys.len());
        let mut shift = 0;
        for key in keys {
            let field = schema.fields().get(key.column())?;
            let width = integer_width(field.data_type())? as u32 * 8;
            let mut bounds = bounds(key.column());
            if let GroupKey::Bucket { bucket_of, .. } = key {
                if width != 64 || field.is_nullable() {
                    return None;
                }
                let start = |time: u64| bucket_of(time.cast_signed()).map(|(start, _)| start.cast_unsigned());
                bounds = bounds.and_then(|own| Some(KeyBounds { min: start(own.min)?, max: start(own.max)?, ..own }));
            }
            let mask = u64::MAX >> (u64::BITS - width);
            let any = KeyBounds { min: 0, max: mask, has_nulls: field.is_nullable() };
            let KeyBounds { min, max, has_nulls } = bounds.unwrap_or(any);
            let code_max = max.wrapping_sub(min) & mask;
            let bits = u64::BITS - code_max.leading_zeros();
            let (key, data_type, smallest) = (key.clone(), field.data_type().clone(), min & mask);
            slots.push(KeySlot { key, data_type, width, smallest, code_max, has_nulls, shift, bits });
            shift += bits + u32::from(has_nulls);
        }
        (shift <= u128::BITS).then_some(Self { slots, bits: shift })
    }

    /// Returns whether there are no keys, so that all rows are in one group.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The width of a packed key in bits.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// The values and the validity of each key.
    pub(super) fn values<'a>(
        &'a self,
        batch: &'a RecordBatch,
    ) -> impl Iterator<Item = (KeyValues<'a>, Option<&'a NullBuffer>)> {
        self.slots.iter().map(|slot| {
            let array = batch.column(slot.key.column());
            let values = match (&slot.key, slot.width) {
                (GroupKey::Bucket { bucket_of, .. }, _) => KeyValues::Buckets { times: values(array), bucket_of },
                (_, 8) => KeyValues::Bits8(values(array)),
                (_, 16) => KeyValues::Bits16(values(array)),
                (_, 32) => KeyValues::Bits32(values(array)),
                _ => KeyValues::Bits64(values(array)),
            };
            (values, nulls(array))
        })
    }

    /// The packed keys of some rows of a batch.
    pub(super) fn pack<K: PackedKey>(
        &self,
        batch: &RecordBatch,
        rows: RowPositions<'_>,
        packed: &mut Vec<K>,
    ) -> Result<()> {
        let row_count = rows.count(batch.num_rows());
        packed.clear();
        for (slot, (values, nulls)) in self.slots.iter().zip(self.values(batch)) {
            let is_within = match values {
                KeyValues::Bits8(values) => slot.put(&values, nulls, rows, packed),
                KeyValues::Bits16(values) => slot.put(&values, nulls, rows, packed),
                KeyValues::Bits32(values) => slot.put(&values, nulls, rows, packed),
                KeyValues::Bits64(values) => slot.put(&values, nulls, rows, packed),
                KeyValues::Buckets { times, bucket_of } => {
                    packed.resize(row_count, K::default());
                    slot.put_buckets(&times, bucket_of, rows, packed)?
                }
            };
            if !is_within {
                return Err(Error::corrupt("a chunk has values beyond the bounds that its descriptor states")
                    .with_hint(refusal::VERIFY));
            }
        }
        // Without keys, all rows have the same.
        packed.resize(row_count, K::default());
        Ok(())
    }

    /// The packed key of rows that all have the same keys. `constant` returns the bits of a key, `Some(None)` if it is
    /// NULL in all rows, and `None` if the rows differ.
    pub(super) fn pack_constants<K: PackedKey>(
        &self,
        constant: impl Fn(&GroupKey) -> Option<Option<u64>>,
    ) -> Option<K> {
        let mut packed = K::default();
        for slot in &self.slots {
            match constant(&slot.key)? {
                None if slot.has_nulls => packed.put(1, slot.shift + slot.bits),
                None => return None,
                Some(bits) => packed.put(Some(slot.code(bits)).filter(|code| *code <= slot.code_max)?, slot.shift),
            }
        }
        Some(packed)
    }

    /// The keys that were packed, one array for each.
    pub(super) fn unpack<K: PackedKey>(&self, packed: &[K]) -> Result<Vec<ArrayRef>, ArrowError> {
        self.slots.iter().map(|slot| slot.take(packed)).collect()
    }
}

impl KeySlot {
    fn mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.width)
    }

    fn code(&self, bits: u64) -> u64 {
        bits.wrapping_sub(self.smallest) & self.mask()
    }

    /// Adds the codes of values to the keys of their rows. If there are no keys yet, they are appended. Returns whether
    /// all lie within the bounds.
    fn put<K: PackedKey, T: Copy + Into<u64>>(
        &self,
        values: &[T],
        nulls: Option<&NullBuffer>,
        rows: RowPositions<'_>,
        packed: &mut Vec<K>,
    ) -> bool {
        if packed.is_empty() && nulls.is_none() && matches!(rows, RowPositions::All) {
            packed.extend(values.iter().map(|value| {
                let mut key = K::default();
                key.put(self.code((*value).into()), self.shift);
                key
            }));
            // In a loop of its own, so that both loops work on several values at once.
            let is_beyond = |value: &T| self.code((*value).into()) > self.code_max;
            return !values.iter().fold(false, |any, value| any | is_beyond(value));
        }
        let mut is_within = true;
        let mut put = |key: &mut K, value: T| {
            let code = self.code(value.into());
            is_within &= code <= self.code_max;
            key.put(code, self.shift);
        };
        packed.resize(rows.count(values.len()), K::default());
        match (rows, nulls) {
            (RowPositions::All, None) => packed.iter_mut().zip(values).for_each(|(key, value)| put(key, *value)),
            (RowPositions::At(rows), None) => {
                packed.iter_mut().zip(rows).for_each(|(key, row)| put(key, values[*row as usize]));
            }
            (rows, Some(nulls)) => {
                for (position, key) in packed.iter_mut().enumerate() {
                    let row = match rows {
                        RowPositions::All => position,
                        RowPositions::At(rows) => rows[position] as usize,
                    };
                    match nulls.is_valid(row) {
                        true => put(key, values[row]),
                        false => key.put(1, self.shift + self.bits),
                    }
                }
                return is_within && self.has_nulls;
            }
        }
        is_within
    }

    fn put_buckets<K: PackedKey>(
        &self,
        times: &[i64],
        bucket_of: &BucketOf,
        rows: RowPositions<'_>,
        packed: &mut [K],
    ) -> Result<bool> {
        // Adjacent times are often in the same bucket.
        let (mut first, mut last) = (1, 0);
        let mut is_within = true;
        for (position, key) in packed.iter_mut().enumerate() {
            let time = match rows {
                RowPositions::All => times[position],
                RowPositions::At(rows) => times[rows[position] as usize],
            };
            if time < first || time > last {
                (first, last) = bucket_of(time).ok_or_else(|| {
                    Error::invalid(format!("the bucket of {time} begins before the earliest time that can be stored"))
                })?;
            }
            let code = self.code(first.cast_unsigned());
            is_within &= code <= self.code_max;
            key.put(code, self.shift);
        }
        Ok(is_within)
    }

    fn take<K: PackedKey>(&self, packed: &[K]) -> Result<ArrayRef, ArrowError> {
        let mask = u64::MAX.checked_shr(u64::BITS - self.bits).unwrap_or(0);
        let value = |key: &K| (key.bits_from(self.shift) & mask).wrapping_add(self.smallest);
        let buffer = match self.width {
            8 => Buffer::from_vec(packed.iter().map(|key| value(key) as u8).collect::<Vec<_>>()),
            16 => Buffer::from_vec(packed.iter().map(|key| value(key) as u16).collect::<Vec<_>>()),
            32 => Buffer::from_vec(packed.iter().map(|key| value(key) as u32).collect::<Vec<_>>()),
            _ => Buffer::from_vec(packed.iter().map(value).collect::<Vec<_>>()),
        };
        let is_there = |key: &K| key.bits_from(self.shift + self.bits) & 1 == 0;
        let nulls = self.has_nulls.then(|| NullBuffer::from_iter(packed.iter().map(is_there)));
        let data = ArrayData::builder(self.data_type.clone()).len(packed.len()).add_buffer(buffer).nulls(nulls);
        data.build().map(make_array)
    }
}
