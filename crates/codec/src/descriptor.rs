//! The encoded descriptor of a chunk: the information that readers need before they read its pages.
//!
//! Integers are varints, signed ones in zigzag form, and values close to others are stored as differences.
//! `docs/format/chunk.md` shows the bytes.

use crate::checksum::descriptor_checksum;
use crate::wire::{Damage, DecodeResult, Reader, unzigzag, write_varint, zigzag};
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{
    Bound, ChunkDescriptor, ChunkUid, ColumnId, ColumnStatistics, Error, ErrorKind, PageDescriptor, Result, Slice, Sum,
};

/// The format that this version writes, and the newest that it reads.
const FORMAT: u8 = 2;

/// The first format that has sums.
const FORMAT_WITH_SUMS: u8 = 2;

/// The size of format and checksum in bytes.
const HEADER_BYTES: usize = 9;

/// The minimum size of a page's entry in bytes: column, byte count, encoding, null count, kinds of bounds.
const PAGE_BYTES_MIN: usize = 5;

/// The kinds of bounds. That of the upper bound is shifted by four bits.
const NO_BOUND: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const BYTES: u8 = 4;

/// Kinds of sums: of integers whose sum fits 64 bits, of others, and of floating point numbers.
const NO_SUM: u8 = 0;
const INT_SUM: u8 = 1;
const WIDE_SUM: u8 = 2;
const FLOAT_SUM: u8 = 3;

/// The size of format, checksum and name in bytes.
const KEY_BYTES: usize = HEADER_BYTES + 16;

/// Identifies an encoded descriptor by its format, its checksum and the chunk's name. An index that is built over a
/// chunk gives it another descriptor under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DescriptorKey([u8; KEY_BYTES]);

impl DescriptorKey {
    /// The key of these bytes; `None` if they are damaged, or if a later version wrote them.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let key = bytes.first_chunk::<KEY_BYTES>()?;
        let is_whole =
            (1..=FORMAT).contains(&key[0]) && has_own_checksum(&key[1..HEADER_BYTES], &bytes[HEADER_BYTES..]);
        is_whole.then_some(Self(*key))
    }
}

fn has_own_checksum(checksum: &[u8], body: &[u8]) -> bool {
    checksum == descriptor_checksum(body).to_le_bytes()
}

/// Encodes a descriptor, as a store keeps it.
pub fn encode_descriptor(descriptor: &ChunkDescriptor) -> Vec<u8> {
    let mut out = vec![0; HEADER_BYTES];
    write_body(&mut out, descriptor);
    out[0] = FORMAT;
    let checksum = descriptor_checksum(&out[HEADER_BYTES..]);
    out[1..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    out
}

/// Decodes a descriptor. It is a [`Corrupt`](ErrorKind::Corrupt) error if the bytes are damaged (the caller adds which
/// chunk it is), and [`NewerFormat`](ErrorKind::NewerFormat) if a later version wrote them.
pub fn decode_descriptor(bytes: &[u8]) -> Result<ChunkDescriptor> {
    let corrupt = |damage: Damage| {
        Error::corrupt(format!("the descriptor of a chunk is damaged: {}", damage.0))
            .with_hint("other chunks stay readable; `atsdb verify` lists what is damaged")
    };
    match bytes.first() {
        Some(format) if *format > FORMAT => {
            let message = format!("a chunk's descriptor has format {format}; this version reads up to {FORMAT}");
            Err(Error::new(ErrorKind::NewerFormat, message).with_hint("upgrade atsdb"))
        }
        Some(format @ 1..=FORMAT) => read(*format, bytes).map_err(corrupt),
        _ => Err(corrupt("it has an unknown format".into())),
    }
}

fn read(format: u8, bytes: &[u8]) -> DecodeResult<ChunkDescriptor> {
    let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or("it is cut short")?;
    if !has_own_checksum(&header[1..], body) {
        return Err("its checksum does not match".into());
    }
    let mut reader = Reader::new(body);
    let descriptor = read_body(format, &mut reader)?;
    reader.finish()?;
    Ok(descriptor)
}

fn write_body(out: &mut Vec<u8>, descriptor: &ChunkDescriptor) {
    out.extend_from_slice(&descriptor.uid.0);
    write_varint(out, u64::from(descriptor.row_count));
    out.push(u8::from(descriptor.sealed));
    write_varint(out, zigzag(descriptor.slice.start));
    write_distance(out, descriptor.slice.start, descriptor.slice.last);
    write_distance(out, descriptor.slice.start, descriptor.time_min);
    write_distance(out, descriptor.time_min, descriptor.time_max);
    write_varint(out, descriptor.pages.len() as u64);
    let mut next_column = 0;
    for page in &descriptor.pages {
        write_varint(out, u64::from(page.column.0.wrapping_sub(next_column)));
        next_column = page.column.0.wrapping_add(1);
        write_page(out, page);
    }
}

fn read_body(format: u8, reader: &mut Reader<'_>) -> DecodeResult<ChunkDescriptor> {
    let uid = ChunkUid(reader.array()?);
    let row_count = reader.varint_up_to(CHUNK_ROWS_MAX)? as u32;
    if row_count == 0 {
        return Err("a chunk of no rows".into());
    }
    let sealed = match reader.byte()? {
        0 => false,
        1 => true,
        _ => return Err("neither fresh nor sealed".into()),
    };
    let start = unzigzag(reader.varint()?);
    let last = read_distance(reader, start)?;
    let time_min = read_distance(reader, start)?;
    let time_max = read_distance(reader, time_min)?;
    let page_count = reader.varint_up_to(reader.remaining() / PAGE_BYTES_MIN)?;
    let mut pages = Vec::with_capacity(page_count);
    let mut next_column = 0;
    for _ in 0..page_count {
        let column = next_column + reader.varint_up_to(usize::from(u16::MAX))?;
        let id = u16::try_from(column).map_err(|_| "a column number of more than 16 bits")?;
        pages.push(read_page(format, reader, ColumnId(id), row_count)?);
        next_column = column + 1;
    }
    Ok(ChunkDescriptor { uid, row_count, sealed, slice: Slice { start, last }, time_min, time_max, pages })
}

fn write_page(out: &mut Vec<u8>, page: &PageDescriptor) {
    let statistics = &page.statistics;
    write_varint(out, u64::from(page.byte_count));
    out.push(page.encoding);
    write_varint(out, u64::from(statistics.null_count));
    out.push(kind_of(statistics.min.as_ref()) | kind_of(statistics.max.as_ref()) << 4);
    statistics.min.iter().chain(&statistics.max).for_each(|bound| write_bound(out, bound));
    write_sum(out, statistics.sum);
}

fn read_page(format: u8, reader: &mut Reader<'_>, column: ColumnId, row_count: u32) -> DecodeResult<PageDescriptor> {
    let byte_count = reader.varint_up_to(u32::MAX as usize)? as u32;
    let encoding = reader.byte()?;
    let null_count = reader.varint_up_to(row_count as usize)? as u32;
    let kinds = reader.byte()?;
    let min = read_bound(reader, kinds & 0x0f)?;
    let max = read_bound(reader, kinds >> 4)?;
    let sum = if format < FORMAT_WITH_SUMS { None } else { read_sum(reader, row_count)? };
    let statistics = ColumnStatistics { null_count, min, max, sum };
    Ok(PageDescriptor { column, byte_count, encoding, statistics })
}

fn write_sum(out: &mut Vec<u8>, sum: Option<Sum>) {
    match sum {
        None => out.push(NO_SUM),
        Some(Sum::Int(sum)) => match i64::try_from(sum) {
            Ok(sum) => {
                out.push(INT_SUM);
                write_varint(out, zigzag(sum));
            }
            Err(_) => {
                out.push(WIDE_SUM);
                out.extend_from_slice(&sum.to_le_bytes());
            }
        },
        Some(Sum::Float(sum)) => {
            out.push(FLOAT_SUM);
            out.extend_from_slice(&sum.to_le_bytes());
        }
    }
}

fn read_sum(reader: &mut Reader<'_>, row_count: u32) -> DecodeResult<Option<Sum>> {
    let sum = match reader.byte()? {
        NO_SUM => None,
        INT_SUM => Some(Sum::Int(unzigzag(reader.varint()?).into())),
        WIDE_SUM => Some(Sum::Int(i128::from_le_bytes(reader.array()?))),
        FLOAT_SUM => Some(Sum::Float(f64::from_le_bytes(reader.array()?))),
        _ => return Err("an unknown kind of sum".into()),
    };
    match sum {
        Some(Sum::Int(sum)) if sum.unsigned_abs() > u128::from(row_count) << 64 => {
            Err("a sum that its rows cannot have".into())
        }
        sum => Ok(sum),
    }
}

fn kind_of(bound: Option<&Bound>) -> u8 {
    match bound {
        None => NO_BOUND,
        Some(Bound::Int(_)) => INT,
        Some(Bound::UInt(_)) => UINT,
        Some(Bound::Float(_)) => FLOAT,
        Some(Bound::Bytes(_)) => BYTES,
    }
}

fn write_bound(out: &mut Vec<u8>, bound: &Bound) {
    match bound {
        Bound::Int(value) => write_varint(out, zigzag(*value)),
        Bound::UInt(value) => write_varint(out, *value),
        Bound::Float(value) => out.extend_from_slice(&value.to_le_bytes()),
        Bound::Bytes(bytes) => {
            write_varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }
}

fn read_bound(reader: &mut Reader<'_>, kind: u8) -> DecodeResult<Option<Bound>> {
    Ok(Some(match kind {
        NO_BOUND => return Ok(None),
        INT => Bound::Int(unzigzag(reader.varint()?)),
        UINT => Bound::UInt(reader.varint()?),
        FLOAT => Bound::Float(f64::from_le_bytes(reader.array()?)),
        BYTES => {
            let length = reader.varint_up_to(reader.remaining())?;
            Bound::Bytes(reader.bytes(length)?.to_vec())
        }
        _ => return Err("a bound of unknown kind".into()),
    }))
}

/// Writes the difference of two times, which is short if the second is not far behind the first.
fn write_distance(out: &mut Vec<u8>, from: i64, to: i64) {
    write_varint(out, zigzag(to.wrapping_sub(from)));
}

fn read_distance(reader: &mut Reader<'_>, from: i64) -> DecodeResult<i64> {
    Ok(from.wrapping_add(unzigzag(reader.varint()?)))
}
