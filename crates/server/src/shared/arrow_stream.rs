//! The batches of an Arrow stream that a client has sent. Memory is taken only for bytes that have arrived, never for a
//! length that a message claims.

use super::arrow_claims;
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::buffer::Buffer;
use atsdb::arrow::error::ArrowError;
use atsdb::arrow::ipc::reader::StreamDecoder;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bytes at the beginning of a message, before the length of its head. Older writers omit them.
const CONTINUATION: [u8; 4] = [255; 4];

/// The batches of a stream whose bytes are all there. A stream that is cut off, or is followed by more bytes, ends with
/// an error.
#[derive(Debug)]
pub(crate) struct ArrowStream {
    decoder: StreamDecoder,
    bytes: Buffer,
    is_checked: bool,
    is_at_end: bool,
}

impl ArrowStream {
    pub(crate) fn new(bytes: Buffer) -> Self {
        Self { decoder: StreamDecoder::new(), bytes, is_checked: false, is_at_end: false }
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if !self.is_checked {
            check_messages(&self.bytes)?;
            self.is_checked = true;
        }
        // Damaged bytes may make arrow panic. The decoder is not used again after that.
        let decoded = catch_unwind(AssertUnwindSafe(|| self.decoder.decode(&mut self.bytes)));
        let batch = decoded.map_err(|_| ArrowError::IpcError("its bytes are damaged".to_owned()))??;
        if batch.is_none() {
            self.decoder.finish()?;
            if self.decoder.schema().is_none() {
                return Err(ArrowError::IpcError("it has no schema".to_owned()));
            }
        }
        Ok(batch)
    }
}

impl Iterator for ArrowStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end {
            return None;
        }
        let read = self.read();
        self.is_at_end = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

/// Checks all messages that are there as a whole. The decoder refuses a stream that is cut off.
fn check_messages(mut bytes: &[u8]) -> Result<(), ArrowError> {
    while let Some((head, rest)) = split_head(bytes) {
        let body_bytes = arrow_claims::message_of(head)?.bodyLength();
        let body = usize::try_from(body_bytes).ok().and_then(|length| rest.split_at_checked(length));
        let Some((body, rest)) = body else { break };
        arrow_claims::check(head, body)?;
        bytes = rest;
    }
    Ok(())
}

/// The head of the next message, and what follows it; `None` at the end of the stream.
fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let bytes = bytes.strip_prefix(&CONTINUATION).unwrap_or(bytes);
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    match usize::try_from(u32::from_le_bytes(*length)).ok()? {
        0 => None,
        length => rest.split_at_checked(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::array::{ArrayRef, Int64Array, NullArray};
    use atsdb::arrow::ipc::CompressionType;
    use atsdb::arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
    use std::sync::Arc;

    fn read(bytes: &[u8]) -> Result<Vec<RecordBatch>, ArrowError> {
        ArrowStream::new(Buffer::from_vec(bytes.to_vec())).collect()
    }

    #[test]
    fn no_length_is_believed_before_its_bytes_are_there() {
        let rows = RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![1, 2])) as _)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
        writer.write(&rows).unwrap();
        let whole = writer.into_inner().unwrap();
        assert_eq!(read(&whole).unwrap(), [rows]);
        assert!(read(b"").is_err() && read(b"junk").is_err() && read(&[255; 40]).is_err());
        // A stream may lack the mark of its end, but nothing before it.
        assert!((1..whole.len() - 8).all(|end| read(&whole[..end]).is_err()));
        // A second stream would otherwise be lost.
        assert!(read(&[whole.as_slice(), whole.as_slice()].concat()).is_err());
        // The head of the batch says how long its body is. The allocator would end the process.
        let lengths = [64_u64.to_le_bytes(), 128_u64.to_le_bytes()];
        let found = (0..whole.len() - 8).filter(|at| lengths.iter().any(|length| whole[*at..].starts_with(length)));
        let found: Vec<usize> = found.collect();
        assert!(!found.is_empty());
        for at in found {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&(1_u64 << 46).to_le_bytes());
            assert!(read(&bytes).is_err(), "{at}");
        }
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn rows_need_bytes() {
        let stream = |row_count: usize| {
            let nulls: ArrayRef = Arc::new(NullArray::new(row_count));
            let rows = RecordBatch::try_from_iter_with_nullable([("a", nulls, true)]).unwrap();
            let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
            writer.write(&rows).unwrap();
            writer.into_inner().unwrap()
        };
        assert_eq!(read(&stream(1_000)).unwrap()[0].num_rows(), 1_000);
        let found = message(&stream(1 << 40));
        assert!(found.contains("more rows than it has bytes for"), "{found}");
    }

    #[test]
    fn compressed_buffers_are_refused() {
        let rows = RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![7; 1_000])) as ArrayRef)]).unwrap();
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &rows.schema(), options).unwrap();
        writer.write(&rows).unwrap();
        let mut bytes = writer.into_inner().unwrap();
        let found = message(&bytes);
        assert!(found.contains("its buffers are compressed"), "{found}");
        // The decompressed length stands before the compressed bytes. The allocator would end the process.
        let length = 8_000_u64.to_le_bytes();
        let at = bytes.windows(8).position(|window| window == length).unwrap();
        bytes[at..at + 8].copy_from_slice(&(1_u64 << 46).to_le_bytes());
        assert_eq!(message(&bytes), found);
    }
}
