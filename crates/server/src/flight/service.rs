//! The methods of Flight.

use super::actions;
use super::command::{self, unsupported};
use super::context::{Flight, caller_of, connection_of};
use super::error::{IntoStatus, StatusResult, status_of};
use super::handle::{StatementHandle, TransactionScope};
use super::metadata;
use super::put::Arrivals;
use super::query::{self, FlightStream};
use super::session::StatementSession;
use super::{ingest, update};
use crate::access::caller::Caller;
use crate::http::credentials;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::{Command, DoPutPreparedStatementResult, DoPutUpdateResult};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest,
    HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use atsdb::arrow::array::RecordBatch;
use futures::Stream;
use futures::stream::iter;
use prost::Message;
use prost::bytes::Bytes;
use std::pin::Pin;
use tokio::runtime::Handle;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

type Messages<T> = Pin<Box<dyn Stream<Item = StatusResult<T>> + Send>>;

#[tonic::async_trait]
impl FlightService for Flight {
    type HandshakeStream = Messages<HandshakeResponse>;
    type ListFlightsStream = Messages<FlightInfo>;
    type DoGetStream = FlightStream;
    type DoPutStream = Messages<PutResult>;
    type DoExchangeStream = FlightStream;
    type DoActionStream = Messages<arrow_flight::Result>;
    type ListActionsStream = Messages<ActionType>;

    /// Answers with a token, which a client may send instead of its password.
    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> StatusResult<Response<Self::HandshakeStream>> {
        let caller = caller_of(&request)?;
        let credentials = credentials::of_header_alone(&request.metadata().clone().into_headers());
        let token = self.access().session_token(&caller, credentials);
        let answer = HandshakeResponse { protocol_version: 0, payload: Bytes::from(token.clone()) };
        let mut response = Response::new(Box::pin(iter([Ok(answer)])) as Self::HandshakeStream);
        let header = MetadataValue::try_from(format!("Bearer {token}"));
        let header = header.map_err(|_| Status::internal("a token that is not a header value"))?;
        response.metadata_mut().insert("authorization", header);
        Ok(response)
    }

    async fn list_flights(&self, _: Request<Criteria>) -> StatusResult<Response<Self::ListFlightsStream>> {
        Err(Status::unimplemented("flights are not listed: list tables by the commands of Flight SQL"))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> StatusResult<Response<FlightInfo>> {
        let caller = caller_of(&request)?;
        let descriptor = request.into_inner();
        let command = command::of_descriptor(&descriptor)?;
        if let Some(handle) = command::statement(&command)? {
            return Ok(Response::new(self.info(&caller, descriptor, handle).await?));
        }
        let schema = self.metadata(&caller, command).await?.schema();
        let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(descriptor.cmd.clone()));
        let info = FlightInfo::new().try_with_schema(&schema).or_status()?.with_endpoint(endpoint);
        Ok(Response::new(info.with_descriptor(descriptor).with_total_records(-1).with_total_bytes(-1)))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> StatusResult<Response<PollInfo>> {
        Err(Status::unimplemented("PollFlightInfo is not supported: use GetFlightInfo"))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> StatusResult<Response<SchemaResult>> {
        let caller = caller_of(&request)?;
        let command = command::of_descriptor(&request.into_inner())?;
        let schema = match command::statement(&command)? {
            Some(handle) => self.schema(&caller, &handle).await?,
            None => self.metadata(&caller, command).await?.schema(),
        };
        Ok(Response::new(SchemaResult { schema: super::rows::schema_bytes(&schema)? }))
    }

    async fn do_get(&self, request: Request<Ticket>) -> StatusResult<Response<Self::DoGetStream>> {
        let caller = caller_of(&request)?;
        let command = command::read(&request.into_inner().ticket)?;
        let rows = match command::statement(&command)? {
            Some(handle) => query::rows_of(self, &caller, handle).await?,
            None => query::of_batch(&self.metadata(&caller, command).await?)?,
        };
        Ok(Response::new(rows))
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> StatusResult<Response<Self::DoPutStream>> {
        let caller = caller_of(&request)?;
        let mut messages = request.into_inner();
        let nothing = || Status::invalid_argument("the request has no message");
        let first = messages.message().await?.ok_or_else(nothing)?;
        let descriptor = first.flight_descriptor.as_ref();
        let descriptor = descriptor.ok_or_else(|| Status::invalid_argument("the first message has no descriptor"))?;
        let command = command::of_descriptor(descriptor)?;
        let app_metadata = self.put(&caller, command, first, messages).await?;
        Ok(Response::new(Box::pin(iter([Ok(PutResult { app_metadata })]))))
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> StatusResult<Response<Self::DoExchangeStream>> {
        Err(Status::unimplemented("DoExchange is not supported"))
    }

    async fn do_action(&self, request: Request<Action>) -> StatusResult<Response<Self::DoActionStream>> {
        let (caller, connection) = (caller_of(&request)?, connection_of(&request));
        let result = actions::perform(self, &caller, connection, request.into_inner()).await?;
        let results = result.map(|body| Ok(arrow_flight::Result { body }));
        Ok(Response::new(Box::pin(iter(results))))
    }

    async fn list_actions(&self, _: Request<Empty>) -> StatusResult<Response<Self::ListActionsStream>> {
        Ok(Response::new(Box::pin(iter(actions::list().map(Ok)))))
    }
}

impl Flight {
    async fn metadata(&self, caller: &Caller, command: Command) -> StatusResult<RecordBatch> {
        let session = self.session(caller, TransactionScope::default()).await?;
        let batch = tokio::task::spawn_blocking(move || match metadata::answer(&session, &command) {
            Some(answer) => answer.map_err(|error| status_of(&error)),
            None => Err(unsupported(&command)),
        });
        batch.await.map_err(|error| Status::internal(error.to_string()))?
    }

    /// Takes what a client sends. Returns the result as the client reads it.
    async fn put(
        &self,
        caller: &Caller,
        command: Command,
        first: FlightData,
        rest: Streaming<FlightData>,
    ) -> StatusResult<Bytes> {
        let runtime = Handle::current();
        match command {
            Command::CommandStatementUpdate(update) => {
                let handle = StatementHandle::new(update.query, update.transaction_id.as_deref());
                Ok(updated(self.execute(caller, handle).await?))
            }
            Command::CommandPreparedStatementUpdate(update) => {
                let handle = StatementHandle::read(&update.prepared_statement_handle)?;
                let text = handle.text.clone();
                let work = move |session: &mut StatementSession, permit| {
                    let mut rows = Arrivals::new(first, rest, runtime, permit);
                    let row_count = update::for_each_row(session, &text, || rows.next())?;
                    Ok((row_count, row_count.unwrap_or(0)))
                };
                self.work(caller, handle.scope(), &handle.text, work).await.map(updated)
            }
            Command::CommandPreparedStatementQuery(query) => {
                let mut handle = StatementHandle::read(&query.prepared_statement_handle)?;
                let permit = self.permit(caller).await?;
                let bound = tokio::task::spawn_blocking(move || {
                    let mut rows = Arrivals::new(first, rest, runtime, permit);
                    handle.bind_all(&mut rows).map(|()| handle)
                });
                let bound = bound.await.map_err(|error| Status::internal(error.to_string()))??;
                let handle = Some(bound.encode_to_vec().into());
                let result = DoPutPreparedStatementResult { prepared_statement_handle: handle };
                Ok(result.encode_to_vec().into())
            }
            Command::CommandStatementIngest(command) => {
                let transaction = command.transaction_id.clone().unwrap_or_default();
                let scope = TransactionScope { id: &transaction, connection: 0 };
                let text = format!("COPY {} FROM STDIN", atsdb::sql::quoted(&command.table));
                let work = move |session: &mut StatementSession, permit| {
                    let rows = Arrivals::new(first, rest, runtime, permit);
                    let row_count = ingest::ingest(session, &command, rows)?;
                    Ok((row_count, row_count))
                };
                let row_count = self.work(caller, scope, &text, work).await?;
                self.metrics().ingested_rows.add(row_count);
                Ok(updated(Some(row_count)))
            }
            other => Err(unsupported(&other)),
        }
    }
}

/// The result of a change. -1 means that the number of rows is not known.
fn updated(row_count: Option<u64>) -> Bytes {
    let record_count = row_count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX));
    DoPutUpdateResult { record_count }.encode_to_vec().into()
}
