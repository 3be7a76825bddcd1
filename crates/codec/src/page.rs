//! A page: one encoded column of one chunk. A header with a checksum, which rows are NULL, the values.
//!
//! Owned here: the frame. What it holds is `validity`'s and `values`', or of an index [`membership`](crate::membership)'s.
//! The bytes are drawn in `docs/format/page.md`.

use crate::checksum::page_checksum;
use crate::encoding::{Effort, Encoding};
use crate::types::{stored_type, stored_type_number, written_type};
use crate::validity::{read_validity, write_validity};
use crate::values::{decode_values, encode_values};
use crate::wire::{Damage, Decoded, Reader};
use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{ChunkUid, Column, ColumnId, ColumnStatistics, Error, ErrorKind, PageDescriptor, Result};

/// What a page begins with.
const MAGIC: [u8; 2] = *b"aP";

/// The oldest format.
const FORMAT_MIN: u8 = 1;

/// The newest format that this version reads. A page is written in the oldest that has its encoding.
pub const FORMAT_MAX: u8 = 2;

/// The header: magic 2, format 1, encoding 1, stored type 1, rows 3, bytes of payload 4, checksum 8.
pub(crate) const HEADER_BYTES: usize = 20;

/// The part of the header that the checksum covers.
const CHECKED_BYTES: usize = 12;

/// A page on its way into a store.
#[derive(Debug, Clone)]
pub struct EncodedPage {
    /// The page.
    pub bytes: Vec<u8>,
    /// What is known of it.
    pub descriptor: PageDescriptor,
}

/// Encodes the rows of a column, which are of its [`stored_type`](crate::stored_type()), as its page in the chunk
/// `uid`. At most [`CHUNK_ROWS_MAX`] rows, and
/// [`CHUNK_TEXT_BYTES_MAX`](atsdb_core::limits::CHUNK_TEXT_BYTES_MAX) and a value of text, else
/// [`Limit`](ErrorKind::Limit).
pub fn encode_page(uid: ChunkUid, column: &Column, array: &dyn Array, effort: Effort) -> Result<EncodedPage> {
    encode(uid, column, array, effort).map_err(|error| error.context(format_args!("column {}", column.name)))
}

/// Decodes the page of a column in the chunk `uid`, which has `row_count` rows, as an array of its
/// [`stored_type`](crate::stored_type()), also where the page was written while the column was a narrower one of the
/// same kind. [`Corrupt`](ErrorKind::Corrupt) with chunk and column if the page is
/// damaged, or belongs elsewhere; [`NewerFormat`](ErrorKind::NewerFormat) if a later version wrote it.
pub fn decode_page(uid: ChunkUid, column: &Column, row_count: usize, bytes: &[u8]) -> Result<ArrayRef> {
    let (header, payload) = checked(uid, column.id, bytes)?;
    decode(column, row_count, &header, payload)
        .map_err(|damage| corrupt(uid, column.id, &damage).context(format_args!("column {}", column.name)))
}

/// Checks header and checksum of a page, without decoding it. Errors are those of [`decode_page`].
pub fn check_page(uid: ChunkUid, column: ColumnId, bytes: &[u8]) -> Result<()> {
    checked(uid, column, bytes).map(|_| ())
}

/// The page of a column in the chunk `from`, bound to the chunk `to`, which has the same rows: it is checked, and gets
/// a new checksum. What its descriptor says stays right. Errors are those of [`decode_page`].
pub fn rebind_page(from: ChunkUid, to: ChunkUid, column: ColumnId, bytes: &[u8]) -> Result<Vec<u8>> {
    checked(from, column, bytes)?;
    let mut bytes = bytes.to_vec();
    write_checksum(to, column, &mut bytes);
    Ok(bytes)
}

/// What a page's header says, apart from what is checked at once.
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
        bytes[2] = Encoding::from_number(self.encoding).map_or(FORMAT_MAX, Encoding::format);
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
        return Err(Error::internal(format!("an array of {} where {expected} should be", array.data_type())));
    }
    if row_count > CHUNK_ROWS_MAX {
        return Err(Error::new(ErrorKind::Limit, format!("{row_count} rows in a chunk; the most is {CHUNK_ROWS_MAX}")));
    }
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    let mut bytes = vec![0; HEADER_BYTES];
    write_validity(&mut bytes, nulls, row_count, effort)?;
    let (encoding, (min, max)) = encode_values(&mut bytes, array, nulls, effort)?;

    let header = Header { encoding: encoding as u8, stored_type: stored_type_number(column), row_count };
    let null_count = nulls.map_or(0, |nulls| nulls.null_count() as u32);
    let statistics = ColumnStatistics { null_count, min, max };
    frame(uid, column.id, header, bytes, statistics)
}

/// The page whose payload lies behind the room for its header.
pub(crate) fn frame(
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

/// Gives a page, which is not shorter than its header, the checksum of its bytes and its place.
fn write_checksum(uid: ChunkUid, column: ColumnId, bytes: &mut [u8]) {
    let (header_bytes, payload) = bytes.split_at_mut(HEADER_BYTES);
    if let Some((checked_bytes, checksum)) = header_bytes.split_first_chunk_mut::<CHECKED_BYTES>() {
        checksum.copy_from_slice(&page_checksum(uid, column, checked_bytes, payload).to_le_bytes());
    }
}

/// The header and the payload of a page that is whole and in its place.
pub(crate) fn checked(uid: ChunkUid, column: ColumnId, bytes: &[u8]) -> Result<(Header, &[u8])> {
    let damaged = |problem: &str| corrupt(uid, column, &problem.into());
    let (header_bytes, payload) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(|| damaged("it is cut short"))?;
    let (checked_bytes, checksum) =
        header_bytes.split_first_chunk::<CHECKED_BYTES>().ok_or_else(|| damaged("it is cut short"))?;
    if checked_bytes[..2] != MAGIC {
        return Err(damaged("it does not begin like a page"));
    }
    match checked_bytes[2] {
        FORMAT_MIN..=FORMAT_MAX => {}
        format if format > FORMAT_MAX => return Err(newer_format(uid, column, format)),
        _ => return Err(damaged("it has a format that never was")),
    }
    let payload_bytes = u32::from_le_bytes([checked_bytes[8], checked_bytes[9], checked_bytes[10], checked_bytes[11]]);
    if payload.len() != payload_bytes as usize {
        return Err(damaged(&format!("{} bytes where {payload_bytes} should be", payload.len())));
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

fn decode(column: &Column, row_count: usize, header: &Header, payload: &[u8]) -> Decoded<ArrayRef> {
    if header.row_count != row_count || row_count > CHUNK_ROWS_MAX {
        return Err(Damage(format!("{} rows where {row_count} should be", header.row_count)));
    }
    let present_type = stored_type(column);
    let written_type = written_type(header.stored_type, column)
        .ok_or_else(|| Damage(format!("type {} where {present_type} should be", header.stored_type)))?;
    let encoding = Encoding::from_number(header.encoding)
        .ok_or_else(|| Damage(format!("encoding {} is not known", header.encoding)))?;
    let mut reader = Reader::new(payload);
    let nulls = read_validity(&mut reader, row_count)?;
    let present_count = row_count - nulls.as_ref().map_or(0, NullBuffer::null_count);
    let array = decode_values(&written_type, encoding, &mut reader, present_count, nulls)?;
    reader.finish()?;
    match written_type == present_type {
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
