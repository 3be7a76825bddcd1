//! The methods of one database: who sends a request, whether they may call the method, and whether the server still
//! answers.

use super::messages::whole_messages;
use super::methods::Method;
use super::metrics_service;
use crate::access::authenticate::{Refusal, UNVERIFIABLE};
use crate::access::caller::{Caller, Peer};
use crate::access::role::PERMISSION_DENIED;
use crate::access::state::Access;
use crate::flight::{Flight, FlightServiceServer};
use crate::http::credentials;
use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::RequestMemory;
use crate::prom::Prom;
use crate::shared::phase::Phase;
use crate::shared::state::DatabaseState;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::service::TowerToHyperService;
use std::fmt;
use std::sync::Arc;
use tonic::Status;

/// The methods of one database. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct DatabaseMethods {
    state: DatabaseState,
    access: Access,
    flight: Flight,
    flight_service: FlightServiceServer<Flight>,
    prom: Prom,
    memory: RequestMemory,
    ingest: Arc<IngestOptions>,
}

impl fmt::Debug for DatabaseMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseMethods")
    }
}

impl DatabaseMethods {
    pub(crate) fn new(
        state: &DatabaseState,
        access: &Access,
        flight: Flight,
        prom: Prom,
        (memory, ingest): (RequestMemory, Arc<IngestOptions>),
    ) -> Self {
        let flight_service = flight.service(ingest.body_bytes_max);
        Self { state: state.clone(), access: access.clone(), flight, flight_service, prom, memory, ingest }
    }

    /// Waits until no transaction is open that a client could still commit.
    pub(super) async fn no_transactions(&self) {
        self.flight.no_transactions().await;
    }

    /// Answers a request.
    pub(super) async fn answer(
        self,
        request: Request<Incoming>,
        peer: Peer,
    ) -> Result<Response<tonic::body::Body>, Status> {
        let (method, caller) = self.admit(&request, peer).await?;
        Ok(self.call(method, caller, request).await)
    }

    /// The method and the caller, if the caller may call it.
    async fn admit(&self, request: &Request<Incoming>, peer: Peer) -> Result<(Method, Caller), Status> {
        let credentials = credentials::of_header_alone(request.headers());
        let caller = self.access.authenticate(credentials, peer).await.map_err(refused)?;
        // Only users may learn which methods there are.
        let path = request.uri().path();
        let method =
            Method::of_path(path).ok_or_else(|| Status::unimplemented(format!("there is no method {path}")))?;
        if caller.role < method.role() {
            let (user, own) = (caller.user.as_deref().unwrap_or_default(), caller.role);
            let needed = method.role();
            let message =
                format!("{PERMISSION_DENIED}: this needs the role {needed}, and user {user} has the role {own}");
            return Err(Status::permission_denied(message));
        }
        Ok((method, caller))
    }

    async fn call(self, method: Method, caller: Caller, mut request: Request<Incoming>) -> Response<tonic::body::Body> {
        match method {
            Method::Flight => {
                request.extensions_mut().insert(caller);
                let request = request.map(|body| whole_messages(body, &self.memory, &self.ingest));
                match TowerToHyperService::new(self.flight_service).call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            }
            Method::ExportMetrics if self.state.phase().now() >= Phase::Draining => {
                Status::unavailable("the server is shutting down").into_http()
            }
            Method::ExportMetrics => metrics_service::export(&self.prom, request).await,
        }
    }
}

/// The status for refused credentials.
pub(super) fn refused(refusal: Refusal) -> Status {
    match refusal {
        Refusal::Missing => Status::unauthenticated("the server has users: send a token, or a name and a password"),
        Refusal::Wrong => Status::unauthenticated("the user, the password or the token is wrong"),
        Refusal::Unverifiable => Status::unavailable(UNVERIFIABLE),
        Refusal::TooMany(_) => Status::unavailable("too many attempts with wrong credentials: retry later"),
    }
}
