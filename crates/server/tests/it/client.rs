//! A server in this process, and a minimal client.

use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb::sql::{Answer, SessionOptions};
use atsdb::{Database, OpenOptions};
use atsdb_server::{IngestOptions, Listening, Server, ServerOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server on a store in memory, with a port of its own.
pub(crate) struct TestServer {
    pub(crate) database: Database,
    pub(crate) address: SocketAddr,
    _server: Server,
}

pub(crate) fn server() -> TestServer {
    server_with(IngestOptions::default())
}

pub(crate) fn server_with(ingest: IngestOptions) -> TestServer {
    let database = OpenOptions::new().open("memory:").unwrap();
    serve(database, ingest)
}

pub(crate) fn serve(database: Database, ingest: IngestOptions) -> TestServer {
    let http = Some("127.0.0.1:0".to_owned());
    let options = ServerOptions { pg: None, http, ingest, ..ServerOptions::default() };
    let server = Server::start(database.clone(), Listening::open(options).unwrap()).unwrap();
    TestServer::of(database, server)
}

/// A response of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl TestServer {
    /// A server that was started otherwise.
    pub(crate) fn of(database: Database, server: Server) -> Self {
        Self { database, address: server.http_address().unwrap(), _server: server }
    }

    pub(crate) fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.send("POST", path, &[], body)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "")
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
        send(self.address, method, path, headers, body.as_ref())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Returns the rows of a query, each as one text.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        rows(&self.database, sql)
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    stream
}

/// Returns the body of a GET.
pub(crate) fn get_text(address: SocketAddr, path: &str) -> String {
    send(address, "GET", path, &[], &[]).text().to_owned()
}

pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    head += &format!("Content-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    let mut stream = connect(address);
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // If the server refuses a body, it does not read all of it.
    let _ = stream.write_all(body);
    reply(stream)
}

pub(crate) fn rows(database: &Database, sql: &str) -> Vec<String> {
    let session = database.session(SessionOptions::default()).unwrap();
    let statement = session.statements(sql).next().unwrap().unwrap();
    let Answer::Rows(answer) = session.execute(&statement, &[]).unwrap() else { panic!("{sql} has no rows") };
    let mut rows = Vec::new();
    for batch in answer {
        let batch = batch.unwrap();
        let options = FormatOptions::default().with_null("NULL");
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" | "));
        }
    }
    rows
}

/// Reads a response until the end of the connection.
pub(crate) fn reply(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert!(!bytes.is_empty(), "no answer: {error}");
    }
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    let mut body = bytes[end + 4..].to_vec();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Reply { status, head, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        let start = end + 2;
        body.extend_from_slice(&rest[start..start + length]);
        rest = &rest[start + length + 2..];
    }
    body
}
