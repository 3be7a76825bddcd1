//! The services of each database: its paths over HTTP, and its methods over gRPC.

use super::options::ServerOptions;
use super::routes;
use crate::databases::list::{Databases, OpenDatabase};
use crate::databases::per_database::PerDatabase;
use crate::flight::Flight;
use crate::grpc::database_methods::DatabaseMethods;
use crate::ingest::request_memory::RequestMemory;
use crate::prom::Prom;
use crate::shared::phase::Phase;
use axum::Router;
use std::sync::Arc;
use std::time::Duration;

/// The interval at which the server tries again to open the stores that it could not open.
const OPEN_EVERY: Duration = Duration::from_secs(5);

/// The services of each database. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct DatabaseServices {
    memory: RequestMemory,
    routers: Arc<PerDatabase<Router>>,
    grpc: Arc<PerDatabase<DatabaseMethods>>,
    has_grpc: bool,
}

impl DatabaseServices {
    pub(super) fn new(databases: &Databases, options: &ServerOptions) -> Self {
        let (ingest, options, has_grpc) = (Arc::new(options.ingest.clone()), options.clone(), options.grpc.is_some());
        let memory = RequestMemory::new(ingest.bytes_in_flight_max, ingest.hold_time, databases.server().metrics());
        let (shared_memory, limits) = (memory.clone(), Arc::clone(&ingest));
        // Both protocols that bring samples share one queue for each database.
        let proms =
            PerDatabase::new(databases, move |open| Prom::new(&open.state, shared_memory.clone(), Arc::clone(&limits)));
        let proms = Arc::new(proms);
        let (own_proms, own_memory, read_time_max) = (Arc::clone(&proms), memory.clone(), options.query.read_time_max);
        let routers =
            PerDatabase::new(databases, move |open| routes::of_database(open, &own_memory, proms.of(open), &options));
        let own_memory = memory.clone();
        let grpc = PerDatabase::new(databases, move |open| {
            let flight = Flight::new(&open.state, &open.access, read_time_max);
            tokio::spawn(flight.clone().watch());
            let limits = (own_memory.clone(), Arc::clone(&ingest));
            DatabaseMethods::new(&open.state, &open.access, flight, own_proms.of(open).clone(), limits)
        });
        Self { memory, routers: Arc::new(routers), grpc: Arc::new(grpc), has_grpc }
    }

    /// The memory for what clients send, over all protocols and databases.
    pub(super) fn memory(&self) -> RequestMemory {
        self.memory.clone()
    }

    pub(super) fn routers(&self) -> Arc<PerDatabase<Router>> {
        Arc::clone(&self.routers)
    }

    pub(super) fn grpc(&self) -> Arc<PerDatabase<DatabaseMethods>> {
        Arc::clone(&self.grpc)
    }

    /// Begins to answer for a database, and follows its users. Called within the runtime.
    pub(super) fn begin(&self, database: &OpenDatabase) {
        self.routers.of(database);
        if self.has_grpc {
            self.grpc.of(database);
        }
        tokio::spawn(database.access.clone().follow(database.state.clone()));
    }

    /// Tries again to open the stores that could not be opened, as long as the server runs.
    pub(super) async fn open_missing(self, databases: Databases) {
        let mut phase = databases.server().phase();
        while databases.opened().count() < databases.count() {
            tokio::select! {
                () = phase.reach(Phase::Draining) => return,
                () = tokio::time::sleep(OPEN_EVERY) => {}
            }
            let missing = databases.clone();
            let opened = tokio::task::spawn_blocking(move || missing.open_missing()).await.unwrap_or_default();
            opened.iter().for_each(|database| self.begin(database));
        }
    }
}
