//! kill -9, or a shutdown, while rows arrive in each possible way: acknowledged rows exist, and exactly once after
//! unanswered batches were sent again.

use crate::client::rows;
use crate::flight::client::{Code, try_connect_to};
use crate::prom::message::{request_v1, series_v1};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::ipc::writer::StreamWriter;
use atsdb_server::{IngestOptions, Listening, Server, ServerOptions, StatementOptions};
use parking_lot::Mutex;
use serde_json::json;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of times that a server is killed for each way. `ATSDB_KILLS` sets a larger number.
const KILLS: u64 = 3;
const ROWS_PER_BATCH: i64 = 40;
/// The store of the server that a test kills.
const STORE: &str = "ATSDB_KILLED_STORE";
/// The variable with the number of connections that it accepts.
const CONNECTIONS: &str = "ATSDB_KILLED_CONNECTIONS";

/// A server in a process of its own, killed when dropped.
pub(crate) struct Killed {
    child: Child,
    stdin: Mutex<Option<ChildStdin>>,
    /// Stays open, because the process writes at its end.
    _stdout: Lines<BufReader<ChildStdout>>,
    pub(crate) pg: String,
    pub(crate) http: String,
    grpc: String,
}

impl Killed {
    pub(crate) fn start(store: &Path) -> Self {
        Self::with_connections(store, ServerOptions::default().connections_max)
    }

    pub(crate) fn with_connections(store: &Path, connections_max: usize) -> Self {
        // Starts this program again, with the test below, which serves until it is killed or its input ends.
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills::a_server_that_is_killed", "--nocapture"]).env(STORE, store);
        command.env(CONNECTIONS, connections_max.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = stdout.find_map(|line| Some(line.unwrap().split_once("serves on ")?.1.to_owned())).unwrap();
        let mut addresses = line.split(' ').map(str::to_owned);
        let [pg, http, grpc] = [(); 3].map(|()| addresses.next().unwrap());
        let stdin = Mutex::new(child.stdin.take());
        Self { child, stdin, _stdout: stdout, pg, http, grpc }
    }

    /// A number of `/proc/PID/status`, such as `Threads`, or `VmRSS` in kilobytes. Nothing where there is no such file.
    pub(crate) fn status(&self, name: &str) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Asks it to end, as SIGTERM does with the program.
    pub(crate) fn shut_down(&self) {
        drop(self.stdin.lock().take());
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        // Sends SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_that_is_killed() {
    // Other tests start this one in a process of its own.
    let Some(store) = std::env::var_os(STORE) else { return };
    let any = Some("127.0.0.1:0".to_owned());
    let connections_max = std::env::var(CONNECTIONS).unwrap().parse().unwrap();
    // On a busy machine, nobody is sent away.
    let hold_time = Duration::from_secs(300);
    let statements = StatementOptions { hold_time, ..StatementOptions::default() };
    let ingest = IngestOptions { hold_time, ..IngestOptions::default() };
    let (pg, http, grpc) = (any.clone(), any.clone(), any);
    let options = ServerOptions { pg, http, grpc, connections_max, statements, ingest, ..ServerOptions::default() };
    let database = atsdb::open(store.to_str().unwrap()).unwrap();
    let server = Server::start(database, Listening::open(options).unwrap()).unwrap();
    let mut stdout = std::io::stdout();
    let addresses = [server.pg_address(), server.http_address(), server.grpc_address()];
    let addresses = addresses.map(|address| address.unwrap().to_string());
    writeln!(stdout, "serves on {}", addresses.join(" ")).unwrap();
    stdout.flush().unwrap();
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    server.shutdown(Duration::from_secs(300)).unwrap();
}

/// A way to send rows.
#[derive(Clone, Copy)]
struct Way {
    /// The statements that create its tables, empty if the way creates them itself.
    tables: &'static str,
    /// Sends a batch, and retries if needed. Returns `false` if it is unknown whether the batch is stored.
    send: fn(&Killed, i64) -> bool,
    /// A query of all rows, with the number of the batch and of the row in it.
    rows: &'static str,
}

/// Sends a request and returns whether it was answered. An answer must report success.
fn post(served: &Killed, path: &str, headers: &[(&str, &str)], body: &[u8]) -> bool {
    let answer = || {
        let mut stream = TcpStream::connect(&served.http).ok()?;
        let mut head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 ").then_some(answer)
    };
    let Some(answer) = answer() else { return false };
    if answer.starts_with("HTTP/1.1 503") && answer.contains("shutting down") {
        return false;
    }
    assert!(answer.starts_with("HTTP/1.1 20"), "{path}: {answer}");
    true
}

/// Runs work with a PostgreSQL client and returns whether it succeeded. It may only fail because the connection ended.
/// Work that conflicts with another transaction is retried.
fn with_client(served: &Killed, work: impl Fn(&mut postgres::Client) -> Result<(), postgres::Error>) -> bool {
    let (host, port) = served.pg.rsplit_once(':').unwrap();
    let mut config = postgres::Config::new();
    config.host(host).port(port.parse().unwrap()).user("me").dbname("air");
    loop {
        match config.connect(postgres::NoTls).and_then(|mut client| work(&mut client)) {
            Ok(()) => return true,
            Err(error) if error.code() == Some(&postgres::error::SqlState::T_R_SERIALIZATION_FAILURE) => {}
            Err(error) if error.code() == Some(&postgres::error::SqlState::ADMIN_SHUTDOWN) => return false,
            Err(error) => {
                assert!(error.code().is_none(), "{error:?}");
                return false;
            }
        }
    }
}

const LINES: Way = Way {
    tables: "CREATE TABLE log (time TIMESTAMP(9), batch BIGINT, n BIGINT)",
    // The table has no key, so a line that is stored twice shows. The batch has a name.
    send: |served, batch| {
        let lines: String = (0..ROWS_PER_BATCH).map(|n| format!("log batch={batch}i,n={n}i {n}\n")).collect();
        post(served, "/write?db=d", &[("X-Atsdb-Batch", &format!("batch {batch}"))], lines.as_bytes())
    },
    rows: "SELECT batch, n FROM log",
};

/// The rows of a batch as Arrow has them.
fn rows_of(batch: i64) -> RecordBatch {
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let columns =
        [("batch", column(vec![batch; ROWS_PER_BATCH as usize])), ("n", column((0..ROWS_PER_BATCH).collect()))];
    RecordBatch::try_from_iter(columns).unwrap()
}

const APPEND: Way = Way {
    tables: "CREATE TABLE appended (batch BIGINT, n BIGINT)",
    send: |served, batch| {
        let rows = rows_of(batch);
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
        writer.write(&rows).unwrap();
        let body = writer.into_inner().unwrap();
        post(served, "/api/append?table=appended", &[("X-Atsdb-Batch", &format!("batch {batch}"))], &body)
    },
    rows: "SELECT batch, n FROM appended",
};

const FLIGHT: Way = Way {
    tables: "CREATE TABLE ingested (batch BIGINT, n BIGINT, PRIMARY KEY (batch, n)) WITH (on_conflict = 'keep')",
    send: |served, batch| {
        loop {
            let Some(mut client) = try_connect_to(served.grpc.parse().unwrap()) else { return false };
            match client.ingest("ingested", rows_of(batch)) {
                Ok(()) => return true,
                // A conflict with another transaction.
                Err(error) if error.code() == Code::Aborted => {}
                Err(error) => {
                    let codes = [Code::Unavailable, Code::Unknown, Code::Internal, Code::Cancelled];
                    assert!(codes.contains(&error.code()), "{error:?}");
                    return false;
                }
            }
        }
    },
    rows: "SELECT batch, n FROM ingested",
};

const INSERT: Way = Way {
    tables: "CREATE TABLE inserted (batch BIGINT, n BIGINT, PRIMARY KEY (batch, n))",
    // Every second batch is a transaction of several statements.
    send: |served, batch| {
        let value = |n: i64| format!("({batch}, {n})");
        let values = |from: i64, to: i64| (from..to).map(value).collect::<Vec<_>>().join(", ");
        let insert = |from, to| format!("INSERT INTO inserted VALUES {} ON CONFLICT DO NOTHING", values(from, to));
        with_client(served, |client| {
            if batch % 2 == 0 {
                return client.batch_execute(&insert(0, ROWS_PER_BATCH));
            }
            let mut transaction = client.transaction()?;
            transaction.batch_execute(&insert(0, 10))?;
            transaction.batch_execute(&insert(10, ROWS_PER_BATCH))?;
            transaction.commit()
        })
    },
    rows: "SELECT batch, n FROM inserted",
};

const COPY: Way = Way {
    tables: "CREATE TABLE copied (batch BIGINT, n BIGINT, PRIMARY KEY (batch, n)) WITH (on_conflict = 'keep')",
    send: |served, batch| {
        let lines: String = (0..ROWS_PER_BATCH).map(|n| format!("{batch}\t{n}\n")).collect();
        with_client(served, |client| {
            let mut writer = client.copy_in("COPY copied FROM STDIN")?;
            // If writing fails, the connection has ended, which `finish` reports.
            let _ = writer.write_all(lines.as_bytes());
            writer.finish().map(drop)
        })
    },
    rows: "SELECT batch, n FROM copied",
};

const REMOTE_WRITE: Way = Way {
    tables: "",
    // The same sample is the same row.
    send: |served, batch| {
        let series: Vec<_> = (0..ROWS_PER_BATCH)
            .map(|n| series_v1(&[("__name__", "killed"), ("n", &n.to_string())], &[(batch, n as f64)]))
            .collect();
        let headers = [("Content-Type", "application/x-protobuf"), ("Content-Encoding", "snappy")];
        post(served, "/api/v1/write", &headers, &request_v1(&series).snappy())
    },
    rows: "SELECT CAST(extract(epoch FROM time) * 1000 AS BIGINT) AS batch, CAST(value AS BIGINT) AS n FROM prom_samples",
};

const OTLP: Way = Way {
    tables: "",
    send: |served, batch| {
        let point = |n: i64| {
            json!({ "timeUnixNano": (batch * 1_000_000).to_string(), "asInt": n.to_string(),
                "attributes": [{ "key": "n", "value": { "stringValue": n.to_string() } }] })
        };
        let points: Vec<_> = (0..ROWS_PER_BATCH).map(point).collect();
        let body = json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [
            { "name": "killed", "gauge": { "dataPoints": points } }] }] }] });
        post(served, "/v1/metrics", &[("Content-Type", "application/json")], body.to_string().as_bytes())
    },
    rows: "SELECT CAST(extract(epoch FROM time) * 1000 AS BIGINT) AS batch, CAST(value AS BIGINT) AS n FROM \
           prom_samples WHERE metric = 'killed'",
};

/// How a server ends under load.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Kill,
    /// It shuts down, as after a SIGTERM.
    Shutdown,
}

fn check(way: Way) {
    check_with(way, End::Kill);
}

fn check_with(way: Way, end: End) {
    let kills = std::env::var("ATSDB_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("air.db");
    let database = atsdb::open(store.to_str().unwrap()).unwrap();
    if !way.tables.is_empty() {
        database.sql(way.tables).unwrap();
    }
    drop(database);
    // From 1, because a time of 0 may count as missing.
    let next = AtomicU64::new(1);
    let mut unanswered: Vec<i64> = Vec::new();
    for round in 0..=kills {
        let served = Killed::start(&store);
        for batch in unanswered.drain(..) {
            assert!((way.send)(&served, batch), "batch {batch} was not answered, and nobody killed the server");
        }
        if round == kills {
            break;
        }
        unanswered = std::thread::scope(|scope| {
            let served = &served;
            let writer = || {
                loop {
                    let batch = next.fetch_add(1, Ordering::Relaxed) as i64;
                    if !(way.send)(served, batch) {
                        return batch;
                    }
                }
            };
            let writers: Vec<_> = (0..3).map(|_| scope.spawn(writer)).collect();
            std::thread::sleep(Duration::from_millis(100 + round * 37 % 200));
            match end {
                End::Kill => {
                    let id = served.child.id().to_string();
                    assert!(Command::new("kill").args(["-9", &id]).status().unwrap().success());
                }
                End::Shutdown => served.shut_down(),
            }
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        if end == End::Shutdown {
            served.ended();
        }
    }
    let sent = next.load(Ordering::Relaxed) - 1;
    assert!(sent > kills, "only {sent} batches");
    let database = atsdb::open(store.to_str().unwrap()).unwrap();
    let wrong = format!(
        "SELECT batch, count(*) FROM ({}) AS r GROUP BY 1 HAVING count(*) <> 40 OR count(DISTINCT n) <> 40",
        way.rows
    );
    assert_eq!(rows(&database, &wrong), Vec::<String>::new(), "batches that are not whole, or there twice");
    let count = format!("SELECT count(DISTINCT batch), min(batch), max(batch) FROM ({}) AS r", way.rows);
    assert_eq!(rows(&database, &count), [format!("{sent} | 1 | {sent}")]);
}

#[test]
fn lines_are_there_once() {
    check(LINES);
}

#[test]
fn appended_batches_are_there_once() {
    check(APPEND);
}

#[test]
fn ingested_rows_are_there_once() {
    check(FLIGHT);
}

#[test]
fn inserted_rows_are_there_once() {
    check(INSERT);
}

#[test]
fn copied_rows_are_there_once() {
    check(COPY);
}

#[test]
fn samples_of_remote_write_are_there_once() {
    check(REMOTE_WRITE);
}

#[test]
fn points_of_otlp_are_there_once() {
    check(OTLP);
}

#[test]
fn what_is_acknowledged_while_the_server_shuts_down_is_there() {
    for way in [LINES, APPEND, FLIGHT, INSERT, COPY, REMOTE_WRITE] {
        check_with(way, End::Shutdown);
    }
}
