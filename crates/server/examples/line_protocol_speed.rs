//! How many lines of line protocol a server stores in a second of processor time.
//!
//! ```sh
//! cargo run --release -p atsdb-server --example line_protocol_speed -- [LINES] [CONNECTIONS] [LINES_PER_REQUEST]
//! ```
//!
//! The server is a process of its own, with a SQLite file and durability full. The lines are those of a known
//! benchmark: 4,000 hosts report every ten seconds, with ten tags and ten integers, which walk.

#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use atsdb::OpenOptions;
use atsdb_server::{Listening, Server, ServerOptions};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const HOSTS: u64 = 4_000;
const TICKS_PER_SECOND: f64 = 100.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "serve") {
        return serve(&arguments[1]);
    }
    let number = |at: usize, default: u64| arguments.get(at).map_or(default, |text| text.parse().unwrap());
    let (lines, connections, per_request) = (number(0, 1_000_000), number(1, 4), number(2, 10_000));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.db");
    let (child, address) = start(path.to_str().unwrap());
    let bodies: Vec<Vec<u8>> = bodies(lines, per_request);
    let byte_count: usize = bodies.iter().map(Vec::len).sum();
    println!(
        "{lines} lines of {} bytes, {connections} connections, {per_request} lines a request",
        byte_count as u64 / lines
    );
    let next = AtomicU64::new(0);
    let (begin, cpu_before) = (Instant::now(), cpu_seconds(&child.0));
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let mut stream = TcpStream::connect(&address).unwrap();
                stream.set_nodelay(true).unwrap();
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    post(&mut stream, body);
                }
            });
        }
    });
    let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds(&child.0) - cpu_before);
    drop(child);
    let database = OpenOptions::new().open(path.to_str().unwrap()).unwrap();
    let count = database.engine().tables().unwrap();
    // The write-ahead log included.
    let files = std::fs::read_dir(folder.path()).unwrap();
    let size: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    println!("{} table, {:.1} bytes a line in the store, before sealing", count.len(), size as f64 / lines as f64);
    println!("{:.0} lines a second of processor time, {:.0} values", lines as f64 / cpu, 10.0 * lines as f64 / cpu);
    println!("{:.0} lines a second, {wall:.2} s; {cpu:.2} s of processor time", lines as f64 / wall);
}

/// The server, until it is killed.
fn serve(path: &str) {
    let database = OpenOptions::new().create(true).open(path).unwrap();
    let options = ServerOptions { pg: None, http: Some("127.0.0.1:0".to_owned()), ..ServerOptions::default() };
    let server = Server::start(database, Listening::open(options).unwrap()).unwrap();
    println!("{}", server.http_address().unwrap());
    std::thread::park();
}

/// A process that ends with its value.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(path: &str) -> (Served, String) {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program).args(["serve", path]).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (Served(child), address.trim().to_owned())
}

/// The processor time of a process so far.
fn cpu_seconds(child: &Child) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / TICKS_PER_SECOND
}

fn bodies(lines: u64, per_request: u64) -> Vec<Vec<u8>> {
    let mut walks = vec![[50_u64; 10]; HOSTS as usize];
    let mut state = 7_u64;
    let names = ["user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];
    let mut bodies = Vec::new();
    let mut body = String::new();
    for line in 0..lines {
        let (host, step) = (line % HOSTS, line / HOSTS);
        let _ = write!(
            body,
            "cpu,hostname=host_{host},region=eu-central-{},datacenter=eu-central-{}a,rack={},os=Ubuntu16.10,arch=x64,\
             team=SF,service={},service_version={},service_environment=production ",
            host % 3,
            host % 3,
            host % 97,
            host % 19,
            host % 2
        );
        for (at, name) in names.iter().enumerate() {
            // A linear congruential step; its high bits are random enough.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let walk = &mut walks[host as usize][at];
            *walk = (*walk + (state >> 62)).saturating_sub(1).min(100);
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(body, "{comma}usage_{name}={walk}i");
        }
        let _ = writeln!(body, " {}", 1_451_606_400_000_000_000 + step * 10_000_000_000);
        if (line + 1) % per_request == 0 || line + 1 == lines {
            bodies.push(std::mem::take(&mut body).into_bytes());
        }
    }
    bodies
}

/// Sends a request and waits until its lines are durable.
fn post(stream: &mut TcpStream, body: &[u8]) {
    let head = format!("POST /write?db=d HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4_096];
    while !answer.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the server has ended");
        answer.extend_from_slice(&buffer[..read]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 204"), "{}", String::from_utf8_lossy(&answer));
}
