//! Prometheus over HTTP.

mod api;
mod client;
mod compliance;
mod exemplars;
mod histograms;
mod limits;
pub(crate) mod message;
mod otlp;
mod real;
mod remote;
