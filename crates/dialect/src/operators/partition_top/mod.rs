//! Leaves out rows that a condition on their rank will leave out later.
//!
//! `WHERE place <= 2` over `row_number() OVER (PARTITION BY sensor ORDER BY time DESC) AS place` needs two rows of each
//! sensor, but a window function sorts all rows of its input. The [operator](PartitionTopExec) below it holds the first
//! rows of each partition so far, and drops the others.
//!
//! The sort, the function and the condition stay in the plan. So the operator may let a row pass that is not needed,
//! and it gives up, and lets all rows pass, if it drops too few of them or if the memory does not suffice. DataFusion
//! 55 has a rule of its own for this, `WindowTopN`, which is off by default: it replaces the sort, holds all partitions
//! in memory, and ignores other functions over the same window.

mod first_keys;
mod held_rows;
mod operator;
mod order_keys;
mod part;
mod partitions;
mod rule;

pub use operator::PartitionTopExec;
pub use rule::PartitionTop;
