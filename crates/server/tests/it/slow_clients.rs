//! Clients that stand still, in the middle of an answer or of a message: others are served, and memory stays bounded.

use crate::client::reply;
use crate::kills::Killed;
use crate::support::Served;
use atsdb_server::{IngestOptions, ServerOptions, StatementOptions};
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Few bytes, so that all of them may wait.
const NARROW: &str = "SELECT value FROM generate_series(1, 100000000)";

const LONG: &str = "SELECT value, 'some text for the width of a row' FROM generate_series(1, 100000000)";

/// More than is on the way to a client.
const PART_BYTES: u64 = 32 << 20;

fn ask(address: &str, sql: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let head = "POST /api/sql?format=csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{sql}", sql.len()).unwrap();
    stream
}

fn connect(address: &str) -> Client {
    let (host, port) = address.rsplit_once(':').unwrap();
    Client::connect(&format!("host={host} port={port} user=me dbname=air"), NoTls).unwrap()
}

#[test]
fn five_hundred_that_do_not_read_deny_nothing_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let served = Killed::start(&folder.path().join("air.db"));
    let mut slow: Vec<TcpStream> = (0..500).map(|_| ask(&served.http, NARROW)).collect();
    // Every answer has begun, and there are more than permits.
    for stream in &mut slow {
        stream.read_exact(&mut [0; 16]).unwrap();
    }
    assert!(reply(ask(&served.http, "SELECT 1 AS one")).text().ends_with("one\n1\n"));
    assert_eq!(connect(&served.pg).query_one("SELECT 2", &[]).unwrap().get::<_, i32>(0), 2);
    // One that reads gets its rows.
    ask(&served.http, NARROW).read_exact(&mut vec![0; 8 << 20]).unwrap();
    if let Some(kilobytes) = served.status("VmRSS") {
        assert!(kilobytes < 2 << 20, "the server has {kilobytes} kB");
    }
}

#[test]
fn clients_of_postgresql_that_do_not_read_deny_nothing_to_others() {
    let statements =
        StatementOptions { running_max: 2, hold_time: Duration::from_secs(300), ..StatementOptions::default() };
    let served = Served::with_options(&[], ServerOptions { statements, ..ServerOptions::default() });
    served.create_tables();
    let address = served.pg().to_string();
    let slow: Vec<TcpStream> = (0..8).map(|_| raw(served.pg(), &query(LONG))).collect();
    // Rows that come slowly, too.
    let copies: Vec<TcpStream> = (0..8).map(|_| raw(served.pg(), &query("COPY sensors FROM STDIN"))).collect();
    let mut client = connect(&address);
    assert_eq!(client.query_one("SELECT count(*) FROM sensors", &[]).unwrap().get::<_, i64>(0), 2);
    drop((slow, copies));
}

#[test]
fn what_waits_for_clients_is_limited() {
    // Half of it is for statements that wait for their clients: a few of these.
    let statements = StatementOptions {
        memory_bytes: 16 << 20,
        running_max: 2,
        // The last one waits until all others have filled what is on the way to their clients.
        hold_time: Duration::from_secs(300),
        ..StatementOptions::default()
    };
    let served = Served::with_options(&[], ServerOptions { statements, ..ServerOptions::default() });
    let address = served.server.http_address().unwrap().to_string();
    let slow: Vec<TcpStream> = (0..40).map(|_| ask(&address, LONG)).collect();
    assert!(reply(ask(&address, "SELECT 1 AS one")).text().ends_with("one\n1\n"));
    // The statement that has waited for longest is ended: its client reads what was sent, and then the end.
    let has_ended = |stream: TcpStream| {
        let mut part = Vec::new();
        // A connection that is reset has ended, too.
        stream.take(PART_BYTES).read_to_end(&mut part).is_err() || (part.len() as u64) < PART_BYTES
    };
    assert!(slow.into_iter().any(has_ended), "clients that stand still do not make the server hold more and more");
}

#[test]
fn half_sent_frames_are_limited_and_end() {
    let ingest = IngestOptions {
        bytes_in_flight_max: 4 << 20,
        hold_time: Duration::from_millis(300),
        // All clients have come before this is over, also on a busy machine.
        read_time_max: Duration::from_secs(10),
        ..IngestOptions::default()
    };
    let served = Served::with_options(&[], ServerOptions { ingest, ..ServerOptions::default() });
    served.create_tables();
    let text = format!("SELECT '{}'", "x".repeat(1 << 20));
    let whole = query(&text);
    let half = &whole[..whole.len() - 10];
    let address = served.pg();
    let mut streams: Vec<TcpStream> = (0..3).map(|_| raw(address, half)).collect();
    std::thread::scope(|scope| {
        let others: Vec<_> = (3..40).map(|_| scope.spawn(move || raw(address, half))).collect();
        streams.extend(others.into_iter().map(|client| client.join().unwrap()));
    });
    // Small messages need no room.
    let mut client = connect(&served.pg().to_string());
    assert_eq!(client.query_one("SELECT count(*) FROM sensors", &[]).unwrap().get::<_, i64>(0), 2);
    let ends: Vec<String> = streams.into_iter().map(end_of).collect();
    let count = |code: &str| ends.iter().filter(|end| end.contains(code)).count();
    // A client that finds no room gets an error; one that has some must keep sending.
    let (refused, ended) = (count("C53200"), count("C08006"));
    assert!(refused > 20 && refused + ended == 40, "{refused} refused, {ended} ended");
    assert_eq!(client.simple_query(&text).unwrap().len(), 3, "there is room again");
}

#[test]
fn rows_of_copy_that_are_not_whole_are_limited() {
    let ingest =
        IngestOptions { bytes_in_flight_max: 4 << 20, hold_time: Duration::from_secs(2), ..IngestOptions::default() };
    let served = Served::with_options(&[], ServerOptions { ingest, ..ServerOptions::default() });
    served.create_tables();
    // Small frames, a row without an end.
    let piece = message(b'd', &vec![b'x'; 32 << 10]);
    let begin = query("COPY sensors (name) FROM STDIN");
    let held: Vec<TcpStream> = (0..4).map(|_| raw(served.pg(), &[begin.clone(), piece.repeat(31)].concat())).collect();
    // One more, which needs nearly all, is refused as soon as one of those has its room.
    let end_of_one_more = || {
        let mut more = raw(served.pg(), &[begin.clone(), piece.repeat(120)].concat());
        let _ = more.write_all(&message(b'X', b""));
        end_of(more)
    };
    let end = (0..200).map(|_| end_of_one_more()).find(|end| !end.contains("C08P01"));
    assert!(end.as_ref().is_some_and(|end| end.contains("C53200")), "{end:?}");
    drop(held);
    // Complete rows are stored early, whatever there is.
    let mut client = connect(&served.pg().to_string());
    let mut writer = client.copy_in("COPY sensors (id, name) FROM STDIN").unwrap();
    for id in 10..200_010 {
        writeln!(writer, "{id}\tsensor {id}").unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 200_000);
    assert_eq!(client.simple_query("SELECT * FROM nowhere").unwrap_err().code(), Some(&SqlState::UNDEFINED_TABLE));
}

#[test]
fn rows_of_copy_that_wait_for_the_store_are_counted() {
    let ingest = IngestOptions {
        bytes_in_flight_max: 4 << 20,
        hold_time: Duration::from_millis(300),
        ..IngestOptions::default()
    };
    let served = Served::with_options(&[], ServerOptions { ingest, ..ServerOptions::default() });
    let address = served.pg();
    let mut client = connect(&address.to_string());
    client.batch_execute("CREATE TABLE long (id INT, name TEXT) WITH (time = 'none')").unwrap();
    client.batch_execute("SELECT pg_advisory_lock(7)").unwrap();
    // The store takes the first batch, shows that by a lock, and then waits for the other lock.
    let begin = query("COPY long FROM STDIN WHERE pg_advisory_lock(8) IS NOT NULL AND pg_advisory_lock(7) IS NOT NULL");
    let row = |id: usize| message(b'd', format!("{id:010}\t{}\n", "x".repeat((32 << 10) - 12)).as_bytes());
    let rows: Vec<u8> = (0..140).flat_map(row).collect();
    let copy = [begin, rows, message(b'c', b""), message(b'X', b"")].concat();
    let copying = std::thread::spawn(move || end_of(raw(address, &copy)));
    let taken = "SELECT count(*) FROM pg_locks WHERE objid = 8 AND granted";
    while client.query_one(taken, &[]).unwrap().get::<_, i64>(0) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let long = [query(&format!("SELECT '{}'", "x".repeat(1 << 20))), message(b'X', b"")].concat();
    let refused = end_of(raw(address, &long));
    assert!(refused.contains("C53200"), "the rows have the memory: {refused:.200}");
    client.batch_execute("SELECT pg_advisory_unlock(7)").unwrap();
    // It has waited for longer than others may.
    assert!(copying.join().unwrap().contains("COPY 140"));
    assert!(!end_of(raw(address, &long)).contains("C53200"), "there is room again");
    assert_eq!(client.query_one("SELECT count(*) FROM long", &[]).unwrap().get::<_, i64>(0), 140);
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], length.as_slice(), body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// A connection of PostgreSQL's protocol that sends some bytes after its start. The server takes them all, or ends the
/// connection, which writing then reports.
fn raw(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"\0\0\0\x1e\0\x03\0\0user\0me\0database\0air\0\0").unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(300))).unwrap();
    let _ = stream.write_all(bytes);
    stream
}

fn end_of(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let mut answer = Vec::new();
    // A connection that is reset has said why before.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
