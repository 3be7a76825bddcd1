//! Arrow Flight SQL: statements, prepared statements, transactions, metadata and bulk ingestion, as the drivers of ADBC
//! and JDBC ask for them.
//!
//! ```text
//! a command or an action     service, command, actions
//!     |
//!     +-- rows               plan: what it answers; query: computed while they are read, encoded by rows
//!     +-- changes            put: messages of the client -> update, ingest
//!     +-- metadata           metadata
//! ```
//! A ticket and the handle of a prepared statement are the statement itself (`handle`), so the server keeps nothing for
//! them, and they grant no rights: a ticket is executed with the rights of the caller who sends it. Only
//! transactions are kept (`transactions`).
//! Not owned: HTTP/2, users and the limits of messages (`grpc`), SQL (`sql`).

mod actions;
mod command;
mod context;
mod error;
mod handle;
mod ingest;
mod metadata;
mod plan;
mod put;
mod query;
mod rows;
mod running;
mod service;
mod session;
mod transactions;
mod update;

pub(crate) use arrow_flight::flight_service_server::FlightServiceServer;
pub(crate) use context::{ConnectionNumber, Flight};
