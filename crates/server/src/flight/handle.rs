//! Handles: a statement with everything that its execution needs. Tickets and prepared statements have this form, and
//! clients send it back as it is.

use super::error::{IntoStatus, StatusResult, status_of};
use super::put::Arrivals;
use crate::shared::arrow_stream::ArrowStream;
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::buffer::Buffer;
use atsdb::arrow::ipc::writer::StreamWriter;
use atsdb::{Environment, Error, ErrorKind, SystemEnvironment};
use prost::Message;
use tonic::Status;

/// The maximum size of the values that are bound to the parameters of a query, in bytes. They are part of its handle.
const PARAMETER_BYTES_MAX: usize = 2 << 20;

/// A statement, as a client has it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StatementHandle {
    #[prost(string, tag = "1")]
    pub(super) text: String,
    /// The transaction in which it runs; empty without one.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) transaction: Vec<u8>,
    /// The values of its parameters, a row for each execution, as an Arrow stream; empty without values.
    #[prost(bytes = "vec", tag = "3")]
    parameters: Vec<u8>,
    /// The name under which it can be cancelled.
    #[prost(bytes = "vec", tag = "4")]
    pub(super) id: Vec<u8>,
    /// The connection over which it was prepared; 0 if it was not prepared.
    #[prost(uint64, tag = "5")]
    pub(super) connection: u64,
}

/// The transaction in which a statement runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransactionScope<'a> {
    /// The transaction; empty without one.
    pub(super) id: &'a [u8],
    /// The number of the connection whose only open transaction is used if that of `id` has ended; 0 for none.
    pub(super) connection: u64,
}

impl StatementHandle {
    pub(super) fn new(text: String, transaction: Option<&[u8]>) -> Self {
        let transaction = transaction.unwrap_or_default().to_vec();
        Self { text, transaction, ..Self::default() }
    }

    pub(super) fn scope(&self) -> TransactionScope<'_> {
        TransactionScope { id: &self.transaction, connection: self.connection }
    }

    /// Reads a handle that a client sends.
    pub(super) fn read(bytes: &[u8]) -> StatusResult<Self> {
        let handle = Self::decode(bytes).ok().filter(|handle| !handle.text.is_empty());
        handle.ok_or_else(|| Status::invalid_argument("this is not a handle or a ticket of this server"))
    }

    /// The handle of a statement that is prepared over a connection. Drivers use it after its transaction has ended.
    pub(super) fn prepared_over(mut self, connection: u64) -> Self {
        self.connection = connection;
        self
    }

    /// The handle with a name of its own, by which one execution can be cancelled.
    pub(super) fn with_id(mut self) -> StatusResult<Self> {
        self.id = SystemEnvironment.random().or_status()?.to_vec();
        Ok(self)
    }

    /// Replaces the values of the parameters by those that a client sends.
    pub(super) fn bind_all(&mut self, rows: &mut Arrivals) -> StatusResult<()> {
        self.parameters.clear();
        let Some(schema) = rows.schema()?.filter(|schema| !schema.fields().is_empty()) else {
            return rows.skip_rest();
        };
        let mut writer = StreamWriter::try_new(Vec::new(), &schema).or_status()?;
        while let Some(batch) = rows.next()? {
            if writer.get_ref().len().saturating_add(batch.get_array_memory_size()) > PARAMETER_BYTES_MAX {
                let message = format!("the values of a query's parameters have more than {PARAMETER_BYTES_MAX} bytes");
                let error = Error::new(ErrorKind::Limit, message);
                return Err(status_of(&error.with_hint("ingest them into a table, and join it")));
            }
            writer.write(&batch).or_status()?;
        }
        self.parameters = writer.into_inner().or_status()?;
        Ok(())
    }

    /// The values of the parameters.
    pub(super) fn parameters(&self) -> atsdb::Result<Vec<RecordBatch>> {
        if self.parameters.is_empty() {
            return Ok(Vec::new());
        }
        let malformed = |error| Error::usage("the values of the handle are not an Arrow stream").with_source(error);
        let batches = ArrowStream::new(Buffer::from_vec(self.parameters.clone()));
        batches.map(|batch| batch.map_err(malformed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::array::Int64Array;
    use std::sync::Arc;

    #[test]
    fn values_come_back() {
        let rows = RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(vec![1, 2])) as _)]).unwrap();
        let mut handle = StatementHandle::new("SELECT $1".to_owned(), Some(&[7]));
        let mut writer = StreamWriter::try_new(&mut handle.parameters, &rows.schema()).unwrap();
        writer.write(&rows).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let read = StatementHandle::read(&handle.encode_to_vec()).unwrap();
        assert_eq!(read.parameters().unwrap(), [rows]);
        assert_eq!((read.text.as_str(), read.transaction.as_slice()), ("SELECT $1", [7].as_slice()));
    }

    #[test]
    fn no_bytes_panic() {
        let whole = StatementHandle::new("SELECT 1".to_owned(), None).encode_to_vec();
        for end in 0..whole.len() {
            assert!(StatementHandle::read(&whole[..end]).is_err(), "{end}");
        }
        assert!(StatementHandle::read(&[255; 40]).is_err());
        let mut handle = StatementHandle::new("SELECT $1".to_owned(), None);
        handle.parameters = vec![255; 40];
        assert!(handle.parameters().is_err());
    }
}
