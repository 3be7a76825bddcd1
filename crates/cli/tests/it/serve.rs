//! `atsdb serve`: addresses, readiness, shutdown.

use crate::support::Case;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A server, killed if it is still running when dropped.
struct Served {
    child: Child,
    http: String,
}

impl Served {
    fn start(case: &Case, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "air.db", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"], arguments].concat();
        let mut child = case.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let http = lines.find_map(|line| line.unwrap().strip_prefix("http://").map(str::to_owned)).unwrap();
        Self { child, http }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.http).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks the server to shut down, and returns the exit code and its output.
    fn end(mut self) -> (Option<i32>, String) {
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().unwrap();
        assert!(asked.success());
        let code = self.child.wait().unwrap().code();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (code, stderr)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_is_ready_once_it_says_so_and_ends_with_0() {
    let case = Case::new();
    let served = Served::start(&case, &[]);
    let ready = served.get("/ready");
    assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("\"status\":\"ready\""), "{ready}");
    assert!(served.get("/health").starts_with("HTTP/1.1 200"));
    assert!(served.get("/nothing").starts_with("HTTP/1.1 404"));
    let metrics = served.get("/metrics");
    let version = concat!("atsdb_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1");
    assert!(metrics.contains(version) && metrics.contains("atsdb_uptime_seconds "), "{metrics}");
    assert!(metrics.contains("atsdb_http_connections_total 4"), "{metrics}");
    assert_eq!(served.end(), (Some(0), String::new()));
    assert!(case.names().contains(&"air.db".to_owned()));
}

#[test]
fn a_connection_that_asks_nothing_does_not_hold_the_end_up() {
    let case = Case::new();
    let served = Served::start(&case, &["--drain", "1h"]);
    let mut idle = TcpStream::connect(&served.http).unwrap();
    assert!(served.get("/ready").starts_with("HTTP/1.1 200"));
    assert_eq!(served.end(), (Some(0), String::new()));
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn errors_name_what_cannot_be_served() {
    let case = Case::new();
    let served = Served::start(&case, &[]);
    case.run(&["serve", "other.db", "--pg", "127.0.0.1:0", "--http", &served.http])
        .failed(2, &["another process listens there"]);
    case.run(&["serve", "other.db", "--pg", "127.0.0.1:0", "--http", "0.0.0.0:0"])
        .failed(1, &["--http 0.0.0.0:0", "without users and TLS"]);
    case.run(&["serve", "other.db", "--pg", "127.0.0.1:0", "--http", "nonsense"]).failed(1, &["HOST:PORT"]);
    case.run(&["serve", "other.db", "--pg", "127.0.0.1:0", "--drain", "soon"]).failed(1, &["--drain"]);
    assert!(!case.names().contains(&"other.db".to_owned()));
    case.run(&["serve", "nowhere/air.db", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .failed(2, &["nowhere does not exist"]);
    case.run(&["serve", "missing.db", "--pg", "off", "--http", "127.0.0.1:0", "--read-only"])
        .failed(2, &["missing.db"]);
    case.run(&["serve", "ftp://air", "--pg", "off", "--http", "127.0.0.1:0"]).failed(1, &["unknown kind of store"]);
    case.run(&["serve", "other.db", "--pg", "off", "--http", "off"]).failed(1, &["all off", "at least one of them"]);
    assert!(!case.names().contains(&"other.db".to_owned()));
}
