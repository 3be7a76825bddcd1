//! Connections: from the first packet to the last. An idle connection is a task that waits for bytes. As soon as a
//! whole frame has arrived, the task handles what takes only a moment, and a thread that may block everything else that
//! was received so far. Then the connection waits again.

mod activity;
mod answer_at_once;
mod at_once;
mod authenticate;
mod bind;
mod block;
mod copying;
mod cursor;
mod cursors;
mod deadline;
mod described;
mod execute;
mod extended;
pub(in crate::pg) mod io;
pub(in crate::pg) mod lifecycle;
mod permission;
mod prepared;
mod session;
mod session_values;
mod setting_statements;
mod simple;
mod startup;
mod transaction;
