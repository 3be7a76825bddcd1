//! Steps of a plan that DataFusion does not have: joining by time ([`asof`]), filling gaps ([`gapfill`]), and keeping
//! the first rows of each partition ([`partition_top`]).
//!
//! The first two have syntax or functions, a rule that finds them in a plan, a node of the logical plan and an operator
//! of the physical plan, which [`planner`] creates from the node. The third has a rule that adds its operator to a
//! physical plan. Not owned: buckets of time (`functions`).

pub(crate) mod asof;
pub(crate) mod gapfill;
pub(crate) mod partition_top;
pub(crate) mod planner;
