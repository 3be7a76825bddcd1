//! Accepting connections, of all protocols.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// How long a client may take for the TLS handshake.
pub(crate) const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(30);

/// The pause after an error when accepting, such as having no file handles left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Waits for the next connection, and retries after an error.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}
