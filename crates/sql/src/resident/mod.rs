//! Tables in memory as queries see them: reading them by their hash indexes and joining them.
//!
//! Not owned: how the rows are kept (`atsdb-resident`) and become visible (`engine`), and how statements change them
//! (`write`).

pub(crate) mod join;
pub(crate) mod join_rule;
pub(crate) mod lookup;
pub(crate) mod plain_select;
pub(crate) mod provider;
pub(crate) mod scan;
