//! Steps of a plan that DataFusion does not have, or has in a slower form: joining by time ([`asof`]), filling gaps
//! ([`gapfill`]), computing rows once that are read in several places ([`shared_rows`]), keeping the first rows of each
//! partition ([`partition_top`]), choosing the groups that a limit needs ([`first_groups`]), and ranks of rows in order
//! ([`ranks`]).
//!
//! The first three have a rule that finds them in a plan, a node of the logical plan and an operator of the physical
//! plan, which [`planner`] creates from the node, and the first two have syntax or functions. The others have a rule
//! that adds its operator to a physical plan. [`plan_methods`] has the methods that are the same in most operators and
//! rules.
//!
//! Not owned: buckets of time (`functions`).

pub mod asof;
mod expressions;
pub mod first_groups;
pub mod gapfill;
pub mod partition_top;
pub mod plan_methods;
pub mod planner;
pub mod ranks;
pub mod shared_rows;
