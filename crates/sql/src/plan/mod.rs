//! From a statement's syntax tree to DataFusion's logical plan, over the tables of one snapshot.
//!
//! Owned here: which table a name means ([`names`]), and what stands in a plan in the place of a view ([`views`]), of a
//! rollup ([`rollups`]), of a file ([`files`]) and of the rows that a statement itself works on ([`work_table`]), the
//! types of parameters ([`parameter_types`]), and plans that are kept ([`over`]). Not owned: reading tables
//! (`scan`, `resident`, `catalogue`) and rewriting plans (`operators`, `workarounds`).

pub(crate) mod buckets;
pub(crate) mod files;
pub(crate) mod names;
pub(crate) mod over;
pub(crate) mod parameter_types;
pub(crate) mod rollups;
pub(crate) mod views;
pub(crate) mod work_table;
