//! `atsdb serve`: acknowledged lines exist exactly once after the server was killed.

use crate::support::Case;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of times that the server is killed. `ATSDB_KILLS` sets a larger number.
const KILLS: u64 = 6;
const LINES_PER_BATCH: u64 = 40;

struct Served {
    child: Child,
    http: String,
}

impl Served {
    fn start(case: &Case) -> Self {
        let arguments = ["serve", "air.db", "--pg", "off", "--http", "127.0.0.1:0"];
        let mut child = case.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let http = lines.find_map(|line| line.unwrap().strip_prefix("http://").map(str::to_owned)).unwrap();
        Self { child, http }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Sends SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a batch and returns the status, or `None` if the connection closed before.
fn send(http: &str, path: &str, headers: &str, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(http).ok()?;
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// Returns the lines of a batch. They go into a table without a key, where a line that is stored twice shows, and into
/// one that the lines create.
fn lines(batch: u64) -> String {
    let line = |number: u64| {
        format!("log batch={batch}i,n={number}i {number}\nmade,host=h{number},batch={batch} n={number}i {batch}\n")
    };
    (0..LINES_PER_BATCH).map(line).collect()
}

#[test]
fn every_acknowledged_line_is_there_once_after_kills_and_resends() {
    let case = Case::new();
    let kills: u64 = std::env::var("ATSDB_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    case.run(&["sql", "air.db", "CREATE TABLE log (time TIMESTAMP(9), batch BIGINT, n BIGINT)"]).well();
    let next = AtomicU64::new(0);
    let mut unanswered: Vec<u64> = Vec::new();
    for round in 0..kills {
        let served = Served::start(&case);
        let http = served.http.clone();
        // Unanswered batches are sent again under the same name.
        for batch in unanswered.drain(..) {
            let named = format!("X-Atsdb-Batch: batch {batch}\r\n");
            assert_eq!(send(&http, "/write?db=d", &named, &lines(batch)), Some(204));
        }
        let writers = std::thread::scope(|scope| {
            let writer = || {
                loop {
                    let batch = next.fetch_add(1, Ordering::Relaxed);
                    let named = format!("X-Atsdb-Batch: batch {batch}\r\n");
                    match send(&http, "/write?db=d", &named, &lines(batch)) {
                        Some(status) => assert_eq!(status, 204),
                        None => return batch,
                    }
                }
            };
            let writers: Vec<_> = (0..3).map(|_| scope.spawn(writer)).collect();
            std::thread::sleep(Duration::from_millis(150 + round * 37 % 200));
            drop(served);
            writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        unanswered.extend(writers);
    }
    let served = Served::start(&case);
    for batch in unanswered {
        let named = format!("X-Atsdb-Batch: batch {batch}\r\n");
        assert_eq!(send(&served.http, "/write?db=d", &named, &lines(batch)), Some(204));
    }
    drop(served);
    let sent = next.load(Ordering::Relaxed);
    assert!(sent > kills, "only {sent} batches");
    let wrong = "SELECT batch, count(*) AS lines FROM log GROUP BY 1 HAVING count(*) <> 40 OR count(DISTINCT n) <> 40";
    assert_eq!(case.run(&["sql", "air.db", wrong, "--format", "csv"]).well().text(), "batch,lines\n");
    let counts = "SELECT count(DISTINCT batch) AS b, (SELECT count(*) FROM made) AS m FROM log";
    let expected = format!("b,m\n{sent},{}\n", sent * LINES_PER_BATCH);
    assert_eq!(case.run(&["sql", "air.db", counts, "--format", "csv"]).well().text(), expected);
    case.run(&["verify", "air.db"]).well();
}
