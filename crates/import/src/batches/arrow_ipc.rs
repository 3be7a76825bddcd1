//! Reading Arrow IPC: the stream format, and the file format, which is a stream between two marks.

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use std::io::Read;

/// The mark at the beginning of a file, and the padding after it.
const FILE_MARK: &[u8; 8] = b"ARROW1\0\0";

/// The bytes that are read at once. A message that claims to be longer gets its memory as its bytes arrive.
const READ_BYTES: u64 = 256 << 10;

/// Returns whether a file begins as one of Arrow IPC: with the mark of a file, or with a message of a stream.
pub(crate) fn is_arrow(head: &[u8]) -> bool {
    /// The schema of a table is far shorter.
    const MESSAGE_BYTES_MAX: u32 = 64 << 20;
    match head {
        [0xff, 0xff, 0xff, 0xff, a, b, c, d, ..] => {
            (1..MESSAGE_BYTES_MAX).contains(&u32::from_le_bytes([*a, *b, *c, *d]))
        }
        head => head.starts_with(FILE_MARK),
    }
}

/// The batches of a file, of at most `batch_rows` rows each.
pub(crate) struct ArrowReader {
    input: Box<dyn Read + Send>,
    decoder: StreamDecoder,
    schema: SchemaRef,
    columns: Option<Vec<usize>>,
    batch_rows: usize,
    /// Bytes that were read and not decoded.
    bytes: Buffer,
    /// A batch of more rows, and how many of them were returned.
    rest: Option<(RecordBatch, usize)>,
    is_file: bool,
    is_at_end: bool,
}

impl ArrowReader {
    /// Reads up to the schema. `columns` are those to return; `None` returns all.
    pub(crate) fn open(
        mut input: Box<dyn Read + Send>,
        columns: Option<&[usize]>,
        batch_rows: usize,
    ) -> Result<Self, ArrowError> {
        let mut word = || -> std::io::Result<Vec<u8>> {
            let mut word = Vec::new();
            input.by_ref().take(FILE_MARK.len() as u64).read_to_end(&mut word)?;
            Ok(word)
        };
        let mut head = word()?;
        let is_file = head == FILE_MARK;
        if is_file {
            // Some writers fill up more than the mark's own eight bytes.
            head = word()?;
            while head.len() == FILE_MARK.len() && head.iter().all(|byte| *byte == 0) {
                head = word()?;
            }
        }
        let bytes = Buffer::from_vec(head);
        let (decoder, schema, columns) =
            (StreamDecoder::new(), SchemaRef::new(arrow::datatypes::Schema::empty()), columns.map(<[usize]>::to_vec));
        let mut reader =
            Self { input, decoder, schema, columns, batch_rows, bytes, rest: None, is_file, is_at_end: false };
        while reader.decoder.schema().is_none() && !reader.is_at_end {
            reader.rest = reader.decode()?.map(|batch| (batch, 0));
        }
        reader.schema = reader.decoder.schema().ok_or_else(|| ArrowError::IpcError("it has no schema".to_owned()))?;
        Ok(reader)
    }

    /// The columns of the file, including those that are not returned.
    pub(crate) fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Decodes what was read, or reads more.
    fn decode(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.bytes.is_empty() {
            let mut bytes = Vec::new();
            self.input.by_ref().take(READ_BYTES).read_to_end(&mut bytes)?;
            self.bytes = Buffer::from_vec(bytes);
            if self.bytes.is_empty() {
                self.is_at_end = true;
                self.decoder.finish()?;
                return if self.is_file {
                    Err(ArrowError::IpcError("its end is missing".to_owned()))
                } else {
                    Ok(None)
                };
            }
        }
        match self.decoder.decode(&mut self.bytes) {
            // Behind the mark of its end a file has a list of its batches.
            Err(ArrowError::IpcError(message)) if message == "Unexpected EOS" => {
                self.is_at_end = true;
                Ok(None)
            }
            decoded => decoded,
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some((batch, start)) = self.rest.take() {
                let row_count = self.batch_rows.min(batch.num_rows() - start);
                let part = batch.slice(start, row_count);
                if start + row_count < batch.num_rows() {
                    self.rest = Some((batch, start + row_count));
                }
                return match &self.columns {
                    Some(columns) => part.project(columns).map(Some),
                    None => Ok(Some(part)),
                };
            }
            if self.is_at_end {
                return Ok(None);
            }
            self.rest = self.decode()?.filter(|batch| batch.num_rows() > 0).map(|batch| (batch, 0));
        }
    }
}

impl Iterator for ArrowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}
