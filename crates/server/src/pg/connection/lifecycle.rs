//! A connection from its acceptance to its end: waiting for frames, handling them, disconnecting idle clients.

use super::block::Block;
use super::io::Stream;
use super::session::{AfterWork, Connection};
use super::startup;
use crate::access::caller::Peer;
use crate::pg::error::{Failure, PgError};
use crate::pg::shared::PgShared;
use crate::shared::log::LogLevel;
use crate::shared::phase::Phase;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinError;

/// The interval at which the statements of a session that was ended are interrupted.
const INTERRUPT_EVERY: Duration = Duration::from_millis(100);

/// Serves a client until it disconnects, or the server shuts down.
pub(in crate::pg) async fn serve(stream: Box<dyn Stream>, peer: Peer, shared: Arc<PgShared>, has_place: bool) {
    let _work = shared.server.phase().work();
    let mut phase = shared.server.phase();
    let begun = tokio::select! {
        begun = startup::begin(stream, peer, &shared, has_place) => begun,
        () = phase.reach(Phase::Draining) => None,
    };
    let Some(mut connection) = begun else { return };
    if connection.io.send().await.is_err() {
        return;
    }
    connection.log("connection", LogLevel::Debug, &[]);
    loop {
        if let Err(farewell) = frame(&mut connection).await {
            if let Some(error) = farewell {
                connection.io.out.error(&error);
                connection.io.hang_up().await;
            }
            break;
        }
        let after = match connection.work_at_once() {
            Some(after) => connection.send_at_once(after).await,
            None => match worked(connection).await {
                Ok((after, worked)) => {
                    connection = worked;
                    after
                }
                // A panic ends only this connection.
                Err(_) => return,
            },
        };
        if after == AfterWork::End {
            connection.io.hang_up().await;
            break;
        }
    }
    connection.log("disconnection", LogLevel::Debug, &[]);
    // An open transaction is rolled back, which may take a while.
    let _ = tokio::task::spawn_blocking(move || drop(connection)).await;
}

/// Handles what has arrived. If somebody ends the session meanwhile, its statements are interrupted: again and again,
/// because another one may begin in between.
async fn worked(mut connection: Box<Connection>) -> Result<(AfterWork, Box<Connection>), JoinError> {
    let mut termination = connection.key.termination();
    let handle = connection.session.interrupt_handle();
    let mut working = tokio::task::spawn_blocking(move || (connection.work(), connection));
    tokio::select! {
        worked = &mut working => return worked,
        () = termination.requested() => {}
    }
    loop {
        handle.interrupt();
        if let Ok(worked) = tokio::time::timeout(INTERRUPT_EVERY, &mut working).await {
            return worked;
        }
    }
}

/// Waits for a complete frame. An error ends the connection, with a message or without.
async fn frame(connection: &mut Connection) -> Result<(), Option<PgError>> {
    let mut phase = connection.state.phase();
    let (until, idle_max, farewell) = match connection.block {
        Block::None | Block::Implicit => {
            let farewell = PgError::fatal("57P05", "terminating connection due to idle-session timeout");
            (Phase::Draining, connection.settings.milliseconds("idle_session_timeout"), farewell)
        }
        Block::Explicit | Block::Failed => {
            let farewell = PgError::fatal("25P03", "terminating connection due to idle-in-transaction timeout");
            (Phase::Stopping, connection.settings.milliseconds("idle_in_transaction_session_timeout"), farewell)
        }
    };
    let idle = async {
        match idle_max {
            Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
            None => std::future::pending().await,
        }
    };
    let mut idle = std::pin::pin!(idle);
    let mut termination = connection.key.termination();
    // An invalid frame is reported when it is handled.
    while matches!(connection.io.next_kind(), Ok(None)) {
        tokio::select! {
            // What arrives after the end of the session is not executed.
            biased;
            () = phase.reach(until) => return Err(Some(PgError::shutting_down())),
            () = termination.requested() => return Err(Some(PgError::shutting_down())),
            filled = connection.io.fill() => filled.map_err(|failure| match failure {
                Failure::Error(error) => Some(error),
                Failure::Gone => None,
            })?,
            () = &mut idle => return Err(Some(farewell)),
        }
    }
    Ok(())
}
