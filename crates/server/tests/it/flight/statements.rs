//! Statements, parameters, transactions and cancelling.

use super::client::{Code, connect, served, served_with, status};
use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow_flight::CancelFlightInfoRequest;
use arrow_flight::CancelStatus;
use arrow_flight::sql::EndTransaction;
use atsdb_server::{ServerOptions, StatementOptions};
use atsdb_testkit::clock::wait_until;
use futures::TryStreamExt;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_query_is_described_and_its_rows_follow() {
    let served = served(&[]);
    let mut client = connect(&served);
    let info = client.info("SELECT sensor, count FROM readings ORDER BY count").unwrap();
    let schema = info.clone().try_decode_schema().unwrap();
    let rows = client.rows(info.endpoint[0].ticket.clone().unwrap()).unwrap();
    assert_eq!(rows[0].schema().fields(), schema.fields());
    assert_eq!(rows[0].column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["s1", "s2", "s1"]);
    // A ticket may be shown twice, but a change happens once, and before its client hears of it.
    assert_eq!(client.rows(info.endpoint[0].ticket.clone().unwrap()).unwrap(), rows);
    let info = client.info("INSERT INTO sensors VALUES (3, 's3', 1)").unwrap();
    assert_eq!((info.endpoint.len(), info.total_records), (0, 1));
    assert_eq!(served.count("sensors"), 3);
    assert_eq!(client.update("UPDATE sensors SET height = 2").unwrap(), 3);
    assert_eq!(client.update("CREATE TABLE made (id INT)").unwrap(), -1);
    let error = client.info("BEGIN").unwrap_err();
    assert!(error.message().contains("actions of Flight SQL"), "{error}");
    assert_eq!(client.info("SELECT 1; SELECT 2").unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn errors_have_codes_and_the_usual_text() {
    let served = served(&[]);
    let mut client = connect(&served);
    for (text, code, part) in [
        ("SELEC 1", Code::InvalidArgument, "syntax error"),
        ("SELECT * FROM nothing", Code::InvalidArgument, "nothing"),
        ("DROP TABLE nothing", Code::InvalidArgument, "no table named"),
        ("CREATE TABLE sensors (id INT)", Code::AlreadyExists, "sensors"),
        ("INSERT INTO sensors VALUES (1, 'x', 1)", Code::AlreadyExists, "sensors"),
        ("INSERT INTO sensors (id) VALUES (9)", Code::InvalidArgument, "name"),
        ("SELECT * FROM '/etc/passwd'", Code::InvalidArgument, ""),
        ("COPY sensors FROM '/etc/passwd'", Code::InvalidArgument, ""),
    ] {
        let error = client.query(text).unwrap_err();
        assert!(error.code() == code && error.message().contains(part), "{text}: {error}");
    }
    // An error in the middle of the rows.
    let error = client.query("SELECT 1 / (value - 200000) FROM generate_series(1, 300000) AS t(value)").unwrap_err();
    assert!(error.code() == Code::InvalidArgument && error.message().contains("division by zero"), "{error}");
}

#[test]
fn values_are_bound_to_parameters() {
    let served = served(&[]);
    let mut client = connect(&served);
    let text = "SELECT count FROM readings WHERE count >= $1 ORDER BY count";
    let mut prepared = client.runtime.block_on(client.sql.prepare(text.to_owned(), None)).unwrap();
    assert_eq!(prepared.parameter_schema().unwrap().fields().len(), 1);
    for (least, expected) in [(2, vec![2, 3]), (3, vec![3])] {
        let values = RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(vec![least])) as _)]).unwrap();
        prepared.set_parameters(values).unwrap();
        let info = client.runtime.block_on(prepared.execute()).unwrap();
        let rows = client.rows(info.endpoint[0].ticket.clone().unwrap()).unwrap();
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().values().to_vec(), expected);
    }
    // A row of values for each execution.
    let values = RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(vec![3, 2])) as _)]).unwrap();
    prepared.set_parameters(values).unwrap();
    let info = client.runtime.block_on(prepared.execute()).unwrap();
    let rows = client.rows(info.endpoint[0].ticket.clone().unwrap()).unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 1 + 2);
    // More than a handle may have.
    let values = RecordBatch::try_from_iter([("$1", Arc::new(Int64Array::from(vec![1; 300_000])) as _)]).unwrap();
    prepared.set_parameters(values).unwrap();
    let error = status(client.runtime.block_on(prepared.execute()).unwrap_err());
    assert!(error.message().contains("ingest them into a table"), "{error}");
    // Without values.
    let prepared = client.runtime.block_on(client.sql.prepare(text.to_owned(), None)).unwrap();
    let mut prepared = prepared;
    let info = client.runtime.block_on(prepared.execute()).unwrap();
    let error = client.rows(info.endpoint[0].ticket.clone().unwrap()).unwrap_err();
    assert!(error.message().contains("parameter"), "{error}");
}

#[test]
fn transactions_commit_and_roll_back() {
    let served = served(&[]);
    let mut client = connect(&served);
    for (ending, expected) in [(EndTransaction::Rollback, 2), (EndTransaction::Commit, 3)] {
        let id = client.runtime.block_on(client.sql.begin_transaction()).unwrap();
        let insert = "INSERT INTO sensors VALUES (3, 's3', 1)".to_owned();
        assert_eq!(client.runtime.block_on(client.sql.execute_update(insert, Some(id.clone()))).unwrap(), 1);
        assert_eq!(served.count("sensors"), 2);
        client.runtime.block_on(client.sql.end_transaction(id.clone(), ending)).unwrap();
        assert_eq!(served.count("sensors"), expected);
        let late =
            client.runtime.block_on(client.sql.execute_update("DELETE FROM sensors".to_owned(), Some(id.clone())));
        assert_eq!(status(late.unwrap_err()).code(), Code::NotFound);
        let late = client.runtime.block_on(client.sql.end_transaction(id.clone(), EndTransaction::Commit));
        assert_eq!(status(late.unwrap_err()).code(), Code::NotFound);
        client.runtime.block_on(client.sql.end_transaction(id, EndTransaction::Rollback)).unwrap();
    }
}

#[test]
fn a_query_is_cancelled_by_its_client() {
    let served = served(&[]);
    let mut client = connect(&served);
    let endless = "SELECT count(*) FROM generate_series(1, 10000000000) AS t(value) WHERE value % 7 = 8";
    let info = client.info(endless).unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let mut reader = connect(&served);
    let reading = std::thread::spawn(move || reader.rows(ticket));
    let cancel = || CancelFlightInfoRequest::new(info.clone());
    // It begins at some time.
    wait_until("the query is cancelled", || {
        let request = cancel();
        let mut flight = arrow_flight::FlightClient::new_from_inner(client.sql.inner_mut().clone());
        let result = client.runtime.block_on(flight.cancel_flight_info(request)).unwrap();
        matches!(result.status(), CancelStatus::Cancelled)
    });
    assert_eq!(reading.join().unwrap().unwrap_err().code(), Code::Cancelled);
}

#[test]
fn a_client_that_goes_away_stops_its_query() {
    let hold_time = Duration::from_secs(300);
    let statements = StatementOptions { running_max: 1, hold_time, ..StatementOptions::default() };
    let served = served_with(&[], ServerOptions { statements, ..ServerOptions::default() });
    let mut client = connect(&served);
    let info = client.info("SELECT value FROM generate_series(1, 10000000000) AS t(value)").unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    client.runtime.block_on(async {
        let mut rows = client.sql.do_get(ticket).await.unwrap();
        assert!(rows.try_next().await.unwrap().is_some());
    });
    // There is one permit, which is free when the query has ended.
    assert_eq!(client.number("SELECT count(*) FROM sensors"), 2);
    drop(client);
    let mut client = connect(&served);
    assert_eq!(client.number("SELECT count(*) FROM sensors"), 2);
}
