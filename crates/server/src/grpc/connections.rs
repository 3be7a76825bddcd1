//! Connections by HTTP/2: accepting them, limits, and ending them when the server drains.

use super::services::Services;
use crate::access::caller::Peer;
use crate::flight::ConnectionNumber;
use crate::shared::accepting::{HANDSHAKE_TIME_MAX, accept};
use crate::shared::log::LogLevel;
use crate::shared::phase::Phase;
use crate::tls::identity::Tls;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The maximum time that a client may take to send its first request.
const FIRST_TIME_MAX: Duration = Duration::from_secs(60);
/// The interval at which an idle client is asked whether it is still there, and the maximum time that it may take to
/// answer.
const ALIVE_EVERY: Duration = Duration::from_secs(60);
const ALIVE_TIME_MAX: Duration = Duration::from_secs(20);

/// The maximum number of requests of a connection that run at once.
const REQUESTS_AT_ONCE: u32 = 100;
/// The maximum size of the headers of a request, in bytes.
const HEADER_BYTES_MAX: u32 = 32 << 10;
/// The bytes that a client may send ahead of what is read, for each request and for each connection.
const REQUEST_WINDOW: u32 = 512 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// The maximum size of a frame, and how much waits to be sent, in bytes.
const FRAME_BYTES_MAX: u32 = 64 << 10;
const SEND_BYTES_MAX: usize = 512 << 10;

/// The origin of requests: the peer and the connection.
type Origin = (Peer, ConnectionNumber);

/// Accepts connections until the server stops.
pub(crate) async fn serve(listener: TcpListener, services: Services, connections_max: usize, tls: Option<Tls>) {
    let state = services.server().clone();
    let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let open = state.metrics().gauge("atsdb_grpc_connections", "Open gRPC connections.");
    let accepted = state.metrics().counter("atsdb_grpc_connections_total", "gRPC connections since the start.");
    let permits = Arc::new(Semaphore::new(connections_max));
    let mut phase = state.phase();
    let mut number = 0;
    loop {
        // Connections beyond the limit wait in the listener's queue.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let (stream, from) = tokio::select! {
            // A client with an open transaction may connect again to commit it.
            () = phase.reach(Phase::Stopping) => return,
            accepted = accept(&listener) => accepted,
        };
        accepted.increment();
        number += 1;
        let from_connection = (Peer { address: from.ip(), is_local }, ConnectionNumber(number));
        let (services, tls, held) = (services.clone(), tls.clone(), open.hold());
        let log = state.log().clone();
        tokio::spawn(async move {
            let fields = [("protocol", json!("grpc")), ("address", json!(from.ip().to_string()))];
            log.write(LogLevel::Debug, "connection", &fields);
            accepted_connection(stream, from_connection, tls, services).await;
            drop((permit, held));
        });
    }
}

async fn accepted_connection(stream: TcpStream, from: Origin, tls: Option<Tls>, services: Services) {
    let mut phase = services.server().phase();
    let _work = phase.work();
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return connection(stream, from, services).await };
    let handshake = tokio::time::timeout(HANDSHAKE_TIME_MAX, tls.identity().grpc().accept(stream));
    let agreed = tokio::select! {
        agreed = handshake => agreed,
        () = phase.reach(Phase::Stopping) => return,
    };
    if let Ok(Ok(stream)) = agreed {
        connection(stream, from, services).await;
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, (peer, number): Origin, services: Services) {
    let mut phase = services.server().phase();
    let has_request = Arc::new(AtomicBool::new(false));
    let (for_requests, seen) = (services.clone(), Arc::clone(&has_request));
    let service = service_fn(move |request: Request<Incoming>| {
        seen.store(true, Ordering::Relaxed);
        let services = for_requests.clone();
        async move { Ok::<_, Infallible>(services.answer(request, peer, number).await) }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(REQUESTS_AT_ONCE)
        .max_header_list_size(HEADER_BYTES_MAX)
        .initial_stream_window_size(REQUEST_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buf_size(SEND_BYTES_MAX)
        .keep_alive_interval(ALIVE_EVERY)
        .keep_alive_timeout(ALIVE_TIME_MAX);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut first = pin!(tokio::time::sleep(FIRST_TIME_MAX));
    let mut draining = pin!(async {
        phase.reach(Phase::Draining).await;
        tokio::select! {
            () = services.no_transactions() => {}
            () = phase.reach(Phase::Stopping) => {}
        }
    });
    let (mut is_waited_for, mut is_draining) = (true, false);
    let mut stopping = services.server().phase();
    loop {
        tokio::select! {
            // An error of a connection concerns only its client.
            _ = served.as_mut() => return,
            () = first.as_mut(), if is_waited_for => {
                is_waited_for = false;
                if !has_request.load(Ordering::Relaxed) {
                    return;
                }
            }
            () = draining.as_mut(), if !is_draining => {
                is_draining = true;
                served.as_mut().graceful_shutdown();
            }
            () = stopping.reach(Phase::Stopping), if is_draining => return,
        }
    }
}
