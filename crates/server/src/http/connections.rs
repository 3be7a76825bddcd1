//! HTTP connections: accepting them, reading within limits, and ending them when the server drains. While it drains,
//! new ones are still accepted, so that /health and /ready answer; every other path is refused
//! ([`draining`](super::draining)).

use crate::access::caller::Peer;
use crate::shared::accepting::{HANDSHAKE_TIME_MAX, accept};
use crate::shared::log::LogLevel;
use crate::shared::phase::Phase;
use crate::shared::state::ServerState;
use crate::tls::identity::Tls;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The maximum time that a client may take to send the head of a request, including each further request on a
/// connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(60);

/// Accepts connections until the server has ended.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    connections_max: usize,
    state: ServerState,
    tls: Option<Tls>,
) {
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let open = state.metrics().gauge("atsdb_http_connections", "Open HTTP connections.");
    let accepted = state.metrics().counter("atsdb_http_connections_total", "HTTP connections since the start.");
    let permits = Arc::new(Semaphore::new(connections_max));
    loop {
        // Connections beyond the limit wait in the listener's queue.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let (stream, from) = accept(&listener).await;
        accepted.increment();
        let (router, state, tls, held) = (router.clone(), state.clone(), tls.clone(), open.hold());
        let peer = Peer { address: from.ip(), is_local };
        let log = state.log().clone();
        tokio::spawn(async move {
            let fields = [("protocol", json!("http")), ("address", json!(peer.address.to_string()))];
            log.write(LogLevel::Debug, "connection", &fields);
            accepted_connection(stream, peer, tls, router, state).await;
            drop((permit, held));
        });
    }
}

async fn accepted_connection(stream: TcpStream, peer: Peer, tls: Option<Tls>, router: Router, state: ServerState) {
    let mut phase = state.phase();
    let is_late = phase.now() >= Phase::Draining;
    // A request for the state of a server that drains does not keep it from ending.
    let _work = (!is_late).then(|| phase.work());
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return connection(stream, peer, router, state, is_late).await };
    let handshake = tokio::time::timeout(HANDSHAKE_TIME_MAX, tls.identity().http().accept(stream));
    let agreed = tokio::select! {
        agreed = handshake => agreed,
        () = phase.reach(Phase::Draining), if !is_late => return,
    };
    if let Ok(Ok(stream)) = agreed {
        connection(stream, peer, router, state, is_late).await;
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: Peer,
    router: Router,
    state: ServerState,
    is_late: bool,
) {
    let mut phase = state.phase();
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        router.call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .keep_alive(!is_late)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = pin!(served);
    let mut draining = false;
    loop {
        let next = if draining { Phase::Stopping } else { Phase::Draining };
        tokio::select! {
            // An error of a connection concerns only its client.
            _ = served.as_mut() => return,
            () = phase.reach(next), if !is_late => {
                if draining {
                    return;
                }
                draining = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}
