//! Pages of indexes: for each chunk a filter that tells which values it cannot hold.
//!
//! A split-block Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters; the one of
//! Parquet) over a hash of the tuple of values in the index's columns. About one question in a hundred is answered
//! with a wrong "may be"; "is not there" is never wrong. Rows with a NULL in one of the columns are left out.
//!
//! Values that SQL calls equal have the same hash, whatever width they are stored in: a column may become wider while
//! its chunks stay. The bytes are drawn in `docs/format/page.md`.

use crate::encoding::Encoding;
use crate::page::{EncodedPage, HEADER_BYTES, Header, checked, corrupt, frame};
use crate::wire::Damage;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{ChunkUid, ColumnId, ColumnStatistics, Error, ErrorKind, Result};
use twox_hash::XxHash3_64;

/// The stored type in the header of an index's page: it has none.
const NO_TYPE: u8 = 0;

/// How many bits of the filter a distinct tuple gets, about.
const TUPLE_BITS: usize = 10;

/// A block: what one tuple sets its bits in.
const BLOCK_WORDS: usize = 8;
const BLOCK_BYTES: usize = BLOCK_WORDS * size_of::<u32>();

/// What picks a tuple's bit in each word of its block.
const SALTS: [u32; BLOCK_WORDS] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The hashes of rows' tuples.
#[derive(Debug, Clone)]
pub struct TupleHashes {
    hashes: Vec<u64>,
    nulls: Option<NullBuffer>,
}

impl TupleHashes {
    /// Those of the rows without a NULL, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let is_whole = |row: &usize| self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        (0..self.hashes.len()).filter(is_whole).map(|row| self.hashes[row])
    }
}

/// The hash of each row's tuple. The columns are of stored types, and equally long.
pub fn tuple_hashes(columns: &[ArrayRef]) -> Result<TupleHashes> {
    let row_count = columns.first().map_or(0, |column| column.len());
    let (mut hashes, mut nulls) = (vec![0; row_count], None);
    for column in columns {
        if column.len() != row_count {
            return Err(Error::internal("columns of an index with unlike rows"));
        }
        add_column(&mut hashes, column)?;
        nulls = NullBuffer::union(nulls.as_ref(), column.nulls());
    }
    Ok(TupleHashes { hashes, nulls })
}

/// A filter that has been read: blocks of eight words.
#[derive(Debug, Clone, PartialEq)]
pub struct Membership {
    words: UInt32Array,
}

impl Membership {
    /// Whether a tuple of this hash may be there. `false` is certain.
    pub fn may_contain(&self, hash: u64) -> bool {
        let words = self.words.values();
        let Some(start) = block_start(hash, words.len()) else { return false };
        words[start..].iter().zip(bits(hash)).all(|(word, bit)| word & bit != 0)
    }

    /// Its words, as a cache keeps them.
    pub fn words(&self) -> &UInt32Array {
        &self.words
    }
}

/// The filter of these [`words`](Membership::words).
impl From<UInt32Array> for Membership {
    fn from(words: UInt32Array) -> Self {
        Self { words }
    }
}

/// Makes the page of an index in the chunk `uid` from the index's columns, in stored form.
pub fn encode_membership(uid: ChunkUid, index: ColumnId, columns: &[ArrayRef]) -> Result<EncodedPage> {
    let row_count = columns.first().map_or(0, |column| column.len());
    if row_count > CHUNK_ROWS_MAX {
        return Err(Error::new(ErrorKind::Limit, format!("{row_count} rows in a chunk; the most is {CHUNK_ROWS_MAX}")));
    }
    let hashes = tuple_hashes(columns)?;
    let mut words = vec![0_u32; (distinct_count(&hashes) * TUPLE_BITS).div_ceil(BLOCK_BYTES * 8) * BLOCK_WORDS];
    for hash in hashes.iter() {
        if let Some(start) = block_start(hash, words.len()) {
            words[start..].iter_mut().zip(bits(hash)).for_each(|(word, bit)| *word |= bit);
        }
    }
    let mut bytes = vec![0; HEADER_BYTES];
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let header = Header { encoding: Encoding::Membership as u8, stored_type: NO_TYPE, row_count };
    frame(uid, index, header, bytes, ColumnStatistics::default())
}

/// Reads the page of an index in the chunk `uid`, which has `row_count` rows. Errors are those of
/// [`decode_page`](crate::decode_page).
pub fn decode_membership(uid: ChunkUid, index: ColumnId, row_count: usize, bytes: &[u8]) -> Result<Membership> {
    let (header, payload) = checked(uid, index, bytes)?;
    let damaged = |problem: String| corrupt(uid, index, &Damage(problem));
    if header.row_count != row_count {
        return Err(damaged(format!("{} rows where {row_count} should be", header.row_count)));
    }
    if (header.encoding, header.stored_type) != (Encoding::Membership as u8, NO_TYPE) {
        return Err(damaged("it is not one of an index".to_owned()));
    }
    if payload.len() % BLOCK_BYTES != 0 {
        return Err(damaged("its filter ends within a block".to_owned()));
    }
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(Membership { words: payload.chunks_exact(size_of::<u32>()).map(word).collect::<Vec<u32>>().into() })
}

/// About how many distinct hashes there are (linear counting: Whang, Vander-Zanden, Taylor): each sets one bit of a map of
/// at least eight times as many, and how many stay unset tells. A set of hashes would be exact, and ten times slower.
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

/// Where the block of a hash begins in so many words; `None` where there is none.
fn block_start(hash: u64, word_count: usize) -> Option<usize> {
    let block_count = (word_count / BLOCK_WORDS) as u64;
    (block_count > 0).then(|| (((hash >> 32) * block_count) >> 32) as usize * BLOCK_WORDS)
}

/// The bit of a hash in each word of its block.
fn bits(hash: u64) -> [u32; BLOCK_WORDS] {
    SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
}

/// Goes on with each row's hash: XXH3-64 of the value's bytes, seeded with the hash of the columns before.
fn add_column(hashes: &mut [u64], column: &ArrayRef) -> Result<()> {
    let converted = |array: &ArrayRef, to: DataType| {
        let message = || format!("an index cannot read {}", column.data_type());
        cast(array, &to).map_err(|error| Error::internal(message()).with_source(error))
    };
    match column.data_type() {
        DataType::Utf8 => add(hashes, |row| column.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => add(hashes, |row| column.as_binary::<i32>().value(row)),
        DataType::Boolean => add(hashes, |row| i64::from(column.as_boolean().value(row)).to_le_bytes()),
        DataType::UInt64 => add(hashes, |row| column.as_primitive::<UInt64Type>().value(row).to_le_bytes()),
        DataType::Float32 | DataType::Float64 => {
            let floats = converted(column, DataType::Float64)?;
            let floats = floats.as_primitive::<Float64Type>().values();
            add(hashes, |row| one_of_equals(floats[row]).to_le_bytes());
        }
        other => {
            let is_days = *other == DataType::Date32;
            let plain = if is_days { converted(column, DataType::Int32)? } else { ArrayRef::clone(column) };
            let integers = converted(&plain, DataType::Int64)?;
            let integers = integers.as_primitive::<Int64Type>().values();
            add(hashes, |row| integers[row].to_le_bytes());
        }
    }
    Ok(())
}

fn add<B: AsRef<[u8]>>(hashes: &mut [u64], value: impl Fn(usize) -> B) {
    for (row, hash) in hashes.iter_mut().enumerate() {
        *hash = XxHash3_64::oneshot_with_seed(*hash, value(row).as_ref());
    }
}

/// The same bits for all floating point numbers that may be called equal: both zeros, and all NaNs.
fn one_of_equals(float: f64) -> f64 {
    if float.is_nan() {
        return f64::from_bits(0x7ff8_0000_0000_0000);
    }
    // Of the two zeros the sum is the positive one, whichever came in.
    float + 0.0
}
