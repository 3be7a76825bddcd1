//! The streams that clients send: values of parameters, and rows to ingest. Messages become batches on the thread that
//! uses them. A stream that breaks off ends with an error, so that nothing of it is stored.

use super::error::StatusResult;
use crate::shared::arrow_claims;
use crate::shared::permits::{StatementPermit, TooSlow};
use arrow_flight::FlightData;
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::datatypes::SchemaRef;
use futures::{StreamExt, TryStreamExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::runtime::Handle;
use tonic::{Status, Streaming};

/// The batches that a client sends, as they arrive. Waiting for them blocks.
pub(super) struct Arrivals {
    decoder: FlightDataDecoder,
    runtime: Handle,
    /// The statement's permit, which others use while the client does not send.
    permit: StatementPermit,
    schema: Option<SchemaRef>,
    is_over: bool,
    /// The size of the last batch, which is held while the next one is waited for.
    held_bytes: usize,
}

impl Arrivals {
    /// The batches of a request whose first message has been read.
    pub(super) fn new(
        first: FlightData,
        rest: Streaming<FlightData>,
        runtime: Handle,
        permit: StatementPermit,
    ) -> Self {
        let messages = futures::stream::iter([Ok(first)]).chain(rest);
        // A message may consist of a command alone.
        let messages = messages.try_filter(|message| std::future::ready(!message.data_header.is_empty()));
        let messages = messages.and_then(|message| std::future::ready(checked(message)));
        let decoder = FlightDataDecoder::new(messages.map_err(|status| FlightError::Tonic(Box::new(status))));
        Self { decoder, runtime, permit, schema: None, is_over: false, held_bytes: 0 }
    }

    /// The columns; `None` if the client sends none.
    pub(super) fn schema(&mut self) -> StatusResult<Option<SchemaRef>> {
        if self.schema.is_none() && !self.is_over {
            match self.payload()? {
                None => self.is_over = true,
                Some(DecodedPayload::Schema(schema)) => self.schema = Some(schema),
                Some(_) => return Err(Status::invalid_argument("rows were sent before their columns")),
            }
        }
        Ok(self.schema.clone())
    }

    /// The next batch; `None` at the end.
    pub(super) fn next(&mut self) -> StatusResult<Option<RecordBatch>> {
        self.schema()?;
        while !self.is_over {
            match self.payload()? {
                None => self.is_over = true,
                Some(DecodedPayload::RecordBatch(batch)) => {
                    self.held_bytes = batch.get_array_memory_size();
                    return Ok(Some(batch));
                }
                Some(DecodedPayload::Schema(_)) => return Err(Status::invalid_argument("the columns were sent twice")),
                Some(DecodedPayload::None) => {}
            }
        }
        Ok(None)
    }

    /// Waits for the end of the request.
    pub(super) fn skip_rest(&mut self) -> StatusResult<()> {
        while self.next()?.is_some() {}
        Ok(())
    }

    fn payload(&mut self) -> StatusResult<Option<DecodedPayload>> {
        let arrival = self.permit.wait_for(self.held_bytes, self.decoder.next());
        // Damaged bytes may make arrow panic. The decoder is not used again after that.
        let arrived = catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(arrival)));
        let arrived = arrived.map_err(|_| Status::invalid_argument("the request is not an Arrow stream"))?;
        let too_slow =
            |TooSlow| Status::unavailable("the client sends nothing, and others need the memory: retry later");
        match arrived.map_err(too_slow)? {
            None => Ok(None),
            Some(Ok(decoded)) => Ok(Some(decoded.payload)),
            Some(Err(FlightError::Tonic(status))) => Err(*status),
            Some(Err(error)) => Err(Status::invalid_argument(format!("the request is not an Arrow stream: {error}"))),
        }
    }
}

/// A message whose stated lengths fit its size.
fn checked(message: FlightData) -> StatusResult<FlightData> {
    match arrow_claims::check(&message.data_header, &message.data_body) {
        Ok(()) => Ok(message),
        Err(error) => Err(Status::invalid_argument(format!("the request is not an Arrow stream: {error}"))),
    }
}
