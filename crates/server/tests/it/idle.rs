//! Connections that wait cost little.

use crate::kills::Killed;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The maximum memory of an idle connection, in bytes: buffers, settings, a task.
const BYTES_MAX: u64 = 64 << 10;

/// A client that has logged in.
fn connect(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    stream.write_all(b"\0\0\0\x1e\0\x03\0\0user\0me\0database\0air\0\0").unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 1024];
    // Until the server is ready for a query.
    while !answer.ends_with(b"Z\0\0\0\x05I") {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&part[..count]);
    }
    stream
}

/// Returns how many files this process may open, or `None` where the system does not report it.
fn files_max() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    text.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn thousands_of_idle_connections_are_cheap() {
    let count: usize = std::env::var("ATSDB_TEST_CONNECTIONS").map_or(2_000, |text| text.parse().unwrap());
    // Other tests of this process open files, too.
    let count = files_max().map_or(count, |files| count.min(files / 4));
    let folder = tempfile::tempdir().unwrap();
    let served = Killed::with_connections(&folder.path().join("air.db"), count + 100);
    let few: Vec<TcpStream> = (0..50).map(|_| connect(&served.pg)).collect();
    let measured = |name: &str| served.status(name);
    let (Some(kilobytes), Some(threads)) = (measured("VmRSS"), measured("Threads")) else {
        eprintln!("skipped: the system does not tell what a process uses");
        return;
    };
    let many: Vec<TcpStream> = (50..count).map(|_| connect(&served.pg)).collect();
    let grown = measured("VmRSS").unwrap().saturating_sub(kilobytes) * 1024 / many.len() as u64;
    assert!(grown < BYTES_MAX, "{grown} bytes for each of {count} connections");
    let threads_now = measured("Threads").unwrap();
    assert!(threads_now < threads + 50, "{threads_now} threads for {count} connections, {threads} for 50");
    // All of them are there, and the server answers.
    for mut stream in [&few[0], &many[many.len() - 1]] {
        stream.write_all(b"Q\0\0\0\x0dSELECT 1\0").unwrap();
        let mut kind = [0];
        stream.read_exact(&mut kind).unwrap();
        assert_eq!(&kind, b"T");
    }
}
