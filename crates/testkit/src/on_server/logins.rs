//! Stores that cannot be opened, and stores that must not be written.

use super::subject::{Limits, NOW_MS, Subject};
use crate::sample::{Plan, series_table};
use crate::server::{self, PASSWORD, ServerKind, USER};
use atsdb_core::{Change, ErrorKind, Result, Store, TimeRange};

/// Returns the kind and the text of the error, which must not contain a password.
#[track_caller]
fn refused(subject: Subject, url: &str) -> (ErrorKind, String) {
    refusal((subject.open)(url))
}

#[track_caller]
fn refusal(opened: Result<Box<dyn Store>>) -> (ErrorKind, String) {
    let error = opened.expect_err("it cannot be opened");
    let mut text = format!("{error} {error:?}");
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text} {cause} {cause:?}");
        source = cause.source();
    }
    for secret in [PASSWORD, "pass%2Fword", "wr0ng"] {
        assert!(!text.contains(secret), "the password is shown: {text}");
    }
    (error.kind(), error.to_string())
}

/// Wrong passwords, unknown users, missing databases, no server: each error names the problem and what to do.
pub fn a_failed_open_is_reported_without_the_password(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let url = server.database();
    let database = url.rsplit('/').next().unwrap();
    let (kind, text) = refused(subject, &server.url(USER, "wr0ng", database));
    assert!(kind == ErrorKind::Unavailable && text.contains("ATSDB_PASSWORD"), "{text}");
    let (kind, text) = refused(subject, &server.url("nobody", "wr0ng", database));
    assert!(kind == ErrorKind::Unavailable && text.contains("login"), "{text}");
    let (kind, text) = refused(subject, &url.replace(database, "there_is_none"));
    assert!(matches!(kind, ErrorKind::NotFound | ErrorKind::Unavailable) && text.contains("there_is_none"), "{text}");
    assert!(text.contains("create"), "{text}");
    let free = server::free_port();
    let start = url.rfind(':').unwrap() + 1;
    // A server that does not answer may come back.
    let error = (subject.open_with)(&format!("{}{free}/{database}", &url[..start]), Limits::seconds(1, 60));
    let (kind, text) = refusal(error);
    assert!(kind == ErrorKind::Unavailable && text.contains("check that the server runs"), "{text}");
    let (kind, text) = refused(subject, &format!("{url}?sslmode=require"));
    assert!(kind == ErrorKind::Unavailable && text.contains("sslmode=disable"), "{text}");
    let (kind, _) = refused(subject, &format!("{url}?sslmode=perhaps"));
    assert_eq!(kind, ErrorKind::Usage);
    // The failed attempts have created nothing.
    let error = (subject.open_for_reading)(&url).expect_err("there is no store yet");
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

/// A user with read permission can read, and every write is refused as read-only.
pub fn every_write_of_a_user_without_rights_is_refused(subject: Subject) {
    let Some(server) = server::shared(subject.kind) else { return };
    let url = server.database();
    let database = url.rsplit('/').next().unwrap();
    let store = subject.opened(&url);
    let table = store.create_table(&series_table("t"), None).unwrap().id;
    let change = || Change { add: vec![Plan::new(1).chunk(table)], ..Change::default() };
    store.commit(&[change()], NOW_MS).unwrap().remove(0).unwrap();
    let reader = format!("reader_{database}");
    match subject.kind {
        ServerKind::Postgres => {
            server.ask(&url, &format!("CREATE ROLE {reader} LOGIN PASSWORD 'r'"));
            server.ask(&url, &format!("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}"));
        }
        ServerKind::Mariadb | ServerKind::Mysql => {
            server.administer(&format!("CREATE USER {reader}@'%' IDENTIFIED BY 'r'"));
            server.administer(&format!("GRANT SELECT ON {database}.* TO {reader}@'%'"));
        }
    }
    let reading = subject.opened(&server.url(&reader, "r", database));
    assert_eq!(reading.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap().len(), 1);
    let errors = [
        reading.commit(&[change()], NOW_MS).err(),
        reading.create_table(&series_table("u"), None).err(),
        reading.drop_table(table).err(),
        reading.open_stage(NOW_MS).err(),
        reading.acquire_lease("l", "h", NOW_MS, 1_000).err(),
    ];
    for error in errors {
        let error = error.expect("a reader writes nothing");
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    }
    assert_eq!(store.snapshot().unwrap().tables().unwrap().len(), 1);
    let polite = (subject.open_for_reading)(&url).unwrap();
    assert_eq!(polite.drop_table(table).unwrap_err().kind(), ErrorKind::ReadOnly);
}
