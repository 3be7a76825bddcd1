//! The process that runs ClickHouse.

use crate::failure::Failure;
use atsdb::{Error, ErrorKind};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const SCRIPT: &str = include_str!("session.py");
const LOCK: &str = "open";

/// ClickHouse's messages about unknown or unsupported statements, types and features.
const NOT_KNOWN: [&str; 6] = [
    "(SYNTAX_ERROR)",
    "(NOT_IMPLEMENTED)",
    "(SUPPORT_IS_DISABLED)",
    "(UNKNOWN_TYPE)",
    "(INCORRECT_QUERY)",
    "(UNKNOWN_FUNCTION)",
];

/// A process; dropping it closes the database.
pub(super) struct Pipe {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Two processes would spoil a folder without noticing each other.
    _lock: File,
}

/// An answer: types of columns, and rows.
#[derive(Default)]
pub(super) struct PipeAnswer {
    pub(super) types: Vec<String>,
    pub(super) rows: Vec<Vec<Value>>,
}

impl Pipe {
    /// Opens the database in a folder.
    pub(super) fn open(python: &Path, folder: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(Failure::broken)?;
        let lock = File::create(folder.join(LOCK)).map_err(Failure::broken)?;
        if lock.try_lock().is_err() {
            return Err(Failure::cannot("one process at a time has a database open"));
        }
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(folder.join("data"))
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::broken)?;
        let output = child.stdout.take().ok_or_else(|| Failure::wrong("a program without output"))?;
        Ok(Self { child, output: BufReader::new(output), _lock: lock })
    }

    /// Runs a statement.
    pub(super) fn run(&mut self, sql: &str) -> Result<PipeAnswer, Failure> {
        let input = self.child.stdin.as_mut().ok_or_else(|| Failure::wrong("the process has been let go of"))?;
        let line = serde_json::to_string(sql).map_err(Failure::broken)?;
        writeln!(input, "{line}").and_then(|()| input.flush()).map_err(Failure::broken)?;
        let (mut answer, mut lines, mut line) = (PipeAnswer::default(), 0, String::new());
        loop {
            line.clear();
            if self.output.read_line(&mut line).map_err(Failure::broken)? == 0 {
                return Err(Failure::Failed(Error::new(ErrorKind::Unavailable, "the process of ClickHouse ended")));
            }
            match serde_json::from_str(&line).map_err(Failure::broken)? {
                Value::Array(row) => {
                    match lines {
                        0 => {}
                        1 => {
                            answer.types = row.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
                        }
                        _ => answer.rows.push(row),
                    }
                    lines += 1;
                }
                end => return said(&end).map_or(Ok(answer), Err),
            }
        }
    }
}

/// Returns the error that an answer reports, if any.
fn said(end: &Value) -> Option<Failure> {
    let message = end.get("error")?.as_str().unwrap_or_default().trim().to_owned();
    match NOT_KNOWN.iter().any(|name| message.contains(name)) {
        true => Some(Failure::Cannot(message)),
        false => Some(Failure::Failed(Error::new(ErrorKind::Unavailable, message))),
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The process ends at the end of its input, once the database is closed. A failure here cannot be reported.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_no_failure() {
        let end = |text: &str| said(&serde_json::json!({ "error": text }));
        assert!(matches!(end("Code: 48. Transactions are not supported. (NOT_IMPLEMENTED)"), Some(Failure::Cannot(_))));
        assert!(matches!(end("Code: 60. Unknown table (UNKNOWN_TABLE)"), Some(Failure::Failed(_))));
        assert!(said(&serde_json::json!({})).is_none());
    }
}
