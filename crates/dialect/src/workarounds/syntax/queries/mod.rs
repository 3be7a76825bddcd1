//! Clauses of queries: joins with merged columns, samples, groups, orders, limits and set operations; and the widths
//! of subqueries.

pub(super) mod aliased_joins;
pub(super) mod first_joins;
pub(super) mod group_casts;
pub(super) mod group_keys;
pub(super) mod group_names;
pub(super) mod groups;
pub(super) mod hiding_names;
pub(super) mod limits;
pub(super) mod natural;
pub(super) mod order_all;
pub(super) mod order_names;
pub(super) mod outer_aggregates;
pub(super) mod outer_merged;
pub(super) mod samples;
pub(super) mod set_all;
pub(super) mod subquery_widths;
pub(super) mod using;
