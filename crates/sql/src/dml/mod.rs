//! What `INSERT`, `UPDATE`, `DELETE`, `LOAD DATA` and `COPY ... FROM` say.
//!
//! Owned here: the target of a statement ([`target`]), the change that it asks for ([`change`]) and the query for the
//! rows that change ([`change_query`]), what becomes of rows whose key is there already ([`conflict`]), and the values
//! that their column decides ([`values`]), and which files are read ([`files`]). Not owned: doing it (`write`).

pub(crate) mod assignments;
pub(crate) mod change;
pub(crate) mod change_query;
pub(crate) mod conflict;
pub(crate) mod files;
pub(crate) mod load;
pub(crate) mod returning;
pub(crate) mod target;
pub(crate) mod values;
