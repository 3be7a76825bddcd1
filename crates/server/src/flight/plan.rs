//! The description of a statement's answer, before its rows are read: its columns, and a ticket for its rows. A
//! statement that changes something and has no rows is executed at once, because a driver need not ask for rows of it.

use super::context::Flight;
use super::error::{IntoStatus, StatusResult};
use super::handle::StatementHandle;
use super::rows::{answer_schema, schema_bytes, sent_schema};
use super::session::StatementSession;
use crate::access::caller::Caller;
use arrow_flight::sql::{ActionCreatePreparedStatementResult, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use atsdb::arrow::datatypes::{Field, Schema, SchemaRef};
use atsdb::sql::{Permission, Prepared, verb_of};
use prost::Message;
use std::sync::Arc;

impl Flight {
    /// Prepares a statement with the rights of a caller.
    async fn prepare(&self, caller: &Caller, handle: &StatementHandle) -> StatusResult<Prepared> {
        let text = handle.text.clone();
        let work =
            move |session: &mut StatementSession, _permit| Ok((session.prepare_for_client(&text).or_status()?, 0));
        self.work(caller, handle.scope(), &handle.text, work).await
    }

    /// Describes the rows of a statement, or executes it if it has none.
    pub(super) async fn info(
        &self,
        caller: &Caller,
        descriptor: FlightDescriptor,
        handle: StatementHandle,
    ) -> StatusResult<FlightInfo> {
        let prepared = self.prepare(caller, &handle).await?;
        let info = FlightInfo::new().with_descriptor(descriptor);
        let Some(schema) = prepared.schema() else {
            let row_count = self.execute(caller, handle).await?;
            let info = info.try_with_schema(&Schema::empty()).or_status()?;
            return Ok(info.with_total_records(row_count.map_or(-1, |count| i64::try_from(count).unwrap_or(-1))));
        };
        let ticket = TicketStatementQuery { statement_handle: handle.with_id()?.encode_to_vec().into() };
        let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket.as_any().encode_to_vec()));
        let info = info.with_endpoint(endpoint).with_total_records(-1).with_total_bytes(-1);
        // A statement that changes something is executed when its rows are read. Without the columns, drivers read them
        // before they tell their program that it is done.
        if may_change(&prepared) { Ok(info) } else { info.try_with_schema(&answer_schema(schema)).or_status() }
    }

    /// The columns of a statement's rows.
    pub(super) async fn schema(&self, caller: &Caller, handle: &StatementHandle) -> StatusResult<SchemaRef> {
        let prepared = self.prepare(caller, handle).await?;
        Ok(prepared.schema().map_or_else(|| Arc::new(Schema::empty()), |schema| answer_schema(schema)))
    }

    /// Prepares a statement for a client that executes it later.
    pub(super) async fn create_prepared(
        &self,
        caller: &Caller,
        handle: StatementHandle,
    ) -> StatusResult<ActionCreatePreparedStatementResult> {
        let prepared = self.prepare(caller, &handle).await?;
        let parameters = prepared.parameter_types().iter().enumerate();
        let parameters = parameters.map(|(at, kind)| Field::new(format!("${}", at + 1), kind.clone(), true));
        let parameters = sent_schema(&Schema::new(parameters.collect::<Vec<_>>()));
        let columns = prepared.schema().map(|schema| schema_bytes(&answer_schema(schema))).transpose()?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: handle.encode_to_vec().into(),
            dataset_schema: columns.unwrap_or_default(),
            parameter_schema: schema_bytes(&parameters)?,
        })
    }
}

/// Returns whether a statement with rows may change something.
fn may_change(prepared: &Prepared) -> bool {
    let returns = || prepared.statement().text().to_ascii_uppercase().contains("RETURNING");
    prepared.permission() != Permission::Read || verb_of(prepared.statement().text()) == "WITH" && returns()
}
