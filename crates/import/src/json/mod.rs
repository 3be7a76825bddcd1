//! JSON documents: where their records are, and the fields of these records.
//!
//! Owned here: the lists of a document ([`outline`]), where its records are ([`document`]), the rows of lists that are
//! columns ([`columns`]) and of members that are records ([`members`]), and reading records ([`reader`]) that are
//! objects ([`objects`]) or arrays ([`arrays`]). Not owned: the values of fields (`values`).

pub(crate) mod arrays;
pub(crate) mod columns;
pub(crate) mod document;
pub(crate) mod members;
pub(crate) mod objects;
pub(crate) mod outline;
pub(crate) mod reader;
