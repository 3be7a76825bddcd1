//! Opening the addresses of a server.

use atsdb::{Error, ErrorKind, Result};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// The hint for an address that other machines can reach.
const HOW_TO_LISTEN_OUTSIDE: &str = "without users and TLS the server listens on 127.0.0.1 or [::1] only: add a user by atsdb user add, and name a \
     certificate by --tls-cert and --tls-key; or reach it through a tunnel";

/// Listens on `HOST:PORT`. Without TLS the host must be this machine.
pub(super) fn listen(flag: &str, address: &str, has_tls: bool) -> Result<TcpListener> {
    let wrong = |what: String| Error::usage(format!("{flag} {address}: {what}"));
    let found: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|error| wrong(error.to_string()).with_hint("write HOST:PORT, as 127.0.0.1:8086"))?
        .collect();
    if let Some(outside) = found.iter().find(|address| !address.ip().is_loopback() && !has_tls) {
        let message = format!("other machines can reach {}, and there is no TLS", outside.ip());
        return Err(wrong(message).with_hint(HOW_TO_LISTEN_OUTSIDE));
    }
    let listener = TcpListener::bind(found.as_slice()).map_err(|error| {
        let text = match error.kind() {
            io::ErrorKind::AddrInUse => "another process listens there".to_owned(),
            _ => error.to_string(),
        };
        let failed = Error::new(ErrorKind::Unavailable, format!("{flag} {address}: {text}")).with_source(error);
        failed.with_hint("name another port, or 0 for any that is free")
    })?;
    listener.set_nonblocking(true).map_err(|error| wrong(error.to_string()))?;
    Ok(listener)
}

/// The address of a listener that other machines can reach.
pub(super) fn outside_address(listener: &TcpListener) -> Option<SocketAddr> {
    listener.local_addr().ok().filter(|address| !address.ip().is_loopback())
}

/// The error for an address that other machines can reach if a database has no users.
pub(super) fn without_users(flag: &str, address: SocketAddr, database: Option<&str>) -> Error {
    let store = database.map_or_else(|| "the store".to_owned(), |name| format!("the database {name}"));
    let message = format!("{flag} {address}: other machines can reach this address, and {store} has no users");
    Error::usage(message).with_hint(HOW_TO_LISTEN_OUTSIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_to_without_tls() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let error = listen("--pg", address, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.to_string().contains("without users and TLS"), "{error}");
        }
        let outside = listen("--pg", "0.0.0.0:0", true).unwrap();
        let address = outside_address(&outside).unwrap();
        assert!(without_users("--pg", address, None).to_string().contains("no users"));
        assert!(listen("--pg", "nonsense", false).unwrap_err().to_string().contains("HOST:PORT"));
        let first = listen("--pg", "127.0.0.1:0", false).unwrap();
        assert!(outside_address(&first).is_none());
        let taken = first.local_addr().unwrap().to_string();
        assert!(
            listen("--http", &taken, false).unwrap_err().to_string().contains("another process listens there"),
            "{taken}"
        );
    }
}
