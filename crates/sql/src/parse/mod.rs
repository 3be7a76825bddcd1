//! From a statement's text to its syntax tree, by DataFusion's parser.
//!
//! Owned here: limits of a statement's size and depth ([`statement`]), words of other databases that the parser does
//! not read ([`foreign`]), types of parameters, what the columns of an answer are called ([`headings`]), and statements
//! that are refused ([`refuse`]). Not owned: clauses that mean something else than DataFusion makes of them
//! (`workarounds`).

pub(crate) mod foreign;
pub(crate) mod headings;
pub(crate) mod parameter_types;
pub(crate) mod query_text;
pub(crate) mod refuse;
pub(crate) mod statement;
