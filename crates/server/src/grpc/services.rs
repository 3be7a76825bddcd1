//! What every request passes: who sends it, whether they may call the method, and whether the server still answers.

use super::messages::whole_messages;
use super::methods::Method;
use super::metrics_service;
use crate::access::authenticate::Refusal;
use crate::access::caller::{Caller, Peer};
use crate::access::role::PERMISSION_DENIED;
use crate::access::state::Access;
use crate::flight::{ConnectionNumber, Flight, FlightServiceServer};
use crate::http::credentials;
use crate::ingest::gate::Gate;
use crate::ingest::options::IngestOptions;
use crate::prom::Prom;
use crate::shared::log::LogLevel;
use crate::shared::phase::Phase;
use crate::shared::state::State;
use axum::http::header::CONTENT_TYPE;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use std::sync::Arc;
use tonic::{Code, Status};

/// The services at the address for gRPC. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct Services {
    state: State,
    access: Access,
    flight: Flight,
    flight_service: FlightServiceServer<Flight>,
    prom: Prom,
    gate: Gate,
    ingest: Arc<IngestOptions>,
}

impl Services {
    pub(crate) fn new(
        state: &State,
        access: &Access,
        flight: Flight,
        prom: Prom,
        (gate, ingest): (Gate, Arc<IngestOptions>),
    ) -> Self {
        let flight_service = flight.service(ingest.body_bytes_max);
        Self { state: state.clone(), access: access.clone(), flight, flight_service, prom, gate, ingest }
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Waits until no transaction is open that a client could still commit.
    pub(super) async fn no_transactions(&self) {
        self.flight.no_transactions().await;
    }

    /// Answers a request.
    pub(super) async fn answer(
        self,
        mut request: Request<Incoming>,
        peer: Peer,
        connection: ConnectionNumber,
    ) -> Response<tonic::body::Body> {
        request.extensions_mut().insert(connection);
        let path = request.uri().path().to_owned();
        let log = self.state.log().clone();
        let response = match self.admit(&request, peer).await {
            Ok((method, caller)) => self.call(method, caller, request).await,
            Err(status) => status.into_http(),
        };
        if log.writes(LogLevel::Error)
            && let Some(status) = Status::from_header_map(response.headers()).filter(|one| one.code() != Code::Ok)
        {
            let level = match status.code() {
                Code::Internal | Code::DataLoss | Code::Unknown => LogLevel::Error,
                _ => LogLevel::Debug,
            };
            let fields = [
                ("protocol", json!("grpc")),
                ("address", json!(peer.address.to_string())),
                ("path", json!(path)),
                ("code", json!(format!("{:?}", status.code()))),
                ("message", json!(status.message())),
            ];
            log.write(level, "error", &fields);
        }
        response
    }

    /// The method and the caller, if the caller may call it.
    async fn admit(&self, request: &Request<Incoming>, peer: Peer) -> Result<(Method, Caller), Status> {
        let is_grpc = request.headers().get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(GRPC));
        if !is_grpc {
            return Err(Status::invalid_argument("this address answers gRPC only"));
        }
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
                let request = request.map(|body| whole_messages(body, &self.gate, &self.ingest));
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

/// How the content type of gRPC begins.
const GRPC: &[u8] = b"application/grpc";

fn refused(refusal: Refusal) -> Status {
    match refusal {
        Refusal::Missing => Status::unauthenticated("the server has users: send a token, or a name and a password"),
        Refusal::Wrong => Status::unauthenticated("the user, the password or the token is wrong"),
        Refusal::TooMany(_) => Status::unavailable("too many attempts with wrong credentials: retry later"),
    }
}
