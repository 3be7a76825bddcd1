//! How rows enter, whatever protocol brings them.
//!
//! ```text
//! body of a request   read within limits, gzip undone            body, gate
//!        |
//!   queue             many small requests become one group       queue
//!        |            lines to rows, by the tables' definitions  crates/lineproto
//!   plan              tables and columns that the rows need      plan
//!        |
//!   one batch         tables, columns and rows in one commit     group
//! ```
//!
//! Samples of Prometheus and OpenTelemetry take the same way through bodies and a queue of their own; the room `prom`
//! stores them.
//!
//! A request is answered when its rows are durable. The bytes of all requests are bounded: a request that finds no room
//! is held, and then refused with the advice to retry. Not owned: how a protocol words its answers.

pub(crate) mod attempts;
pub(crate) mod body;
pub(crate) mod gate;
pub(crate) mod group;
pub(crate) mod options;
mod plan;
pub(crate) mod queue;
pub(crate) mod request;
