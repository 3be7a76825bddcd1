//! Servers that hold one workspace each, for systems that have no databases to keep workspaces apart, or whose files
//! have their true sizes only once the server has stopped.
//!
//! Sessions of a workspace share its server. The server requested last keeps running between sessions, as a server
//! does; it stops when another workspace's is started, or when the contestant requests it. Each runs as the lab's own
//! user and listens only on this machine, on ports that are free.

use super::account::Account;
use super::launch::{Launch, Running};
use crate::failure::Failure;
use atsdb::{Error, ErrorKind};
use parking_lot::Mutex;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// Another program may take a port between the search and the start.
const ATTEMPTS: u32 = 3;
/// Words in the message of a server whose port is taken.
const PORT_TAKEN: [&str; 3] = ["in use", "could not bind", "another process listens there"];

/// A program that holds a workspace.
pub(crate) trait WorkspaceProgram {
    /// Its name, for messages.
    const NAME: &'static str;

    /// The command that starts it on these ports.
    ///
    /// # Errors
    ///
    /// Its files cannot be written.
    fn command(&self, ports: Ports) -> Result<Vec<String>, Failure>;

    /// Checks that the server answers requests.
    ///
    /// # Errors
    ///
    /// It does not answer yet.
    fn answers(&self, ports: Ports) -> Result<(), Failure>;
}

/// The ports of a server on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    /// The port of HTTP.
    pub(crate) http: u16,
    /// Another one, for systems that need it.
    pub(crate) other: u16,
}

/// A server that runs. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct WorkspaceServer {
    running: Running,
    folder: PathBuf,
    pub(crate) ports: Ports,
}

impl WorkspaceServer {
    /// The failure of a request. If the server has died, the client saw only a lost connection, and the server's last
    /// lines show the reason.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Failed(error) if !self.running.is_alive() => {
                let message = format!("{error}; the server ended; its last lines:\n{}", self.running.log());
                Failure::Failed(Error::new(ErrorKind::Unavailable, message))
            }
            other => other,
        }
    }
}

/// The servers of a contestant in this process.
pub(crate) struct WorkspaceServers(Mutex<Slots>);

struct Slots {
    /// The server requested last.
    last: Option<Arc<WorkspaceServer>>,
    all: Vec<Weak<WorkspaceServer>>,
}

impl WorkspaceServers {
    /// Creates an empty set.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Slots { last: None, all: Vec::new() }))
    }

    /// The server of the workspace in `folder`, which is started if it does not run. Its log is below that folder.
    ///
    /// # Errors
    ///
    /// It does not start; the message has the last lines of its log.
    pub(crate) fn of<P: WorkspaceProgram>(&self, folder: &Path, program: &P) -> Result<Arc<WorkspaceServer>, Failure> {
        let mut slots = self.0.lock();
        slots.all.retain(|server| server.strong_count() > 0);
        let mut running = slots.all.iter().filter_map(Weak::upgrade);
        let found = running.find(|server| server.folder == folder && server.running.is_alive());
        let server = match found {
            Some(server) => server,
            None => {
                slots.last = None;
                let server = Arc::new(start(folder, program)?);
                slots.all.push(Arc::downgrade(&server));
                server
            }
        };
        slots.last = Some(Arc::clone(&server));
        Ok(server)
    }

    /// Stops the server requested last, if no session holds it.
    pub(crate) fn stop(&self) {
        self.0.lock().last = None;
    }
}

fn start<P: WorkspaceProgram>(folder: &Path, program: &P) -> Result<WorkspaceServer, Failure> {
    let (account, own) = (Account::labs(), folder.join("server"));
    let mut attempts = 1..=ATTEMPTS;
    loop {
        let ports = Ports { http: free_port()?, other: free_port()? };
        std::fs::create_dir_all(&own).map_err(Failure::broken)?;
        let launch = Launch {
            name: P::NAME,
            command: program.command(ports)?,
            account: &account,
            folder: &own,
            signal: "TERM",
            signal_at_once: "KILL",
        };
        match (launch.start(|| program.answers(ports)), attempts.next()) {
            (Ok(running), _) => return Ok(WorkspaceServer { running, folder: folder.to_owned(), ports }),
            (Err(Failure::Failed(error)), Some(1..ATTEMPTS)) if is_port_taken(&error) => {}
            (Err(failure), _) => return Err(failure),
        }
    }
}

fn is_port_taken(error: &Error) -> bool {
    PORT_TAKEN.iter().any(|words| error.to_string().contains(words))
}

/// A port that is free now.
fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::broken)?;
    Ok(listener.local_addr().map_err(Failure::broken)?.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A program that writes a file when it has begun, and another when it ends in order.
    struct Sleeper {
        folder: PathBuf,
        /// Starts that fail because of a port.
        taken: Cell<u32>,
        /// The message of such a start.
        words: &'static str,
    }

    impl WorkspaceProgram for Sleeper {
        const NAME: &'static str = "sleeper";

        fn command(&self, _ports: Ports) -> Result<Vec<String>, Failure> {
            let folder = self.folder.display();
            let script = match self.taken.replace(self.taken.get().saturating_sub(1)) {
                0 => format!(
                    "trap 'touch {folder}/ended; exit' TERM; touch {folder}/begun; while :; do sleep 0.05; done"
                ),
                _ => format!("echo {}; exit 1", self.words),
            };
            Ok(["sh", "-c", &script].map(str::to_owned).to_vec())
        }

        fn answers(&self, _ports: Ports) -> Result<(), Failure> {
            if self.folder.join("begun").exists() { Ok(()) } else { Err(Failure::wrong("no answer")) }
        }
    }

    fn sleeper(folder: &Path, taken: u32, words: &'static str) -> Sleeper {
        Sleeper { folder: folder.to_owned(), taken: Cell::new(taken), words }
    }

    #[test]
    fn sessions_share_a_server_that_ends_in_order() {
        let (servers, folders) = (WorkspaceServers::new(), [(); 2].map(|()| tempfile::tempdir().expect("a folder")));
        let open = |at: usize| servers.of(folders[at].path(), &sleeper(folders[at].path(), 0, "")).expect("a server");
        let has_ended = |at: usize| folders[at].path().join("ended").exists();

        let (first, again) = (open(0), open(0));
        assert!(Arc::ptr_eq(&first, &again));
        drop((first, again));
        assert!(!has_ended(0), "it runs on");
        let second = open(1);
        assert!(has_ended(0) && !folders[0].path().join("server").exists(), "the first has stopped");

        servers.stop();
        assert!(!has_ended(1), "a session holds it");
        drop(second);
        assert!(has_ended(1));
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_replaced() {
        for words in PORT_TAKEN {
            let (servers, folder) = (WorkspaceServers::new(), tempfile::tempdir().expect("a folder"));
            let server = servers.of(folder.path(), &sleeper(folder.path(), 2, words)).expect("the third start");
            assert!(folder.path().join("server/log").exists());
            drop(server);
            servers.stop();
            std::fs::remove_file(folder.path().join("begun")).expect("the file");
            let unlucky = sleeper(folder.path(), 9, words);
            let failed = servers.of(folder.path(), &unlucky).expect_err("no port").to_string();
            assert!(failed.contains(words) && unlucky.taken.get() == 6, "{failed}");
        }
    }

    #[test]
    fn another_failure_is_reported_at_once() {
        let (servers, folder) = (WorkspaceServers::new(), tempfile::tempdir().expect("a folder"));
        let broken = sleeper(folder.path(), 9, "no such option");
        let failed = servers.of(folder.path(), &broken).expect_err("no server").to_string();
        assert!(failed.contains("no such option") && broken.taken.get() == 8, "{failed}");
    }
}
