//! Compares the sizes that a message of an Arrow stream claims with the bytes that it has. Arrow allocates memory for
//! buffers and rows as it decodes a message, and an allocation that fails ends the process. It panics at a buffer that
//! ends behind the message. So these messages are refused before:
//!
//! - one whose buffers are compressed, because each states its decompressed length itself;
//! - one with a buffer that is not within the message;
//! - one whose buffers are together longer than the message, because Arrow copies buffers that are not aligned;
//! - one with more rows than its bytes can hold, because untyped NULLs are rows without bytes.

use atsdb::arrow::error::ArrowError;
use atsdb::arrow::ipc::{Buffer, Message, MessageHeader, RecordBatch, root_as_message};

/// The number of rows that any message may have. A column of untyped NULLs has rows without bytes.
const FREE_ROWS: usize = 1 << 16;

/// The number of rows that a byte can hold: a boolean takes one bit.
const ROWS_PER_BYTE: usize = 8;

/// Reads the head of a message.
pub(crate) fn message_of(head: &[u8]) -> Result<Message<'_>, ArrowError> {
    root_as_message(head).map_err(|error| refused(format!("the head of a message cannot be read: {error}")))
}

/// Checks a message before it is decoded.
pub(crate) fn check(head: &[u8], body: &[u8]) -> Result<(), ArrowError> {
    let message = message_of(head)?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()),
        _ => None,
    };
    batch.map_or(Ok(()), |batch| check_batch(&batch, body.len()))
}

fn check_batch(batch: &RecordBatch<'_>, body_bytes: usize) -> Result<(), ArrowError> {
    if batch.compression().is_some() {
        return Err(refused("its buffers are compressed: send them as they are".to_owned()));
    }
    let end = |buffer: &Buffer| usize::try_from(buffer.offset().checked_add(buffer.length())?).ok();
    let mut buffers = batch.buffers().into_iter().flatten();
    if !buffers.all(|buffer| buffer.offset() >= 0 && end(buffer).is_some_and(|end| end <= body_bytes)) {
        return Err(refused("a buffer of a message is not within the message".to_owned()));
    }
    let mut lengths = batch.buffers().into_iter().flatten().map(|buffer| usize::try_from(buffer.length()));
    let total = lengths.try_fold(0_usize, |sum, length| Some(sum.saturating_add(length.ok()?)));
    if total.is_none_or(|total| total > body_bytes) {
        return Err(refused("the buffers of a message are longer than the message".to_owned()));
    }
    let rows_max = body_bytes.saturating_mul(ROWS_PER_BYTE).saturating_add(FREE_ROWS);
    let nodes = batch.nodes().into_iter().flatten().map(|node| node.length());
    let has_bytes = |row_count: i64| usize::try_from(row_count).is_ok_and(|row_count| row_count <= rows_max);
    match nodes.chain([batch.length()]).all(has_bytes) {
        true => Ok(()),
        false => Err(refused("a message claims more rows than it has bytes for".to_owned())),
    }
}

fn refused(reason: String) -> ArrowError {
    ArrowError::IpcError(reason)
}
