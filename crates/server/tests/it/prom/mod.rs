//! Prometheus over HTTP.

mod api;
mod client;
mod compliance;
mod limits;
mod message;
mod otlp;
mod real;
mod remote;
