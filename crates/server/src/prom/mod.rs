//! Prometheus over HTTP: remote write and read, the API that Grafana's data source uses, and OpenTelemetry's metrics.
//!
//! ```text
//! remote write    body within limits -> columns -> many requests in one commit    write, writer, tables
//! OTLP            points -> the same columns                                      otlp, write
//! remote read     matchers -> series of a snapshot                                read, source
//! API             parameters -> PromQL over a snapshot -> JSON                    query, lookup, json
//! ```
//!
//! Samples are rows of `prom_samples(time, metric, series, value)`, native histograms rows of `prom_histograms`,
//! exemplars rows of `prom_exemplars`, and labels rows of `prom_labels(series, name, value)`.
//!
//! Not owned: reading bodies and grouping requests (`ingest`), the formats and PromQL itself (crates/prom).

mod answer;
mod context;
mod json;
mod lookup;
mod otlp;
mod params;
mod query;
mod read;
mod router;
mod source;
mod tables;
mod times;
mod work;
mod write;
mod writer;

pub(crate) use answer::Refusal;
pub(crate) use context::Prom;
pub(crate) use otlp::export_protobuf;
pub(crate) use router::{ROUTE_ROLES, router};
