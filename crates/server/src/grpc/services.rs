//! The entrance of every gRPC request: chooses the database that it names, and logs errors.

use super::database_methods::{DatabaseMethods, refused};
use crate::access::caller::Peer;
use crate::databases::list::{Choice, Databases};
use crate::databases::per_database::PerDatabase;
use crate::flight::ConnectionNumber;
use crate::http::{credentials, selection};
use crate::shared::log::LogLevel;
use crate::shared::state::ServerState;
use axum::http::header::CONTENT_TYPE;
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde_json::json;
use std::sync::Arc;
use tonic::{Code, Status};

/// How the content type of gRPC begins.
const GRPC: &[u8] = b"application/grpc";

/// The services at the address for gRPC, of all databases. Clones share them.
#[derive(Clone)]
pub(crate) struct Services {
    databases: Databases,
    methods: Arc<PerDatabase<DatabaseMethods>>,
}

impl Services {
    pub(crate) fn new(databases: Databases, methods: Arc<PerDatabase<DatabaseMethods>>) -> Self {
        Self { databases, methods }
    }

    pub(super) fn server(&self) -> &ServerState {
        self.databases.server()
    }

    /// Waits until no transaction is open that a client could still commit.
    pub(super) async fn no_transactions(&self) {
        for methods in self.methods.made() {
            methods.no_transactions().await;
        }
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
        let log = self.server().log().clone();
        let answered = match self.methods_for(&request, peer).await {
            Ok(methods) => methods.answer(request, peer).await,
            Err(status) => Err(status),
        };
        let response = answered.unwrap_or_else(Status::into_http);
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

    /// The methods of the database that the header names. Without one, the error lists the databases of the caller.
    async fn methods_for(&self, request: &Request<Incoming>, peer: Peer) -> Result<DatabaseMethods, Status> {
        let headers = request.headers();
        if !headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(GRPC)) {
            return Err(Status::invalid_argument("this address answers gRPC only"));
        }
        let named = match selection::of_header(headers) {
            Err(message) if self.databases.have_names() => return Err(Status::invalid_argument(message)),
            named => named.unwrap_or_default(),
        };
        let (code, message) = match self.databases.choose(named.as_deref()) {
            Choice::Open(database) => return Ok(self.methods.of(database).clone()),
            Choice::Unavailable(name) => {
                (Code::Unavailable, format!("database {name} is not available: its store cannot be opened"))
            }
            Choice::Unknown(name) => (Code::NotFound, format!("database not found: {name:?}")),
            Choice::NotNamed => {
                (Code::InvalidArgument, "the request names no database: send a header database".to_owned())
            }
        };
        let credentials = credentials::of_header_alone(headers);
        let known = self.databases.authenticate(None, credentials, peer).await.map_err(refused)?;
        Err(Status::new(code, format!("{message} (available: {})", known.names())))
    }
}
