//! Whatever clients send, the server's memory is bounded and it keeps answering.

use crate::client::{TestServer, reply, server_with};
use atsdb_server::IngestOptions;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::time::{Duration, Instant};

fn small() -> IngestOptions {
    IngestOptions {
        body_bytes_max: 64 << 10,
        plain_bytes_max: 4 << 20,
        bytes_in_flight_max: 6 << 20,
        hold_time: Duration::from_secs(2),
        // Long enough for every client that keeps sending, also on a busy machine.
        read_time_max: Duration::from_secs(10),
    }
}

fn head(length: usize) -> String {
    format!("POST /write?db=d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
}

fn still_answers(server: &TestServer) {
    assert_eq!(server.post("/write?db=d", "ok v=1 1").status, 204);
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let server = server_with(small());
    let reply = server.post("/write?db=d", vec![b'\n'; 65 << 10]);
    assert_eq!(reply.status, 413);
    let reply = server.post("/api/v2/write?bucket=b", vec![b'\n'; 65 << 10]);
    assert!(reply.text().contains("request too large"), "{}", reply.text());
    // Without a length, the size is noticed as the body arrives.
    let mut stream = server.connect();
    stream
        .write_all(
            b"POST /write?db=d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .unwrap();
    for _ in 0..80 {
        let _ = stream.write_all(format!("400\r\n{}\r\n", "\n".repeat(1_024)).as_bytes());
    }
    assert_eq!(reply_of(stream), 413);
    still_answers(&server);
}

fn reply_of(stream: std::net::TcpStream) -> u16 {
    reply(stream).status
}

#[test]
fn a_small_body_that_grows_large_is_refused() {
    let server = server_with(small());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        encoder.write_all(&vec![b'\n'; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    // Each member of the gzip file turns 64 KiB into 64 MiB.
    assert!(bomb.len() < 65 << 10, "{}", bomb.len());
    let gzip = [("Content-Encoding", "gzip")];
    assert_eq!(server.send("POST", "/write?db=d", &gzip, &bomb[..bomb.len().min(64 << 10)]).status, 413);
    still_answers(&server);
}

#[test]
fn clients_without_room_are_asked_to_retry() {
    let server = server_with(IngestOptions { bytes_in_flight_max: 32 << 10, ..small() });
    // Ten clients use up all of the room: they have sent much and do not finish.
    let hold = || -> Vec<_> {
        let held = |_| {
            let mut stream = server.connect();
            stream.write_all(head(8 << 10).as_bytes()).unwrap();
            stream.write_all(&vec![b'\n'; 7 << 10]).unwrap();
            stream
        };
        (0..10).map(held).collect()
    };
    let (begun, mut held_since, mut held) = (Instant::now(), Instant::now(), hold());
    // The room is used up a moment after they have sent, until the server gives them up. Others follow before that.
    let reply = loop {
        let reply = server.post("/write?db=d", vec![b'\n'; 20 << 10]);
        if reply.status == 503 || begun.elapsed() > Duration::from_secs(60) {
            break reply;
        }
        if held_since.elapsed() > small().read_time_max / 2 {
            (held_since, held) = (Instant::now(), hold());
        }
    };
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(reply.header("retry-after"), Some("5"));
    let statuses: Vec<u16> = held.into_iter().map(reply_of).collect();
    assert!(statuses.iter().all(|status| [408, 503].contains(status)), "{statuses:?}");
    still_answers(&server);
}

#[test]
fn slow_writers_do_not_hold_up_others() {
    let server = server_with(small());
    let slow: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(head(1_000).as_bytes()).unwrap();
            stream.write_all(b"m v=1").unwrap();
            stream
        })
        .collect();
    still_answers(&server);
    for stream in slow {
        assert_eq!(reply_of(stream), 408);
    }
    assert_eq!(server.rows("SELECT count(*) FROM atsdb.tables WHERE name = 'm'"), ["0"]);
}
