//! Traces: a span for each statement that has ended. A thread of its own sends them to a collector of OpenTelemetry.
//!
//! No span has a password, a token, a parameter's value, or a literal of a statement's text. A collector that is slow
//! or absent never holds up a statement: spans that find no room are dropped and counted.

use super::clock;
use super::collector::{Collector, REQUEST_TIME_MAX};
use super::log::{Log, LogLevel};
use super::metrics::{Counter, Metrics};
use super::span::StatementSpan;
use atsdb::{Error, Result};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The maximum number of spans that wait to be sent.
const WAITING_MAX: usize = 4_096;

/// The maximum number of spans in a request.
const REQUEST_SPANS_MAX: usize = 512;

/// The maximum time for which a span waits for others that are sent with it.
const GATHER_TIME: Duration = Duration::from_secs(1);

/// Sends spans. Clones send to the same collector; the default sends none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traces(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    waiting: SyncSender<Message>,
    dropped: Counter,
    end: Arc<OnceLock<Instant>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
enum Message {
    Span(Box<StatementSpan>),
    End,
}

/// The state of the thread that sends spans to the collector. It holds no sender of the channel, so that the thread
/// ends when the last sender is dropped.
struct Exporter {
    collector: Collector,
    log: Log,
    sent: Counter,
    dropped: Counter,
    /// The time by which it must end; empty until the server ends.
    end: Arc<OnceLock<Instant>>,
}

impl Traces {
    /// Sends spans to a collector.
    pub(crate) fn to(collector: Collector, metrics: &Metrics, log: Log) -> Result<Self> {
        let sent = metrics.counter("atsdb_traces_sent_total", "Traces of statements that the collector has accepted.");
        let dropped = "Traces of statements that the collector did not accept, or that found no room.";
        let dropped = metrics.counter("atsdb_traces_dropped_total", dropped);
        let end = Arc::new(OnceLock::new());
        let (waiting, receiver) = sync_channel(WAITING_MAX);
        let exporter = Exporter { collector, log, sent, dropped: dropped.clone(), end: Arc::clone(&end) };
        let thread = Builder::new().name("atsdb-traces".to_owned()).spawn(move || exporter.run(&receiver));
        let thread = thread.map_err(Error::no_thread)?;
        Ok(Self(Some(Arc::new(Inner { waiting, dropped, end, thread: Mutex::new(Some(thread)) }))))
    }

    /// Sends the span that `span` makes, if there is a collector.
    pub(crate) fn send(&self, span: impl FnOnce() -> StatementSpan) {
        let Some(inner) = &self.0 else { return };
        if inner.waiting.try_send(Message::Span(Box::new(span()))).is_err() {
            inner.dropped.increment();
        }
    }

    /// Sends the spans that still wait, for as long as one request may take. A collector that does not accept it is not
    /// tried again.
    pub(crate) fn finish(&self) {
        let Some(inner) = &self.0 else { return };
        let Some(thread) = inner.thread.lock().take() else { return };
        let _ = inner.end.set(clock::now() + REQUEST_TIME_MAX);
        // An error means that the thread has ended.
        let _ = inner.waiting.send(Message::End);
        let _ = thread.join();
    }
}

impl Exporter {
    fn run(&self, receiver: &Receiver<Message>) {
        let mut was_accepted = true;
        while let Ok(first) = receiver.recv() {
            let (mut spans, mut next, mut has_ended) = (Vec::new(), Some(first), false);
            let until = clock::now() + GATHER_TIME;
            while let Some(message) = next {
                match message {
                    Message::Span(span) => spans.push(*span),
                    Message::End => has_ended = true,
                }
                if has_ended || spans.len() == REQUEST_SPANS_MAX {
                    break;
                }
                next = receiver.recv_timeout(until.saturating_duration_since(clock::now())).ok();
            }
            let is_accepted = spans.is_empty() || self.send(&spans, was_accepted);
            if !is_accepted && self.end.get().is_some() {
                let left = receiver.try_iter().filter(|message| matches!(message, Message::Span(_))).count();
                self.dropped.add(u64::try_from(left).unwrap_or(u64::MAX));
                return;
            }
            if has_ended {
                return;
            }
            was_accepted = is_accepted;
        }
    }

    /// Sends spans, and returns whether the collector has accepted them. Only the first of several failures is logged.
    fn send(&self, spans: &[StatementSpan], was_accepted: bool) -> bool {
        let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        let until = clock::now() + REQUEST_TIME_MAX;
        let until = self.end.get().map_or(until, |end| until.min(*end));
        match self.collector.post(&StatementSpan::request(spans), until) {
            Ok(()) => {
                self.sent.add(count);
                true
            }
            Err(error) => {
                self.dropped.add(count);
                if was_accepted {
                    let fields =
                        [("collector", json!(self.collector.to_string())), ("error", json!(error.to_string()))];
                    self.log.write(LogLevel::Warn, "traces not accepted", &fields);
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::log::LogOptions;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    fn span() -> StatementSpan {
        StatementSpan {
            protocol: "http",
            database: Some("air".to_owned()),
            user: None,
            statement: "SELECT ?".to_owned(),
            end_ns: 1_700_000_000_000_000_000,
            elapsed: Duration::from_millis(2),
            row_count: 1,
            is_cancelled: false,
        }
    }

    /// Accepts a request and returns its head and its body.
    fn accepted(listener: &TcpListener, answer: &str) -> (String, String) {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        reader.get_mut().write_all(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").as_bytes()).unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    #[test]
    fn spans_reach_the_collector_before_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Collector::parse(&format!("http://{}/v1/traces", listener.local_addr().unwrap())).unwrap();
        let metrics = Metrics::default();
        let traces = Traces::to(collector, &metrics, Log::new(LogOptions::default())).unwrap();
        let collecting = std::thread::spawn(move || accepted(&listener, "200 OK"));
        traces.send(span);
        traces.finish();
        let (head, body) = collecting.join().unwrap();
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        assert!(body.contains("\"SELECT ?\""), "{body}");
        assert_eq!(metrics.counter("atsdb_traces_sent_total", "").value(), 1);
        // What comes later is dropped.
        traces.send(span);
        assert_eq!(metrics.counter("atsdb_traces_dropped_total", "").value(), 1);
    }

    #[test]
    fn a_collector_that_refuses_is_logged_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Collector::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let (log, written) = Log::in_memory(LogOptions { level: LogLevel::Warn, ..LogOptions::default() });
        let metrics = Metrics::default();
        let traces = Traces::to(collector, &metrics, log).unwrap();
        // The second request may not come, because the end does not wait for a collector that refuses.
        std::thread::spawn(move || {
            for _ in 0..2 {
                accepted(&listener, "503 Service Unavailable");
            }
        });
        for _ in 0..REQUEST_SPANS_MAX + 1 {
            traces.send(span);
        }
        traces.finish();
        let written = written.text();
        assert_eq!(written.matches("traces not accepted").count(), 1, "{written}");
        assert!(written.contains("503 Service Unavailable"), "{written}");
        let dropped = metrics.counter("atsdb_traces_dropped_total", "").value();
        assert_eq!(usize::try_from(dropped).unwrap(), REQUEST_SPANS_MAX + 1);
    }

    #[test]
    fn the_end_waits_no_longer_than_one_request_may_take() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Collector::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let metrics = Metrics::default();
        let traces = Traces::to(collector, &metrics, Log::new(LogOptions::default())).unwrap();
        let request_count = WAITING_MAX / REQUEST_SPANS_MAX;
        // All requests together take three times as long.
        let pause = REQUEST_TIME_MAX * 3 / u32::try_from(request_count).unwrap();
        std::thread::spawn(move || {
            loop {
                atsdb_testkit::clock::sleep(pause);
                accepted(&listener, "200 OK");
            }
        });
        for _ in 0..WAITING_MAX {
            traces.send(span);
        }
        traces.finish();
        let count = |name: &'static str| usize::try_from(metrics.counter(name, "").value()).unwrap();
        let (sent, dropped) = (count("atsdb_traces_sent_total"), count("atsdb_traces_dropped_total"));
        assert!(sent > 0 && dropped > 0 && sent + dropped == WAITING_MAX, "{sent} {dropped}");
    }

    #[test]
    fn without_a_collector_no_span_is_made() {
        Traces::default().send(|| unreachable!("nobody receives it"));
        Traces::default().finish();
    }
}
