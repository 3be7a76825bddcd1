//! Pages of indexes: for each chunk a membership filter that excludes values.
//!
//! It is a split-block Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters; the one
//! of Parquet) over a hash of the tuple of values in the index's columns. About one lookup in a hundred is a false
//! positive; there are no false negatives. Rows with a NULL in one of the columns are omitted.
//!
//! Values that are equal in SQL have the same hash, at any stored width: a column may become wider while its
//! chunks stay. `docs/format/page.md` shows the bytes.

use crate::encoding::Encoding;
use crate::page::{EncodedPage, HEADER_BYTES, Header, corrupt, finish_frame, parse_frame};
use crate::wire::Damage;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{ChunkUid, ColumnId, ColumnStatistics, Error, ErrorKind, Result};
use twox_hash::XxHash3_64;

/// The stored type in the header of an index's page, which has none.
const NO_TYPE: u8 = 0;

/// The approximate number of filter bits per distinct tuple.
const BITS_PER_TUPLE: usize = 10;

/// The size of a block. A tuple sets its bits in one block.
const BLOCK_WORDS: usize = 8;
const BLOCK_BYTES: usize = BLOCK_WORDS * size_of::<u32>();

/// The factors that select a tuple's bit in each word of its block.
const SALTS: [u32; BLOCK_WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The hashes of rows' tuples.
#[derive(Debug, Clone)]
pub struct TupleHashes {
    hashes: Vec<u64>,
    nulls: Option<NullBuffer>,
}

impl TupleHashes {
    /// Returns the hashes of the rows without a NULL, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let is_whole = |row: &usize| self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        (0..self.hashes.len()).filter(is_whole).map(|row| self.hashes[row])
    }
}

/// Hashes each row's tuple. The columns have stored types and equal lengths.
pub fn tuple_hashes(columns: &[ArrayRef]) -> Result<TupleHashes> {
    let row_count = columns.first().map_or(0, |column| column.len());
    let (mut hashes, mut nulls) = (vec![0; row_count], None);
    for column in columns {
        if column.len() != row_count {
            return Err(Error::internal("the columns of an index have different numbers of rows"));
        }
        hash_column(&mut hashes, column)?;
        nulls = NullBuffer::union(nulls.as_ref(), column.nulls());
    }
    Ok(TupleHashes { hashes, nulls })
}

/// A decoded filter: blocks of eight words.
#[derive(Debug, Clone, PartialEq)]
pub struct Membership {
    words: UInt32Array,
}

impl Membership {
    /// Returns whether the chunk may contain a tuple with this hash. `false` is certain.
    pub fn may_contain(&self, hash: u64) -> bool {
        let words = self.words.values();
        let Some(start) = block_start(hash, words.len()) else { return false };
        words[start..].iter().zip(block_bits(hash)).all(|(word, bit)| word & bit != 0)
    }

    /// Returns the words, as a cache keeps them.
    pub fn words(&self) -> &UInt32Array {
        &self.words
    }
}

/// Creates the filter with these [`words`](Membership::words).
impl From<UInt32Array> for Membership {
    fn from(words: UInt32Array) -> Self {
        Self { words }
    }
}

/// Encodes the page of an index in the chunk `uid` from the index's columns, which have their stored types.
pub fn encode_membership(uid: ChunkUid, index: ColumnId, columns: &[ArrayRef]) -> Result<EncodedPage> {
    let row_count = columns.first().map_or(0, |column| column.len());
    if row_count > CHUNK_ROWS_MAX {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("{row_count} rows in a chunk; the maximum is {CHUNK_ROWS_MAX}"),
        ));
    }
    let hashes = tuple_hashes(columns)?;
    let mut words = vec![0_u32; (distinct_count(&hashes) * BITS_PER_TUPLE).div_ceil(BLOCK_BYTES * 8) * BLOCK_WORDS];
    for hash in hashes.iter() {
        if let Some(start) = block_start(hash, words.len()) {
            words[start..].iter_mut().zip(block_bits(hash)).for_each(|(word, bit)| *word |= bit);
        }
    }
    let mut bytes = vec![0; HEADER_BYTES];
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let header = Header { encoding: Encoding::Membership.number(), stored_type: NO_TYPE, row_count };
    finish_frame(uid, index, header, bytes, ColumnStatistics::default())
}

/// Decodes the page of an index in the chunk `uid`, which has `row_count` rows. Errors are those of
/// [`decode_page`](crate::decode_page).
pub fn decode_membership(uid: ChunkUid, index: ColumnId, row_count: usize, bytes: &[u8]) -> Result<Membership> {
    let (header, payload) = parse_frame(uid, index, bytes)?;
    let damaged = |problem: String| corrupt(uid, index, &Damage(problem));
    if header.row_count != row_count {
        return Err(damaged(format!("{} rows instead of {row_count}", header.row_count)));
    }
    if (header.encoding, header.stored_type) != (Encoding::Membership.number(), NO_TYPE) {
        return Err(damaged("it is not the page of an index".to_owned()));
    }
    if payload.len() % BLOCK_BYTES != 0 {
        return Err(damaged("its filter ends within a block".to_owned()));
    }
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(Membership { words: payload.chunks_exact(size_of::<u32>()).map(word).collect::<Vec<u32>>().into() })
}

/// Estimates the number of distinct hashes by linear counting (Whang, Vander-Zanden, Taylor): each hash sets one bit of
/// a map with at least eight times as many bits, and the number of unset bits yields the estimate. A set of hashes
/// would be exact, and ten times slower.
fn distinct_count(hashes: &TupleHashes) -> usize {
    let bit_count = (hashes.hashes.len() * 8).next_power_of_two().max(64);
    let mut map = vec![0_u64; bit_count / 64];
    for hash in hashes.iter() {
        let bit = hash as usize % bit_count;
        map[bit / 64] |= 1 << (bit % 64);
    }
    let set_count: u32 = map.iter().map(|word| word.count_ones()).sum();
    let unset_share = 1.0 - f64::from(set_count) / bit_count as f64;
    (bit_count as f64 * -unset_share.ln()).round() as usize
}

/// Returns the first word of a hash's block in a filter with this number of words; `None` for an empty filter.
fn block_start(hash: u64, word_count: usize) -> Option<usize> {
    let block_count = (word_count / BLOCK_WORDS) as u64;
    (block_count > 0).then(|| (((hash >> 32) * block_count) >> 32) as usize * BLOCK_WORDS)
}

/// Returns the bit of a hash in each word of its block.
fn block_bits(hash: u64) -> [u32; BLOCK_WORDS] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

/// Adds a column to each row's hash: XXH3-64 of the value's bytes, seeded with the hash of the preceding columns.
fn hash_column(hashes: &mut [u64], column: &ArrayRef) -> Result<()> {
    let converted = |array: &ArrayRef, to: DataType| {
        let message = || format!("an index cannot contain {}", column.data_type());
        cast(array, &to).map_err(|error| Error::internal(message()).with_source(error))
    };
    match column.data_type() {
        DataType::Utf8 => hash_rows(hashes, |row| column.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => hash_rows(hashes, |row| column.as_binary::<i32>().value(row)),
        DataType::Boolean => hash_rows(hashes, |row| i64::from(column.as_boolean().value(row)).to_le_bytes()),
        DataType::UInt64 => hash_rows(hashes, |row| column.as_primitive::<UInt64Type>().value(row).to_le_bytes()),
        DataType::Float32 | DataType::Float64 => {
            let floats = converted(column, DataType::Float64)?;
            let floats = floats.as_primitive::<Float64Type>().values();
            hash_rows(hashes, |row| canonical_float(floats[row]).to_le_bytes());
        }
        other => {
            let is_days = *other == DataType::Date32;
            let plain = if is_days { converted(column, DataType::Int32)? } else { ArrayRef::clone(column) };
            let integers = converted(&plain, DataType::Int64)?;
            let integers = integers.as_primitive::<Int64Type>().values();
            hash_rows(hashes, |row| integers[row].to_le_bytes());
        }
    }
    Ok(())
}

fn hash_rows<B: AsRef<[u8]>>(hashes: &mut [u64], value: impl Fn(usize) -> B) {
    for (row, hash) in hashes.iter_mut().enumerate() {
        *hash = XxHash3_64::oneshot_with_seed(*hash, value(row).as_ref());
    }
}

/// Returns the same bits for floating point numbers that are equal in SQL: both zeros, and all NaNs.
fn canonical_float(float: f64) -> f64 {
    if float.is_nan() {
        return f64::from_bits(0x7ff8_0000_0000_0000);
    }
    // The sum is the positive zero for both zeros.
    float + 0.0
}
