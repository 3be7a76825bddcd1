//! The answers of a server while it ends.

use crate::support::Served;
use atsdb_testkit::clock::wait_until;
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    // Without `Connection: close`: the server ends the connection by itself.
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns whether somebody listens at an address. A connection to a free port may get the same port for its own end:
/// then it is connected to itself.
fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok_and(|stream| stream.local_addr().ok() != stream.peer_addr().ok())
}

#[test]
fn a_server_that_drains_says_so_until_its_end() {
    let served = Served::with_tables();
    let (pg, http) = (served.pg(), served.server.http_address().unwrap());
    let mut client = Client::connect(&format!("host=127.0.0.1 port={} user=me dbname=air", pg.port()), NoTls).unwrap();
    client.batch_execute("BEGIN; INSERT INTO sensors VALUES (3, 's3', NULL)").unwrap();
    let (database, server, _folder) = served.into_parts();
    let drained = std::thread::spawn(move || server.shutdown(Duration::from_secs(300)).unwrap());
    // A connection that came before the server drains stays open.
    wait_until("the server drains", || !listens(pg));
    let ready = get(http, "/ready");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("\"the server is shutting down\""), "{ready}");
    assert!(get(http, "/health").starts_with("HTTP/1.1 200"));
    let refused = get(http, "/api/sql?sql=SELECT+1");
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after"), "{refused}");
    assert!(!drained.is_finished(), "a transaction is open");
    // The connection ends after that, which the client may hear of first.
    let committed = client.batch_execute("COMMIT");
    assert!(committed.is_ok() || committed.unwrap_err().code() == Some(&SqlState::ADMIN_SHUTDOWN));
    assert_eq!(drained.join().unwrap(), atsdb_server::Drained::Everything);
    assert!(!listens(http));
    let rows = database.sql("SELECT name FROM sensors WHERE id = 3").unwrap();
    let atsdb::sql::Answer::Rows(rows) = rows else { panic!() };
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
}
