//! Plans a statement's syntax tree as DataFusion's logical plan, over the tables of one snapshot. Owned here: resolving
//! names of tables ([`names`]), the plans for a view ([`views`]), a rollup ([`rollups`]), a file ([`files`],
//! [`stored_rows`]) and the work table of a statement ([`work_table`]), the columns that are computed ([`computed`]),
//! the types of parameters ([`parameter_types`]), names of tables that are not read (`read_tables`), what a plan may
//! not contain ([`refusals`], [`unpopulated`]), and cached plans ([`over`]). Not owned: reading tables (`scan`,
//! `resident`, `catalogue`) and rewriting plans (`dialect`).

pub(crate) mod buckets;
pub(crate) mod computed;
pub(crate) mod files;
pub(crate) mod names;
pub(crate) mod over;
pub(crate) mod parameter_types;
mod read_tables;
pub(crate) mod refusals;
pub(crate) mod rollups;
mod stored_rows;
pub(crate) mod unpopulated;
pub(crate) mod views;
pub(crate) mod work_table;
