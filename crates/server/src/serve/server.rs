//! Starts and shuts down a server.

use super::database_services::DatabaseServices;
use super::listen::{listen, outside_address, without_users};
use super::options::ServerOptions;
use super::routes;
use crate::databases::list::{Check, Databases};
use crate::databases::source::DatabaseSource;
use crate::grpc::services::Services;
use crate::shared::collector::Collector;
use crate::shared::log::{Log, LogLevel};
use crate::shared::metrics::Metrics;
use crate::shared::phase::{Phase, PhaseOwner};
use crate::shared::state::{DatabaseState, ServerState};
use crate::shared::traces::Traces;
use crate::tls::identity::Tls;
use crate::{grpc, http, pg};
use atsdb::{Database, Error, ErrorKind, Result, drop_elsewhere, try_threads};
use serde_json::json;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The number of threads that may block, in addition to one for each connection.
const SPARE_THREADS: usize = 64;

/// The maximum time that cancelled work may take to end.
const CANCEL_TIME: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it at once; [`Server::shutdown`] lets running work finish.
pub struct Server {
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
    databases: Databases,
    tls: Option<Tls>,
}

impl Reloader {
    /// Reloads the users of all databases, and the certificate for new connections. What cannot be read stays as it is.
    /// The first error is returned.
    pub fn reload(&self) -> Result<()> {
        let log = self.databases.server().log();
        let mut reloaded = Ok(());
        let mut note = |done: Result<()>, database: Option<&str>| {
            if let Err(error) = &done {
                let fields = [("database", json!(database)), ("error", json!(error.message()))];
                log.write(LogLevel::Error, "reload failed", &fields);
            }
            reloaded = std::mem::replace(&mut reloaded, Ok(())).and(done);
        };
        note(self.tls.as_ref().map_or(Ok(()), Tls::reload), None);
        for database in self.databases.opened() {
            note(database.access.reload(), database.label());
        }
        if reloaded.is_ok() {
            log.write(LogLevel::Info, "reload", &[]);
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
    collector: Option<Collector>,
    options: ServerOptions,
}

impl Listening {
    /// Opens the addresses.
    ///
    /// Errors: [`ErrorKind::Usage`] for an invalid address, an address that other machines can reach without TLS,
    /// and for a certificate or the address of a collector that cannot be read; [`ErrorKind::Unavailable`] for an
    /// address that is taken.
    pub fn open(options: ServerOptions) -> Result<Self> {
        let tls = options.tls.clone().map(Tls::open).transpose()?;
        let collector = options.traces.as_deref().map(Collector::parse).transpose();
        let collector = collector.map_err(|error| error.context("--traces"))?;
        let open = |flag, address: &Option<String>| {
            address.as_deref().map(|address| listen(flag, address, tls.is_some())).transpose()
        };
        let (pg, http) = (open("--pg", &options.pg)?, open("--http", &options.http)?);
        let grpc = open("--grpc", &options.grpc)?;
        Ok(Self { pg, http, grpc, tls, collector, options })
    }

    /// Returns whether other machines can reach an address. If so, every database must have users.
    pub fn is_outside(&self) -> bool {
        [&self.pg, &self.http, &self.grpc].into_iter().flatten().any(|listener| outside_address(listener).is_some())
    }

    /// Refuses databases without users if other machines can reach an address.
    fn require_users(&self) -> Check {
        let listeners = [("--pg", &self.pg), ("--http", &self.http), ("--grpc", &self.grpc)];
        let outside =
            listeners.into_iter().find_map(|(flag, listener)| Some((flag, outside_address(listener.as_ref()?)?)));
        Box::new(move |database| match outside {
            Some((flag, address)) if !database.access.has_users() => {
                Err(without_users(flag, address, database.label()))
            }
            _ => Ok(()),
        })
    }
}

impl Server {
    /// Starts answering for a store. The server is ready when this returns.
    ///
    /// Errors: [`ErrorKind::Usage`] if other machines can reach an address and the store has no users.
    pub fn start(database: Database, listening: Listening) -> Result<Self> {
        Self::start_all(vec![DatabaseSource::unnamed(database)], listening)
    }

    /// Starts answering for several databases. If the store of one cannot be opened, the others are served, and it is
    /// tried again as long as the server runs.
    ///
    /// Errors: [`ErrorKind::Usage`] if two databases have one name, or if other machines can reach an address and a
    /// database has no users; the error of the first store if none can be opened.
    pub fn start_all(sources: Vec<DatabaseSource>, listening: Listening) -> Result<Self> {
        // tokio panics if it cannot start a thread, and then waits for those that it has.
        let thread_count = std::thread::available_parallelism().map_or(1, NonZero::get);
        try_threads(thread_count, None).map_err(Error::no_thread)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(thread_count)
            .enable_all()
            // One thread for each active connection of the protocols, and some more.
            .max_blocking_threads(listening.options.connections_max.saturating_mul(3).saturating_add(SPARE_THREADS))
            .thread_name("atsdb-server")
            .build()
            .map_err(Error::no_thread)?;
        let (phase, follower) = PhaseOwner::new();
        let (log, metrics) = (Log::new(listening.options.log), Metrics::default());
        let traces = listening.collector.clone().map(|collector| Traces::to(collector, &metrics, log.clone()));
        let traces = traces.transpose()?.unwrap_or_default();
        let state = ServerState::with_traces(listening.options.statements.clone(), follower, log, traces, metrics);
        let databases = Databases::open(&state, sources, listening.require_users())?;
        let Listening { pg, http, grpc, tls, options, .. } = listening;
        let entered = runtime.enter();
        let services = DatabaseServices::new(&databases, &options);
        databases.opened().for_each(|database| services.begin(database));
        runtime.spawn(services.clone().open_missing(databases.clone()));
        drop(entered);
        let reloader = Reloader { databases, tls };
        let mut server = Self { reloader, phase, pg: None, http: None, grpc: None, runtime: Some(runtime) };
        server.pg = pg.map(|listener| server.serve_pg(listener, &services, &options)).transpose()?;
        server.http = http.map(|listener| server.serve_http(listener, &services, &options)).transpose()?;
        server.grpc = grpc.map(|listener| server.serve_grpc(listener, &services, &options)).transpose()?;
        server.phase.set(Phase::Ready);
        let address = |address: Option<SocketAddr>| json!(address.map(|address| address.to_string()));
        let version = ("version", json!(env!("CARGO_PKG_VERSION")));
        let fields =
            [version, ("pg", address(server.pg)), ("http", address(server.http)), ("grpc", address(server.grpc))];
        state.log().write(LogLevel::Info, "start", &fields);
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

    fn serve_pg(
        &self,
        listener: TcpListener,
        services: &DatabaseServices,
        options: &ServerOptions,
    ) -> Result<SocketAddr> {
        let limits = (services.memory(), Arc::new(options.ingest.clone()));
        self.serve(listener, |listener, databases, tls| {
            pg::server::serve(listener, options.connections_max, databases, tls, limits)
        })
    }

    fn serve_http(
        &self,
        listener: TcpListener,
        services: &DatabaseServices,
        options: &ServerOptions,
    ) -> Result<SocketAddr> {
        self.serve(listener, |listener, databases, tls| {
            let router = routes::router(&databases, services.routers());
            http::connections::serve(listener, router, options.connections_max, databases.server().clone(), tls)
        })
    }

    fn serve_grpc(
        &self,
        listener: TcpListener,
        services: &DatabaseServices,
        options: &ServerOptions,
    ) -> Result<SocketAddr> {
        self.serve(listener, |listener, databases, tls| {
            let services = Services::new(databases, services.grpc());
            grpc::connections::serve(listener, services, options.connections_max, tls)
        })
    }

    /// Registers a listener with the runtime, and runs the task that accepts its connections.
    fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        listener: TcpListener,
        task: impl FnOnce(tokio::net::TcpListener, Databases, Option<Tls>) -> F,
    ) -> Result<SocketAddr> {
        let ended = || Error::new(ErrorKind::Internal, "the server has ended");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let failed = |error: std::io::Error| Error::new(ErrorKind::Unavailable, error.to_string()).with_source(error);
        let address = listener.local_addr().map_err(failed)?;
        let _entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let Reloader { databases, tls } = self.reloader.clone();
        runtime.spawn(task(listener, databases, tls));
        Ok(address)
    }

    /// Shuts the server down: it is no longer ready and accepts no connections. Running work may finish within
    /// `patience`; the rest is cancelled. Then the rows of tables in memory are saved.
    pub fn shutdown(mut self, patience: Duration) -> Result<Drained> {
        self.phase.set(Phase::Draining);
        self.state().log().write(LogLevel::Info, "drain", &[("patience_s", json!(patience.as_secs()))]);
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
        let saved = self.save();
        self.state().traces().finish();
        let has_cancelled = drained == Drained::Cancelled;
        let uptime = ("uptime_s", json!(self.state().uptime().as_secs()));
        self.state().log().write(LogLevel::Info, "stop", &[uptime, ("cancelled", json!(has_cancelled))]);
        saved.map(|()| drained)
    }

    fn state(&self) -> &ServerState {
        self.reloader.databases.server()
    }

    /// Saves the tables in memory of all databases. The first error is returned.
    fn save(&self) -> Result<()> {
        let mut saved = Ok(());
        for database in self.reloader.databases.opened() {
            if let Err(error) = save(&database.state) {
                let fields = [("database", json!(database.label())), ("error", json!(error.message()))];
                self.state().log().write(LogLevel::Error, "tables in memory were not saved", &fields);
                saved = saved.and(Err(error));
            }
        }
        saved
    }
}

fn save(state: &DatabaseState) -> Result<()> {
    if !state.database().tables()?.iter().any(|table| table.definition.is_in_memory()) {
        return Ok(());
    }
    let session = state.session();
    for statement in session.statements("CHECKPOINT") {
        match session.execute(&statement?, &[]) {
            Err(error) if error.kind() != ErrorKind::ReadOnly => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

impl Drop for Server {
    #[expect(clippy::disallowed_methods, reason = "no thread can be started that would wait for its threads")]
    fn drop(&mut self) {
        self.phase.set(Phase::Stopping);
        if let Some(runtime) = self.runtime.take() {
            drop_elsewhere(runtime, Runtime::shutdown_background);
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
