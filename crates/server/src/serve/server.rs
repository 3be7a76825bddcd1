//! Starts and shuts down a server.

use super::listen::{is_outside, listen, without_users};
use super::options::ServerOptions;
use super::routes;
use crate::access::state::Access;
use crate::flight::Flight;
use crate::grpc::services::Services;
use crate::ingest::gate::Gate;
use crate::prom::Prom;
use crate::shared::log::{Log, LogLevel};
use crate::shared::phase::{Phase, PhaseOwner};
use crate::shared::state::State;
use crate::tls::identity::Tls;
use crate::{grpc, http, pg};
use atsdb::{Database, Error, ErrorKind, Result};
use serde_json::json;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The number of threads that may block, in addition to one for each connection.
const SPARE_THREADS: usize = 64;

/// How long cancelled work may take to end.
const CANCEL_TIME: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it at once; [`Server::shutdown`] lets running work finish.
pub struct Server {
    state: State,
    reloader: Reloader,
    phase: PhaseOwner,
    pg: Option<SocketAddr>,
    http: Option<SocketAddr>,
    grpc: Option<SocketAddr>,
    /// Taken when the server shuts down.
    runtime: Option<Runtime>,
}

/// How a server shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// All running work finished.
    Everything,
    /// Some work was cancelled, because the time was up.
    Cancelled,
}

/// Reloads the users and the certificate of a server. Clones reload the same server.
#[derive(Debug, Clone)]
pub struct Reloader {
    access: Access,
    tls: Option<Tls>,
    log: Log,
}

impl Reloader {
    /// Reloads the users, and the certificate for new connections. After an error the server keeps the old ones.
    pub fn reload(&self) -> Result<()> {
        let certificate = self.tls.as_ref().map_or(Ok(()), Tls::reload);
        let reloaded = self.access.reload().and(certificate);
        match &reloaded {
            Ok(()) => self.log.write(LogLevel::Info, "reload", &[]),
            Err(error) => self.log.write(LogLevel::Error, "reload failed", &[("error", json!(error.message()))]),
        }
        reloaded
    }
}

/// The open addresses of a server that does not answer yet.
#[derive(Debug)]
pub struct Listening {
    pg: Option<TcpListener>,
    http: Option<TcpListener>,
    grpc: Option<TcpListener>,
    tls: Option<Tls>,
    options: ServerOptions,
}

impl Listening {
    /// Opens the addresses.
    ///
    /// Errors: [`ErrorKind::Usage`] for an invalid address, an address that other machines can reach without TLS,
    /// and for a certificate that cannot be read; [`ErrorKind::Unavailable`] for an address that is taken.
    pub fn open(options: ServerOptions) -> Result<Self> {
        let tls = options.tls.clone().map(Tls::open).transpose()?;
        let open = |flag, address: &Option<String>| {
            address.as_deref().map(|address| listen(flag, address, tls.is_some())).transpose()
        };
        let (pg, http) = (open("--pg", &options.pg)?, open("--http", &options.http)?);
        let grpc = open("--grpc", &options.grpc)?;
        Ok(Self { pg, http, grpc, tls, options })
    }

    /// Whether other machines can reach an address. If so, the store must have users.
    pub fn is_outside(&self) -> bool {
        [&self.pg, &self.http, &self.grpc].into_iter().flatten().any(is_outside)
    }

    fn require_users(&self, access: &Access) -> Result<()> {
        let outside = [("--pg", &self.pg), ("--http", &self.http), ("--grpc", &self.grpc)].into_iter();
        let mut outside = outside.filter_map(|(flag, listener)| Some((flag, listener.as_ref()?)));
        match outside.find(|(_, listener)| is_outside(listener)) {
            Some((flag, listener)) if !access.has_users() => Err(without_users(flag, listener)),
            _ => Ok(()),
        }
    }
}

impl Server {
    /// Starts answering for a store. The server is ready when this returns.
    ///
    /// Errors: [`ErrorKind::Usage`] if other machines can reach an address and the store has no users.
    pub fn start(database: Database, listening: Listening) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .enable_all()
            // One thread for each active connection of the protocols, and some more.
            .max_blocking_threads(listening.options.connections_max.saturating_mul(3).saturating_add(SPARE_THREADS))
            .thread_name("atsdb-server")
            .build()
            .map_err(|error| Error::new(ErrorKind::Resources, format!("cannot start threads: {error}")))?;
        let (phase, follower) = PhaseOwner::new();
        let log = Log::new(listening.options.log);
        let state = State::new(database, listening.options.statements.clone(), follower, log.clone())?;
        let access = Access::open(&state)?;
        listening.require_users(&access)?;
        let Listening { pg, http, grpc, tls, options } = listening;
        runtime.spawn(access.clone().follow(state.clone()));
        let reloader = Reloader { access, tls, log };
        let mut server = Self { state, reloader, phase, pg: None, http: None, grpc: None, runtime: Some(runtime) };
        let gate = Gate::new(options.ingest.bytes_in_flight_max, options.ingest.hold_time);
        server.pg = pg.map(|listener| server.serve_pg(listener, gate.clone(), &options)).transpose()?;
        // Both protocols that bring samples share one queue.
        let prom = Prom::new(&server.state, gate.clone(), Arc::new(options.ingest.clone()));
        let shared = (gate, prom);
        server.http = http.map(|listener| server.serve_http(listener, shared.clone(), &options)).transpose()?;
        server.grpc = grpc.map(|listener| server.serve_grpc(listener, shared, &options)).transpose()?;
        server.phase.set(Phase::Ready);
        let address = |address: Option<SocketAddr>| json!(address.map(|address| address.to_string()));
        let version = ("version", json!(env!("CARGO_PKG_VERSION")));
        let fields =
            [version, ("pg", address(server.pg)), ("http", address(server.http)), ("grpc", address(server.grpc))];
        server.state.log().write(LogLevel::Info, "start", &fields);
        Ok(server)
    }

    /// The address for PostgreSQL's protocol.
    pub fn pg_address(&self) -> Option<SocketAddr> {
        self.pg
    }

    /// The address for HTTP.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// The address for gRPC.
    pub fn grpc_address(&self) -> Option<SocketAddr> {
        self.grpc
    }

    /// Returns a handle that reloads users and certificates.
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    fn serve_pg(&self, listener: TcpListener, gate: Gate, options: &ServerOptions) -> Result<SocketAddr> {
        let limits = (gate, Arc::new(options.ingest.clone()));
        self.serve(listener, |listener, access, tls| {
            pg::server::serve(listener, options.connections_max, self.state.clone(), access, tls, limits)
        })
    }

    fn serve_http(
        &self,
        listener: TcpListener,
        (gate, prom): (Gate, Prom),
        options: &ServerOptions,
    ) -> Result<SocketAddr> {
        self.serve(listener, |listener, access, tls| {
            let router = routes::router(&self.state, &access, gate, prom, options);
            http::connections::serve(listener, router, options.connections_max, self.state.clone(), tls)
        })
    }

    fn serve_grpc(
        &self,
        listener: TcpListener,
        (gate, prom): (Gate, Prom),
        options: &ServerOptions,
    ) -> Result<SocketAddr> {
        let limits = (gate, Arc::new(options.ingest.clone()));
        self.serve(listener, |listener, access, tls| {
            let flight = Flight::new(&self.state, &access, options.query.read_time_max);
            let services = Services::new(&self.state, &access, flight.clone(), prom, limits);
            let served = grpc::connections::serve(listener, services, options.connections_max, tls);
            async move {
                tokio::spawn(flight.watch());
                served.await;
            }
        })
    }

    /// Registers a listener with the runtime, and runs the task that accepts its connections.
    fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        listener: TcpListener,
        task: impl FnOnce(tokio::net::TcpListener, Access, Option<Tls>) -> F,
    ) -> Result<SocketAddr> {
        let ended = || Error::new(ErrorKind::Internal, "the server has ended");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let failed = |error: std::io::Error| Error::new(ErrorKind::Unavailable, error.to_string()).with_source(error);
        let address = listener.local_addr().map_err(failed)?;
        let _entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let Reloader { access, tls, .. } = self.reloader.clone();
        runtime.spawn(task(listener, access, tls));
        Ok(address)
    }

    /// Shuts the server down: it is no longer ready and accepts no connections. Running work may finish within
    /// `patience`; the rest is cancelled. Then the rows of tables in memory are saved.
    pub fn shutdown(mut self, patience: Duration) -> Result<Drained> {
        self.phase.set(Phase::Draining);
        self.state.log().write(LogLevel::Info, "drain", &[("patience_s", json!(patience.as_secs()))]);
        let mut drained = Drained::Everything;
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(async {
                if tokio::time::timeout(patience, self.phase.wait()).await.is_err() {
                    drained = Drained::Cancelled;
                    self.phase.set(Phase::Stopping);
                    let _ = tokio::time::timeout(CANCEL_TIME, self.phase.wait()).await;
                }
            });
            runtime.shutdown_timeout(CANCEL_TIME);
        }
        self.save()?;
        let has_cancelled = drained == Drained::Cancelled;
        let uptime = ("uptime_s", json!(self.state.uptime().as_secs()));
        self.state.log().write(LogLevel::Info, "stop", &[uptime, ("cancelled", json!(has_cancelled))]);
        Ok(drained)
    }

    fn save(&self) -> Result<()> {
        let database = self.state.database();
        if !database.tables()?.iter().any(|table| table.definition.is_in_memory()) {
            return Ok(());
        }
        let session = self.state.session();
        for statement in session.statements("CHECKPOINT") {
            match session.execute(&statement?, &[]) {
                Err(error) if error.kind() != ErrorKind::ReadOnly => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.phase.set(Phase::Stopping);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("pg", &self.pg)
            .field("http", &self.http)
            .field("grpc", &self.grpc)
            .finish_non_exhaustive()
    }
}
