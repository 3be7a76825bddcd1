//! The paths of InfluxDB 1, 2 and 3 for writing: line protocol over HTTP. Owned here: their parameters, and answers in
//! InfluxDB's form. Not owned: reading bodies and storing lines (`ingest`), the lines themselves (crates/lineproto).

mod answer;
mod context;
mod dialect;
mod query;
mod router;
mod write;

pub(crate) use router::{ROUTE_ROLES, SERVER_ROUTE_ROLES, router, server_router};
