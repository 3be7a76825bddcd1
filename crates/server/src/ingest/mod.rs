//! Storing rows that arrive over any protocol.
//!
//! ```text
//! body of a request   read within limits, gzip undone            body, request_memory
//!        |
//!   queue             many small requests become one group       queue
//!        |            lines to rows, by the tables' definitions  crates/lineproto
//!   plan              tables and columns that the rows need      plan
//!        |
//!   one batch         tables, columns and rows in one commit     group
//! ```
//! Samples of Prometheus and OpenTelemetry use the same code for bodies, and have their own queue; the room `prom`
//! stores them. A request is answered when its rows are durable. The memory of all requests is limited: a request for
//! which there is none waits, and is then refused with the advice to retry. Not owned: the form of a protocol's
//! answers.

pub(crate) mod attempts;
pub(crate) mod body;
pub(crate) mod group;
pub(crate) mod options;
mod plan;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod request_memory;
