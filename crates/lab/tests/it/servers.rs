//! Servers: started on their own socket, stopped when the lab ends, and never used with a database that contains
//! something.

use crate::run::options;
use crate::{Folder, folder};
use atsdb_lab::Tuning;
use atsdb_lab::server::{ServerAddress, ServerKind, ServerUrls, Servers};
use atsdb_lab::{Failure, run};
use mysql::prelude::Queryable;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STARTED_BY_THE_LAB: [ServerKind; 2] = [ServerKind::Mariadb, ServerKind::Postgres];
const HOLD: &str = "ATSDB_LAB_TEST_HOLD";

fn servers(folder: &Path, urls: &ServerUrls, overwrite: bool) -> Servers {
    Servers::new(folder, atsdb::Durability::Off, Tuning::Defaults, urls, overwrite)
}

/// Starts a server of this kind. Returns `None`, with a message, if it is not installed.
pub(crate) fn start(servers: &mut Servers, kind: ServerKind) -> Option<ServerAddress> {
    match servers.address(kind) {
        Ok(address) => Some(address),
        Err(Failure::Cannot(reason)) => {
            eprintln!("{} is not tested here: {reason}", kind.name());
            None
        }
        Err(failure) => panic!("{failure}"),
    }
}

fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

fn within_seconds(seconds: u64, done: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(seconds) {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("the folder").next().is_none()
}

/// In a separate process, this test holds a server until it is killed. As an ordinary test it does nothing.
#[test]
fn hold() {
    let Some(text) = std::env::var_os(HOLD).map(|text| text.to_string_lossy().into_owned()) else { return };
    let (kind, folder) = text.split_once('=').expect("KIND=FOLDER");
    let mut servers = servers(Path::new(folder), &ServerUrls::default(), false);
    let address = servers.address(ServerKind::parse(kind).expect("a kind")).expect("a server");
    println!("\nserver {}", address.process.expect("its process"));
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_lab_leaves_no_server_and_no_files() {
    for kind in STARTED_BY_THE_LAB {
        let folder = folder();
        if start(&mut servers(folder.path(), &ServerUrls::default(), false), kind).is_none() {
            continue;
        }
        let mut lab = Command::new(std::env::current_exe().expect("this program"))
            .args(["servers::hold", "--exact", "--nocapture"])
            .env(HOLD, format!("{}={}", kind.name(), folder.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a lab");
        let lines = BufReader::new(lab.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let process = lines.filter_map(|line| line.strip_prefix("server ")?.parse().ok()).next().expect("a server");
        assert!(runs(process) && !is_empty(folder.path()));
        lab.kill().expect("SIGKILL");
        lab.wait().expect("its end");
        assert!(within_seconds(300, || !runs(process)), "{} ended", kind.name());
        assert!(within_seconds(300, || is_empty(folder.path())), "its files are gone");
    }
}

#[test]
fn a_server_stops_when_dropped_and_a_dead_one_is_restarted() {
    for kind in STARTED_BY_THE_LAB {
        let folder = folder();
        let mut servers = servers(folder.path(), &ServerUrls::default(), false);
        let Some(first) = start(&mut servers, kind) else { continue };
        assert_eq!(servers.address(kind).expect("the same").process, first.process, "one is enough");
        let first = first.process.expect("its process");
        Command::new("kill").args(["-9", &first.to_string()]).status().expect("kill");
        assert!(within_seconds(300, || !runs(first)));
        let words = servers.last_words(kind).expect("it died");
        assert!(words.contains(&format!("{} ended meanwhile", kind.name())), "{words}");
        let second = servers.address(kind).expect("another").process.expect("its process");
        assert!(second != first && runs(second));
        drop(servers);
        assert!(within_seconds(300, || !runs(second)), "{} is stopped", kind.name());
        assert!(is_empty(folder.path()), "nothing is left behind");
    }
}

/// A path that is too long for a socket. Both servers notice this themselves.
fn long_folder(folder: &Folder) -> PathBuf {
    let long = folder.path().join("a".repeat(120));
    std::fs::create_dir(&long).expect("a folder");
    long
}

#[test]
fn a_server_that_does_not_start_shows_its_last_lines() {
    for (kind, said) in [(ServerKind::Mariadb, "too long"), (ServerKind::Postgres, "too long")] {
        let folder = folder();
        let long = long_folder(&folder);
        match servers(&long, &ServerUrls::default(), false).address(kind) {
            Err(Failure::Cannot(reason)) => eprintln!("{} is not tested here: {reason}", kind.name()),
            Err(failure) => {
                let text = failure.to_string();
                assert!(text.contains("did not start") && text.contains(said), "{text}");
            }
            Ok(_) => panic!("{} has started", kind.name()),
        }
        assert!(within_seconds(300, || is_empty(&long)), "nothing is left behind");
    }
}

/// Runs a statement in an existing database of a server.
fn execute(address: &ServerAddress, database: &str, statement: &str) {
    let url = address.url_of(database);
    match address.kind {
        ServerKind::Postgres => {
            let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("a connection");
            client.batch_execute(statement).expect(statement);
        }
        _ => {
            let options =
                mysql::OptsBuilder::from_opts(mysql::Opts::from_url(&url).expect("a URL")).prefer_socket(true);
            mysql::Conn::new(options).expect("a connection").query_drop(statement).expect(statement);
        }
    }
}

#[test]
fn a_database_that_is_not_empty_is_refused_unless_overwriting() {
    for (kind, always) in [(ServerKind::Mariadb, "mysql"), (ServerKind::Postgres, "postgres")] {
        let folder = folder();
        let mut own = servers(folder.path(), &ServerUrls::default(), false);
        let Some(server) = start(&mut own, kind) else { continue };
        let mut urls = ServerUrls::default();
        urls.add(&format!("{}={}", kind.name(), server.url_of("mine"))).expect("a URL");
        execute(&server, always, "CREATE DATABASE mine");
        servers(folder.path(), &urls, false).address(kind).expect("an empty database");

        execute(&server, "mine", "CREATE TABLE dear (i INT)");
        let refused = servers(folder.path(), &urls, false).address(kind).expect_err("not empty").to_string();
        assert!(
            refused.contains("is not empty: it has 1 tables") && refused.contains("--overwrite-databases"),
            "{refused}"
        );
        execute(&server, "mine", "DROP TABLE dear");

        execute(&server, always, "CREATE DATABASE mine_lab_1_narrow");
        let refused = servers(folder.path(), &urls, false).address(kind).expect_err("a left one").to_string();
        assert!(refused.contains("mine_lab_1_narrow already"), "{refused}");
        execute(&server, "mine", "CREATE TABLE dear (i INT)");
        servers(folder.path(), &urls, true).address(kind).expect("overwriting is allowed");
        execute(&server, "mine", "INSERT INTO dear VALUES (1)");
        execute(&server, always, "CREATE DATABASE mine_lab_1_narrow");

        // MariaDB's client leaves a local socket unencrypted, so `require` is not tested with it.
        let asked = [("require", "TLS"), ("perhaps", "unknown sslmode")].into_iter();
        for (mode, said) in asked.skip(usize::from(kind == ServerKind::Mariadb)) {
            let mut encrypted = ServerUrls::default();
            let url = format!("{}&sslmode={mode}", server.url_of("mine"));
            encrypted.add(&format!("{}={url}", kind.name())).expect("a URL");
            let refused = servers(folder.path(), &encrypted, true).address(kind).expect_err(mode).to_string();
            assert!(refused.contains(said), "{mode}: {refused}");
        }

        let mut nameless = ServerUrls::default();
        nameless.add(&format!("{}={}", kind.name(), server.url_of(""))).expect("a URL");
        let refused = servers(folder.path(), &nameless, false).address(kind).expect_err("no database").to_string();
        assert!(refused.contains("names no database"), "{refused}");
    }
}

#[test]
fn a_server_by_url_runs_as_one_of_the_labs_own() {
    // MySQL itself is not started here, but MariaDB speaks the same protocol.
    for (kind, contestant, always) in
        [(ServerKind::Mariadb, "mysql", "mysql"), (ServerKind::Postgres, "postgres", "postgres")]
    {
        let folder = folder();
        let mut own = servers(folder.path(), &ServerUrls::default(), false);
        let Some(server) = start(&mut own, kind) else { continue };
        execute(&server, always, "CREATE DATABASE mine");
        let mut options = options(folder.path());
        options.contestants = ["sqlite", contestant].map(str::to_owned).to_vec();
        options.workloads = ["memory", "mass"].map(str::to_owned).to_vec();
        (options.rows, options.repeat) = (Some(300), 1);
        options.urls.add(&format!("{contestant}={}", server.url_of("mine"))).expect("a URL");
        let report = run(&options, &mut |_| ()).expect("a report");
        let by_url = report.contestants.iter().find(|found| found.name == contestant).expect("the contestant");
        assert!(by_url.settings.contains(&"encryption = none".to_owned()), "{:?}", by_url.settings);
        for result in
            report.workloads.iter().flat_map(|workload| &workload.measures).flat_map(|measure| &measure.results)
        {
            assert!(result.spread.is_some(), "{}: {:?} {:?}", result.contestant, result.failed, result.skipped);
        }
        // The lab has dropped its databases, so the next run can start.
        servers(folder.path(), &options.urls, false).address(kind_of(contestant)).expect("an empty database again");
    }
}

fn kind_of(contestant: &str) -> ServerKind {
    ServerKind::parse(contestant).expect("a kind")
}
