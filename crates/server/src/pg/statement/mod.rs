//! Classifies statements before they are planned.
//!
//! Owned here: the words of a statement, whether it concerns the connection (SET, BEGIN, cursors, COPY) or the store.
//! Not owned: SQL itself.

pub(in crate::pg) mod copy;
pub(in crate::pg) mod kind;
pub(in crate::pg) mod storage;
pub(in crate::pg) mod words;
