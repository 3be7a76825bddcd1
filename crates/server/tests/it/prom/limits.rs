//! Whatever clients send, memory is bounded, and a temporary problem is never a 4xx.

use super::client::Served;
use super::message::{Message, request_v1, series_v1};
use crate::client::reply;
use atsdb_server::IngestOptions;
use std::io::Write;
use std::time::{Duration, Instant};

fn small() -> IngestOptions {
    IngestOptions {
        body_bytes_max: 64 << 10,
        plain_bytes_max: 1 << 20,
        bytes_in_flight_max: 2 << 20,
        hold_time: Duration::from_secs(2),
        // Long enough for every client that keeps sending, also on a busy machine.
        read_time_max: Duration::from_secs(10),
    }
}

fn head(length: usize) -> String {
    format!(
        "POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Encoding: snappy\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

fn still_stores(served: &Served) {
    let good = request_v1(&[series_v1(&[("__name__", "ok")], &[(1, 1.0)])]);
    assert_eq!(served.write(&good.snappy()).status, 204);
}

#[test]
fn requests_beyond_any_limit_are_refused() {
    let served = Served::with(small());
    assert_eq!(served.write(&[0; 65 << 10]).status, 413, "as it is sent");
    let zeros = Message(vec![0; 4 << 20]).snappy();
    assert!(zeros.len() < 64 << 10 || served.write(&zeros).status == 413);
    // The body claims to be 1 GiB.
    assert_eq!(served.write(&[0x80, 0x80, 0x80, 0x80, 0x04, 0x00]).status, 413, "after decompression");
    // 100,000 empty samples take 200 kB in the request, and 2 MB in columns.
    let mut series = series_v1(&[("__name__", "m")], &[]);
    for _ in 0..100_000 {
        series = series.bytes(2, &[]);
    }
    let body = request_v1(&[series]).snappy();
    assert!(body.len() < 64 << 10, "{}", body.len());
    let reply = served.write(&body);
    assert_eq!(reply.status, 413, "decoded: {}", reply.text());
    // 200,000 buckets without observations take a byte each in the request, and eight in memory.
    let buckets = Message::default().packed(12, &[0; 200_000]);
    let body = request_v1(&[series_v1(&[("__name__", "m")], &[]).bytes(4, &buckets.0)]).snappy();
    assert!(body.len() < 64 << 10, "{}", body.len());
    let reply = served.write(&body);
    assert_eq!(reply.status, 413, "decoded: {}", reply.text());
    still_stores(&served);
}

#[test]
fn clients_without_room_and_slow_ones_are_asked_to_retry() {
    let served = Served::with(IngestOptions { bytes_in_flight_max: 32 << 10, ..small() });
    let hold = || -> Vec<_> {
        let held = |_| {
            let mut stream = served.0.connect();
            stream.write_all(head(8 << 10).as_bytes()).unwrap();
            stream.write_all(&vec![0; 7 << 10]).unwrap();
            stream
        };
        (0..10).map(held).collect()
    };
    let (begun, mut held_since, mut held) = (Instant::now(), Instant::now(), hold());
    // The room is used up a moment after they have sent, until the server gives them up. Others follow before that.
    let reply_to_large = loop {
        let reply = served.write(&[0; 20 << 10]);
        if reply.status == 503 || begun.elapsed() > Duration::from_secs(60) {
            break reply;
        }
        if held_since.elapsed() > small().read_time_max / 2 {
            (held_since, held) = (Instant::now(), hold());
        }
    };
    assert_eq!(reply_to_large.status, 503, "{}", reply_to_large.text());
    assert_eq!(reply_to_large.header("retry-after"), Some("5"));
    let statuses: Vec<u16> = held.into_iter().map(|stream| reply(stream).status).collect();
    assert_eq!(statuses, [503; 10], "also those that were slow: Prometheus drops what gets a 4xx");
    still_stores(&served);
}
