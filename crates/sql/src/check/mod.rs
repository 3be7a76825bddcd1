//! CHECK constraints: their conditions as DataFusion's expressions. The engine calls them for all rows of a table with
//! constraints, however these are written.
//!
//! Owned here: planning a condition and refusing an unsuitable one ([`plan`]), testing rows ([`condition`]), and the
//! compiler that an engine gets ([`compiler`]). Not owned: when rows are tested (`engine`), and the text of a condition
//! (`ddl`).

pub(crate) mod compiler;
mod condition;
mod plan;
