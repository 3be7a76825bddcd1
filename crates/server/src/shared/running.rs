//! The running statements of a database's clients, which can be listed and cancelled.

use super::clock;
use super::log::{Log, LogLevel};
use super::span::StatementSpan;
use super::traces::Traces;
use atsdb::sql::{InterruptHandle, without_literals};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The maximum number of bytes of a statement's text that are kept.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// The statements that run at present. Clones are the same list.
#[derive(Debug, Clone)]
pub(crate) struct Running(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    statements: Mutex<BTreeMap<u64, RegisteredStatement>>,
    last: AtomicU64,
    processes: ProcessNumbers,
    /// The log for slow statements, and for notices.
    log: Log,
    traces: Traces,
    /// The database as the log names it.
    database: Option<String>,
}

/// The numbers by which clients of PostgreSQL's protocol name sessions, and statements of other protocols. Clones share
/// them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessNumbers(Arc<AtomicI32>);

impl ProcessNumbers {
    /// A number that was not given out before. After two billion they begin again.
    pub(crate) fn next(&self) -> i32 {
        (self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1) & i32::MAX).max(1)
    }
}

/// The sender of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) protocol: &'static str,
    /// The user, if known.
    pub(crate) user: Option<&'a str>,
    /// The process number of the session; `None` if there is no session.
    pub(crate) process: Option<i32>,
}

#[derive(Debug)]
struct RegisteredStatement {
    protocol: &'static str,
    user: Option<String>,
    process: i32,
    text: String,
    started: Instant,
    handle: InterruptHandle,
    is_cancelled: Arc<AtomicBool>,
}

/// One statement in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunningStatement {
    /// The statement's number, which is never reused.
    pub(crate) id: u64,
    /// The protocol over which it was sent.
    pub(crate) protocol: &'static str,
    /// The user who sent it, if known.
    pub(crate) user: Option<String>,
    /// The process number of its session, or its own.
    pub(crate) process: i32,
    /// The text of the statement, possibly truncated.
    pub(crate) text: String,
    /// The time for which it has run.
    pub(crate) elapsed: Duration,
}

/// A running statement. It stays in the list until this is dropped, which must happen before its session does anything
/// else.
#[derive(Debug)]
pub(crate) struct ListedStatement {
    id: u64,
    is_cancelled: Arc<AtomicBool>,
    row_count: AtomicU64,
    running: Running,
}

impl RegisteredStatement {
    fn interrupt(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.handle.interrupt();
    }
}

impl Running {
    pub(crate) fn new(processes: ProcessNumbers, log: Log, traces: Traces, database: Option<&str>) -> Self {
        let (statements, last, database) = (Mutex::default(), AtomicU64::new(0), database.map(str::to_owned));
        Self(Arc::new(Inner { statements, last, processes, log, traces, database }))
    }

    /// The numbers of sessions.
    pub(crate) fn processes(&self) -> &ProcessNumbers {
        &self.0.processes
    }

    /// Lists a statement that `handle` stops.
    pub(crate) fn begin(&self, sender: Sender<'_>, text: &str, handle: InterruptHandle) -> ListedStatement {
        let id = self.0.last.fetch_add(1, Ordering::Relaxed) + 1;
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let entry = RegisteredStatement {
            protocol: sender.protocol,
            user: sender.user.map(str::to_owned),
            process: sender.process.unwrap_or_else(|| self.0.processes.next()),
            text: text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned(),
            started: clock::now(),
            handle,
            is_cancelled: Arc::clone(&is_cancelled),
        };
        self.0.statements.lock().insert(id, entry);
        ListedStatement { id, is_cancelled, row_count: AtomicU64::new(0), running: self.clone() }
    }

    /// All running statements, the oldest first.
    pub(crate) fn list(&self) -> Vec<RunningStatement> {
        let now = clock::now();
        let statements = self.0.statements.lock();
        let statements = statements.iter().map(|(id, entry)| RunningStatement {
            id: *id,
            protocol: entry.protocol,
            user: entry.user.clone(),
            process: entry.process,
            text: entry.text.clone(),
            elapsed: now - entry.started,
        });
        statements.collect()
    }

    /// Interrupts a statement if `may` allows it for the user who sent it. Returns `false` if it is not running, or not
    /// allowed.
    pub(crate) fn cancel(&self, id: u64, may: impl FnOnce(Option<&str>) -> bool) -> bool {
        // While the list is locked, the statement stays in it, so that no later statement of its session is
        // interrupted.
        let statements = self.0.statements.lock();
        let Some(entry) = statements.get(&id).filter(|entry| may(entry.user.as_deref())) else { return false };
        entry.interrupt();
        true
    }

    /// Logs a notice of a statement, whose protocol has no place for it.
    pub(crate) fn log_notice(&self, sender: Sender<'_>, notice: &str) {
        let fields = [
            ("protocol", json!(sender.protocol)),
            ("database", json!(self.0.database)),
            ("user", json!(sender.user)),
            ("notice", json!(notice)),
        ];
        self.0.log.write(LogLevel::Info, "notice", &fields);
    }

    /// Interrupts what runs under a process number, if anything does.
    pub(crate) fn cancel_process(&self, process: i32) {
        let statements = self.0.statements.lock();
        statements.values().filter(|entry| entry.process == process).for_each(RegisteredStatement::interrupt);
    }
}

impl ListedStatement {
    /// Returns whether it was cancelled, possibly between two of its parts.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

impl ListedStatement {
    /// Notes rows that it has answered with or changed.
    pub(crate) fn add_rows(&self, row_count: u64) {
        self.row_count.fetch_add(row_count, Ordering::Relaxed);
    }

    /// Logs a notice of the statement.
    pub(crate) fn log_notice(&self, notice: &str) {
        let sender = self.running.0.statements.lock().get(&self.id).map(|entry| (entry.protocol, entry.user.clone()));
        if let Some((protocol, user)) = sender {
            self.running.log_notice(Sender { protocol, user: user.as_deref(), process: None }, notice);
        }
    }
}

impl Drop for ListedStatement {
    fn drop(&mut self) {
        let running = &self.running.0;
        let Some(ended) = running.statements.lock().remove(&self.id) else { return };
        let elapsed = clock::now() - ended.started;
        running.traces.send(|| StatementSpan {
            protocol: ended.protocol,
            database: running.database.clone(),
            user: ended.user.clone(),
            statement: without_literals(&ended.text),
            end_ns: clock::wall_ns(),
            elapsed,
            row_count: self.row_count.load(Ordering::Relaxed),
            is_cancelled: self.is_cancelled(),
        });
        if running.log.slow().is_none_or(|slow| elapsed < slow) {
            return;
        }
        let fields = [
            ("protocol", json!(ended.protocol)),
            ("database", json!(running.database)),
            ("user", json!(ended.user)),
            ("duration_ms", json!((elapsed.as_secs_f64() * 1e4).round() / 10.0)),
            ("rows", json!(self.row_count.load(Ordering::Relaxed))),
            ("cancelled", if self.is_cancelled() { json!(true) } else { json!(null) }),
            ("statement", json!(without_literals(&ended.text))),
        ];
        running.log.write(LogLevel::Warn, "slow statement", &fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_listed_while_it_runs() {
        let database = atsdb::open("memory:").unwrap();
        let session = database.session(atsdb::sql::SessionOptions::default()).unwrap();
        let log = Log::new(crate::shared::log::LogOptions::default());
        let running = Running::new(ProcessNumbers::default(), log, Traces::default(), None);
        let sender = Sender { protocol: "http", user: None, process: None };
        let first = running.begin(sender, "SELECT 1", session.interrupt_handle());
        let long = "é".repeat(TEXT_BYTES_MAX);
        let sender = Sender { protocol: "postgresql", user: Some("me"), process: Some(77) };
        let second = running.begin(sender, &long, session.interrupt_handle());
        let listed = running.list();
        assert_eq!(
            listed.iter().map(|one| (one.id, one.protocol)).collect::<Vec<_>>(),
            [(1, "http"), (2, "postgresql")]
        );
        assert_eq!((listed[0].text.as_str(), listed[1].text.len()), ("SELECT 1", TEXT_BYTES_MAX));
        running.cancel_process(listed[0].process);
        assert!(first.is_cancelled() && !second.is_cancelled(), "{listed:?}");
        assert!(!running.cancel(2, |user| user != Some("me")));
        assert!(running.cancel(2, |_| true) && second.is_cancelled());
        drop(first);
        assert!(!running.cancel(1, |_| true));
        assert_eq!(running.list().len(), 1);
    }
}
