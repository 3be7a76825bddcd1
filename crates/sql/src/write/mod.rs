//! Writing rows: what `INSERT`, `UPDATE` and `DELETE` do to a batch of the engine.
//!
//! Owned here: rows of queries and of literals on their way into columns of a table's types ([`insert`],
//! [`insert_run`], [`assign`]), chunks that are rewritten ([`change_writer`]), rows that meet others of the same key
//! ([`upsert`]), and the rows of `RETURNING`. Not owned: what a statement asks for (`dml`), when a batch commits
//! (`session`), and how a chunk is rewritten and committed (`engine`).

pub(crate) mod assign;
pub(crate) mod change_writer;
mod chunk_change;
pub(crate) mod insert;
pub(crate) mod insert_run;
mod insert_text;
mod narrow_maps;
pub(crate) mod resident_change;
pub(crate) mod returning;
mod returning_rows;
pub(crate) mod upsert;
