//! The rows of COPY: text, CSV and binary, in and out.
//!
//! Owned here: from bytes to columns of Arrow, and from rows to bytes. Not owned: the messages around them.

pub(in crate::pg) mod binary_reader;
pub(in crate::pg) mod column;
pub(in crate::pg) mod reader;
pub(in crate::pg) mod text_reader;
pub(in crate::pg) mod writer;
