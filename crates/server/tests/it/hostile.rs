//! Frames that only a hostile client sends: an error or a closed connection, never a panic or a hang.

use crate::support::Served;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

pub(crate) const STARTUP: &[u8] = b"\0\0\0\x1e\0\x03\0\0user\0me\0database\0air\0\0";

/// Returns the server's answer to some bytes, until the connection is closed.
pub(crate) fn answer(served: &Served, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(served.pg()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    // The server may already have closed the connection.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], length.as_slice(), body].concat()
}

fn has(answer: &[u8], text: &str) -> bool {
    answer.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A random generator with a fixed seed, so that failures can be repeated.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn nothing_that_comes_first_hangs_or_panics() {
    let served = Served::new();
    for length in 0..STARTUP.len() {
        answer(&served, &STARTUP[..length]);
    }
    for bytes in
        [&b"\x7f\xff\xff\xff\0\x03\0\0"[..], b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x08\0\x02\0\0"]
    {
        let found = answer(&served, bytes);
        assert!(found.is_empty() || has(&found, "FATAL"), "{bytes:?}");
    }
    let mut state = 7;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..next(&mut state) % 64).map(|_| next(&mut state) as u8).collect();
        answer(&served, &bytes);
    }
    assert!(has(&answer(&served, STARTUP), "server_version"));
}

#[test]
fn nothing_that_follows_hangs_or_panics() {
    let served = Served::with_tables();
    for (bytes, code) in [
        (b"Q\x7f\xff\xff\xff".to_vec(), "08P01"),
        (b"Q\xff\xff\xff\xff".to_vec(), "08P01"),
        (b"?\0\0\0\x04".to_vec(), "08P01"),
        (message(b'Q', b"SELECT 1"), "08P01"),
        (message(b'Q', b"SELECT '\xff'\0"), "22021"),
        (message(b'B', b"\0\0\0\x01"), "08P01"),
        (message(b'B', b"\0nothing\0\0\0\0\0\0\0"), "26000"),
        (message(b'E', b"nothing\0\0\0\0\0"), "34000"),
        (message(b'D', b"Xa\0"), "08P01"),
        (message(b'p', b"secret\0"), "08P01"),
        (message(b'F', b""), "08P01"),
    ] {
        let found = answer(&served, &[STARTUP, &bytes].concat());
        assert!(has(&found, code), "{code}: {bytes:?}: {}", String::from_utf8_lossy(&found));
    }
    let parse = message(b'P', b"a\0SELECT count FROM readings WHERE count = $1\0\0\0");
    let bind = message(b'B', b"\0a\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x01\0\x01\0\x01");
    let script = [parse, bind, message(b'D', b"P\0"), message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat();
    let whole = answer(&served, &[STARTUP, &script].concat());
    assert!(has(&whole, "SELECT 1"), "{}", String::from_utf8_lossy(&whole));
    let mut state = 11;
    for _ in 0..300 {
        let mut bytes = script.clone();
        let flips = 1 + next(&mut state) % 3;
        for _ in 0..flips {
            let at = next(&mut state) as usize % bytes.len();
            bytes[at] = next(&mut state) as u8;
        }
        bytes.truncate(bytes.len() - next(&mut state) as usize % 8);
        answer(&served, &[STARTUP, &bytes].concat());
    }
    let copy = message(b'Q', b"COPY sensors FROM STDIN BINARY\0");
    for _ in 0..100 {
        let piece: Vec<u8> = (0..next(&mut state) % 64).map(|_| next(&mut state) as u8).collect();
        let data = [b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", piece.as_slice()].concat();
        answer(&served, &[STARTUP, &copy, &message(b'd', &data), &message(b'c', b"")].concat());
    }
    assert_eq!(served.count("sensors"), 2);
    let metrics = answer_http(&served, "/metrics");
    assert!(metrics.contains("atsdb_pg_connections 0"), "{metrics}");
}

#[test]
fn after_a_wrong_value_the_connection_continues() {
    let served = Served::with_tables();
    // A simple query is answered to its end, also if its text is not UTF-8.
    let queries = [message(b'Q', b"SELECT '\xff'\0"), message(b'Q', b"SELECT 41 + 1\0")].concat();
    let found = answer(&served, &[STARTUP, &queries].concat());
    let text = String::from_utf8_lossy(&found).into_owned();
    assert!(has(&found, "C22021") && has(&found, "SELECT 1"), "{text}");
    let ready = found.windows(6).filter(|window| *window == b"Z\0\0\0\x05I").count();
    assert_eq!(ready, 3, "after the start and after both queries: {text}");
    // A binary value is shorter and longer than its type.
    let parse = message(b'P', b"a\0SELECT count FROM readings WHERE count = $1\0\0\0");
    for value in [&b"\0\0\0\x03\0\0\x01"[..], b"\0\0\0\x09\0\0\0\0\0\0\0\x01\0"] {
        let bind = message(b'B', &[b"\0a\0\0\x01\0\x01\0\x01", value, b"\0\0"].concat());
        let sync = message(b'S', b"");
        let script = [STARTUP, &parse, &bind, &sync, &message(b'Q', b"SELECT 41 + 1\0")].concat();
        let found = answer(&served, &script);
        let text = String::from_utf8_lossy(&found).into_owned();
        assert!(has(&found, "C08P01") && has(&found, "SELECT 1") && !has(&found, "FATAL"), "{text}");
    }
}

fn answer_http(served: &Served, path: &str) -> String {
    // A connection ends a moment after its client does.
    let begun = Instant::now();
    loop {
        let mut stream = TcpStream::connect(served.server.http_address().unwrap()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        if text.contains("atsdb_pg_connections 0") || begun.elapsed() > Duration::from_secs(300) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_wrong_secret_cancels_nothing() {
    let served = Served::new();
    assert!(answer(&served, b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\0").is_empty());
    assert!(has(&answer(&served, STARTUP), "server_version"));
}
