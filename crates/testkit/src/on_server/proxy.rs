//! A proxy between a store and its server that counts bytes and breaks connections.

use crate::clock;
use crate::server::USER;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// The fate of the next COMMIT that passes, or of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum AtCommit {
    Pass,
    /// The server never sees it.
    BreakBefore,
    /// The server executes it, and its answer is lost.
    BreakAfter,
    /// The connection breaks after the client's next message.
    BreakNow,
    /// No client is served.
    Gone,
    /// The COMMIT is held back, with all that its client sends afterwards, until another value is set.
    Freeze,
    /// Like `Freeze`, for the statement that takes a lease, before which a row was locked but nothing was changed.
    FreezeLease,
    /// A message is being held back.
    Frozen,
    /// All bytes that clients send are held back.
    Mute,
}

const PAUSE: Duration = Duration::from_millis(5);
const LEASE: &[u8] = b"UPDATE atsdb_lease";

/// A port that forwards to that of a server.
#[derive(Clone)]
pub(super) struct Proxy {
    port: u16,
    to_client: Arc<AtomicU64>,
    at_commit: Arc<AtomicU8>,
    has_read: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts a proxy for the server of a URL, and returns it with a URL that goes through it.
    pub(super) fn to(url: &str) -> (Self, String) {
        let server = port_of(url);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Self { port, to_client: Arc::default(), at_commit: Arc::default(), has_read: Arc::default() };
        let shared = proxy.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(std::result::Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                if shared.what() != AtCommit::Gone as u8 {
                    relay(client, server, &shared);
                }
            }
        });
        let url = url.replace(&format!(":{server}/"), &format!(":{}/", proxy.port));
        (proxy, url)
    }

    /// The number of bytes sent from the server to the client since the last call.
    pub(super) fn take_bytes(&self) -> u64 {
        self.to_client.swap(0, Ordering::Relaxed)
    }

    pub(super) fn set(&self, what: AtCommit) {
        self.at_commit.store(what as u8, Ordering::Relaxed);
    }

    /// Returns whether the configured event has happened.
    pub(super) fn is_done(&self) -> bool {
        self.what() == AtCommit::Pass as u8
    }

    /// Waits until a message is held back.
    pub(super) fn wait_until_frozen(&self) {
        while self.what() != AtCommit::Frozen as u8 {
            clock::sleep(PAUSE);
        }
    }

    /// Holds back what a client has sent, as long as the settings require it.
    fn keep(&self, sent: &[u8], is_commit: bool) {
        let is_lease = || sent.windows(LEASE.len()).any(|words| words == LEASE);
        let (what, of_lease) = (self.what(), AtCommit::FreezeLease as u8);
        if (is_commit && what == AtCommit::Freeze as u8) || (what == of_lease && is_lease()) {
            self.set(AtCommit::Frozen);
            while self.what() == AtCommit::Frozen as u8 {
                clock::sleep(PAUSE);
            }
        }
        while self.what() == AtCommit::Mute as u8 {
            clock::sleep(PAUSE);
        }
    }

    fn what(&self) -> u8 {
        self.at_commit.load(Ordering::Relaxed)
    }

    /// Returns whether the user's name or the names of the store's tables have passed unencrypted.
    pub(super) fn has_read(&self) -> bool {
        self.has_read.load(Ordering::Relaxed)
    }
}

fn port_of(url: &str) -> u16 {
    let authority = url.rsplit('@').next().unwrap();
    authority.split(['/', ':']).nth(1).unwrap().parse().unwrap()
}

fn relay(client: TcpStream, server: TcpStream, proxy: &Proxy) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_server, mut client_again) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let (counted, proxy) = (Arc::clone(&proxy.to_client), proxy.clone());
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from_server.read(&mut buffer) {
            counted.fetch_add(count as u64, Ordering::Relaxed);
            if client_again.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = client_again.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let (mut client, mut server) = (client, server);
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            let sent = &buffer[..count];
            let is_commit = sent.windows(6).any(|word| word == b"COMMIT") && count < 64;
            if sent.windows(6).any(|word| word == b"atsdb_" || word == USER.as_bytes()) {
                proxy.has_read.store(true, Ordering::Relaxed);
            }
            proxy.keep(sent, is_commit);
            let what = proxy.what();
            let (now, gone) = (what == AtCommit::BreakNow as u8, what == AtCommit::Gone as u8);
            if what < AtCommit::Freeze as u8 && what != AtCommit::Pass as u8 && (is_commit || now || gone) {
                if !gone {
                    proxy.set(AtCommit::Pass);
                }
                let _ = client.shutdown(Shutdown::Both);
                if what == AtCommit::BreakAfter as u8 {
                    let _ = server.write_all(sent);
                    // The server's answer is discarded, but there is a pause, so that the server has read the message.
                    clock::sleep(Duration::from_millis(50));
                }
                break;
            }
            if server.write_all(sent).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}
