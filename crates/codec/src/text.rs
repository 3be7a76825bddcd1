//! Text and bytes: constant, plain, or with a dictionary in the page.
//!
//! Constant: the value. Plain (named zstd): lengths as numbers, then all values in a block. Dictionary: the number of
//! distinct values, their lengths, the index of each row's value (by first appearance), then the distinct values in a
//! block.

use crate::block::{read_block, write_block};
use crate::encoding::{Effort, Encoding};
use crate::plain_numbers::{read_numbers, write_numbers};
use crate::wire::{Damage, DecodeResult, Reader, write_varint};
use arrow::buffer::NullBuffer;
use atsdb_core::limits::{CHUNK_TEXT_BYTES_MAX, VALUE_BYTES_MAX};
use atsdb_core::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use twox_hash::XxHash3_64;

/// The maximum size of a page's values in bytes: a chunk is cut before it exceeds its limit, and one value may then
/// exceed it.
pub(crate) const PAGE_TEXT_BYTES_MAX: usize = CHUNK_TEXT_BYTES_MAX + VALUE_BYTES_MAX;

/// The minimum number of values for a dictionary.
const DICTIONARY_VALUES_MIN: usize = 4;

/// A dictionary is abandoned if more than half of this many values are distinct.
const DICTIONARY_SAMPLE_VALUES: usize = 16_384;

/// The values of an array that are not NULL, in order.
pub(crate) struct TextValues<'a> {
    bytes: &'a [u8],
    /// The start and the end of each value in `bytes`.
    ranges: Vec<(u32, u32)>,
}

impl<'a> TextValues<'a> {
    /// Creates the values from the parts of an Arrow array. There is one more offset than rows.
    pub(crate) fn new(bytes: &'a [u8], offsets: &[i32], nulls: Option<&NullBuffer>) -> Self {
        let range = |pair: &[i32]| (pair[0] as u32, pair[1] as u32);
        let ranges = match nulls {
            None => offsets.windows(2).map(range).collect(),
            Some(nulls) => nulls.valid_indices().map(|row| range(&offsets[row..row + 2])).collect(),
        };
        Self { bytes, ranges }
    }

    /// Returns the values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let bytes = self.bytes;
        self.ranges.iter().map(move |(start, end)| &bytes[*start as usize..*end as usize])
    }

    fn lengths(&self) -> Vec<u32> {
        self.ranges.iter().map(|(start, end)| end - start).collect()
    }

    fn concatenated(&self) -> Vec<u8> {
        let mut concatenated = Vec::with_capacity(self.ranges.iter().map(|(start, end)| (end - start) as usize).sum());
        self.iter().for_each(|value| concatenated.extend_from_slice(value));
        concatenated
    }
}

/// Decoded text or bytes: all values concatenated, and their lengths.
pub(crate) struct DecodedText {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lengths: Vec<u32>,
}

/// Writes values and returns their encoding.
pub(crate) fn encode_text(out: &mut Vec<u8>, values: &TextValues<'_>, effort: Effort) -> Result<Encoding> {
    let Some(first) = values.iter().next() else { return Ok(Encoding::Null) };
    let byte_count: usize = values.ranges.iter().map(|(start, end)| (end - start) as usize).sum();
    if byte_count > PAGE_TEXT_BYTES_MAX {
        let message = format!("{byte_count} bytes of text in one chunk; the maximum is {PAGE_TEXT_BYTES_MAX}");
        return Err(Error::new(ErrorKind::Limit, message).with_hint("append fewer rows at a time"));
    }
    if values.iter().all(|value| value == first) {
        out.extend_from_slice(first);
        return Ok(Encoding::Constant);
    }
    let start = out.len();
    let dictionary = Dictionary::of(values);
    if let Some(dictionary) = &dictionary {
        dictionary.write(out, effort)?;
        if effort == Effort::Fresh {
            return Ok(Encoding::Dictionary);
        }
    }
    let mut plain = Vec::new();
    write_numbers(&mut plain, &values.lengths(), effort)?;
    write_block(&mut plain, &values.concatenated(), effort)?;
    if dictionary.is_some() && out.len() - start <= plain.len() {
        return Ok(Encoding::Dictionary);
    }
    out.truncate(start);
    out.extend_from_slice(&plain);
    Ok(Encoding::Zstd)
}

/// Reads `count` values from the rest of the reader.
pub(crate) fn decode_text(encoding: Encoding, reader: &mut Reader<'_>, count: usize) -> DecodeResult<DecodedText> {
    match encoding {
        Encoding::Null if count == 0 => Ok(DecodedText { bytes: Vec::new(), lengths: Vec::new() }),
        Encoding::Constant => {
            let value = reader.take_rest();
            check_byte_count(value.len() as u64 * count as u64)?;
            Ok(DecodedText { bytes: value.repeat(count), lengths: vec![value.len() as u32; count] })
        }
        Encoding::Zstd => {
            let lengths: Vec<u32> = read_numbers(reader, count)?;
            let bytes = read_block(reader, byte_count_of(&lengths)?)?;
            Ok(DecodedText { bytes, lengths })
        }
        Encoding::Dictionary => decode_dictionary(reader, count),
        _ => Err("text in an encoding of another type".into()),
    }
}

/// The distinct values of a page, by first appearance, and each row's index.
struct Dictionary<'a> {
    distinct: Vec<&'a [u8]>,
    indices: Vec<u32>,
}

impl<'a> Dictionary<'a> {
    /// Creates the dictionary of values that repeat often enough.
    fn of(values: &TextValues<'a>) -> Option<Self> {
        let count = values.ranges.len();
        if count < DICTIONARY_VALUES_MIN {
            return None;
        }
        let mut numbers: HashMap<&[u8], u32, BuildHasherDefault<BytesHasher>> = HashMap::default();
        let (mut distinct, mut indices) = (Vec::new(), Vec::with_capacity(count));
        for (seen, value) in values.iter().enumerate() {
            if seen == DICTIONARY_SAMPLE_VALUES && distinct.len() > DICTIONARY_SAMPLE_VALUES / 2 {
                return None;
            }
            indices.push(*numbers.entry(value).or_insert_with(|| {
                distinct.push(value);
                distinct.len() as u32 - 1
            }));
        }
        (distinct.len() <= count / 2).then_some(Self { distinct, indices })
    }

    fn write(&self, out: &mut Vec<u8>, effort: Effort) -> Result<()> {
        let lengths: Vec<u32> = self.distinct.iter().map(|value| value.len() as u32).collect();
        write_varint(out, lengths.len() as u64);
        write_numbers(out, &lengths, effort)?;
        write_numbers(out, &self.indices, effort)?;
        write_block(out, &self.distinct.concat(), effort)
    }
}

fn decode_dictionary(reader: &mut Reader<'_>, count: usize) -> DecodeResult<DecodedText> {
    let distinct_count = reader.varint_up_to(count)?;
    let distinct_lengths: Vec<u32> = read_numbers(reader, distinct_count)?;
    let indices: Vec<u32> = read_numbers(reader, count)?;
    let distinct = read_block(reader, byte_count_of(&distinct_lengths)?)?;
    let mut rest = distinct.as_slice();
    let values: Vec<&[u8]> = distinct_lengths
        .iter()
        .map(|length| {
            let (value, after) = rest.split_at(*length as usize);
            rest = after;
            value
        })
        .collect();
    // Checking the largest index takes less time than checking each.
    if indices.iter().max().is_some_and(|largest| *largest as usize >= distinct_lengths.len()) {
        return Err("an index that is not in the dictionary".into());
    }
    let lengths: Vec<u32> = indices.iter().map(|index| distinct_lengths[*index as usize]).collect();
    let mut bytes = Vec::with_capacity(byte_count_of(&lengths)?);
    // Often, most values are empty: skipping them takes less time than copying nothing.
    for value in indices.iter().map(|index| values[*index as usize]).filter(|value| !value.is_empty()) {
        bytes.extend_from_slice(value);
    }
    Ok(DecodedText { bytes, lengths })
}

fn byte_count_of(lengths: &[u32]) -> DecodeResult<usize> {
    let byte_count: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    check_byte_count(byte_count)?;
    Ok(byte_count as usize)
}

fn check_byte_count(byte_count: u64) -> DecodeResult<()> {
    if byte_count <= PAGE_TEXT_BYTES_MAX as u64 {
        Ok(())
    } else {
        Err(Damage(format!("{byte_count} bytes of text; the maximum is {PAGE_TEXT_BYTES_MAX}")))
    }
}

/// XXH3 for byte strings, including their length.
#[derive(Default)]
struct BytesHasher(u64);

impl Hasher for BytesHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = XxHash3_64::oneshot_with_seed(self.0, bytes);
    }

    fn write_usize(&mut self, length: usize) {
        self.0 ^= length as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
