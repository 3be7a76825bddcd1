//! Code that every room uses.
//!
//! Owned here: the store that is served, counters and gauges, permits for running statements and the list of them,
//! the log, traces, the phase of the server's life, accepting connections, Arrow streams that clients send, and
//! statements that begin with no verb.
//! Not owned: anything that knows a protocol.

pub(crate) mod accepting;
pub(crate) mod arrow_claims;
pub(crate) mod arrow_stream;
pub(crate) mod batch_size;
pub(crate) mod clock;
pub(crate) mod collector;
pub(crate) mod form;
pub(crate) mod holds;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod outlet;
pub(crate) mod permits;
pub(crate) mod phase;
pub(crate) mod running;
pub(crate) mod span;
pub(crate) mod state;
pub(crate) mod statement_options;
pub(crate) mod traces;
pub(crate) mod unknown_verb;
