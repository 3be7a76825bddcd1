//! Ctrl-C, and readers that close the pipe.

use crate::support::Case;
use crate::web_server::WebServer;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LONG_QUERY: &str = "SELECT count(*) FROM generate_series(1, 1000000) a
    CROSS JOIN generate_series(1, 1000000) b WHERE a.a + b.b = 7";

fn signal(name: &str, child: &Child) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

/// Long enough for everything that is waited for, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

const HUP: u64 = 1;
const INT: u64 = 1 << 1;
const TERM: u64 = 1 << 14;

/// Returns which of the three signals are in one of the process's masks: `SigCgt` are handled, `SigIgn` are ignored.
fn signals(what: &str, child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (HUP | INT | TERM)
}

/// Waits until the process handles exactly these signals, or has ended.
fn listens(child: &mut Child, wanted: u64) {
    let started = Instant::now();
    while child.try_wait().expect("a child").is_none() && signals("SigCgt", child) != wanted {
        assert!(started.elapsed() < DEADLINE, "{:x}", signals("SigCgt", child));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the process has used another tenth of a second of processor time, so that its query runs, or has ended.
fn computes(child: &mut Child) {
    let started = Instant::now();
    let ticks = |child: &Child| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        // The name of the program, in brackets, may have blanks. The times in user and system mode are in hundredths.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    };
    let before = ticks(child);
    while child.try_wait().expect("a child").is_none() && ticks(child) < before + 10 {
        assert!(started.elapsed() < DEADLINE, "the process computes nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until all threads of the process wait for something other than a disk, or it has ended.
fn waits(child: &mut Child) {
    let started = Instant::now();
    let tasks = format!("/proc/{}/task", child.id());
    // A thread may end meanwhile. Its state is the letter behind the name of the program, which may have brackets.
    let is_asleep = |stat: &str| stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('S'));
    let are_asleep = || {
        let threads = std::fs::read_dir(&tasks).unwrap().flatten();
        threads
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok())
            .all(|stat| is_asleep(&stat))
    };
    while child.try_wait().expect("a child").is_none() && !are_asleep() {
        assert!(started.elapsed() < DEADLINE, "the process does not wait");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ends(child: &mut Child) -> i32 {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code().unwrap_or(-1);
        }
        if started.elapsed() > DEADLINE {
            let _ = child.kill();
            panic!("Ctrl-C did not end the program at all");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_export_leaves_nothing_in_its_folder() {
    let case = Case::new();
    let arguments = ["sql", "memory:", "SELECT * FROM generate_series(1, 1000000000000)", "-o", "x.csv"];
    let mut child = case.command_ignoring("", &arguments).stderr(Stdio::null()).spawn().unwrap();
    let descriptors = format!("/proc/{}/fd", child.id());
    let folder = case.path("").canonicalize().unwrap();
    let is_written = || {
        let links = std::fs::read_dir(&descriptors).unwrap().flatten();
        links.filter_map(|link| link.path().read_link().ok()).any(|file| file.starts_with(&folder))
    };
    let started = Instant::now();
    while !is_written() {
        assert!(started.elapsed() < DEADLINE && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    signal("-KILL", &child);
    child.wait().unwrap();
    assert!(case.names().is_empty(), "{:?}", case.names());
}

/// With some of these limits no thread can be started, with others the query runs.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_short_of_memory_ends_at_a_sigterm() {
    let case = Case::new();
    let mut is_running = 0;
    for mebibytes in (120..=600).step_by(60) {
        let mut command = case.command_with_memory(mebibytes << 10, &["sql", "memory:", LONG_QUERY]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        computes(&mut child);
        if child.try_wait().unwrap().is_none() {
            is_running += 1;
            signal("-TERM", &child);
        }
        ends(&mut child);
    }
    assert!(is_running > 0, "no limit was high enough");
}

#[test]
fn a_long_query_stops_with_130() {
    let case = Case::new();
    let mut command = case.command_ignoring("", &["sql", "memory:", LONG_QUERY, "-o", "x.csv"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    listens(&mut child, HUP | INT | TERM);
    computes(&mut child);
    assert!(child.try_wait().unwrap().is_none(), "the query ended by itself");
    signal("-INT", &child);
    assert_eq!(ends(&mut child), 130);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.contains("interrupted") || stderr.contains("stopped"), "{stderr}");
    assert!(case.names().is_empty(), "{:?}", case.names());
}

#[test]
fn ignored_signals_stay_ignored_and_others_end_the_program() {
    for (ignored, listened, ends_it) in
        [("HUP", INT | TERM, "-TERM"), ("INT", HUP | TERM, "-HUP"), ("HUP,INT", TERM, "-TERM")]
    {
        let case = Case::new();
        let mut command = case.command_ignoring(ignored, &["sql", "memory:", LONG_QUERY, "-o", "x.csv"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        listens(&mut child, listened);
        assert_eq!(signals("SigIgn", &child), (HUP | INT | TERM) & !listened);
        ignored.split(',').for_each(|name| signal(&format!("-{name}"), &child));
        computes(&mut child);
        assert!(child.try_wait().unwrap().is_none(), "ended by {ignored}");
        signal(ends_it, &child);
        assert_eq!(ends(&mut child), 130, "{ends_it}");
        assert!(case.names().is_empty(), "{:?}", case.names());
    }
}

/// Interrupts an import of this many rows, this long after its start. Returns false if it ended before the signal.
fn import_is_interrupted(row_count: u64, after: Duration) -> bool {
    let case = Case::new();
    let mut text = String::from("time,v,w\n");
    for row in 0..row_count {
        writeln!(text, "{},{},{}", 1_700_000_000 + row, row * 7 % 1_000, row * 13 % 1_001).unwrap();
    }
    case.write("big.csv", &text);
    let mut command = case.command_ignoring("", &["import", "a.db", "t", "big.csv"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    listens(&mut child, HUP | INT | TERM);
    std::thread::sleep(after);
    if child.try_wait().unwrap().is_none() {
        signal("-INT", &child);
    }
    let code = ends(&mut child);
    if code == 0 {
        return false;
    }
    assert_eq!(code, 130, "after {after:?}");
    assert_eq!(case.names(), ["big.csv"], "after {after:?}");
    case.write("small.csv", "time,v,w\n1700000000,1,2\n");
    assert_eq!(case.run(&["import", "a.db", "t", "small.csv"]).code, 0);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "1");
    true
}

/// The signal arrives before the store exists, while it is created, and while the file is read.
#[test]
fn an_interrupted_import_stores_nothing() {
    let mut row_count = 200_000;
    for step in 0..24 {
        let after = Duration::from_millis(step * step / 2);
        let mut is_interrupted = import_is_interrupted(row_count, after);
        // An import that ends before its signal says nothing: it was too short, or this test came too late.
        for _ in 0..6 {
            if !is_interrupted {
                row_count = (row_count * 2).min(3_200_000);
                is_interrupted = import_is_interrupted(row_count, after);
            }
        }
        assert!(is_interrupted, "an import of {row_count} rows ended within {after:?}");
    }
}

#[test]
fn an_import_that_waits_for_stdin_is_interrupted() {
    let case = Case::new();
    let mut command = case.command_ignoring("", &["import", "a.db", "t", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"time,v\n1700000000,1\n").unwrap();
    let started = Instant::now();
    while !case.path("a.db").exists() {
        assert!(child.try_wait().unwrap().is_none() && started.elapsed() < DEADLINE, "there is no store");
        std::thread::sleep(Duration::from_millis(5));
    }
    waits(&mut child);
    signal("-INT", &child);
    assert_eq!(ends(&mut child), 130);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert!(case.names().is_empty(), "{:?}", case.names());
}

/// The signal arrives while a server, which sent half of a file, sends nothing more.
#[test]
fn an_import_that_waits_for_a_url_is_interrupted() {
    let case = Case::new();
    let server = WebServer::start(&[("day.csv", b"time,v\n1700000000,1\n1700000001,2\n".to_vec())]);
    let url = server.url("stalled/day.csv");
    let mut command = case.command_ignoring("", &["import", "a.db", "t", &url]);
    command.env_remove("http_proxy").env_remove("HTTP_PROXY").env_remove("all_proxy").env_remove("ALL_PROXY");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    server.stalled.recv_timeout(DEADLINE).expect("a request");
    signal("-INT", &child);
    assert_eq!(ends(&mut child), 130);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert!(case.names().is_empty(), "{:?}", case.names());
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let case = Case::new();
    for format in ["csv", "table", "json", "arrow"] {
        let sql = "SELECT value, value * 2 AS twice FROM generate_series(1, 3000000)";
        let mut command = case.command(&["sql", "memory:", sql, "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut head = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut head).unwrap();
        let code = ends(&mut child);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((code, stderr.as_str()), (0, ""), "{format}");
    }
}

#[test]
fn statements_run_as_they_arrive() {
    let case = Case::new();
    let mut child = case.command(&["--format", "csv"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"SELECT 42 AS a;\n").unwrap();
    let mut answer = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"a\n42\n");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_stderr_stops_no_work() {
    let case = Case::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let sql = "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)";
    let mut command = case.command(&["sql", "a.db", sql]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).spawn().unwrap();
    assert_eq!(ends(&mut child), 0);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "2");
}
