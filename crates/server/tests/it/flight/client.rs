//! A server with an address for gRPC, and a client of Flight SQL.

use crate::support::Served;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, Schema};
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{Any, CommandStatementIngest, ProstMessageExt, TableExistsOption, TableNotExistOption};
use arrow_flight::sql::{TableDefinitionOptions, TicketStatementQuery};
use arrow_flight::{FlightData, FlightDescriptor, FlightInfo, SchemaAsIpc, Ticket};
use atsdb_server::{Role, ServerOptions};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::TryStreamExt;
use prost::Message;
use std::net::SocketAddr;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};

pub(super) use tonic::Status;

pub(crate) use tonic::Code;

/// Starts a server that also speaks gRPC.
pub(super) fn served(users: &[(&str, Role, &str)]) -> Served {
    served_with(users, ServerOptions::default())
}

pub(super) fn served_with(users: &[(&str, Role, &str)], options: ServerOptions) -> Served {
    let served = Served::with_options(users, ServerOptions { grpc: Some("127.0.0.1:0".to_owned()), ..options });
    served.create_tables();
    served
}

/// A client, and what it runs on.
pub(crate) struct Client {
    pub(super) runtime: Runtime,
    pub(crate) sql: FlightSqlServiceClient<Channel>,
}

pub(super) fn connect(served: &Served) -> Client {
    connect_to(served.server.grpc_address().unwrap())
}

pub(crate) fn connect_to(address: SocketAddr) -> Client {
    try_connect_to(address).unwrap()
}

/// A client, unless nobody listens there.
pub(crate) fn try_connect_to(address: SocketAddr) -> Option<Client> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = format!("http://{address}");
    let channel = runtime.block_on(Endpoint::new(url).unwrap().connect()).ok()?;
    Some(Client { runtime, sql: FlightSqlServiceClient::new(channel) })
}

/// A client that sends a password with each request.
pub(super) fn connect_as(served: &Served, user: &str, password: &str) -> Client {
    let mut client = connect(served);
    client.sql.set_header("authorization", format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
    client
}

impl Client {
    /// The information about a query.
    pub(crate) fn info(&mut self, text: &str) -> Result<FlightInfo, Status> {
        self.runtime.block_on(self.sql.execute(text.to_owned(), None)).map_err(status)
    }

    /// The rows of a ticket.
    pub(crate) fn rows(&mut self, ticket: Ticket) -> Result<Vec<RecordBatch>, Status> {
        self.runtime.block_on(async {
            let rows = self.sql.do_get(ticket).await.map_err(status)?;
            rows.try_collect().await.map_err(status)
        })
    }

    /// The rows of a query.
    pub(crate) fn query(&mut self, text: &str) -> Result<Vec<RecordBatch>, Status> {
        let info = self.info(text)?;
        match info.endpoint.into_iter().next() {
            Some(endpoint) => self.rows(endpoint.ticket.unwrap()),
            None => Ok(Vec::new()),
        }
    }

    /// The only number of a query's rows.
    pub(crate) fn number(&mut self, text: &str) -> i64 {
        self.query(text).unwrap()[0].column(0).as_primitive::<Int64Type>().value(0)
    }

    /// Executes a change.
    pub(crate) fn update(&mut self, text: &str) -> Result<i64, Status> {
        self.runtime.block_on(self.sql.execute_update(text.to_owned(), None)).map_err(status)
    }

    /// Ingests rows into an existing table, and requires an answer.
    pub(crate) fn ingest(&mut self, table: &str, rows: RecordBatch) -> Result<(), Status> {
        let messages = ingestion(table, &rows.schema(), &[rows]);
        self.runtime.block_on(async {
            let answer = self.sql.do_put(futures::stream::iter(messages)).await.map_err(status)?;
            let results = answer.try_collect::<Vec<_>>().await?;
            if results.is_empty() { Err(Status::unknown("the request was not answered")) } else { Ok(()) }
        })
    }

    /// Sends messages as the rows of an ingestion.
    pub(super) fn put(&mut self, messages: Vec<FlightData>) -> Result<(), Status> {
        self.runtime.block_on(async {
            let answer = self.sql.do_put(futures::stream::iter(messages)).await.map_err(status)?;
            answer.try_collect::<Vec<_>>().await.map(drop)
        })
    }
}

/// The status in a client's error.
pub(super) fn status(error: arrow_flight::error::FlightError) -> Status {
    match error {
        arrow_flight::error::FlightError::Tonic(status) => *status,
        other => Status::unknown(other.to_string()),
    }
}

/// The ticket of a statement that a client has not asked for.
pub(super) fn ticket(handle: &[u8]) -> Ticket {
    let ticket = TicketStatementQuery { statement_handle: handle.to_vec().into() };
    Ticket::new(ticket.as_any().encode_to_vec())
}

/// A descriptor of a command.
pub(super) fn descriptor(command: &Any) -> FlightDescriptor {
    FlightDescriptor::new_cmd(command.encode_to_vec())
}

/// The messages of an ingestion into an existing table.
pub(super) fn ingestion(table: &str, schema: &Schema, batches: &[RecordBatch]) -> Vec<FlightData> {
    let options = TableDefinitionOptions {
        if_not_exist: TableNotExistOption::Fail.into(),
        if_exists: TableExistsOption::Append.into(),
    };
    let command = CommandStatementIngest {
        table_definition_options: Some(options),
        table: table.to_owned(),
        schema: None,
        catalog: None,
        temporary: false,
        transaction_id: None,
        options: Default::default(),
    };
    let mut messages = arrow_flight::utils::batches_to_flight_data(schema, batches.to_vec()).unwrap();
    let write = arrow::ipc::writer::IpcWriteOptions::default();
    messages[0] = FlightData::from(SchemaAsIpc::new(schema, &write)).with_descriptor(descriptor(&command.as_any()));
    messages
}
