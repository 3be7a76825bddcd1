//! The addresses of InfluxDB 1, 2 and 3 by which programs write: line protocol over HTTP.
//!
//! Owned here: their parameters, and answers as InfluxDB words them. Not owned: reading bodies and storing lines
//! (`ingest`), the lines themselves (crates/lineproto).

mod answer;
mod context;
mod dialect;
mod query;
mod router;
mod write;

pub(crate) use router::{NEEDS, router};
