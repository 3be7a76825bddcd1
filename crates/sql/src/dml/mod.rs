//! The statements `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `LOAD DATA` and `COPY`: their syntax and meaning.
//!
//! Owned here: the target of a statement ([`target`]), the change that it makes ([`change`]), the query for the rows
//! that change ([`change_query`], [`merge_query`]), the treatment of rows whose key exists already ([`conflict`]),
//! values that depend on their column ([`values`]), `COPY` ([`copy`]), and the files to read ([`files`]). Not owned:
//! executing the statements (`write`).

pub(crate) mod assignments;
pub(crate) mod change;
pub(crate) mod change_query;
pub(crate) mod conflict;
pub(crate) mod copy;
pub(crate) mod files;
pub(crate) mod load;
pub(crate) mod merge_query;
pub(crate) mod returning;
mod returning_stars;
pub(crate) mod target;
pub(crate) mod values;
