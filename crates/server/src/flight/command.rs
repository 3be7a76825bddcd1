//! The command of a client, decoded from a descriptor or a ticket.

use super::error::StatusResult;
use super::handle::StatementHandle;
use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::sql::{Any, Command};
use prost::Message;
use tonic::Status;

/// The command of a descriptor.
pub(super) fn of_descriptor(descriptor: &FlightDescriptor) -> StatusResult<Command> {
    match descriptor.r#type() {
        DescriptorType::Cmd => read(&descriptor.cmd),
        _ => Err(Status::invalid_argument("the descriptor has no command: this server speaks Flight SQL")),
    }
}

/// A command as it is sent.
pub(super) fn read(bytes: &[u8]) -> StatusResult<Command> {
    let malformed = || Status::invalid_argument("this is not a command of Flight SQL");
    let any = Any::decode(bytes).map_err(|_| malformed())?;
    Command::try_from(any).map_err(|_| malformed())
}

/// The statement that a command runs, if it is one with rows.
pub(super) fn statement(command: &Command) -> StatusResult<Option<StatementHandle>> {
    Ok(match command {
        Command::CommandStatementQuery(query) => {
            Some(StatementHandle::new(query.query.clone(), query.transaction_id.as_deref()))
        }
        Command::CommandPreparedStatementQuery(query) => Some(StatementHandle::read(&query.prepared_statement_handle)?),
        Command::TicketStatementQuery(ticket) => Some(StatementHandle::read(&ticket.statement_handle)?),
        _ => None,
    })
}

/// The answer to a command that this server does not have.
pub(super) fn unsupported(command: &Command) -> Status {
    let name = command.type_url().rsplit('.').next().unwrap_or_default();
    Status::unimplemented(format!("{name:.100} is not supported"))
}
