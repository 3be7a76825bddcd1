//! The keys by which rows are grouped, packed into one integer of 128 bits.

use super::bits::{integer_width, nulls, values};
use arrow::array::{ArrayData, ArrayRef, RecordBatch, make_array};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;
use atsdb_core::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Finds the bucket that contains a time: its first and its last tick. `None` if the first one is below the range of 64
/// bits.
pub type BucketOf = Arc<dyn Fn(i64) -> Option<(i64, i64)> + Send + Sync>;

/// One thing that rows are grouped by.
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
        /// Where a time's bucket starts and ends, in ticks of the column. Buckets must not overlap.
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

/// The position of a key's bits in the packed key: its value from `shift` on, then, if it can be NULL, a bit for that.
#[derive(Debug, Clone)]
struct Slot {
    key: GroupKey,
    data_type: DataType,
    shift: u32,
    bits: u32,
    is_nullable: bool,
}

/// How the keys of a row become one integer. Equal keys become equal integers.
#[derive(Debug, Clone)]
pub(super) struct Packing {
    slots: Vec<Slot>,
}

impl Packing {
    /// `None` if a key is of another type, or all together are too wide.
    pub(super) fn new(schema: &Schema, keys: &[GroupKey]) -> Option<Self> {
        let mut slots = Vec::with_capacity(keys.len());
        let mut shift = 0;
        for key in keys {
            let field = schema.fields().get(key.column())?;
            let bits = integer_width(field.data_type())? as u32 * 8;
            let is_fitting = match key {
                GroupKey::Values { .. } => true,
                GroupKey::Bucket { .. } => bits == 64 && !field.is_nullable(),
            };
            if !is_fitting {
                return None;
            }
            let (data_type, is_nullable) = (field.data_type().clone(), field.is_nullable());
            slots.push(Slot { key: key.clone(), data_type, shift, bits, is_nullable });
            shift += bits + u32::from(is_nullable);
        }
        (shift <= u128::BITS).then_some(Self { slots })
    }

    /// The values of each key and which of them are not NULL.
    pub(super) fn values<'a>(
        &'a self,
        batch: &'a RecordBatch,
    ) -> impl Iterator<Item = (KeyValues<'a>, Option<&'a NullBuffer>)> {
        self.slots.iter().map(|slot| {
            let array = batch.column(slot.key.column());
            let values = match (&slot.key, slot.bits) {
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
    pub(super) fn pack(&self, batch: &RecordBatch, rows: &[u32], packed: &mut Vec<u128>) -> Result<()> {
        packed.clear();
        packed.resize(rows.len(), 0);
        for (slot, (values, nulls)) in self.slots.iter().zip(self.values(batch)) {
            match values {
                KeyValues::Bits8(values) => slot.put(rows, packed, nulls, |row| u64::from(values[row])),
                KeyValues::Bits16(values) => slot.put(rows, packed, nulls, |row| u64::from(values[row])),
                KeyValues::Bits32(values) => slot.put(rows, packed, nulls, |row| u64::from(values[row])),
                KeyValues::Bits64(values) => slot.put(rows, packed, nulls, |row| values[row]),
                KeyValues::Buckets { times, bucket_of } => {
                    for (key, row) in packed.iter_mut().zip(rows) {
                        let time = times[*row as usize];
                        let Some((start, _)) = bucket_of(time) else {
                            let message = format!("the bucket of {time} begins before every time that can be stored");
                            return Err(Error::invalid(message));
                        };
                        *key |= u128::from(start.cast_unsigned()) << slot.shift;
                    }
                }
            }
        }
        Ok(())
    }

    /// The packed key of rows that have all of their keys in common. `constant` returns the bits of a key, or that it
    /// is NULL; `None` if not all rows have the same key.
    pub(super) fn pack_constants(&self, constant: impl Fn(&GroupKey) -> Option<Option<u64>>) -> Option<u128> {
        self.slots.iter().try_fold(0, |packed, slot| {
            let bits = match constant(&slot.key)? {
                None if slot.is_nullable => 1 << (slot.shift + slot.bits),
                None => return None,
                Some(bits) => u128::from(bits & (u64::MAX >> (u64::BITS - slot.bits))) << slot.shift,
            };
            Some(packed | bits)
        })
    }

    /// The keys that were packed, one array for each.
    pub(super) fn unpack(&self, packed: &[u128]) -> Result<Vec<ArrayRef>, ArrowError> {
        self.slots.iter().map(|slot| slot.take(packed)).collect()
    }
}

impl Slot {
    fn put(&self, rows: &[u32], packed: &mut [u128], nulls: Option<&NullBuffer>, value: impl Fn(usize) -> u64) {
        for (key, row) in packed.iter_mut().zip(rows) {
            let row = *row as usize;
            *key |= match nulls {
                Some(nulls) if nulls.is_null(row) => 1 << (self.shift + self.bits),
                _ => u128::from(value(row)) << self.shift,
            };
        }
    }

    fn take(&self, packed: &[u128]) -> Result<ArrayRef, ArrowError> {
        let value = |key: &u128| (*key >> self.shift) as u64;
        let buffer = match self.bits {
            8 => Buffer::from_vec(packed.iter().map(|key| value(key) as u8).collect::<Vec<_>>()),
            16 => Buffer::from_vec(packed.iter().map(|key| value(key) as u16).collect::<Vec<_>>()),
            32 => Buffer::from_vec(packed.iter().map(|key| value(key) as u32).collect::<Vec<_>>()),
            _ => Buffer::from_vec(packed.iter().map(value).collect::<Vec<_>>()),
        };
        let is_there = |key: &u128| (*key >> (self.shift + self.bits)) & 1 == 0;
        let nulls = self.is_nullable.then(|| NullBuffer::from_iter(packed.iter().map(is_there)));
        let data = ArrayData::builder(self.data_type.clone()).len(packed.len()).add_buffer(buffer).nulls(nulls);
        data.build().map(make_array)
    }
}
