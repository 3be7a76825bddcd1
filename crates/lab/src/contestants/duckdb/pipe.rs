//! The program, controlled through a pipe. After each statement it must print a mark, which ends the answer.

use crate::failure::Failure;
use atsdb::{Error, ErrorKind};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const MARK: &str = "atsdb-lab-done";

/// DuckDB's message about a file that another process has open.
const IN_USE: &str = "Could not set lock on file";

/// The program; dropping it closes the database.
pub(super) struct Pipe {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    /// Opens a database.
    pub(super) fn open(program: &Path, file: &Path) -> Result<Self, Failure> {
        // Errors arrive on the same stream as answers, in order.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 2>&1", "sh"])
            .arg(program)
            .args(["-no-init", "-jsonlines"])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::broken)?;
        let output = child.stdout.take().ok_or_else(|| Failure::wrong("a program without output"))?;
        let mut pipe = Self { child, output: BufReader::new(output) };
        match pipe.run("SELECT 1") {
            Ok(_) => Ok(pipe),
            Err(failure) if failure.to_string().contains(IN_USE) => Err(Failure::cannot(
                "one process at a time has a database open; its sessions are that process's threads",
            )),
            Err(failure) => Err(failure),
        }
    }

    /// Runs a statement. Its rows are lines of JSON.
    pub(super) fn run(&mut self, sql: &str) -> Result<Vec<String>, Failure> {
        let input = self.child.stdin.as_mut().ok_or_else(|| Failure::wrong("the program has been let go of"))?;
        let sent = writeln!(input, "{sql};\n.print {MARK}").and_then(|()| input.flush());
        let (mut rows, mut complaints) = (Vec::new(), Vec::new());
        loop {
            let mut line = String::new();
            if sent.is_err() || self.output.read_line(&mut line).map_err(Failure::broken)? == 0 {
                complaints.push("the program ended".to_owned());
                break;
            }
            match line.trim_end() {
                MARK => break,
                row if row.starts_with('{') => rows.push(row.to_owned()),
                "" => {}
                complaint => complaints.push(complaint.to_owned()),
            }
        }
        match complaints.is_empty() {
            true => Ok(rows),
            false => Err(Failure::Failed(Error::new(ErrorKind::Unavailable, complaints.join(" ")))),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The process ends at the end of its input, once the database is written back. A failure here cannot be
        // reported.
        let _ = self.child.wait();
    }
}
