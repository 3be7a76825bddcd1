//! Queries: the rows of a ticket, computed on a thread that may block while the client reads them.

use super::context::Flight;
use super::error::{IntoStatus, StatusResult, status_of};
use super::handle::StatementHandle;
use super::rows::{RowEncoder, answer_schema};
use super::session::StatementSession;
use crate::access::caller::Caller;
use crate::shared::outlet::{Outlet, PARTS_MAX, Stop, StopOnDrop, outlet};
use crate::shared::running::{ListedStatement, Sender};
use arrow_flight::FlightData;
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::datatypes::Schema;
use atsdb::sql::{Answer, AnswerRows, ParameterValue};
use atsdb::{Error, ErrorKind, Result};
use futures::Stream;
use futures::stream::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tonic::Status;

/// Messages on their way to a client.
pub(super) type FlightStream = Pin<Box<dyn Stream<Item = StatusResult<FlightData>> + Send>>;

/// A message, or the end of an answer. Without an end, an answer is broken.
type StreamPart = StatusResult<Option<FlightData>>;

/// The rows of one batch, which is in memory.
pub(super) fn of_batch(batch: &RecordBatch) -> StatusResult<FlightStream> {
    let mut encoder = RowEncoder::new(batch.schema());
    let mut messages = vec![Ok(encoder.schema_message())];
    let encoded = encoder.encode(batch, |message| {
        messages.push(Ok(message));
        Ok(())
    });
    encoded.or_status()?;
    Ok(Box::pin(futures::stream::iter(messages)))
}

/// The rows of a statement, for a caller. Errors are known as soon as the first batch is computed.
pub(super) async fn rows_of(flight: &Flight, caller: &Caller, handle: StatementHandle) -> StatusResult<FlightStream> {
    let (session, permit) = flight.admit(caller, handle.scope()).await?;
    flight.metrics().statements.increment();
    let stop = Stop::new(session.interrupt_handle());
    let guard = StopOnDrop(stop.clone());
    let cancellable = flight.running().begin(&handle.id, caller.user.clone(), stop.clone());
    let (out, mut rows) = outlet(Handle::current(), flight.read_time_max(), permit);
    let (begin, begun) = oneshot::channel();
    let (state, user) = (flight.state().clone(), caller.user.clone());
    tokio::task::spawn_blocking(move || {
        let sender = Sender { protocol: "flight", user: user.as_deref(), process: None };
        let listed = state.running().begin(sender, &handle.text, session.interrupt_handle());
        Query { session: Some(session), listed: Some(listed), stop, out }.run(&handle, begin);
    });
    begun.await.map_err(|_| Status::internal("the statement ended without an answer"))??;
    let mut is_over = false;
    Ok(Box::pin(poll_fn(move |context| {
        let _ = (&guard, &cancellable);
        if is_over {
            return Poll::Ready(None);
        }
        let part: Option<StreamPart> = ready!(rows.poll_next(context));
        let part = part.unwrap_or_else(|| Err(Status::internal("the statement ended before its last rows")));
        is_over = !matches!(part, Ok(Some(_)));
        Poll::Ready(part.transpose())
    })))
}

/// A query while its rows are computed.
struct Query {
    /// The session and the entry in the list of statements; `None` once another statement of the transaction may run.
    session: Option<StatementSession>,
    listed: Option<ListedStatement>,
    stop: Stop,
    out: Outlet<StreamPart>,
}

impl Query {
    fn run(mut self, handle: &StatementHandle, begin: oneshot::Sender<StatusResult<()>>) {
        let mut begin = Some(begin);
        let sent = self.send(handle, &mut begin).and_then(|()| self.hand_over(None));
        if let Err(error) = sent {
            let status = status_of(&error);
            // The query ends before the client hears of it.
            self.end();
            match begin {
                Some(begin) => drop(begin.send(Err(status))),
                // If the client has disconnected, errors do not matter.
                None => {
                    self.out.holds().set(0);
                    let _ = self.out.send(Err(status), 0);
                }
            }
        }
        self.end();
    }

    /// The session may run another statement, which must not be stopped.
    fn end(&mut self) {
        self.stop.disarm();
        drop((self.listed.take(), self.session.take()));
    }

    fn send(&mut self, handle: &StatementHandle, begin: &mut Option<oneshot::Sender<StatusResult<()>>>) -> Result<()> {
        let executions = executions(handle)?;
        let last = executions.len().saturating_sub(1);
        let mut encoder = None;
        for (number, values) in executions.into_iter().enumerate() {
            let Some((mut rows, first)) = self.execute(handle, values.as_deref())? else {
                let encoder = encoder.get_or_insert_with(|| RowEncoder::new(Arc::new(Schema::empty())));
                self.begin(encoder, begin)?;
                continue;
            };
            // The remaining rows need the session no longer.
            if number == last && self.session.as_mut().is_some_and(|session| session.transaction().is_some()) {
                self.end();
            }
            let encoder = encoder.get_or_insert_with(|| RowEncoder::new(answer_schema(&rows.schema())));
            self.begin(encoder, begin)?;
            for batch in first.into_iter().map(Ok).chain(&mut rows) {
                self.encode(encoder, &batch?)?;
            }
        }
        Ok(())
    }

    /// Executes a statement until its first rows. `None` if it has none.
    fn execute(
        &mut self,
        handle: &StatementHandle,
        values: Option<&[ParameterValue]>,
    ) -> Result<Option<(AnswerRows, Option<RecordBatch>)>> {
        let Some(session) = &self.session else { return Err(Error::internal("a query without a session")) };
        let answer = match values {
            None => session.execute_for_client(&handle.text)?,
            Some(values) => session.execute_prepared(&session.prepare_for_client(&handle.text)?, values)?,
        };
        if let (Some(listed), Some(notice)) = (&self.listed, session.take_notice()) {
            listed.log_notice(&notice);
        }
        let Answer::Rows(mut rows) = answer else { return Ok(None) };
        self.stop.check()?;
        let first = rows.next().transpose()?;
        Ok(Some((rows, first)))
    }

    /// Sends the columns, if this is the beginning of the answer.
    fn begin(&mut self, encoder: &RowEncoder, begin: &mut Option<oneshot::Sender<StatusResult<()>>>) -> Result<()> {
        let Some(begin) = begin.take() else { return Ok(()) };
        begin.send(Ok(())).map_err(|_| gone("the client has gone"))?;
        self.hand_over(Some(encoder.schema_message()))
    }

    fn hand_over(&mut self, message: Option<FlightData>) -> Result<()> {
        let byte_count = message.as_ref().map_or(0, |message| message.data_body.len());
        let sent = self.out.send(Ok(message), byte_count.saturating_mul(PARTS_MAX));
        sent.map_err(|error| gone(error.to_string()))
    }

    fn encode(&mut self, encoder: &mut RowEncoder, batch: &RecordBatch) -> Result<()> {
        if let Some(listed) = &self.listed {
            listed.add_rows(batch.num_rows() as u64);
        }
        self.out.holds().note(batch);
        encoder.encode(batch, |message| self.hand_over(Some(message)))
    }
}

fn gone(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unavailable, message.into())
}

/// The values of each execution; one without values if none are bound.
fn executions(handle: &StatementHandle) -> Result<Vec<Option<Vec<ParameterValue>>>> {
    let batches = handle.parameters()?;
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(vec![None]);
    }
    let mut executions = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            executions.push(Some(values_of(batch, row)?));
        }
    }
    Ok(executions)
}

/// The values of a row, as those of the parameters in their order.
pub(super) fn values_of(batch: &RecordBatch, row: usize) -> Result<Vec<ParameterValue>> {
    batch.columns().iter().map(|column| ParameterValue::from_array(column.as_ref(), row)).collect()
}
