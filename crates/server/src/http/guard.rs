//! The layers that every request passes: one for the paths about the server, one for those of each database. They
//! determine who sends the request, and whether they may use the path. A path that declares no role is refused to
//! everybody, so that a new path cannot be left unprotected by mistake.

use super::credentials;
use super::refusal::with_retry;
use super::required_role::{RequiredRole, RouteRoles, roles_of_rooms};
use super::selection::database_of;
use crate::access::authenticate::{Credentials, Refusal, UNVERIFIABLE};
use crate::access::caller::{Caller, Peer};
use crate::access::role::{PERMISSION_DENIED, Role};
use crate::access::state::Access;
use crate::databases::list::{Choice, Databases};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a layer: who checks credentials, and the roles that paths require.
#[derive(Debug, Clone)]
pub(crate) struct Guard<T> {
    authority: T,
    roles: Arc<BTreeMap<&'static str, RequiredRole>>,
}

impl<T> Guard<T> {
    pub(crate) fn new(authority: T, rooms: &[RouteRoles]) -> Self {
        Self { authority, roles: Arc::new(roles_of_rooms(rooms)) }
    }

    /// Returns the requirement that a request must meet before it may pass.
    fn requirement(&self, request: &Request) -> Requirement {
        let path = request.extensions().get::<MatchedPath>();
        let role = match path.map(|path| self.roles.get(path.as_str()).copied()) {
            Some(Some(RequiredRole::Anybody)) => return Requirement::Nothing,
            Some(Some(RequiredRole::AtLeast(role))) => Some(role),
            Some(None) => {
                let message = "this address has no role and answers no requests";
                return Requirement::Refused(refuse(StatusCode::FORBIDDEN, "forbidden", message));
            }
            // The path does not exist. Only users may learn that.
            None => None,
        };
        let Some(peer) = request.extensions().get::<Peer>().copied() else {
            return Requirement::Refused(unknown_peer());
        };
        Requirement::User { role, peer, credentials: credentials::of_request(request.headers(), request.uri()) }
    }
}

/// The requirement that a request must meet before it may pass.
enum Requirement {
    Nothing,
    /// A user who logs in and has at least this role; any role if the path does not exist.
    User {
        role: Option<Role>,
        peer: Peer,
        credentials: Option<Credentials>,
    },
    /// It may never pass.
    Refused(Response),
}

/// Lets a request to a database through and adds a [`Caller`] to it, or refuses it.
pub(crate) async fn guard(State(guard): State<Guard<Access>>, mut request: Request, next: Next) -> Response {
    let (role, peer, credentials) = match guard.requirement(&request) {
        Requirement::User { role, peer, credentials } => (role, peer, credentials),
        Requirement::Nothing => return next.run(request).await,
        Requirement::Refused(response) => return response,
    };
    let caller = match guard.authority.authenticate(credentials, peer).await {
        Ok(caller) => caller,
        Err(refusal) => return refused(refusal),
    };
    if let Some(refused) = lacks(role, &caller) {
        return refused;
    }
    request.extensions_mut().insert::<Caller>(caller);
    next.run(request).await
}

/// Lets a request about the server through, and adds what its caller may know, or refuses it.
pub(crate) async fn guard_server(State(guard): State<Guard<Databases>>, mut request: Request, next: Next) -> Response {
    let (role, peer, credentials) = match guard.requirement(&request) {
        Requirement::User { role, peer, credentials } => (role, peer, credentials),
        Requirement::Nothing => return next.run(request).await,
        Requirement::Refused(response) => return response,
    };
    let named = database_of(request.headers(), request.uri()).unwrap_or_default();
    let named = match named.as_deref().map(|name| guard.authority.choose(Some(name))) {
        Some(Choice::Open(database)) => Some(database),
        _ => None,
    };
    let known = match guard.authority.authenticate(named, credentials, peer).await {
        Ok(known) => known,
        Err(refusal) => return refused(refusal),
    };
    if let Some(refused) = lacks(role, &known.caller) {
        return refused;
    }
    request.extensions_mut().insert(known);
    next.run(request).await
}

/// The answer to a caller whose role does not suffice.
fn lacks(needed: Option<Role>, caller: &Caller) -> Option<Response> {
    let role = needed.filter(|role| caller.role < *role)?;
    let (user, own) = (caller.user.as_deref().unwrap_or_default(), caller.role);
    let message = format!("{PERMISSION_DENIED}: this needs the role {role}, and user {user} has the role {own}");
    Some(refuse(StatusCode::FORBIDDEN, "forbidden", &message))
}

pub(super) fn unknown_peer() -> Response {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal", "it is not known where the request comes from")
}

pub(super) fn refused(refusal: Refusal) -> Response {
    let mut response = match refusal {
        Refusal::Missing => refuse(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the server has users: send a token, or a name and a password",
        ),
        Refusal::Wrong => {
            refuse(StatusCode::UNAUTHORIZED, "unauthorized", "the user, the password or the token is wrong")
        }
        Refusal::Unverifiable => with_retry(refuse(StatusCode::SERVICE_UNAVAILABLE, "unavailable", UNVERIFIABLE)),
        Refusal::TooMany(wait) => {
            let message = "too many attempts with wrong credentials: retry later";
            let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, "too many requests", message);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
            response
        }
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Basic realm=\"atsdb\", charset=\"UTF-8\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// A refusal in a form in which the clients of each protocol find its message.
pub(crate) fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    let body = json!({ "kind": code, "code": code, "message": message, "error": message });
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
