//! A server in a process of its own, what it needs, and requests to it.

use atsdb::OpenOptions;
use atsdb_server::{Listening, Server, ServerOptions};
use postgres::{Client, NoTls};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tempfile::TempDir;

const TICKS_PER_SECOND: f64 = 100.0;

/// A server with a store of its own. Its process ends with the value.
pub(crate) struct Served {
    child: Child,
    folder: TempDir,
    pg: String,
    pub(crate) http: String,
}

/// The time that some work took, in seconds: elapsed, and of the server's processor.
pub(crate) struct Measured {
    wall: f64,
    cpu: f64,
}

/// The server, until it is killed.
pub(crate) fn serve(path: &str) {
    let database = OpenOptions::new().create(true).open(path).unwrap();
    let any = Some("127.0.0.1:0".to_owned());
    let options = ServerOptions { pg: any.clone(), http: any, ..ServerOptions::default() };
    let server = Server::start(database, Listening::open(options).unwrap()).unwrap();
    println!("{} {}", server.pg_address().unwrap(), server.http_address().unwrap());
    std::thread::park();
}

impl Served {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("serve").arg(folder.path().join("speed.db"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut addresses = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut addresses).unwrap();
        let (pg, http) = addresses.trim().split_once(' ').unwrap();
        Self { child, folder, pg: pg.to_owned(), http: http.to_owned() }
    }

    /// Connects by PostgreSQL's protocol.
    pub(crate) fn connect(&self) -> Client {
        let (host, port) = self.pg.split_once(':').unwrap();
        Client::connect(&format!("host={host} port={port} user=me dbname=air"), NoTls).unwrap()
    }

    /// Measures some work: its duration, and the processor time of the server.
    pub(crate) fn measure(&self, work: impl FnOnce()) -> Measured {
        let (begin, before) = (Instant::now(), self.cpu_seconds());
        work();
        Measured { wall: begin.elapsed().as_secs_f64(), cpu: self.cpu_seconds() - before }
    }

    fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / TICKS_PER_SECOND
    }

    /// Sends bodies over several connections, and waits until all are stored.
    pub(crate) fn post_all(&self, path: &str, headers: &str, bodies: &[Vec<u8>], connections: u64) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    let mut stream = TcpStream::connect(&self.http).unwrap();
                    stream.set_nodelay(true).unwrap();
                    while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                        post(&mut stream, path, headers, body);
                    }
                });
            }
        });
    }

    /// Ends the server, and returns the bytes of its files, the write-ahead log included.
    pub(crate) fn file_bytes(mut self) -> u64 {
        self.end();
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

impl Measured {
    /// Prints how many of something the work had in a second.
    pub(crate) fn print(&self, count: u64, what: &str) {
        let (count, Self { wall, cpu }) = (count as f64, self);
        println!("{:.0} {what} a second of processor time", count / cpu);
        println!("{:.0} {what} a second, {wall:.2} s; {cpu:.2} s of processor time", count / wall);
    }
}

/// Sends a request, and waits until what it brings is stored.
fn post(stream: &mut TcpStream, path: &str, headers: &str, body: &[u8]) {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4_096];
    while !answer.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the server has ended");
        answer.extend_from_slice(&buffer[..read]);
    }
    // Answers to what is stored have no body.
    assert!(answer.starts_with(b"HTTP/1.1 204"), "{}", String::from_utf8_lossy(&answer));
}
