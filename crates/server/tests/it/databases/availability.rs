//! A failure of one database does not affect the others.

use super::several::{NAMES, Several, any_ports, basic};
use crate::flight::client::connect_to;
use atsdb::{Error, ErrorKind};
use atsdb_server::{DatabaseSource, Drained, Listening, Role, Server, ServerOptions, StatementOptions, UserStore};
use postgres::error::SqlState;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tonic::Code;

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";

/// A database whose store cannot be opened until `is_there` says so.
fn missing(name: &str, is_there: &Arc<AtomicBool>) -> DatabaseSource {
    let is_there = Arc::clone(is_there);
    DatabaseSource::named(name, move || match is_there.load(Ordering::SeqCst) {
        true => atsdb::open("memory:"),
        false => Err(Error::new(ErrorKind::Unavailable, "its server does not answer")),
    })
    .unwrap()
}

#[test]
fn a_store_that_cannot_be_opened_is_tried_again() {
    let is_there = Arc::new(AtomicBool::new(false));
    let sources =
        vec![DatabaseSource::named("air", || atsdb::open("memory:")).unwrap(), missing("machines", &is_there)];
    let server = Server::start_all(sources, Listening::open(any_ports(ServerOptions::default())).unwrap()).unwrap();
    let http = server.http_address().unwrap();
    let post = |path: &str| crate::client::send(http, "POST", path, &[], b"SELECT 1");
    let port = server.pg_address().unwrap().port();
    let connect = |name: &str| {
        let keywords = format!("host=127.0.0.1 port={port} user=me dbname={name}");
        postgres::Client::connect(&keywords, postgres::NoTls)
    };
    assert_eq!(
        (post("/api/sql?db=air").status, crate::client::send(http, "GET", "/ready", &[], b"").status),
        (200, 200)
    );
    let unavailable = post("/api/sql?db=machines");
    assert_eq!((unavailable.status, unavailable.header("retry-after")), (503, Some("5")));
    assert!(unavailable.text().contains("database machines is not available"), "{unavailable:?}");
    assert!(!unavailable.text().contains("does not answer"), "why is for the log: {unavailable:?}");
    let error = connect("machines").map(drop).unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::CANNOT_CONNECT_NOW), "{error}");
    assert!(connect("air").is_ok());
    let metrics = crate::client::get_text(http, "/metrics");
    assert!(metrics.contains("atsdb_database_up{database=\"machines\"} 0"), "{metrics}");
    is_there.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    while post("/api/sql?db=machines").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(300), "it does not become available");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(connect("machines").is_ok());
    assert!(crate::client::get_text(http, "/metrics").contains("atsdb_database_up{database=\"machines\"} 1"));
}

#[test]
fn a_client_must_log_in_to_learn_that_a_store_is_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let air = atsdb::open(folder.path().join("air").to_str().unwrap()).unwrap();
    UserStore::new(air.clone()).add("anna", Role::Read, Some("a-pass")).unwrap();
    let air = DatabaseSource::named("air", move || Ok(air.clone())).unwrap();
    let sources = vec![air, missing("machines", &Arc::new(AtomicBool::new(false)))];
    let server = Server::start_all(sources, Listening::open(any_ports(ServerOptions::default())).unwrap()).unwrap();
    // Nobody learns from a failed login which names are databases. The users of a store that is not open are unknown,
    // so that one of them must not be told that the password is wrong.
    for name in ["machines", "nosuch"] {
        let path = format!("/api/sql?db={name}");
        let post = |headers: &[(&str, &str)]| {
            crate::client::send(server.http_address().unwrap(), "POST", &path, headers, b"SELECT 1")
        };
        let nobody = post(&[]);
        assert_eq!(nobody.status, 401, "{nobody:?}");
        let stranger = post(&[("Authorization", basic("boss", "b-pass").as_str())]);
        assert_eq!((stranger.status, stranger.header("retry-after")), (503, Some("5")), "{stranger:?}");
        assert!(!stranger.text().contains(name) && !nobody.text().contains(name), "{stranger:?}, {nobody:?}");
        let anna = post(&[("Authorization", basic("anna", "a-pass").as_str())]);
        assert_eq!(anna.status, if name == "machines" { 503 } else { 404 });
        assert!(anna.text().contains(name) && anna.text().contains("air"), "{anna:?}");

        let connect = |user: &str, password: &str| {
            let port = server.pg_address().unwrap().port();
            let keywords = format!("host=127.0.0.1 port={port} user={user} password={password} dbname={name}");
            let error = postgres::Client::connect(&keywords, postgres::NoTls).map(drop).unwrap_err();
            (error.code().cloned(), error.as_db_error().map_or_else(String::new, |error| error.message().to_owned()))
        };
        let (code, message) = connect("boss", "b-pass");
        assert_eq!(code, Some(SqlState::CANNOT_CONNECT_NOW), "{message}");
        assert!(!message.contains(name), "{message}");
        let (code, message) = connect("anna", "a-pass");
        assert_eq!(code == Some(SqlState::CANNOT_CONNECT_NOW), name == "machines", "{message}");
        assert!(message.contains(name), "{message}");

        let mut flight = connect_to(server.grpc_address().unwrap());
        flight.sql.set_header("database", name);
        assert_eq!(flight.info("SELECT 1").unwrap_err().code(), Code::Unauthenticated);
        flight.sql.set_header("authorization", basic("anna", "a-pass"));
        let refused = flight.info("SELECT 1").unwrap_err();
        assert_eq!(refused.code() == Code::Unavailable, name == "machines", "{refused}");
    }
}

#[test]
fn a_server_starts_if_one_store_can_be_opened() {
    let never = Arc::new(AtomicBool::new(false));
    let listening = || Listening::open(any_ports(ServerOptions::default())).unwrap();
    let none = vec![missing("air", &never), missing("machines", &never)];
    let error = Server::start_all(none, listening()).unwrap_err();
    assert!(error.to_string().contains("its server does not answer"), "{error}");
    let wrong = DatabaseSource::named("machines", || atsdb::open("nosuch://host/x")).unwrap();
    let sources = vec![DatabaseSource::named("air", || atsdb::open("memory:")).unwrap(), wrong];
    assert_eq!(Server::start_all(sources, listening()).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn all_databases_share_the_limits_of_statements() {
    // Long enough for the first statement, which waits for its permit while others come and go.
    let limits = StatementOptions { running_max: 1, hold_time: Duration::from_secs(2), ..StatementOptions::default() };
    let several = Several::with(&[], &[], ServerOptions { statements: limits, ..ServerOptions::default() });
    let mut air = several.connect("user=me dbname=air").unwrap();
    let cancel = air.cancel_token();
    std::thread::scope(|scope| {
        let running = scope.spawn(move || air.query_one(ENDLESS, &[]).map(drop).unwrap_err());
        let begun = Instant::now();
        while several.post("/api/sql?db=machines", "SELECT 1").status != 503 {
            assert!(begun.elapsed() < Duration::from_secs(300), "the statement of the other database does not count");
        }
        // Each database has a list of its own.
        let list = |name: &str| several.send("GET", &format!("/api/statements?db={name}"), &[], "").text().to_owned();
        assert!(list("air").contains("generate_series") && list("machines") == "[]");
        cancel.cancel_query(postgres::NoTls).unwrap();
        assert_eq!(running.join().unwrap().code(), Some(&SqlState::QUERY_CANCELED));
    });
    assert_eq!(several.post("/api/sql?db=machines", "SELECT 1").status, 200);
}

#[test]
fn shutting_down_drains_and_saves_all_databases() {
    let several = Several::new();
    let table = "CREATE TABLE latest (a INT PRIMARY KEY) WITH (engine = 'memory'); INSERT INTO latest VALUES (1), (2)";
    NAMES.iter().for_each(|name| several.execute(name, table));
    let mut open: Vec<_> = NAMES
        .iter()
        .map(|name| {
            let mut client = several.connect(&format!("user=me dbname={name}")).unwrap();
            client.batch_execute("CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)").unwrap();
            client
        })
        .collect();
    let Several { databases, server, folder } = several;
    let draining = std::thread::spawn(move || server.shutdown(Duration::from_secs(300)).unwrap());
    std::thread::sleep(Duration::from_millis(200));
    for client in &mut open {
        // The server then ends the connection. The client may see that before it sees the answer.
        if let Err(error) = client.batch_execute("COMMIT") {
            assert_eq!(error.code(), Some(&SqlState::ADMIN_SHUTDOWN));
        }
    }
    drop(open);
    assert_eq!(draining.join().unwrap(), Drained::Everything);
    drop(databases);
    for name in NAMES {
        let database = atsdb::open(folder.path().join(name).to_str().unwrap()).unwrap();
        assert_eq!(crate::client::rows(&database, "SELECT count(*) FROM t"), ["1"]);
        assert_eq!(crate::client::rows(&database, "SELECT count(*) FROM latest"), ["2"]);
    }
}
