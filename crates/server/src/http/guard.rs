//! The layer that every request passes. It determines who sends the request, and whether they may use the path. A path
//! that declares no role is refused to everybody, so that a new path cannot be left unprotected by mistake.

use super::credentials;
use super::needs::{Needs, RouteNeeds, of_rooms};
use crate::access::authenticate::Refusal;
use crate::access::caller::{Caller, Peer};
use crate::access::role::PERMISSION_DENIED;
use crate::access::state::Access;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of the layer.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    access: Access,
    needs: Arc<BTreeMap<&'static str, Needs>>,
}

impl Guard {
    pub(crate) fn new(access: Access, rooms: &[RouteNeeds]) -> Self {
        Self { access, needs: Arc::new(of_rooms(rooms)) }
    }
}

/// Lets a request through and adds a [`Caller`] to it, or refuses it.
pub(crate) async fn guard(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| guard.needs.get(path.as_str()).copied());
    let needed = match path {
        Some(Some(Needs::Nothing)) => return next.run(request).await,
        Some(Some(Needs::Role(role))) => Some(role),
        Some(None) => {
            return refuse(StatusCode::FORBIDDEN, "forbidden", "this address states no role: it answers nobody");
        }
        // The path does not exist. Only users may learn that.
        None => None,
    };
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal", "it is not known where the request comes from");
    };
    let credentials = credentials::of_request(request.headers(), request.uri());
    let caller = match guard.access.authenticate(credentials, peer).await {
        Ok(caller) => caller,
        Err(refusal) => return refused(refusal),
    };
    if let Some(role) = needed.filter(|role| caller.role < *role) {
        let (user, own) = (caller.user.as_deref().unwrap_or_default(), caller.role);
        let message = format!("{PERMISSION_DENIED}: this needs the role {role}, and user {user} has the role {own}");
        return refuse(StatusCode::FORBIDDEN, "forbidden", &message);
    }
    request.extensions_mut().insert::<Caller>(caller);
    next.run(request).await
}

fn refused(refusal: Refusal) -> Response {
    let mut response = match refusal {
        Refusal::Missing => refuse(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the server has users: send a token, or a name and a password",
        ),
        Refusal::Wrong => {
            refuse(StatusCode::UNAUTHORIZED, "unauthorized", "the user, the password or the token is wrong")
        }
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
fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    let body = json!({ "kind": code, "code": code, "message": message, "error": message });
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
