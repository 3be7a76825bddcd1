//! Bytes of PostgreSQL's protocol, version 3: frames from a client, messages to it. Owned here: the contents of frames,
//! and the rule that no length is trusted before its bytes have arrived. Not owned: the answers.
//!
//! The protocol is written by hand for that rule, and because rows are encoded straight from Arrow arrays.

pub(in crate::pg) mod fields;
pub(in crate::pg) mod incoming;
pub(in crate::pg) mod outgoing;
pub(in crate::pg) mod startup;
