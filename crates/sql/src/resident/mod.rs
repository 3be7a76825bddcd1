//! Tables in memory as statements see them: reading them by their hash indexes, joining and changing them.
//!
//! Not owned: how the rows are kept (`resident`) and become visible (`engine`).

mod change;
mod join;
mod join_rule;
mod lookup;
mod plain_select;
mod provider;
mod scan;

pub(crate) use change::change_resident;
pub(crate) use join_rule::JoinByIndex;
pub(crate) use plain_select::PlainSelect;
pub(crate) use provider::ResidentTable;
