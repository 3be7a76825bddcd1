//! A page: one encoded column of one chunk. It consists of a header with a checksum, the validity of the rows, and the
//! values.
//!
//! Owned here: the frame. `validity` and `values` encode its content, or [`membership`](crate::membership) for an
//! index. `docs/format/page.md` shows the bytes.

use crate::checksum::page_checksum;
use crate::encoding::{Effort, Encoding};
use crate::types::{stored_type, stored_type_number, stored_type_of_number};
use crate::validity::{read_validity, write_validity};
use crate::values::{decode_values, encode_values};
use crate::wire::{Damage, DecodeResult, Reader};
use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{ChunkUid, Column, ColumnId, ColumnStatistics, Error, ErrorKind, PageDescriptor, Result};

/// The first bytes of a page.
const MAGIC: [u8; 2] = *b"aP";

/// The oldest format.
const FORMAT_MIN: u8 = 1;

/// The newest format that this version reads. A page is written in the oldest format with its encoding.
pub const FORMAT_MAX: u8 = 3;

/// The size of the header in bytes: magic 2, format 1, encoding 1, stored type 1, rows 3, bytes of payload 4, checksum
/// 8.
pub(crate) const HEADER_BYTES: usize = 20;

/// The size in bytes of the part of the header that the checksum covers.
const CHECKED_BYTES: usize = 12;

/// A page that is about to be written to a store.
#[derive(Debug, Clone)]
pub struct EncodedPage {
    /// The page.
    pub bytes: Vec<u8>,
    /// The page's metadata.
    pub descriptor: PageDescriptor,
}

/// Encodes the rows of a column as its page in the chunk `uid`. The array has the column's
/// [`stored_type`](crate::stored_type()). It is a [`Limit`](ErrorKind::Limit) error if there are more than
/// [`CHUNK_ROWS_MAX`] rows, or text of more than [`CHUNK_TEXT_BYTES_MAX`](atsdb_core::limits::CHUNK_TEXT_BYTES_MAX)
/// bytes plus one value.
pub fn encode_page(uid: ChunkUid, column: &Column, array: &dyn Array, effort: Effort) -> Result<EncodedPage> {
    encode(uid, column, array, effort).map_err(|error| error.context(format_args!("column {}", column.name)))
}

/// Decodes the page of a column in the chunk `uid`, which has `row_count` rows. Returns an array of the column's
/// [`stored_type`](crate::stored_type()), even if the page was written while the column had a narrower type of the same
/// kind. It is a [`Corrupt`](ErrorKind::Corrupt) error with chunk and column if the page is damaged or belongs
/// elsewhere, and [`NewerFormat`](ErrorKind::NewerFormat) if a later version wrote it.
pub fn decode_page(uid: ChunkUid, column: &Column, row_count: usize, bytes: &[u8]) -> Result<ArrayRef> {
    let (header, payload) = parse_frame(uid, column.id, bytes)?;
    decode(column, row_count, &header, payload)
        .map_err(|damage| corrupt(uid, column.id, &damage).context(format_args!("column {}", column.name)))
}

/// Checks the header and the checksum of a page without decoding it. Errors are those of [`decode_page`].
pub fn check_page(uid: ChunkUid, column: ColumnId, bytes: &[u8]) -> Result<()> {
    parse_frame(uid, column, bytes).map(|_| ())
}

/// Rebinds the page of a column in the chunk `from` to the chunk `to`, which has the same rows: the page is checked,
/// and gets a new checksum. Its metadata stays valid. Errors are those of [`decode_page`].
pub fn rebind_page(from: ChunkUid, to: ChunkUid, column: ColumnId, bytes: &[u8]) -> Result<Vec<u8>> {
    parse_frame(from, column, bytes)?;
    let mut bytes = bytes.to_vec();
    write_checksum(to, column, &mut bytes);
    Ok(bytes)
}

/// The fields of a page's header that are not checked immediately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) encoding: u8,
    pub(crate) stored_type: u8,
    pub(crate) row_count: usize,
}

impl Header {
    fn to_bytes(self, payload_bytes: u32) -> [u8; CHECKED_BYTES] {
        let mut bytes = [0; CHECKED_BYTES];
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2] = Encoding::from_repr(self.encoding).map_or(FORMAT_MAX, Encoding::format);
        bytes[3] = self.encoding;
        bytes[4] = self.stored_type;
        bytes[5..8].copy_from_slice(&(self.row_count as u32).to_le_bytes()[..3]);
        bytes[8..].copy_from_slice(&payload_bytes.to_le_bytes());
        bytes
    }
}

fn encode(uid: ChunkUid, column: &Column, array: &dyn Array, effort: Effort) -> Result<EncodedPage> {
    let (row_count, expected) = (array.len(), stored_type(column));
    if *array.data_type() != expected {
        return Err(Error::internal(format!("an array of {} instead of {expected}", array.data_type())));
    }
    if row_count > CHUNK_ROWS_MAX {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("{row_count} rows in a chunk; the maximum is {CHUNK_ROWS_MAX}"),
        ));
    }
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let mut bytes = vec![0; HEADER_BYTES];
    write_validity(&mut bytes, nulls, row_count, effort)?;
    // Indices and times have no sum.
    let is_summed = column.map.is_none() && expected.is_numeric();
    let (encoding, known) = encode_values(&mut bytes, array, nulls, is_summed, effort)?;

    let header = Header { encoding: encoding.number(), stored_type: stored_type_number(column), row_count };
    let null_count = nulls.map_or(0, |nulls| nulls.null_count() as u32);
    let statistics = ColumnStatistics { null_count, ..known };
    finish_frame(uid, column.id, header, bytes, statistics)
}

/// Finishes a page whose payload follows the reserved space of its header.
pub(crate) fn finish_frame(
    uid: ChunkUid,
    column: ColumnId,
    header: Header,
    mut bytes: Vec<u8>,
    statistics: ColumnStatistics,
) -> Result<EncodedPage> {
    let too_long = || Error::new(ErrorKind::Limit, "a page of more than 4 GiB");
    let payload_bytes = u32::try_from(bytes.len() - HEADER_BYTES).map_err(|_| too_long())?;
    let byte_count = u32::try_from(bytes.len()).map_err(|_| too_long())?;
    bytes[..CHECKED_BYTES].copy_from_slice(&header.to_bytes(payload_bytes));
    write_checksum(uid, column, &mut bytes);
    let descriptor = PageDescriptor { column, byte_count, encoding: header.encoding, statistics };
    Ok(EncodedPage { bytes, descriptor })
}

/// Writes the checksum into a page, which is at least as long as its header.
fn write_checksum(uid: ChunkUid, column: ColumnId, bytes: &mut [u8]) {
    let (header_bytes, payload) = bytes.split_at_mut(HEADER_BYTES);
    if let Some((checked_bytes, checksum)) = header_bytes.split_first_chunk_mut::<CHECKED_BYTES>() {
        checksum.copy_from_slice(&page_checksum(uid, column, checked_bytes, payload).to_le_bytes());
    }
}

/// Checks a page and returns its header and payload.
pub(crate) fn parse_frame(uid: ChunkUid, column: ColumnId, bytes: &[u8]) -> Result<(Header, &[u8])> {
    let damaged = |problem: &str| corrupt(uid, column, &problem.into());
    let (header_bytes, payload) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(|| damaged("it is cut short"))?;
    let (checked_bytes, checksum) =
        header_bytes.split_first_chunk::<CHECKED_BYTES>().ok_or_else(|| damaged("it is cut short"))?;
    if checked_bytes[..2] != MAGIC {
        return Err(damaged("it does not begin with the header of a page"));
    }
    match checked_bytes[2] {
        FORMAT_MIN..=FORMAT_MAX => {}
        format if format > FORMAT_MAX => return Err(newer_format(uid, column, format)),
        _ => return Err(damaged("it has an unknown format")),
    }
    let payload_bytes = u32::from_le_bytes([checked_bytes[8], checked_bytes[9], checked_bytes[10], checked_bytes[11]]);
    if payload.len() != payload_bytes as usize {
        return Err(damaged(&format!("{} bytes instead of {payload_bytes}", payload.len())));
    }
    if page_checksum(uid, column, checked_bytes, payload).to_le_bytes() != checksum {
        return Err(damaged("its checksum does not match: it is changed, or belongs to another chunk or column"));
    }
    let header = Header {
        encoding: checked_bytes[3],
        stored_type: checked_bytes[4],
        row_count: u32::from_le_bytes([checked_bytes[5], checked_bytes[6], checked_bytes[7], 0]) as usize,
    };
    Ok((header, payload))
}

fn decode(column: &Column, row_count: usize, header: &Header, payload: &[u8]) -> DecodeResult<ArrayRef> {
    if header.row_count != row_count || row_count > CHUNK_ROWS_MAX {
        return Err(Damage(format!("{} rows instead of {row_count}", header.row_count)));
    }
    let present_type = stored_type(column);
    let stored_type_of_number = stored_type_of_number(header.stored_type, column)
        .ok_or_else(|| Damage(format!("type {} instead of {present_type}", header.stored_type)))?;
    let encoding = Encoding::from_repr(header.encoding)
        .ok_or_else(|| Damage(format!("encoding {} is not known", header.encoding)))?;
    let mut reader = Reader::new(payload);
    let nulls = read_validity(&mut reader, row_count)?;
    let present_count = row_count - nulls.as_ref().map_or(0, NullBuffer::null_count);
    let array = decode_values(&stored_type_of_number, encoding, &mut reader, present_count, nulls)?;
    reader.finish()?;
    match stored_type_of_number == present_type {
        true => Ok(array),
        false => Ok(cast(&array, &present_type)?),
    }
}

pub(crate) fn corrupt(uid: ChunkUid, column: ColumnId, damage: &Damage) -> Error {
    Error::corrupt(format!("the page of column {} in chunk {uid} is damaged: {}", column.0, damage.0))
        .with_hint("the other pages stay readable; `atsdb verify` lists what is damaged, a backup may have it whole")
}

fn newer_format(uid: ChunkUid, column: ColumnId, format: u8) -> Error {
    let place = format!("the page of column {} in chunk {uid}", column.0);
    Error::new(ErrorKind::NewerFormat, format!("{place} has format {format}; this version reads up to {FORMAT_MAX}"))
        .with_hint("upgrade atsdb")
}
