//! The log for operators: one line for each event, on stderr, as text or as JSON.
//!
//! No line has a password, a token, a parameter's value, or a literal of a statement's text.

use super::clock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use strum::{IntoStaticStr, VariantArray};

/// The amount that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum LogLevel {
    /// Nothing.
    #[default]
    Off,
    /// Failures of the server itself: internal errors, damage in the store.
    Error,
    /// The same, and failed logins and slow statements.
    Warn,
    /// The same, and the start and the end of the server, reloads, and notices of statements over Flight SQL.
    Info,
    /// The same, and each connection, and each error that is sent to a client.
    Debug,
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum LogFormat {
    /// `2026-01-31T12:00:00.000Z WARN slow statement user=me duration_ms=712.3`
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The options of a server's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogOptions {
    /// The amount that is logged.
    pub level: LogLevel,
    /// How lines are written.
    pub format: LogFormat,
    /// Statements that take at least this long are logged.
    pub slow: Option<Duration>,
}

impl LogLevel {
    /// All levels, each with more than the one before.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// `off`, `error`, `warn`, `info` or `debug`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl LogFormat {
    /// All formats.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// `text` or `json`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The lines of a log that is written to memory.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct WrittenLog(Arc<Mutex<Vec<u8>>>);

/// Writes lines. Clones write to the same place.
#[derive(Clone)]
pub(crate) struct Log(Arc<Inner>);

struct Inner {
    options: LogOptions,
    out: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl Log {
    /// A log on stderr.
    pub(crate) fn new(options: LogOptions) -> Self {
        Self::to(options, Box::new(std::io::stderr()))
    }

    /// A log in memory, and what it writes.
    #[cfg(test)]
    pub(crate) fn in_memory(options: LogOptions) -> (Self, WrittenLog) {
        let written = WrittenLog::default();
        (Self::to(options, Box::new(written.clone())), written)
    }

    fn to(options: LogOptions, out: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Inner { options, out: Mutex::new(out) }))
    }

    /// Returns the minimum time of a statement that is logged as slow; `None` if no slow statements are logged.
    pub(crate) fn slow(&self) -> Option<Duration> {
        self.0.options.slow.filter(|_| self.writes(LogLevel::Warn))
    }

    /// Returns whether a level is logged.
    pub(crate) fn writes(&self, level: LogLevel) -> bool {
        level <= self.0.options.level
    }

    /// Writes a line: the event, and its details. Details that are null are left out.
    pub(crate) fn write(&self, level: LogLevel, event: &str, fields: &[(&str, Value)]) {
        if !self.writes(level) {
            return;
        }
        let time = atsdb::time::format_time(clock::wall_ns() / 1_000_000, atsdb::TimeUnit::Millisecond);
        let present = fields.iter().filter(|(_, value)| !value.is_null());
        let mut line = match self.0.options.format {
            LogFormat::Json => {
                let mut line =
                    format!("{{\"time\":{},\"level\":{},\"event\":{}", json!(time), json!(level.name()), json!(event));
                for (name, value) in present {
                    line.push_str(&format!(",{}:{value}", json!(name)));
                }
                line + "}"
            }
            LogFormat::Text => {
                let fields: String = present.map(|(name, value)| format!(" {name}={}", shown(value))).collect();
                format!("{time} {} {event}{fields}", level.name().to_uppercase())
            }
        };
        line.push('\n');
        // An error is ignored: the reader of stderr may have closed it, and the server continues.
        let _ = self.0.out.lock().write_all(line.as_bytes());
    }
}

#[cfg(test)]
impl WrittenLog {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

#[cfg(test)]
impl Write for WrittenLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A value as text. Ambiguous values are quoted, so that no client can forge lines of the log.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && text.chars().all(is_plain) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || "-_.:/@[]".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(options: LogOptions) -> Vec<String> {
        let (log, written) = Log::in_memory(options);
        log.write(
            LogLevel::Warn,
            "login failed",
            &[("user", json!("me\nroot")), ("n", json!(1.5)), ("none", json!(null))],
        );
        log.write(LogLevel::Debug, "connection", &[("address", json!("127.0.0.1"))]);
        written.text().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_is_one_line_whatever_is_in_it() {
        let found = lines(LogOptions { level: LogLevel::Debug, ..LogOptions::default() });
        assert!(found[0].ends_with("Z WARN login failed user=\"me\\nroot\" n=1.5"), "{found:?}");
        assert!(found[1].ends_with("Z DEBUG connection address=127.0.0.1"), "{found:?}");
        assert_eq!(found.len(), 2);
        let (time, _) = found[0].split_once(' ').unwrap();
        assert!(time.len() == 24 && time.contains('T'), "{time}");
    }

    #[test]
    fn json_has_the_same_values() {
        let found = lines(LogOptions { level: LogLevel::Warn, format: LogFormat::Json, slow: None });
        assert_eq!(found.len(), 1, "debug is more than was asked for");
        let line: Value = serde_json::from_str(&found[0]).unwrap();
        assert_eq!((&line["level"], &line["event"]), (&json!("warn"), &json!("login failed")));
        assert_eq!((&line["user"], &line["n"], line.get("none")), (&json!("me\nroot"), &json!(1.5), None));
        assert_eq!(lines(LogOptions::default()), Vec::<String>::new());
    }
}
