//! Backups in a bucket: against moto's server, where it is installed.

use crate::backups::{back_up, restore};
use crate::support::{append, as_other_process, assert_same, fill, memory, other_process, rows};
use atsdb_archive::{Archive, Which};
use atsdb_core::ErrorKind;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server, ended when dropped.
struct Moto {
    child: Child,
    port: u16,
}

impl Moto {
    #[allow(clippy::print_stderr, reason = "a test that is skipped has to say so")]
    fn start() -> Option<Self> {
        let is_there = Command::new("python3").args(["-c", "import moto.server"]).stderr(Stdio::null()).status();
        if !is_there.is_ok_and(|status| status.success()) {
            eprintln!("skipped: the Python package moto (with its server) is not installed");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("python3");
        command.args(["-m", "moto.server", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { child: command.spawn().unwrap(), port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(300), "moto does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        server.request("PUT /bucket");
        Some(server)
    }

    fn request(&self, what: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!("{what} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The client reads the environment, so each part runs in a process of its own.
fn run(server: &Moto, test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = other_process(test, folder.path());
    command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", server.port));
    command.env("AWS_ACCESS_KEY_ID", "the-key").env("AWS_SECRET_ACCESS_KEY", "the-secret").env_remove("AWS_ALLOW_HTTP");
    assert!(command.status().unwrap().success(), "{test}");
}

#[test]
fn a_bucket_holds_backups_as_a_directory_does() {
    let Some(server) = Moto::start() else { return };
    run(&server, "bucket::backups_in_a_bucket");
    run(&server, "bucket::what_is_wrong_with_a_bucket_is_told");
    let left = server.request("GET /bucket?list-type=2&prefix=air");
    assert!(left.contains("air/backups/") && left.contains("air/chunks/") && !left.contains("air/lock"), "{left}");
}

#[test]
fn backups_in_a_bucket() {
    if as_other_process().is_none() {
        return;
    }
    let (source, archive) = (memory(), Archive::open("s3://bucket/air").unwrap());
    let table = fill(&source);
    let first = back_up(&source, &archive, None).unwrap();
    append(&source, &table, &rows(9, 60));
    let second = back_up(&source, &archive, Some(2)).unwrap();
    assert_eq!((second.chunks_written, second.chunks), (1, first.chunks + 1));
    let target = memory();
    restore(&archive, &Which::Latest, &target).unwrap();
    assert_same(&source, &target);
    source.recompress(None).unwrap();
    let third = back_up(&source, &archive, Some(1)).unwrap();
    assert!(third.backups_deleted == 2 && third.objects_deleted > 0, "{third:?}");
    let checked = archive.verify().unwrap();
    assert!(checked.findings.is_empty() && checked.backups == 1);
    restore(&archive, &Which::Latest, &target).unwrap();
    assert_same(&source, &target);
}

#[test]
fn what_is_wrong_with_a_bucket_is_told() {
    if as_other_process().is_none() {
        return;
    }
    let source = memory();
    fill(&source);
    let nowhere = Archive::open("s3://no-such-bucket/air").unwrap();
    let error = back_up(&source, &nowhere, None).unwrap_err();
    assert!(error.to_string().contains("no-such-bucket"), "{error}");
    assert!(!error.to_string().contains("the-secret"), "{error}");
    let empty = Archive::open("s3://bucket/nothing").unwrap();
    assert_eq!(empty.backup(&Which::Latest).unwrap_err().kind(), ErrorKind::NotFound);
}
