//! The context in which requests are answered.

use super::error::StatusResult;
use super::running::RunningQueries;
use super::transactions::Transactions;
use crate::access::caller::Caller;
use crate::access::state::Access;
use crate::shared::metrics::Counter;
use crate::shared::permits::{NoPermit, StatementPermit};
use crate::shared::state::DatabaseState;
use arrow_flight::flight_service_server::FlightServiceServer;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tonic::{Request, Status};

/// The service of Flight SQL. Clones are the same service.
#[derive(Clone)]
pub(crate) struct Flight(Arc<Inner>);

struct Inner {
    state: DatabaseState,
    access: Access,
    read_time_max: Duration,
    transactions: Transactions,
    running: RunningQueries,
    metrics: FlightMetrics,
}

/// The metrics of this room.
#[derive(Debug)]
pub(super) struct FlightMetrics {
    pub(super) statements: Counter,
    pub(super) ingested_rows: Counter,
}

impl fmt::Debug for Flight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flight")
    }
}

impl Flight {
    /// A client may take `read_time_max` to read the next part of an answer.
    pub(crate) fn new(state: &DatabaseState, access: &Access, read_time_max: Duration) -> Self {
        let counter = |name, help| state.metrics().counter(name, help);
        let metrics = FlightMetrics {
            statements: counter("atsdb_flight_statements_total", "Statements over Flight SQL."),
            ingested_rows: counter("atsdb_flight_ingested_rows_total", "Rows of bulk ingestion over Flight SQL."),
        };
        Self(Arc::new(Inner {
            state: state.clone(),
            access: access.clone(),
            read_time_max,
            transactions: Transactions::new(state),
            running: RunningQueries::default(),
            metrics,
        }))
    }

    /// The service, whose requests must be limited by the connection.
    pub(crate) fn service(&self, message_bytes_max: usize) -> FlightServiceServer<Self> {
        FlightServiceServer::new(self.clone())
            .max_decoding_message_size(message_bytes_max)
            .max_encoding_message_size(usize::MAX)
    }

    /// Ends abandoned transactions as long as the server runs.
    pub(crate) async fn watch(self) {
        self.0.transactions.clone().watch().await;
    }

    /// Waits until no transaction has begun.
    pub(crate) async fn no_transactions(&self) {
        self.0.transactions.none_begun().await;
    }

    pub(super) fn state(&self) -> &DatabaseState {
        &self.0.state
    }

    pub(super) fn access(&self) -> &Access {
        &self.0.access
    }

    pub(super) fn read_time_max(&self) -> Duration {
        self.0.read_time_max
    }

    pub(super) fn transactions(&self) -> &Transactions {
        &self.0.transactions
    }

    pub(super) fn running(&self) -> &RunningQueries {
        &self.0.running
    }

    pub(super) fn metrics(&self) -> &FlightMetrics {
        &self.0.metrics
    }

    /// Waits for a permit for a statement of a caller.
    pub(super) async fn permit(&self, caller: &Caller) -> StatusResult<StatementPermit> {
        let taken = self.0.state.permits().take(caller.role.permission()).await;
        taken.map_err(|NoPermit| Status::unavailable("too many statements are running: retry later"))
    }
}

/// The number of the connection over which a request came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionNumber(pub(crate) u64);

/// The number of the connection over which a request came; 0 if it is not known.
pub(super) fn connection_of<T>(request: &Request<T>) -> u64 {
    request.extensions().get::<ConnectionNumber>().map_or(0, |number| number.0)
}

/// The caller of a request, as it was authenticated.
pub(super) fn caller_of<T>(request: &Request<T>) -> StatusResult<Caller> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| Status::internal("it is not known who sends the request"))
}
