//! All connections use the threads and the memory of one session, and the limits of statements hold for all protocols.

use crate::client::{self, TestServer};
use crate::kills::Killed;
use atsdb_server::{Listening, RoleLimits, Server, ServerOptions, StatementOptions};
use atsdb_testkit::clock::wait_until;
use postgres::error::SqlState;
use postgres::{Client, NoTls};
use std::net::SocketAddr;
use std::time::Duration;

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";

struct Limited {
    http: TestServer,
    pg: SocketAddr,
}

impl Limited {
    fn new(statements: StatementOptions) -> Self {
        let any = Some("127.0.0.1:0".to_owned());
        let options = ServerOptions { pg: any.clone(), http: any, statements, ..ServerOptions::default() };
        let database = atsdb::open("memory:").unwrap();
        let server = Server::start(database.clone(), Listening::open(options).unwrap()).unwrap();
        let pg = server.pg_address().unwrap();
        Self { http: TestServer::of(database, server), pg }
    }

    fn connect(&self) -> Client {
        connect(&self.pg.to_string())
    }
}

fn connect(address: &str) -> Client {
    let (host, port) = address.rsplit_once(':').unwrap();
    Client::connect(&format!("host={host} port={port} user=me dbname=air"), NoTls).unwrap()
}

#[test]
fn sixty_connections_have_the_threads_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let served = Killed::start(&folder.path().join("air.db"));
    let query = "SELECT sum(value) FROM generate_series(1, 1000)";
    let connected = || {
        let mut client = connect(&served.pg);
        assert_eq!(client.query_one(query, &[]).unwrap().get::<_, i64>(0), 500_500);
        client
    };
    let mut clients = vec![connected()];
    let Some(threads) = served.status("Threads") else {
        eprintln!("skipped: the system does not tell how many threads there are");
        return;
    };
    clients.extend((1..60).map(|_| connected()));
    // Threads that may block are used again. Each session of its own would have at least one more.
    let grown = served.status("Threads").unwrap().saturating_sub(threads);
    assert!(grown < 30, "{grown} more threads for {} connections", clients.len());
}

#[test]
fn the_memory_of_all_statements_is_limited() {
    let served = Limited::new(StatementOptions { memory_bytes: 64 << 20, ..StatementOptions::default() });
    let greedy = "SELECT array_length(array_agg(value)) FROM generate_series(1, 100000000)";
    let error = served.connect().simple_query(greedy).unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::OUT_OF_MEMORY), "{error:?}");
    let reply = served.http.post("/api/sql", greedy);
    assert_eq!(reply.status, 507, "{}", reply.text());
    assert_eq!(served.connect().query_one("SELECT 1", &[]).unwrap().get::<_, i32>(0), 1);
}

#[test]
fn queries_about_the_catalogue_have_the_limits_of_others() {
    let served = Limited::new(StatementOptions { memory_bytes: 64 << 20, ..StatementOptions::default() });
    let many_rows = "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c";
    let error = served.connect().simple_query(many_rows).unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::OUT_OF_MEMORY), "{error:?}");
    let time_limit = Some(Duration::from_millis(300));
    let served = Limited::new(StatementOptions { time_limit, ..StatementOptions::default() });
    // It needs little memory, so that its time is up first, on every machine.
    let few_rows = "SELECT count(*) FROM pg_attribute a WHERE (SELECT count(*) FROM pg_attribute b WHERE (SELECT \
                    count(*) FROM pg_attribute c WHERE c.attnum <> a.attnum + b.attnum) > 0) > 0";
    let error = served.connect().simple_query(few_rows).unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
}

#[test]
fn the_time_limit_holds_for_all_protocols() {
    // Long enough for SHOW and SET, also on a busy machine.
    let time_limit = Some(Duration::from_secs(2));
    let served = Limited::new(StatementOptions { time_limit, ..StatementOptions::default() });
    let mut client = served.connect();
    let limit: String = client.query_one("SHOW statement_timeout", &[]).unwrap().get(0);
    assert_eq!(limit, "2s");
    let error = client.simple_query(ENDLESS).unwrap_err();
    assert!(error.as_db_error().unwrap().message().contains("statement timeout"), "{error:?}");
    let reply = served.http.post("/api/sql", ENDLESS);
    assert!(reply.status == 507 && reply.text().contains("longer than 2s"), "{}", reply.text());
    // A client may set another one, and gets the server's back.
    client.batch_execute("SET statement_timeout = '1h'; RESET statement_timeout").unwrap();
    assert_eq!(client.simple_query(ENDLESS).unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
}

#[test]
fn no_client_raises_the_time_limit_of_its_role() {
    // Without users, everybody is an admin.
    let admin = RoleLimits { time_limit: Some(Duration::from_secs(2)), ..RoleLimits::default() };
    let served = Limited::new(StatementOptions { admin, ..StatementOptions::default() });
    let mut client = served.connect();
    client.batch_execute("SET statement_timeout = 0").unwrap();
    let error = client.simple_query(ENDLESS).unwrap_err();
    assert!(error.as_db_error().unwrap().message().contains("statement timeout"), "{error:?}");
    let reply = served.http.post("/api/sql", ENDLESS);
    assert!(reply.status == 507 && reply.text().contains("longer than 2s"), "{}", reply.text());
}

#[test]
fn a_statement_too_many_is_refused_whatever_its_protocol() {
    refuse_a_second_statement(StatementOptions { running_max: 1, ..StatementOptions::default() });
}

#[test]
fn a_statement_too_many_of_a_role_is_refused_whatever_its_protocol() {
    let admin = RoleLimits { running_max: Some(1), ..RoleLimits::default() };
    refuse_a_second_statement(StatementOptions { admin, ..StatementOptions::default() });
}

/// Checks that a second statement is refused while one runs.
fn refuse_a_second_statement(statements: StatementOptions) {
    // Long enough for the first statement, which waits for its permit while others come and go.
    let hold_time = Duration::from_secs(2);
    // Ends the first statement if an assertion fails meanwhile.
    let time_limit = Some(Duration::from_secs(600));
    let served = Limited::new(StatementOptions { hold_time, time_limit, ..statements });
    let mut idle = served.connect();
    idle.batch_execute("BEGIN; SELECT 1").unwrap();
    let mut running = served.connect();
    let cancel = running.cancel_token();
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| running.simple_query(ENDLESS).unwrap_err());
        wait_until("the statement is listed", || {
            let reply = served.http.get("/api/statements");
            assert_eq!(reply.status, 200, "{}", reply.text());
            reply.text() != "[]"
        });
        let mut other = served.connect();
        // It runs a moment after it is listed.
        let mut refusal = None;
        wait_until("another statement is refused", || {
            refusal = other.simple_query("SELECT 1 FROM generate_series(1, 2)").err();
            refusal.is_some()
        });
        let refused = refusal.unwrap();
        assert_eq!(refused.code(), Some(&SqlState::TOO_MANY_CONNECTIONS), "{refused:?}");
        for (path, body) in [("/api/sql", "SELECT 2"), ("/api/v1/query?query=1", "")] {
            let reply = served.http.post(path, body);
            assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")), "{}", reply.text());
        }
        let metrics = served.http.get("/metrics");
        assert!(metrics.text().contains("\natsdb_statements_refused_total 3\n"), "{}", metrics.text());
        // The catalogue needs no permit, nor does the end of a transaction.
        assert!(other.query("SELECT relname FROM pg_class", &[]).is_ok());
        idle.batch_execute("COMMIT").unwrap();
        cancel.cancel_query(NoTls).unwrap();
        assert_eq!(ended.join().unwrap().code(), Some(&SqlState::QUERY_CANCELED));
    });
    assert_eq!(client::rows(&served.http.database, "SELECT 1"), ["1"]);
    assert_eq!(served.http.post("/api/sql?format=csv", "SELECT 2 AS two").text(), "two\n2\n");
}
