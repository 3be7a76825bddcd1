//! Starting a server, and stopping it however the lab ends.
//!
//! Between the lab and the server stands a shell that waits for a line from the lab, or for the end of that pipe, which
//! comes when the lab panics or is killed; the shell then stops the server and removes its folder. If the system has
//! `setpriv`, the server also ends when the shell is killed. Both are in a separate process group, so that Ctrl-C
//! reaches only the lab.

use super::account::Account;
use crate::failure::Failure;
use crate::measure::clock;
use crate::process;
use atsdb::{Error, ErrorKind};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The maximum time that a server may take until it answers.
const START_TIME_MAX: Duration = Duration::from_secs(180);
/// The number of last lines of a log that are shown.
const LOG_LINES: usize = 8;
/// The number of lines before them that explain the reason.
const REASON_LINES: usize = 4;

const SUPERVISOR: &str = r#"
folder=$1 signal=$2 lost=$3; shift 3
"$@" >>"$folder/log" 2>&1 </dev/null &
server=$!
echo "$server"
read -r asked || signal=$lost
kill -s "$signal" "$server" 2>/dev/null
wait "$server" 2>/dev/null
# Processes of a server that was killed may still write for a moment.
for pause in 0.1 1 10; do rm -rf "$folder" && break; sleep "$pause"; done
"#;

/// A server that runs; dropping it stops it and removes its folder.
#[derive(Debug)]
pub(super) struct Running {
    supervisor: Child,
    folder: PathBuf,
    /// The server's own process.
    pub(super) process: u32,
}

/// The program to start.
pub(super) struct Launch<'a> {
    /// Its name, for messages.
    pub(super) name: &'static str,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// The user it runs as.
    pub(super) account: &'a Account,
    /// The server's folder, which is removed in the end.
    pub(super) folder: &'a Path,
    /// The signal that ends it when the lab stops it.
    pub(super) signal: &'static str,
    /// The signal that ends it at once when the lab itself has ended. Its data is scratch, so nothing is lost.
    pub(super) signal_at_once: &'static str,
}

impl Launch<'_> {
    /// Starts the server, and waits until `answers` succeeds.
    ///
    /// # Errors
    ///
    /// The server does not start; the message has the last lines of its log.
    pub(super) fn start(&self, answers: impl Fn() -> Result<(), Failure>) -> Result<Running, Failure> {
        let mut supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "atsdb-lab-server"])
            .arg(self.folder)
            .arg(self.signal)
            .arg(self.signal_at_once)
            .args(self.account.wrap(true))
            .args(&self.command)
            .env("TMPDIR", self.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Failure::broken)?;
        let mut line = String::new();
        if let Some(output) = supervisor.stdout.take() {
            // If the shell prints nothing, there is no server, which the next lines detect.
            let _ = BufReader::new(output).read_line(&mut line);
        }
        let process = line.trim().parse().unwrap_or(0);
        let running = Running { supervisor, folder: self.folder.to_owned(), process };
        let begin = clock::now();
        loop {
            match (answers(), running.is_alive()) {
                (Ok(()), true) => return Ok(running),
                (Err(_), true) if begin.elapsed() < START_TIME_MAX => clock::sleep(Duration::from_millis(50)),
                (answer, is_alive) => {
                    // If it has ended, another server may have answered at its address.
                    let why = match answer {
                        Err(failure) if is_alive => format!("does not answer: {failure}"),
                        _ => "ended".to_owned(),
                    };
                    return Err(did_not_start(self.name, &why, &running.log(), self.account, self.folder));
                }
            }
        }
    }
}

impl Running {
    /// Returns whether the server still runs.
    pub(super) fn is_alive(&self) -> bool {
        process::is_alive(self.process)
    }

    /// The last lines of its log.
    pub(super) fn log(&self) -> String {
        last_lines(&std::fs::read(self.folder.join("log")).unwrap_or_default())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A shell that has already ended needs no message.
        let _ = self.supervisor.stdin.take().map(|mut input| input.write_all(b"stop\n"));
        // The shell ends when the server has. A failure here cannot be reported to anybody.
        let _ = self.supervisor.wait();
    }
}

/// Runs a program that prepares a server's folder to its end.
pub(super) fn prepare(name: &'static str, command: &[String], account: &Account, folder: &Path) -> Result<(), Failure> {
    let line = [account.wrap(false), command.to_vec()].concat();
    let (program, arguments) = line.split_first().ok_or_else(|| Failure::cannot("no program"))?;
    let output =
        Command::new(program).args(arguments).current_dir(folder).env("TMPDIR", folder).stdin(Stdio::null()).output();
    let output = output.map_err(Failure::broken)?;
    if output.status.success() {
        return Ok(());
    }
    let why = format!("{} ended with {}", command[0], output.status);
    let log = last_lines(&[output.stdout, output.stderr].concat());
    Err(did_not_start(name, &why, &log, account, folder))
}

fn did_not_start(name: &str, why: &str, log: &str, account: &Account, folder: &Path) -> Failure {
    let hint = account.hint(folder);
    Failure::Failed(Error::new(
        ErrorKind::Unavailable,
        format!("{name} did not start: {why}{hint}. Its last lines:\n{log}"),
    ))
}

fn last_lines(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LOG_LINES));
    // After a crash, the reason comes before pages of addresses.
    let is_reason =
        |line: &&&str| ["[ERROR]", "FATAL", "PANIC", "in use", "could not bind"].iter().any(|word| line.contains(word));
    let reasons: Vec<&str> = before.iter().filter(is_reason).copied().collect();
    [&reasons[reasons.len().saturating_sub(REASON_LINES)..], last].concat().join("\n")
}
