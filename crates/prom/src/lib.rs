//! The Prometheus side of a store, without I/O: bytes in, columns out.
//!
//! Rooms, from the top. Each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `otlp` | OpenTelemetry's metrics, as protocol buffers and JSON, to the same columns |
//! | `remote` | remote write 1.0 and 2.0 and remote read: protocol buffers to columns and back |
//! | `evaluate` | PromQL's evaluator over any [`SeriesSource`] |
//! | `promql` | PromQL's text: words, syntax tree, types |
//! | `histogram` | native histograms: validity and arithmetic |
//! | `labels` | label sets, matchers, and a series as text |
//!
//! Not owned: sockets, HTTP, tables and their storage.

pub mod evaluate;
pub mod histogram;
pub mod labels;
pub mod otlp;
pub mod promql;
pub mod remote;

pub use evaluate::{Outcome, RawSeries, SeriesSource};
