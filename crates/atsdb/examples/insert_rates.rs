//! Single-row INSERT statements, each its own transaction, beside SQLite: statements a second, latencies, and the time
//! of processors for each.
//!
//! `cargo run --release -p atsdb --example insert_rates -- [SECONDS [SESSIONS,... [CASE,...]]]`. `ATSDB_FIGURES_DIR`
//! chooses the disk, `ATSDB_DURABILITY` what a commit waits for. The cases: `plain` (two integers), `series` (a time
//! and two mapped columns), `keyed` (a key of two columns, of 16), each also with `-quiet` behind it: without sealing
//! in the background. Sessions of SQLite are connections, those of atsdb share an engine.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout, reason = "a benchmark tells its figures")]

use atsdb::Durability;
use atsdb::sql::{Session, SessionOptions};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

struct Case {
    name: &'static str,
    table: &'static str,
    options: &'static str,
    row: fn(u64) -> String,
}

const CASES: [Case; 3] = [
    Case { name: "plain", table: "CREATE TABLE t (i BIGINT, i2 BIGINT)", options: "", row: plain },
    Case {
        name: "series",
        table: "CREATE TABLE t (time BIGINT, sensor TEXT, status TEXT, count1 INT)",
        options: " WITH (time = 'time', map = 'sensor:u32, status:u8')",
        row: series,
    },
    Case {
        name: "keyed",
        table: "CREATE TABLE t (metaID BIGINT NOT NULL, minRtt FLOAT, meanRtt FLOAT, medianRtt FLOAT, maxRtt FLOAT,
                timestamp BIGINT NOT NULL, minIpd FLOAT, meanIpd FLOAT, maxIpd FLOAT, duplicates INT, outOfOrder INT,
                clp FLOAT, iqrIpd FLOAT, lossPercent FLOAT, rtts TEXT, seqNums TEXT, PRIMARY KEY (metaID, timestamp))",
        options: "",
        row: keyed,
    },
];

fn plain(number: u64) -> String {
    format!("({number}, {})", 2 * number)
}

fn series(number: u64) -> String {
    format!("({}, 'sensor-{:04}', 'ok', {number})", 1_704_067_200 + number / 5_000, number % 5_000)
}

fn keyed(number: u64) -> String {
    format!("({},1.5,2.5,2.25,4.5,{},{})", number % 210 + 1, 1_050_000_000 + number, "NULL,".repeat(9) + "NULL")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.first().map_or(3.0, |seconds| seconds.parse().unwrap());
    let sessions = arguments.get(1).map_or("1,8", String::as_str);
    let chosen = arguments.get(2).map_or("plain,plain-quiet,series,keyed", String::as_str);
    let folder = std::env::var_os("ATSDB_FIGURES_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let durability =
        std::env::var("ATSDB_DURABILITY").map_or(Durability::Full, |name| Durability::parse(&name).unwrap());
    let time = Duration::from_secs_f64(seconds);
    for name in chosen.split(',') {
        let (plain_name, is_quiet) = name.strip_suffix("-quiet").map_or((name, false), |name| (name, true));
        let case = CASES.iter().find(|case| case.name == plain_name).expect("a case");
        for sessions in sessions.split(',').map(|count| count.parse().unwrap()) {
            let scratch = tempfile::tempdir_in(&folder).unwrap();
            let sqlite = sqlite(&scratch.path().join("sqlite.db"), case, durability, sessions, time);
            let atsdb = atsdb(&scratch.path().join("atsdb.db"), case, durability, is_quiet, sessions, time);
            println!("{durability}, {name}, {sessions} sessions");
            println!("  SQLite {sqlite}");
            println!("  atsdb  {atsdb}  {:.2} x", atsdb.rate / sqlite.rate);
        }
    }
}

/// The measured values.
struct Measured {
    rate: f64,
    processor_us: f64,
    /// The latencies at 50, 99 and 99.9 percent, and the longest.
    latencies: [Duration; 4],
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us: Vec<u128> = self.latencies.iter().map(Duration::as_micros).collect();
        let (rate, processor) = (self.rate, self.processor_us);
        write!(f, "{rate:7.0} /s, {processor:5.1} us of processors, p50 {} p99 {} p99.9 {}", us[0], us[1], us[2])?;
        write!(f, " longest {} us", us[3])
    }
}

/// Runs one statement after another in each session until the time is over. `open` makes a session.
fn measure<S>(
    sessions: usize,
    time: Duration,
    open: impl Fn() -> S + Sync,
    insert: impl Fn(&S, u64) + Sync,
) -> Measured {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        let (session, mut latencies) = (open(), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let begin = Instant::now();
            insert(&session, number);
            latencies.push(begin.elapsed());
        }
        latencies
    };
    let (begin, processor) = (Instant::now(), processor_time());
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..sessions).map(|_| scope.spawn(work)).collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let (elapsed, processor) = (begin.elapsed(), processor_time() - processor);
    latencies.sort_unstable();
    let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize];
    Measured {
        rate: latencies.len() as f64 / elapsed.as_secs_f64(),
        processor_us: processor.as_secs_f64() * 1e6 / latencies.len() as f64,
        latencies: [at(0.5), at(0.99), at(0.999), at(1.0)],
    }
}

/// Returns the processor time of this process, user and system, from /proc, in ticks of 10 ms. 0 where there is no
/// /proc.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<i64> = stat.rsplit(')').next().unwrap_or("").split(' ').filter_map(|x| x.parse().ok()).collect();
    Duration::from_millis(fields.get(10).zip(fields.get(11)).map_or(0, |(user, system)| (user + system) as u64 * 10))
}

fn sqlite(path: &Path, case: &Case, durability: Durability, sessions: usize, time: Duration) -> Measured {
    let open = || {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        connection.pragma_update(None, "synchronous", durability.name()).unwrap();
        connection
    };
    open().execute_batch(case.table).unwrap();
    measure(sessions, time, open, |connection, number| {
        connection.execute(&format!("INSERT INTO t VALUES {}", (case.row)(number)), []).unwrap();
    })
}

fn atsdb(
    path: &Path,
    case: &Case,
    durability: Durability,
    is_quiet: bool,
    sessions: usize,
    time: Duration,
) -> Measured {
    let url = path.display().to_string();
    let db = atsdb::OpenOptions::new().durability(durability).maintenance(!is_quiet).open(&url).unwrap();
    let first = db.session(SessionOptions::default()).unwrap();
    let run = |session: &Session, text: &str| {
        let statement = session.statements(text).next().unwrap().unwrap();
        session.execute(&statement, &[]).unwrap();
    };
    run(&first, &format!("{}{}", case.table, case.options));
    let insert = |session: &Session, number: u64| run(session, &format!("INSERT INTO t VALUES {}", (case.row)(number)));
    measure(sessions, time, || first.sharing(), insert)
}
