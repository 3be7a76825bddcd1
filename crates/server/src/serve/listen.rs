//! Opening the addresses of a server.

use atsdb::{Error, ErrorKind, Result};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// Listens on `HOST:PORT`. The host must be this machine: without users and TLS, everybody who reaches the address may
/// do everything.
pub(super) fn listen(flag: &str, address: &str) -> Result<TcpListener> {
    let wrong = |what: String| Error::usage(format!("{flag} {address}: {what}"));
    let found: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|error| wrong(error.to_string()).with_hint("write HOST:PORT, as 127.0.0.1:8086"))?
        .collect();
    if let Some(outside) = found.iter().find(|address| !address.ip().is_loopback()) {
        return Err(wrong(format!("{} is not an address of this machine alone", outside.ip()))
            .with_hint("a server without users and TLS listens on 127.0.0.1 or [::1]; reach it through a tunnel"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_to() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let error = listen("--pg", address).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert!(error.to_string().contains("without users and TLS"), "{error}");
        }
        assert!(listen("--pg", "nonsense").unwrap_err().to_string().contains("HOST:PORT"));
        let first = listen("--pg", "127.0.0.1:0").unwrap();
        let taken = first.local_addr().unwrap().to_string();
        assert!(listen("--http", &taken).unwrap_err().to_string().contains("another process listens"), "{taken}");
    }
}
