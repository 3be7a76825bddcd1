//! Users: their roles, their tickets and their transactions.

use super::client::{Code, connect, connect_as, ingestion, served, status};
use arrow::array::{AsArray, Int32Array, RecordBatch, StringArray};
use arrow_flight::sql::EndTransaction;
use atsdb_server::Role;
use std::sync::Arc;

const USERS: [(&str, Role, &str); 3] =
    [("reader", Role::Read, "r-pass"), ("writer", Role::Write, "w-pass"), ("boss", Role::Admin, "b-pass")];

#[test]
fn nobody_gets_in_without_credentials() {
    let served = served(&USERS);
    let error = connect(&served).info("SELECT 1").unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated);
    assert_eq!(error.message(), "the server has users: send a token, or a name and a password");
    let error = connect_as(&served, "reader", "wrong").info("SELECT 1").unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::Unauthenticated, "the user, the password or the token is wrong")
    );
    assert!(connect_as(&served, "reader", "r-pass").info("SELECT 1").is_ok());
}

#[test]
fn a_statement_knows_its_user() {
    let served = served(&USERS);
    let text = "SELECT current_user || ' ' || session_user";
    for (name, password) in [("reader", "r-pass"), ("boss", "b-pass")] {
        let mut client = connect_as(&served, name, password);
        let found = client.query(text).unwrap();
        assert_eq!(found[0].column(0).as_string::<i32>().value(0), format!("{name} {name}"));
        let id = client.runtime.block_on(client.sql.begin_transaction()).unwrap();
        let info = client.runtime.block_on(client.sql.execute(text.to_owned(), Some(id))).unwrap();
        let found = client.rows(info.endpoint[0].ticket.clone().unwrap()).unwrap();
        assert_eq!(found[0].column(0).as_string::<i32>().value(0), format!("{name} {name}"));
    }
}

#[test]
fn a_ticket_gives_nobody_rights() {
    let served = served(&USERS);
    let (mut boss, mut reader) = (connect_as(&served, "boss", "b-pass"), connect_as(&served, "reader", "r-pass"));
    let info = boss.info("DELETE FROM sensors RETURNING id").unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let error = reader.rows(ticket.clone()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert_eq!(error.message(), "permission denied: the role read may not change anything");
    assert_eq!(served.count("sensors"), 2);
    assert_eq!(boss.rows(ticket).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
    assert_eq!(served.count("sensors"), 0);
}

#[test]
fn a_transaction_belongs_to_its_user() {
    let served = served(&USERS);
    let (mut boss, mut writer) = (connect_as(&served, "boss", "b-pass"), connect_as(&served, "writer", "w-pass"));
    let id = boss.runtime.block_on(boss.sql.begin_transaction()).unwrap();
    let insert = |text: &str| text.to_owned();
    boss.runtime.block_on(boss.sql.execute_update(insert("DELETE FROM sensors"), Some(id.clone()))).unwrap();
    let foreign = writer.runtime.block_on(writer.sql.execute_update(insert("DELETE FROM sensors"), Some(id.clone())));
    assert_eq!(status(foreign.unwrap_err()).code(), Code::NotFound);
    let foreign = writer.runtime.block_on(writer.sql.end_transaction(id.clone(), EndTransaction::Commit));
    assert_eq!(status(foreign.unwrap_err()).code(), Code::NotFound);
    // A rollback by another user does not touch it.
    writer.runtime.block_on(writer.sql.end_transaction(id.clone(), EndTransaction::Rollback)).unwrap();
    assert_eq!(served.count("sensors"), 2);
    boss.runtime.block_on(boss.sql.end_transaction(id, EndTransaction::Commit)).unwrap();
    assert_eq!(served.count("sensors"), 0);
}

#[test]
fn only_who_may_write_ingests() {
    let served = served(&USERS);
    let ids = Arc::new(Int32Array::from(vec![7])) as _;
    let rows =
        RecordBatch::try_from_iter([("id", ids), ("name", Arc::new(StringArray::from(vec!["s7"])) as _)]).unwrap();
    let messages = ingestion("sensors", &rows.schema(), &[rows]);
    let error = connect_as(&served, "reader", "r-pass").put(messages.clone()).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert_eq!(served.count("sensors"), 2);
    connect_as(&served, "writer", "w-pass").put(messages).unwrap();
    assert_eq!(served.count("sensors"), 3);
}
