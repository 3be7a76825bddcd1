//! Listening for PostgreSQL clients.

use super::connection::lifecycle;
use super::sessions::Sessions;
use super::shared::PgShared;
use super::shared_snapshots::SharedSnapshots;
use crate::access::caller::Peer;
use crate::databases::list::Databases;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::shared::accepting::accept;
use crate::shared::phase::Phase;
use crate::tls::identity::Tls;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The interval at which running statements are cancelled while the server stops, because new ones may begin in
/// between.
const CANCEL_EVERY: Duration = Duration::from_millis(100);

/// Accepts connections until the server drains.
pub(crate) async fn serve(
    listener: TcpListener,
    connections_max: usize,
    databases: Databases,
    tls: Option<Tls>,
    (memory, ingest): (RequestMemory, Arc<IngestOptions>),
) {
    let server = databases.server().clone();
    let open = server.metrics().gauge("atsdb_pg_connections", "Open connections of PostgreSQL clients.");
    let accepted =
        server.metrics().counter("atsdb_pg_connections_total", "Connections of PostgreSQL clients since the start.");
    let (port, is_local) =
        listener.local_addr().map_or((0, false), |address| (address.port(), address.ip().is_loopback()));
    let permits = Arc::new(Semaphore::new(connections_max));
    let mut phase = server.phase();
    let (sessions, snapshots) = (Sessions::default(), SharedSnapshots::default());
    let shared =
        Arc::new(PgShared { server, databases, tls, sessions, snapshots, memory, ingest, port, connections_max });
    tokio::spawn(cancel_when_stopping(Arc::clone(&shared)));
    loop {
        let (stream, from) = tokio::select! {
            () = phase.reach(Phase::Draining) => return,
            accepted = accept(&listener) => accepted,
        };
        accepted.increment();
        // Answers are sent only when they are complete, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let (shared, held, permit) = (Arc::clone(&shared), open.hold(), Arc::clone(&permits).try_acquire_owned());
        let peer = Peer { address: from.ip(), is_local };
        tokio::spawn(async move {
            lifecycle::serve(Box::new(stream), peer, shared, permit.is_ok()).await;
            drop((permit, held));
        });
    }
}

async fn cancel_when_stopping(shared: Arc<PgShared>) {
    let mut phase = shared.server.phase();
    phase.reach(Phase::Stopping).await;
    loop {
        shared.sessions.cancel_all();
        tokio::time::sleep(CANCEL_EVERY).await;
    }
}
