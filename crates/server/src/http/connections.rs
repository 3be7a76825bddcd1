//! HTTP connections: accepted, read within limits, ended when the server drains.

use crate::shared::phase::Phase;
use crate::shared::state::State;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// How long a client may take to send the head of a request, also the next one on a connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(60);

/// Waits after an error of accepting, such as having no file handles left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until the server drains.
pub(crate) async fn serve(listener: TcpListener, router: Router, connections_max: usize, state: State) {
    let open = state.metrics().gauge("atsdb_http_connections", "Open HTTP connections.");
    let accepted = state.metrics().counter("atsdb_http_connections_total", "HTTP connections since the start.");
    let places = Arc::new(Semaphore::new(connections_max));
    let mut phase = state.phase();
    loop {
        // Whoever comes beyond the limit waits in the listener's queue.
        let place = tokio::select! {
            () = phase.reach(Phase::Draining) => return,
            Ok(place) = Arc::clone(&places).acquire_owned() => place,
        };
        let stream = tokio::select! {
            () = phase.reach(Phase::Draining) => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        accepted.increment();
        let (router, state, held) = (router.clone(), state.clone(), open.hold());
        tokio::spawn(async move {
            connection(stream, router, state).await;
            drop((place, held));
        });
    }
}

async fn connection(stream: TcpStream, router: Router, state: State) {
    let mut phase = state.phase();
    let _work = phase.work();
    let _ = stream.set_nodelay(true);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = pin!(served);
    let mut draining = false;
    loop {
        let next = if draining { Phase::Stopping } else { Phase::Draining };
        tokio::select! {
            // What is wrong with a connection concerns its client alone.
            _ = served.as_mut() => return,
            () = phase.reach(next) => {
                if draining {
                    return;
                }
                draining = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}
