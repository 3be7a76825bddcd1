//! Bytes that no driver sends.

use super::client::{Client, Code, Status, connect, descriptor, ingestion, served, served_with, status, ticket};
use arrow::array::{ArrayRef, Int32Array, NullArray, RecordBatch, StringArray};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::{Any, CommandPreparedStatementQuery, CommandStatementSubstraitPlan, ProstMessageExt};
use arrow_flight::{Action, FlightData, FlightDescriptor, Ticket};
use atsdb_server::{IngestOptions, ServerOptions};
use atsdb_testkit::clock::wait_until;
use prost::Message;
use std::sync::Arc;
use tonic::transport::Channel;

fn sensors(count: i32) -> RecordBatch {
    let ids = Arc::new(Int32Array::from_iter_values(100..100 + count)) as _;
    let names = Arc::new(StringArray::from_iter_values((0..count).map(|number| format!("n{number}")))) as _;
    RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
}

fn flight(client: &mut Client) -> FlightServiceClient<Channel> {
    client.sql.inner_mut().clone()
}

/// A few pseudorandom bytes; the same each time.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn no_ticket_and_no_descriptor_harms() {
    let served = served(&[]);
    let mut client = connect(&served);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    drop(runtime);
    for seed in 0..50 {
        let bytes = noise(seed, (seed % 40) as usize);
        assert!(client.rows(Ticket::new(bytes.clone())).is_err());
        assert!(client.rows(ticket(&bytes)).is_err());
        let mut flight = flight(&mut client);
        client.runtime.block_on(async {
            assert!(flight.get_flight_info(FlightDescriptor::new_cmd(bytes.clone())).await.is_err());
            assert!(flight.get_schema(FlightDescriptor::new_cmd(bytes.clone())).await.is_err());
            let prepared = CommandPreparedStatementQuery { prepared_statement_handle: bytes.clone().into() };
            assert!(flight.get_flight_info(descriptor(&prepared.as_any())).await.is_err());
            for action in ["CreatePreparedStatement", "BeginTransaction", "EndTransaction", "CancelFlightInfo", "x"] {
                let body = if bytes.is_empty() { vec![255] } else { bytes.clone() };
                let done = flight.do_action(Action::new(action, body)).await;
                // Bytes may be a message of which all fields are unknown.
                assert!(done.is_err() || action == "CancelFlightInfo", "{action} {bytes:?}");
            }
        });
    }
    let error = client.rows(ticket(b"")).unwrap_err();
    assert_eq!(error.message(), "this is not a handle or a ticket of this server");
    let mut flight = flight(&mut client);
    let plan = CommandStatementSubstraitPlan { plan: None, transaction_id: None };
    let error = client.runtime.block_on(flight.get_flight_info(descriptor(&plan.as_any()))).unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::Unimplemented, "CommandStatementSubstraitPlan is not supported")
    );
    let path = FlightDescriptor::new_path(vec!["readings".to_owned()]);
    let error = client.runtime.block_on(flight.get_flight_info(path)).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    let unknown = Any { type_url: "type.googleapis.com/x.Y".to_owned(), value: Vec::new().into() };
    let error = client.runtime.block_on(flight.get_flight_info(descriptor(&unknown))).unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    assert_eq!(client.number("SELECT count(*) FROM sensors"), 2);
}

#[test]
fn rows_that_are_damaged_are_refused_as_a_whole() {
    let served = served(&[]);
    let mut client = connect(&served);
    let rows = sensors(100);
    let good = ingestion("sensors", &rows.schema(), &[rows.clone(), rows.slice(0, 0)]);
    let mut refused = 0;
    for seed in 0..200_u64 {
        let mut messages = good.clone();
        let damaged = &mut messages[(seed % 2) as usize];
        let at = noise(seed, 2);
        let header = damaged.data_header.to_vec();
        let place = (usize::from(at[0]) << 8 | usize::from(at[1])) % header.len();
        let mut header = header;
        header[place] ^= 1 << (seed % 8);
        damaged.data_header = header.into();
        // Damage may also change nothing that counts, as in padding; then the rows are stored whole.
        match client.put(messages) {
            Err(_) => refused += 1,
            Ok(()) => {
                assert_eq!(served.count("sensors") % 100, 2, "all rows or none");
                client.update("DELETE FROM sensors WHERE id >= 100 OR id < 0").unwrap();
            }
        }
        assert_eq!(served.count("sensors WHERE id IN (1, 2)"), 2);
        client.update("DELETE FROM sensors WHERE id NOT IN (1, 2)").unwrap();
    }
    assert!(refused > 20, "{refused}");
    for messages in [
        vec![],
        vec![FlightData::default()],
        vec![good[1].clone()],
        vec![good[0].clone(), good[0].clone()],
        vec![good[0].clone(), FlightData::default().with_data_header(vec![255; 100])],
        vec![good[0].clone(), FlightData { data_body: Vec::new().into(), ..good[1].clone() }],
    ] {
        assert!(client.put(messages).is_err());
    }
    let wrong = RecordBatch::try_from_iter([("other", Arc::new(Int32Array::from(vec![1])) as _)]).unwrap();
    let error = client.put(ingestion("sensors", &wrong.schema(), &[wrong])).unwrap_err();
    assert!(error.message().contains("other"), "{error}");
    assert_eq!(served.count("sensors"), 2);
}

#[test]
fn rows_that_have_no_bytes_are_refused_before_there_is_memory_for_them() {
    let served = served(&[]);
    let mut client = connect(&served);
    let nulls: ArrayRef = Arc::new(NullArray::new(1 << 40));
    let rows = RecordBatch::try_from_iter_with_nullable([("id", nulls, true)]).unwrap();
    let error = client.put(ingestion("sensors", &rows.schema(), &[rows])).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("more rows than it has bytes for"), "{error}");
    assert_eq!(served.count("sensors"), 2);
}

#[test]
fn a_message_that_is_too_large_is_refused() {
    let ingest = IngestOptions { body_bytes_max: 64 << 10, ..IngestOptions::default() };
    let served = served_with(&[], ServerOptions { ingest, ..ServerOptions::default() });
    let mut client = connect(&served);
    let rows = sensors(10_000);
    let error = client.put(ingestion("sensors", &rows.schema(), &[sensors(5), rows])).unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::ResourceExhausted, "the message is larger than 65536 bytes"));
    assert_eq!(served.count("sensors"), 2);
    let long = format!("SELECT '{}'", "x".repeat(70 << 10));
    assert_eq!(client.info(&long).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(client.number("SELECT count(*) FROM sensors"), 2);
}

#[test]
fn a_request_that_is_broken_off_stores_nothing() {
    let served = served(&[]);
    let mut client = connect(&served);
    let rows = sensors(1_000);
    let messages = ingestion("sensors", &rows.schema(), &[rows]);
    let mut flight = flight(&mut client);
    let (sender, mut taken) = tokio::sync::mpsc::channel(1);
    let request = futures::stream::unfold(messages.into_iter(), move |mut rest| {
        let sender = sender.clone();
        async move {
            match rest.next() {
                Some(message) => Some((message, rest)),
                None => {
                    let _ = sender.send(()).await;
                    // The end is never sent.
                    std::future::pending().await
                }
            }
        }
    });
    let call = client.runtime.spawn(async move { flight.do_put(request).await.map(drop) });
    // All rows are under way, and the statement runs.
    client.runtime.block_on(taken.recv()).unwrap();
    let is_listed =
        || crate::client::get_text(served.server.http_address().unwrap(), "/api/statements").contains("COPY");
    wait_until("the statement is listed", is_listed);
    call.abort();
    wait_until("the statement has ended", || !is_listed());
    assert_eq!(served.count("sensors"), 2);
    // The same with the whole connection.
    drop(client);
    let mut client = connect(&served);
    assert_eq!(client.number("SELECT count(*) FROM sensors"), 2);
}

#[test]
fn a_failed_request_fails_its_transaction() {
    let served = served(&[]);
    let mut client = connect(&served);
    let id = client.runtime.block_on(client.sql.begin_transaction()).unwrap();
    let rows = sensors(10);
    let mut messages = ingestion("sensors", &rows.schema(), &[rows.clone(), rows]);
    let command = Any::decode(messages[0].flight_descriptor.as_ref().unwrap().cmd.clone()).unwrap();
    let mut command: arrow_flight::sql::CommandStatementIngest = command.unpack().unwrap().unwrap();
    command.transaction_id = Some(id.clone());
    messages[0].flight_descriptor = Some(descriptor(&command.as_any()));
    // The second batch has keys that the first one has.
    let error: Status = client.put(messages).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists, "{error}");
    let later = client.runtime.block_on(client.sql.execute_update("DELETE FROM sensors".to_owned(), Some(id.clone())));
    assert_eq!(status(later.unwrap_err()).code(), Code::FailedPrecondition);
    let ended = client.runtime.block_on(client.sql.end_transaction(id, arrow_flight::sql::EndTransaction::Commit));
    assert!(status(ended.unwrap_err()).message().contains("nothing is stored"));
    assert_eq!(served.count("sensors"), 2);
}
