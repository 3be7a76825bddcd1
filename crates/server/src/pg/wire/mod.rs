//! Bytes of PostgreSQL's protocol, version 3: frames from a client, messages to it.
//!
//! Owned here: what a frame holds, and that no length in it is believed before the bytes are there. Not owned: what is
//! answered.

pub(in crate::pg) mod fields;
pub(in crate::pg) mod incoming;
pub(in crate::pg) mod outgoing;
pub(in crate::pg) mod startup;
