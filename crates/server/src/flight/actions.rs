//! Actions: preparing statements, transactions, cancelling.

use super::command::{read, statement};
use super::context::Flight;
use super::error::{IntoStatus, StatusResult};
use super::handle::StatementHandle;
use super::transactions::Ending;
use crate::access::caller::Caller;
use arrow_flight::sql::{
    ActionBeginTransactionRequest, ActionBeginTransactionResult, ActionClosePreparedStatementRequest,
    ActionCreatePreparedStatementRequest, ActionEndTransactionRequest, Any, EndTransaction, ProstMessageExt,
};
use arrow_flight::{Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus};
use atsdb::sql::NumberedText;
use prost::Message;
use prost::bytes::Bytes;
use tonic::Status;

/// The actions, and what they do.
const ACTIONS: [(&str, &str); 5] = [
    (CREATE_PREPARED_STATEMENT, "Prepares a statement."),
    (CLOSE_PREPARED_STATEMENT, "Closes a prepared statement."),
    (BEGIN_TRANSACTION, "Begins a transaction."),
    (END_TRANSACTION, "Commits or rolls back a transaction."),
    (CANCEL_FLIGHT_INFO, "Cancels a query whose rows are being read."),
];

const CREATE_PREPARED_STATEMENT: &str = "CreatePreparedStatement";
const CLOSE_PREPARED_STATEMENT: &str = "ClosePreparedStatement";
const BEGIN_TRANSACTION: &str = "BeginTransaction";
const END_TRANSACTION: &str = "EndTransaction";
const CANCEL_FLIGHT_INFO: &str = "CancelFlightInfo";

/// All actions.
pub(super) fn list() -> impl Iterator<Item = ActionType> {
    let action =
        |(name, description): (&str, &str)| ActionType { r#type: name.to_owned(), description: description.to_owned() };
    ACTIONS.into_iter().map(action)
}

/// Performs an action. Returns its result, if it has one.
pub(super) async fn perform(
    flight: &Flight,
    caller: &Caller,
    connection: u64,
    action: Action,
) -> StatusResult<Option<Bytes>> {
    match action.r#type.as_str() {
        CREATE_PREPARED_STATEMENT => {
            let request: ActionCreatePreparedStatementRequest = unpacked(&action.body)?;
            // Drivers pass on parameters as programs write them: `?`, `$1` or `$name`.
            let numbered = NumberedText::new(&request.query).or_status()?;
            let handle =
                StatementHandle::new(numbered.text, request.transaction_id.as_deref()).prepared_over(connection);
            let prepared = flight.create_prepared(caller, handle).await?;
            Ok(Some(packed(&prepared)))
        }
        // The client alone has kept it.
        CLOSE_PREPARED_STATEMENT => unpacked::<ActionClosePreparedStatementRequest>(&action.body).map(|_| None),
        BEGIN_TRANSACTION => {
            unpacked::<ActionBeginTransactionRequest>(&action.body)?;
            flight.refuse_late()?;
            let id = flight.transactions().open(caller.user.as_ref(), connection)?;
            Ok(Some(packed(&ActionBeginTransactionResult { transaction_id: id.to_vec().into() })))
        }
        END_TRANSACTION => {
            let request: ActionEndTransactionRequest = unpacked(&action.body)?;
            let ending = match request.action() {
                EndTransaction::Commit => Ending::Commit,
                EndTransaction::Rollback => Ending::Rollback,
                EndTransaction::Unspecified => {
                    return Err(Status::invalid_argument("say whether the transaction is committed or rolled back"));
                }
            };
            flight.transactions().end(&request.transaction_id, caller.user.as_ref(), ending).await?;
            Ok(None)
        }
        CANCEL_FLIGHT_INFO => {
            let request = CancelFlightInfoRequest::decode(action.body);
            let request = request.map_err(|_| Status::invalid_argument("this is not a request to cancel"))?;
            let status = cancel(flight, caller, &request)?;
            Ok(Some(CancelFlightInfoResult::new(status).encode_to_vec().into()))
        }
        other => Err(Status::unimplemented(format!("the action {other:.100} is not supported"))),
    }
}

fn cancel(flight: &Flight, caller: &Caller, request: &CancelFlightInfoRequest) -> StatusResult<CancelStatus> {
    let tickets = request.info.iter().flat_map(|info| &info.endpoint).filter_map(|endpoint| endpoint.ticket.as_ref());
    let mut status = CancelStatus::NotCancellable;
    for ticket in tickets {
        if let Some(handle) = statement(&read(&ticket.ticket)?)?
            && flight.running().cancel(&handle.id, caller.user.as_ref())
        {
            status = CancelStatus::Cancelled;
        }
    }
    Ok(status)
}

fn unpacked<M: ProstMessageExt>(body: &[u8]) -> StatusResult<M> {
    let message = Any::decode(body).ok().and_then(|any| any.unpack::<M>().ok().flatten());
    message.ok_or_else(|| Status::invalid_argument(format!("the action's body is not a {}", M::type_url())))
}

fn packed(message: &impl ProstMessageExt) -> Bytes {
    message.as_any().encode_to_vec().into()
}
