//! Writing rows: what `INSERT`, `UPDATE`, `DELETE` and `MERGE` do to a batch of the engine. Owned here: converting rows
//! of queries and literals to columns with a table's types ([`insert`], [`insert_run`], [`assign`]), rewriting chunks
//! ([`change_writer`]), rows whose key exists already ([`upsert`]), what the rows of a `MERGE` do ([`merge`]), the rows
//! of `RETURNING`, and the condition of `COPY` ([`copy_condition`]). Not owned: the meaning of a statement (`dml`),
//! committing batches (`session`), and how a chunk is rewritten and committed (`engine`).

pub(crate) mod assign;
pub(crate) mod change_writer;
mod chunk_change;
pub(crate) mod copy_condition;
pub(crate) mod earlier_changes;
pub(crate) mod insert;
pub(crate) mod insert_run;
mod insert_text;
pub(crate) mod merge;
mod narrow_maps;
pub(crate) mod resident_change;
pub(crate) mod returning;
mod returning_rows;
pub(crate) mod upsert;
