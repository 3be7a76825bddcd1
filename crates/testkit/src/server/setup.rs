//! The common setup of all servers: the user of tests, programs, ports, folders.

use crate::clock;
use std::io::{Error, Result};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// The user that tests connect as: an ordinary one.
pub const USER: &str = "tester";
/// The password of that user.
pub const PASSWORD: &str = "pass/word@1";
/// The password in its form in a URL.
pub(super) const PASSWORD_IN_URL: &str = "pass%2Fword%401";
/// The prefix of the names of data folders, which the number of the process follows.
pub(super) const FOLDER_PREFIX: &str = "atsdb-test-";

/// The ports of tests: the first, the number of ports for each process, and the number of blocks.
const PORT_MIN: u16 = 10_000;
const BLOCK_PORTS: u16 = 100;
const PORT_BLOCKS: u32 = 220;

/// The maximum time that a server may take to start.
pub(super) const START_MAX: Duration = Duration::from_secs(300);
/// The maximum number of ports on which a server is started, one after the other.
const START_ATTEMPTS: u32 = 20;

/// Starts a program that ends with this process. The system ends it together with the thread that started it, so that
/// thread stays alive.
pub(super) fn spawn_for_good(mut command: Command) -> Result<Child> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = send.send(command.spawn());
        loop {
            std::thread::park();
        }
    });
    receive.recv().map_err(Error::other)?
}

/// Returns a free port. It is below those that the system assigns to connections, so that it stays free while
/// its server starts, and while its server is killed. Each process has its own block of ports.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let block = u16::try_from(std::process::id() % PORT_BLOCKS).expect("a small number");
    for _ in 0..BLOCK_PORTS {
        let port = PORT_MIN + block * BLOCK_PORTS + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCK_PORTS;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free")
}

/// Starts a server on a free port, and waits until it listens there. If it ends, maybe because another program has
/// taken the port, it is started on another one. Returns the port and the process.
///
/// # Panics
///
/// If it does not start.
pub fn listening(name: &str, run: impl Fn(u16) -> Child) -> (u16, Child) {
    let start = clock::now();
    let (mut port, mut attempts) = (free_port(), 1);
    let mut child = run(port);
    loop {
        let is_open = TcpStream::connect(("127.0.0.1", port)).is_ok();
        let ended = child.try_wait().ok().flatten();
        // If it has ended, another server listens there.
        if is_open && ended.is_none() {
            return (port, child);
        }
        let may_wait = attempts < START_ATTEMPTS && start.elapsed() < START_MAX;
        assert!(may_wait, "{name} does not start: {ended:?}");
        clock::sleep(Duration::from_millis(20));
        if ended.is_some() {
            (port, attempts) = (free_port(), attempts + 1);
            child = run(port);
        }
    }
}

/// A temporary folder that other users can read.
pub(super) fn own_folder() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(&format!("{FOLDER_PREFIX}{}-", std::process::id())).tempdir()?;
    run(Command::new("chmod").arg("755").arg(folder.path()))?;
    Ok(folder)
}

pub(super) fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::other(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))),
    }
}

pub(super) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

/// The program in the first folder that has it.
pub(super) fn find(program: &str, folders: &[&str]) -> Option<PathBuf> {
    folders.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}
