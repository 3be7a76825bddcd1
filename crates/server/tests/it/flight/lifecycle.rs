//! The answers of a server while it ends, and its counters.

use super::client::{Code, connect, served, status};
use arrow_flight::sql::EndTransaction;
use atsdb_testkit::clock::wait_until;
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn a_transaction_may_finish_while_the_server_drains() {
    let served = served(&[]);
    let mut client = connect(&served);
    let pg = served.pg();
    let id = client.runtime.block_on(client.sql.begin_transaction()).unwrap();
    let insert = "INSERT INTO sensors VALUES (3, 's3', 1)".to_owned();
    client.runtime.block_on(client.sql.execute_update(insert, Some(id.clone()))).unwrap();
    let (database, server, _folder) = served.into_parts();
    let drained = std::thread::spawn(move || server.shutdown(Duration::from_secs(300)).unwrap());
    wait_until("the server drains", || TcpStream::connect(pg).is_err());
    assert_eq!(client.info("SELECT 1").unwrap_err().message(), "the server is shutting down");
    let begun = client.runtime.block_on(client.sql.begin_transaction());
    assert_eq!(status(begun.unwrap_err()).code(), Code::Unavailable);
    let insert = "INSERT INTO sensors VALUES (4, 's4', 1)".to_owned();
    client.runtime.block_on(client.sql.execute_update(insert, Some(id.clone()))).unwrap();
    assert!(!drained.is_finished(), "a transaction is open");
    client.runtime.block_on(client.sql.end_transaction(id, EndTransaction::Commit)).unwrap();
    assert_eq!(drained.join().unwrap(), atsdb_server::Drained::Everything);
    let atsdb::sql::Answer::Rows(rows) = database.sql("SELECT id FROM sensors").unwrap() else { panic!() };
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 4);
}

#[test]
fn an_unused_transaction_does_not_delay_the_end() {
    let served = served(&[]);
    let mut client = connect(&served);
    client.runtime.block_on(client.sql.begin_transaction()).unwrap();
    let (_database, server, _folder) = served.into_parts();
    assert_eq!(server.shutdown(Duration::from_secs(300)).unwrap(), atsdb_server::Drained::Everything);
}

#[test]
fn statements_and_connections_are_counted() {
    let served = served(&[]);
    let mut client = connect(&served);
    client.query("SELECT 1").unwrap();
    let metrics = crate::client::get_text(served.server.http_address().unwrap(), "/metrics");
    assert!(metrics.contains("atsdb_grpc_connections 1\n"), "{metrics}");
    assert!(metrics.contains("atsdb_flight_ingested_rows_total 0\n"), "{metrics}");
    let counted = metrics.lines().find_map(|line| line.strip_prefix("atsdb_flight_statements_total "));
    assert!(counted.unwrap().parse::<u64>().unwrap() > 0, "{metrics}");
}
