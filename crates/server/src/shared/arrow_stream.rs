//! The batches of an Arrow stream that a client has sent. Memory is taken only for bytes that have arrived, never for a
//! length that a message claims.

use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::buffer::Buffer;
use atsdb::arrow::error::ArrowError;
use atsdb::arrow::ipc::reader::StreamDecoder;

/// The batches of a stream whose bytes are all there. A stream that is cut off, or is followed by more bytes, ends with
/// an error.
#[derive(Debug)]
pub(crate) struct ArrowStream {
    decoder: StreamDecoder,
    bytes: Buffer,
    is_at_end: bool,
}

impl ArrowStream {
    pub(crate) fn new(bytes: Buffer) -> Self {
        Self { decoder: StreamDecoder::new(), bytes, is_at_end: false }
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let batch = self.decoder.decode(&mut self.bytes)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::array::Int64Array;
    use atsdb::arrow::ipc::writer::StreamWriter;
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
            // Arrow panics at some wrong numbers, which its callers expect.
            let _ = std::panic::catch_unwind(|| read(&bytes));
        }
    }
}
