//! Classifies statements before they are planned.
//!
//! Owned here: whether it concerns the connection (SET, BEGIN, cursors, COPY) or the store.
//! Not owned: SQL itself, and
//! the words of a statement.

pub(in crate::pg) mod copy;
pub(in crate::pg) mod cursors;
pub(in crate::pg) mod discard;
pub(in crate::pg) mod kind;
mod lock;
mod prepared;
pub(in crate::pg) mod storage;
