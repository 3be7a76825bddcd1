//! A running server.

use super::certificates::Certificates;
use super::data::{ServerKind, bytes_in, new_folder, onto_a_disk};
use super::setup::{PASSWORD_IN_URL, START_MAX, USER, free_port, own_folder, spawn_for_good};
use super::{mariadb, mysql, postgres};
use crate::clock;
use crate::disk::SmallDisk;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{Error, Result};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A running server.
#[derive(Debug)]
pub struct TestServer {
    pub(super) kind: ServerKind,
    port: AtomicU16,
    /// Whether it has answered. From then on it keeps its port.
    has_served: AtomicBool,
    /// Further arguments of its program.
    arguments: Vec<String>,
    /// The disk of its data, if they are not in its folder. It is unmounted before the folder is removed.
    disk: Option<SmallDisk>,
    folder: TempDir,
    child: Mutex<Option<Child>>,
    databases: AtomicU32,
}

/// Returns the server of that kind which all tests of this process share. `None`, with a message on stderr, if its
/// programs are not installed.
pub fn shared(kind: ServerKind) -> Option<&'static TestServer> {
    static SERVERS: [OnceLock<Option<TestServer>>; 3] = [const { OnceLock::new() }; 3];
    SERVERS[kind as usize].get_or_init(|| TestServer::start(kind)).as_ref()
}

impl TestServer {
    /// Starts a separate server. `None`, with a message on stderr, if its programs are not installed.
    pub fn start(kind: ServerKind) -> Option<Self> {
        let server = Self::of(kind, new_folder(kind)?, Vec::new());
        server.resume();
        Some(server)
    }

    /// Starts a separate server with further arguments for its program.
    pub fn start_with(kind: ServerKind, arguments: &[&str]) -> Option<Self> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let server = Self::of(kind, new_folder(kind)?, arguments);
        server.resume();
        Some(server)
    }

    /// Starts a standby of this PostgreSQL server, which receives all changes a little later.
    pub fn start_standby(&self) -> Self {
        let folder = own_folder().expect("a folder can be made");
        postgres::copy_to_follow(self.port(), &folder.path().join("data")).expect("a server can be copied");
        let server = Self::of(self.kind, folder, Vec::new());
        server.resume();
        server
    }

    /// Starts a separate server with encryption. Its certificate, from a separate authority, is for `localhost`, which
    /// is none of its addresses. Also returns the file with the authority's certificate.
    pub fn start_encrypting(kind: ServerKind) -> Option<(Self, PathBuf)> {
        let folder = new_folder(kind)?;
        let certificates = Certificates::make(folder.path())?;
        let arguments = match kind {
            ServerKind::Postgres => postgres::encryption(&certificates),
            ServerKind::Mariadb => mariadb::encryption(&certificates),
            ServerKind::Mysql => mysql::encryption(&certificates),
        };
        let server = Self::of(kind, folder, arguments);
        server.resume();
        Some((server, certificates.authority))
    }

    /// Starts a separate server whose data is on a disk with this much free space; PostgreSQL's write-ahead log is
    /// elsewhere. `None`, with a message on stderr, if mounting is not permitted.
    pub fn start_on_small_disk(kind: ServerKind, free_bytes: u64) -> Option<Self> {
        let folder = new_folder(kind)?;
        let disk = onto_a_disk(kind, folder.path()).expect("the data can be moved")?;
        let mut server = Self::of(kind, folder, Vec::new());
        server.disk = Some(disk);
        server.resume();
        let used = bytes_in(&server.data()).expect("du tells a size");
        server.disk()?.resize(used + free_bytes);
        Some(server)
    }

    pub(super) fn of(kind: ServerKind, folder: TempDir, arguments: Vec<String>) -> Self {
        let (port, has_served) = (AtomicU16::new(free_port()), AtomicBool::new(false));
        let (child, databases) = (Mutex::new(None), AtomicU32::new(0));
        Self { kind, port, has_served, arguments, disk: None, folder, child, databases }
    }

    /// The port on loopback.
    pub(super) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// The disk of [`Self::start_on_small_disk`].
    pub fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    /// Starts it again, with the same port and data.
    pub fn resume(&self) {
        self.resume_with(&[]);
    }

    /// Returns whether it has ended without being stopped.
    pub fn has_ended(&self) -> bool {
        self.child.lock().as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }

    pub(super) fn resume_with(&self, arguments: &[&str]) {
        let start = clock::now();
        self.spawn(arguments);
        loop {
            let answer = self.try_administer("SELECT 1");
            let ended = self.child.lock().as_mut().and_then(|child| child.try_wait().ok().flatten());
            // If it has ended, another server has answered at its port.
            if answer.is_ok() && ended.is_none() {
                break;
            }
            if start.elapsed() > START_MAX {
                let log = std::fs::read_to_string(self.log()).unwrap_or_default();
                panic!("the server does not start ({ended:?}): {answer:?}\n{log}");
            }
            clock::sleep(Duration::from_millis(20));
            // The last process of the killed server may still have held the data, or somebody has taken the port.
            if ended.is_some() {
                if !self.has_served.load(Ordering::Relaxed) {
                    self.port.store(free_port(), Ordering::Relaxed);
                }
                self.spawn(arguments);
            }
        }
        self.has_served.store(true, Ordering::Relaxed);
    }

    fn spawn(&self, arguments: &[&str]) {
        let mut command = match self.kind {
            ServerKind::Postgres => postgres::command(&self.data(), self.port()),
            ServerKind::Mariadb => mariadb::command(&self.data(), self.port()),
            ServerKind::Mysql => mysql::command(&self.data(), self.port()),
        };
        command.args(&self.arguments).args(arguments);
        let log = File::options().create(true).append(true).open(self.log()).expect("a log can be written");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file has another handle")).stderr(log);
        *self.child.lock() = Some(spawn_for_good(command).expect("the server's program runs"));
    }

    /// Shuts it down properly.
    pub(super) fn shut_down(&self) {
        if let Some(mut child) = self.child.lock().take() {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }

    /// Kills it, as in a crash.
    pub fn kill(&self) {
        if let Some(mut child) = self.child.lock().take() {
            // If a server has several processes, the others live a moment longer than the first one.
            let pid = child.id();
            let others = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            let _ = child.kill();
            let _ = child.wait();
            let _ = Command::new("kill").arg("-9").args(others.split_whitespace()).stderr(Stdio::null()).status();
        }
    }

    /// The URL of a new, empty database.
    pub fn database(&self) -> String {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.administer(&match self.kind {
            ServerKind::Postgres => format!("CREATE DATABASE {name} OWNER {USER}"),
            ServerKind::Mariadb | ServerKind::Mysql => {
                format!("CREATE DATABASE {name}; GRANT ALL ON {name}.* TO {USER}@'%'")
            }
        });
        self.url(USER, PASSWORD_IN_URL, &name)
    }

    /// The URL of a database for some user.
    pub fn url(&self, user: &str, password_in_url: &str, database: &str) -> String {
        let scheme = match self.kind {
            ServerKind::Postgres => "postgresql",
            ServerKind::Mariadb => "mariadb",
            ServerKind::Mysql => "mysql",
        };
        format!("{scheme}://{user}:{password_in_url}@127.0.0.1:{}/{database}", self.port())
    }

    /// Runs statements as the server's administrator.
    pub fn administer(&self, sql: &str) {
        self.try_administer(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs statements as the server's administrator in one of its databases. Returns their answer, with one line for
    /// each row.
    pub fn ask(&self, url: &str, sql: &str) -> String {
        let database = url.rsplit('/').next().unwrap_or_default();
        self.run(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn try_administer(&self, sql: &str) -> Result<String> {
        self.run("", sql)
    }

    fn run(&self, database: &str, sql: &str) -> Result<String> {
        let mut command = match self.kind {
            ServerKind::Postgres => postgres::client(self.port(), database),
            ServerKind::Mariadb => mariadb::client(&self.data(), database),
            ServerKind::Mysql => mysql::client(&self.data(), database),
        };
        let output = command.arg(sql).stdin(Stdio::null()).output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.kill();
    }
}
