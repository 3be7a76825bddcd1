//! Prometheus over HTTP.

mod api;
mod client;
mod compliance;
mod limits;
mod message;
mod real;
mod remote;
