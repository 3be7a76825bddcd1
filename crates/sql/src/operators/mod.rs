//! Steps of a plan that DataFusion does not have: joining by time ([`asof`]) and filling gaps ([`gapfill`]).
//!
//! Each has its syntax or its functions, a rule that finds it in a plan, a node of the logical plan and an operator of
//! the physical plan, which [`planner`] creates from the node. Not owned: buckets of time (`functions`).

pub(crate) mod asof;
pub(crate) mod gapfill;
pub(crate) mod planner;
