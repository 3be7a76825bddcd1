//! A server from its start to its end.

use super::listen::listen;
use super::options::ServerOptions;
use super::routes;
use crate::shared::phase::{Phase, PhaseOwner};
use crate::shared::state::State;
use crate::{http, pg};
use atsdb::sql::SessionOptions;
use atsdb::{Database, Error, ErrorKind, Result};
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Threads that may block, beyond one for each connection.
const SPARE_THREADS: usize = 64;

/// How long cancelled work may take to notice.
const CANCEL_TIME: Duration = Duration::from_secs(5);

/// A server that runs. Dropped, it ends at once; [`Server::shutdown`] lets what has been begun end.
pub struct Server {
    state: State,
    phase: PhaseOwner,
    pg: Option<SocketAddr>,
    http: Option<SocketAddr>,
    /// Taken when the server ends.
    runtime: Option<Runtime>,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Everything that had been begun came to its end.
    Everything,
    /// Some of it was cancelled when the time was over.
    Cancelled,
}

/// The open addresses of a server that does not answer yet.
#[derive(Debug)]
pub struct Listening {
    pg: Option<TcpListener>,
    http: Option<TcpListener>,
    options: ServerOptions,
}

impl Listening {
    /// Opens the addresses.
    ///
    /// Errors: [`ErrorKind::Usage`] for an address that is wrong or not of this machine alone,
    /// [`ErrorKind::Unavailable`] for one that is taken.
    pub fn open(options: ServerOptions) -> Result<Self> {
        let open = |flag, address: &Option<String>| address.as_deref().map(|address| listen(flag, address)).transpose();
        let (pg, http) = (open("--pg", &options.pg)?, open("--http", &options.http)?);
        Ok(Self { pg, http, options })
    }
}

impl Server {
    /// Answers for a store. Ready when this returns.
    pub fn start(database: Database, listening: Listening) -> Result<Self> {
        let Listening { pg, http, options } = listening;
        let runtime = Builder::new_multi_thread()
            .enable_all()
            // A thread for each connection that works, and some more.
            .max_blocking_threads(options.connections_max.saturating_add(SPARE_THREADS))
            .thread_name("atsdb-server")
            .build()
            .map_err(|error| Error::new(ErrorKind::Resources, format!("cannot start threads: {error}")))?;
        let (phase, follower) = PhaseOwner::new();
        let state = State::new(database, follower);
        let mut server = Self { state, phase, pg: None, http: None, runtime: Some(runtime) };
        server.pg = pg.map(|listener| server.serve_pg(listener, &options)).transpose()?;
        server.http = http.map(|listener| server.serve_http(listener, &options)).transpose()?;
        server.phase.set(Phase::Ready);
        Ok(server)
    }

    /// Where PostgreSQL's protocol is spoken.
    pub fn pg_address(&self) -> Option<SocketAddr> {
        self.pg
    }

    /// Where HTTP is spoken.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    fn serve_pg(&self, listener: TcpListener, options: &ServerOptions) -> Result<SocketAddr> {
        let runtime = self.runtime()?;
        let (listener, address) = adopt(runtime, listener)?;
        runtime.spawn(pg::server::serve(listener, options.connections_max, self.state.clone()));
        Ok(address)
    }

    fn serve_http(&self, listener: TcpListener, options: &ServerOptions) -> Result<SocketAddr> {
        let runtime = self.runtime()?;
        let (listener, address) = adopt(runtime, listener)?;
        let (router, state) = (routes::router(&self.state, options), self.state.clone());
        runtime.spawn(http::connections::serve(listener, router, options.connections_max, state));
        Ok(address)
    }

    fn runtime(&self) -> Result<&Runtime> {
        self.runtime.as_ref().ok_or_else(|| Error::new(ErrorKind::Internal, "the server has ended"))
    }

    /// Ends the server: it is no longer ready and accepts nothing, what has been begun has `patience` to end and is
    /// cancelled then, and rows of tables in memory are saved.
    pub fn shutdown(mut self, patience: Duration) -> Result<Drained> {
        self.phase.set(Phase::Draining);
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
        Ok(drained)
    }

    fn save(&self) -> Result<()> {
        let database = self.state.database();
        if !database.tables()?.iter().any(|table| table.definition.is_in_memory()) {
            return Ok(());
        }
        let session = database.session(SessionOptions::default())?;
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

/// Takes a listener into the runtime.
fn adopt(runtime: &Runtime, listener: TcpListener) -> Result<(tokio::net::TcpListener, SocketAddr)> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Unavailable, error.to_string()).with_source(error);
    let address = listener.local_addr().map_err(failed)?;
    let _entered = runtime.enter();
    Ok((tokio::net::TcpListener::from_std(listener).map_err(failed)?, address))
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("pg", &self.pg).field("http", &self.http).finish_non_exhaustive()
    }
}
